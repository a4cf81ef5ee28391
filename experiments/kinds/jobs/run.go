package jobs

import (
	"context"
	"math"
	"slices"

	"github.com/weft-sim/weft/experiments"
	kind "github.com/weft-sim/weft/experiments/kinds/mpi"
	"github.com/weft-sim/weft/experiments/kinds/telemetry"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/observe"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/adapters"
	"github.com/weft-sim/weft/mpi/skeletons"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/stats"
)

// jobsRun is a point under way: a replication after the other, each with all jobs together
// and, where that is asked for, with some of them.
type jobsRun struct {
	*jobsConfig
	ctx      context.Context
	run      *experiments.Run
	seed     uint64 // of the replication
	plan     *jobPlan
	before   int64         // events of earlier simulations
	timeline *mpi.Timeline // of the next simulation; nil: none
}

// jobsOutcome is what a simulation of some jobs comes to. Times are in picoseconds.
type jobsOutcome struct {
	ends    [][]int64 // by job and repetition; of idle jobs none
	ranks   []int64   // when each was through
	graph   *topology.Graph
	flits   []uint32 // by channel and virtual channel
	timings []fabric.ChannelTiming
	end     int64   // cycle
	waits   []int64 // of the packets of the observed job, by channel, in cycles

	latency    []stats.Histogram     // of messages, by job
	operations []kind.OperationTimes // by job
}

// jobSums sums up the replications of a job.
type jobSums struct {
	runs, together, alone, slowdown stats.Running   // times in seconds
	beside, single                  stats.Histogram // latency of messages beside the others and alone
	operations                      operationSums
}

func runJobs(ctx context.Context, c *jobsConfig, run *experiments.Run) (jobsRow, error) {
	r := &jobsRun{jobsConfig: c, ctx: ctx, run: run}
	var elapsed stats.Running
	var sums []jobSums
	var links telemetry.Carried
	var graph *topology.Graph
	var blame *jobsBlame
	for i := range c.Measure.Replications {
		r.seed = run.SeedOf(i)
		var err error
		if r.plan, err = c.plan(r.seed); err != nil {
			return jobsRow{}, err
		}
		if c.Measure.Timeline && i == 0 {
			r.timeline = telemetry.NewTimeline(len(r.plan.hosts))
		}
		if sums == nil {
			sums = make([]jobSums, len(r.plan.jobs))
		}
		all, err := r.simulate(slices.Repeat([]bool{true}, len(r.plan.jobs)), none)
		if err != nil {
			return jobsRow{}, err
		}
		if r.timeline != nil {
			r.writeTimeline(all)
			r.timeline = nil
		}
		graph = all.graph
		links.Add(all.flits, graph.NumPorts()+graph.Terminals(), all.end)
		links.Timings = all.timings
		last := 0.0
		single := make([]*jobsOutcome, len(sums))
		for j := range r.plan.jobs {
			s := &sums[j]
			s.runs.Add(float64(len(all.ends[j])))
			s.beside.Merge(&all.latency[j])
			s.operations.add(all.operations[j])
			if r.plan.jobs[j].Repeat == 0 || len(all.ends[j]) == 0 {
				continue
			}
			last = max(last, float64(all.ends[j][len(all.ends[j])-1])*1e-12)
			beside := r.elapsed(all, j)
			s.together.Add(beside)
			if !c.Measure.Alone {
				continue
			}
			observed := none
			if c.Measure.Blame && i == 0 {
				observed = j
			}
			if single[j], err = r.simulate(r.only(j), observed); err != nil {
				return jobsRow{}, err
			}
			t := r.elapsed(single[j], j)
			s.single.Merge(&single[j].latency[j])
			s.alone.Add(t)
			if t > 0 { // of a job that takes no time there is no slowdown
				s.slowdown.Add(r.likeAlone(all, single[j], j) / t)
			}
		}
		elapsed.Add(last)
		if i > 0 {
			continue
		}
		if c.Measure.Ranks {
			r.writeRanks(all, single)
		}
		if c.Measure.Blame {
			if blame, err = r.blame(single); err != nil {
				return jobsRow{}, err
			}
		}
	}
	run.Replications = c.Measure.Replications
	row := r.sumUp(sums)
	row.Elapsed = elapsed.Mean()
	if len(r.plan.batch) > 0 {
		t := run.Table(tables.Named("batch"))
		for i := range r.plan.batch {
			b := &r.plan.batch[i]
			t.Add(b.name, r.plan.tables[i].Program.Name(), b.nodes, b.submit, b.start-b.submit, b.start, b.end(), results.IndexList(slices.Sorted(slices.Values(b.hosts))), sums[i].slowdown.Mean())
		}
	}
	if c.Measure.Links {
		telemetry.WriteLinks(run, graph, &links)
	}
	if blame != nil {
		blame.write(run)
	}
	return row, nil
}

// sumUp writes the table of jobs.
func (r *jobsRun) sumUp(sums []jobSums) jobsRow {
	row := jobsRow{Jobs: len(sums), Slowdown: math.NaN(), CI95: math.NaN()}
	table := r.run.Table(tables.Named("jobs"))
	var mean stats.Running
	for j, job := range r.plan.jobs {
		t, s := &r.plan.tables[j], &sums[j]
		table.Add(append([]any{job.Name, t.Program.Name(), t.Placement.Name(), job.Ranks, job.Start.Seconds(), s.runs.Mean(), s.together.Mean(), stats.Finite(s.together.HalfWidth(0.95)),
			s.alone.Mean(), s.slowdown.Mean(), stats.Finite(s.slowdown.HalfWidth(0.95)), s.beside.N(), s.beside.Quantile(0.99) * 1e-12, s.single.Quantile(0.99) * 1e-12}, lists.Map(s.operations[:], func(x stats.Running) any { return x.Mean() })...)...)
		if s.slowdown.N() == 0 {
			continue
		}
		slowdown := s.slowdown.Mean()
		mean.Add(slowdown)
		if !(row.Slowdown >= slowdown) {
			row.Slowdown, row.CI95, row.Slowest = slowdown, stats.Finite(s.slowdown.HalfWidth(0.95)), job.Name
		}
	}
	row.Mean = mean.Mean()
	return row
}

// none is in place of the job whose packets are observed.
const none = -1

// only tells that one job runs.
func (r *jobsRun) only(job int) []bool {
	active := make([]bool, len(r.plan.jobs))
	active[job] = true
	return active
}

// elapsed is the time of a job from its start to the end of its last repetition, in seconds;
// a job that has nothing to do takes none.
func (r *jobsRun) elapsed(o *jobsOutcome, job int) float64 {
	ends := o.ends[job]
	if len(ends) == 0 {
		return 0
	}
	return float64(ends[len(ends)-1]-int64(r.plan.jobs[job].Start)) * 1e-12
}

// likeAlone is the time of a job for as many repetitions as it has alone: other than elapsed where
// it runs until a time.
func (r *jobsRun) likeAlone(o, alone *jobsOutcome, job int) float64 {
	t := r.elapsed(o, job)
	if n, want := len(o.ends[job]), len(alone.ends[job]); n != want && n > 0 {
		t *= float64(want) / float64(n)
	}
	return t
}

// simulate runs the active jobs: the others have their places and do nothing, so that all
// that is drawn for ranks, hosts and switches stays what it is. Of the observed job it finds
// out where its packets wait.
func (r *jobsRun) simulate(active []bool, observed int) (*jobsOutcome, error) {
	m := r.mpi()
	m.Placement.Nodes = lists.Map(r.plan.hosts, func(h int32) int { return int(h) })
	config, err := m.Runtime(r.seed)
	if err != nil {
		return nil, err
	}
	jobs := append([]mpi.Job(nil), r.plan.jobs...)
	for j := range jobs {
		jobs[j].Idle = !active[j]
	}
	w := mpi.NewJobs(jobs, r.Local.Costs())
	config.Progress = r.run.CountEvents(r.ctx, r.before)
	own := &adapters.Jobs{Of: w.Jobs(), Count: len(jobs)}
	for i := range r.plan.tables {
		if r.levels() > 1 {
			own.Levels = append(own.Levels, uint8(r.plan.tables[i].Level))
		}
	}
	f, err := m.Open(&config.Adapter, r.run, r.seed, r.levels(), own)
	if err != nil {
		return nil, err
	}
	var blame *observe.Blame
	if observed != none {
		blame = observe.StartBlame(f.Fabric, telemetry.WholeRun())
		hosts, first := f.Graph().Hosts(), w.First(observed)
		blame.Sources = make([]bool, f.Graph().Terminals())
		for _, h := range r.plan.hosts[first : first+r.plan.jobs[observed].Ranks] {
			blame.Sources[hosts[h][0]] = true
		}
	}
	if config.Timeline = r.timeline; r.timeline != nil {
		f.All = observe.StartTrace(f.Fabric, telemetry.WholeRun(), observe.TracePlan{})
	}
	config.Divide = f.Divide
	result, err := config.Run(w)
	if _, err = f.End(err); err != nil {
		return nil, kind.Stopped(r.ctx, err)
	}
	config.Progress(int64(result.Stats.Events))
	r.before += int64(result.Stats.Events)
	o := &jobsOutcome{graph: f.Graph(), flits: f.ChannelFlits(), end: f.Adapters.Over(), latency: f.Adapters.Latencies()}
	if o.timings, err = f.Config.ChannelTimings(f.Graph()); err != nil {
		return nil, err
	}
	for j := range jobs {
		o.ends = append(o.ends, w.Ends(j))
		t := &r.plan.tables[j]
		program, _ := t.Program.BuildShared(skeletons.Env{Ranks: t.Ranks, PerNode: t.PerNode})
		o.operations = append(o.operations, kind.BenchmarkTimes(program, w.OperationTimes(j), 1e-12))
	}
	for rank := range w.Ranks() {
		o.ranks = append(o.ranks, w.End(rank))
	}
	if blame != nil {
		for _, parts := range blame.Links() {
			o.waits = append(o.waits, parts.Waiting()+parts[core.PartSource])
		}
	}
	return o, nil
}

// writeTimeline writes what the ranks of all jobs have done, and the critical path of each job
// that has a number of repetitions.
func (r *jobsRun) writeTimeline(all *jobsOutcome) {
	var jobOf, first []int
	var names []string
	for j, job := range r.plan.jobs {
		names = append(names, job.Name)
		first = append(first, len(jobOf))
		jobOf = append(jobOf, slices.Repeat([]int{j}, job.Ranks)...)
	}
	w := &telemetry.TimelineWriter{Timeline: r.timeline, Graph: all.graph, Jobs: names, JobOf: func(rank int) (int, int) { return jobOf[rank], rank - first[jobOf[rank]] }}
	for j, job := range r.plan.jobs {
		ends := all.ranks[first[j] : first[j]+job.Ranks]
		if last := slices.Max(ends); job.Repeat > 0 {
			w.Path(job.Name, first[j]+slices.Index(ends, last), sim.Time(last))
		}
	}
	w.Write(r.run)
}

// writeRanks writes where every rank is and when it was through, beside the others and alone.
func (r *jobsRun) writeRanks(all *jobsOutcome, single []*jobsOutcome) {
	t := r.run.Table(tables.Named("job_ranks"))
	at := 0
	for j, job := range r.plan.jobs {
		for rank := range job.Ranks {
			alone := math.NaN()
			if single[j] != nil {
				alone = sim.Time(single[j].ranks[at]).Nanoseconds()
			}
			t.Add(job.Name, rank, int(r.plan.hosts[at]), sim.Time(all.ranks[at]).Nanoseconds(), alone)
			at++
		}
	}
}

// jobsBlame says by how much each job slows each other one, and at which cables. The others are
// added to a job one after another, in the order of their names; what the job takes longer with one
// more is put down to that one. So all that is put down adds up to what the job takes longer beside
// all of them. A part is divided among cables by how much longer the job's packets waited for each.
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

func (b *jobsBlame) write(run *experiments.Run) {
	t := run.Table(tables.Named("job_blame"))
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

// operationSums sums up the columns over replications.
type operationSums [7]stats.Running

// add counts another replication.
func (s *operationSums) add(o kind.OperationTimes) {
	for i, x := range [...]float64{o.Mean, o.Least, o.Most, o.Bandwidth, o.Messages, o.AlgBW, o.BusBW} {
		s[i].Add(x)
	}
}
