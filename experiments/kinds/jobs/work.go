package jobs

import (
	"math"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/network"
)

// jobDemand is what a job asks of the fabric, whatever happens there.
type jobDemand struct {
	seconds float64 // that a run of its program takes at least
	hops    float64 // flits that cross a switch on shortest ways, in all of its runs
}

// predictWork estimates what the point costs: its jobs together, each alone and, for blame, with more
// and more of the others, where packets take shortest ways and no run is slowed.
func (c *jobsConfig) predictWork(p *experiments.Preflight) error {
	plan, err := c.plan(p.Seed)
	if err != nil {
		return err
	}
	m := c.mpi()
	adapter, err := m.Adapter()
	if err != nil {
		return err
	}
	t, config, r, err := m.FabricParts(&adapter, p.Seed, c.levels())
	if err != nil {
		return err
	}
	jobs := make([]jobDemand, len(plan.jobs))
	first, last := 0, 0.0
	runs := func(j int, until float64) float64 { // until a time
		return max(1, math.Ceil((until-plan.jobs[j].Start.Seconds())/max(jobs[j].seconds, 1e-12)))
	}
	for j, job := range plan.jobs {
		m.Placement.Nodes = make([]int, job.Ranks)
		for rank := range job.Ranks {
			m.Placement.Nodes[rank] = int(plan.hosts[first+rank])
		}
		first += job.Ranks
		d := &jobs[j]
		if d.seconds, d.hops, err = m.DemandOf(job.Program(), t.Graph(), &config, &adapter, p.Seed, true); err != nil {
			return err
		}
		times := float64(job.Repeat)
		if job.Until > 0 {
			times = min(times, runs(j, job.Until.Seconds()))
		}
		if job.Repeat > 0 {
			d.hops *= times
			last = max(last, job.Start.Seconds()+times*d.seconds)
		}
	}
	all, alone, blame, simulations := 0.0, 0.0, 0.0, 0
	for j := range jobs {
		if plan.jobs[j].Repeat == 0 {
			jobs[j].hops *= runs(j, last)
		}
		all += jobs[j].hops
	}
	for victim := range jobs {
		if plan.jobs[victim].Repeat == 0 {
			continue
		}
		alone += jobs[victim].hops
		together := jobs[victim].hops
		for by := range jobs {
			if by != victim {
				together += jobs[by].hops
				blame += together
				simulations++
			}
		}
	}
	p.Note("latency", "the jobs take %.4g us at least: the last to end, without the others", last*1e6)
	hops := all
	if c.Measure.Alone {
		hops += alone
	}
	hops *= float64(c.Measure.Replications)
	if c.Measure.Blame {
		p.Slower(network.BlameTimes)
		p.Note("cost", "measure.blame takes %d more simulations, each about %v times as long as one without, counted below", simulations, network.BlameTimes)
		hops += blame
	}
	m.Work(p, hops, &adapter, network.Memory(t.Graph(), max(r.VCs(), c.Switch.VCs)))
	return nil
}
