package jobs

import (
	"math"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/kinds/telemetry"
	"github.com/weft-sim/weft/fabric/topology"
)

// jobsBlame says by how much each job slows each other one, and at which cables. The others are
// added to a job one after another, in the order of their names; what the job takes longer
// with one more is put down to that one. So all that is put down adds up to what the job takes
// longer beside all of them. A part is divided among cables by how much longer the job's
// packets waited for each.
type jobsBlame struct {
	graph *topology.Graph
	parts []blamedPart
}

// blamedPart is what a job does to another.
type blamedPart struct {
	victim, by string
	seconds    float64
	alone      float64
	waits      []int64 // by channel, cycles by which they went up; 0 where they went down
	total      int64   // of these
}

// blame runs what it takes, but for the jobs alone, which have been run.
func (r *jobsRun) blame(single []*jobsOutcome) (*jobsBlame, error) {
	b := &jobsBlame{}
	for victim := range r.plan.jobs {
		before := single[victim]
		if before == nil {
			continue // a background
		}
		alone := r.elapsed(before, victim)
		active := r.only(victim)
		for by := range r.plan.jobs {
			if by == victim {
				continue
			}
			active[by] = true
			now, err := r.simulate(active, victim)
			if err != nil {
				return nil, err
			}
			part := blamedPart{victim: r.plan.jobs[victim].Name, by: r.plan.jobs[by].Name, alone: alone, waits: make([]int64, len(now.waits))}
			part.seconds = r.likeAlone(now, single[victim], victim) - r.likeAlone(before, single[victim], victim)
			for i := range now.waits {
				part.waits[i] = max(0, now.waits[i]-before.waits[i])
				part.total += part.waits[i]
			}
			b.graph, before = now.graph, now
			b.parts = append(b.parts, part)
		}
	}
	return b, nil
}

// leastBlame is the part of what a job does to another from which on a cable has a line of its own.
const leastBlame = 0.002

// write writes a line for each cable, and one for all that have little together.
func (b *jobsBlame) write(run *experiments.Run) {
	t := run.Table(jobBlameTable)
	for _, p := range b.parts {
		rest := 1.0
		add := func(from, to, class string, share float64) {
			t.Add(p.victim, p.by, from, to, class, p.seconds*share, p.seconds*share/p.alone, share)
		}
		if p.total > 0 && p.seconds != 0 {
			for i, wait := range p.waits {
				share := float64(wait) / float64(p.total)
				if share < leastBlame {
					continue
				}
				from, to, class := telemetry.ChannelEnds(b.graph, i)
				add(from, to, class, share)
				rest -= share
			}
		}
		if math.Abs(rest) >= 1e-12 {
			add("", "", "others", rest)
		}
	}
}
