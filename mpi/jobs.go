package mpi

import (
	"fmt"
	"slices"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/lists"
)

// Job is a program that runs beside others on ranks of its own.
type Job struct {
	Name  string
	Ranks int
	// Program begins the program once more, with times in picoseconds.
	Program func() Workload
	Start   sim.Time // of its first run
	Repeat  int      // runs of each rank; 0: until all jobs that have a number are through
	Until   sim.Time // from when on no rank begins a further run; 0: none
	Idle    bool     // ranks take their places and do nothing
}

// JobsRun is a workload of several jobs: their ranks follow each other.
type JobsRun struct {
	jobs  []jobRun
	jobOf []uint16 // by rank
	ranks []jobRank
	costs Costs
	parts []*JobsRun
	order bool  // all programs are schedules
	bound int32 // ranks of jobs with a number of runs that are not through
	timed bool  // the time decides about runs: that needs one thread
}

// jobRun is a job under way, in a part.
type jobRun struct {
	Job
	first    int32
	schedule bool       // of which all operations of a round begin in their order
	runs     []Workload // by repetition
	granted  int32      // runs that ranks may begin
	over     bool       // there are no more
	ends     []int64    // likewise: when the last rank was through
}

// jobRank is how far a rank has come; each belongs to one part.
type jobRank struct {
	run     int32 // of its job
	open    int32 // operations under way
	end     int64 // of its last operation; before the first, when the rank is there
	through bool
	idle    bool // its program has nothing for it
}

// NewJobs begins jobs. costs hold for local work whose cost programs leave open.
func NewJobs(jobs []Job, costs Costs) *JobsRun {
	w := &JobsRun{costs: costs, order: true}
	for i, job := range jobs {
		w.jobs = append(w.jobs, jobRun{Job: job, first: int32(len(w.jobOf))})
		for range job.Ranks {
			w.jobOf = append(w.jobOf, uint16(i))
		}
		if job.Idle {
			continue
		}
		j := &w.jobs[i]
		_, j.schedule = job.Program().(*ScheduleRun)
		w.order = w.order && j.schedule
		w.timed = w.timed || job.Repeat == 0 || job.Until > 0
		if job.Repeat > 0 {
			w.bound += int32(job.Ranks)
		}
	}
	w.ranks = make([]jobRank, len(w.jobOf))
	return w
}

// Part implements [Divisible]: a part has programs of its own, of which it runs its own ranks.
func (w *JobsRun) Part() Workload {
	p := *w
	p.jobs = append([]jobRun(nil), w.jobs...)
	w.parts = append(w.parts, &p)
	return &p
}

// Ends are the times in picoseconds at which all of a job's ranks had completed each repetition.
func (w *JobsRun) Ends(job int) []int64 {
	j := &w.jobs[job]
	ranks := w.ranks[j.first:][:j.Ranks]
	busy := slices.ContainsFunc(ranks, func(r jobRank) bool { return !r.idle })
	complete := -1
	for i := range ranks {
		if n := int(ranks[i].run); !(busy && ranks[i].idle) && (complete < 0 || n < complete) {
			complete = n
		}
	}
	ends := make([]int64, max(0, complete))
	for _, p := range append(w.parts, w) {
		for i, end := range p.jobs[job].ends {
			if i < len(ends) {
				ends[i] = max(ends[i], end)
			}
		}
	}
	return ends
}

// End is when a rank was through with all it had to do, in picoseconds.
func (w *JobsRun) End(rank int) int64 { return w.ranks[rank].end }

// Jobs are the numbers of jobs by rank; they must not be changed.
func (w *JobsRun) Jobs() []uint16 { return w.jobOf }

// First is the first rank of a job.
func (w *JobsRun) First(job int) int { return int(w.jobs[job].first) }

// Ranks implements [Workload]: the ranks of all jobs, one job behind the other.
func (w *JobsRun) Ranks() int { return len(w.ranks) }

// CPUs and NICs implement [Workload]: the most of any job, at least 1.
func (w *JobsRun) CPUs() int { return w.most(Workload.CPUs) }
func (w *JobsRun) NICs() int { return w.most(Workload.NICs) }

// most is the greatest number of any job's program, at least 1.
func (w *JobsRun) most(of func(Workload) int) int {
	n := 1
	for i := range w.jobs {
		n = max(n, of(w.jobs[i].Program()))
	}
	return n
}

// Unreleased is the number of ranks that are not through.
func (w *JobsRun) Unreleased() (n int64) {
	for r := range w.ranks {
		if !w.ranks[r].through {
			n++
		}
	}
	return n
}

// Where implements [Workload]: the job, the rank in it and the run of its program, from 1 on.
func (w *JobsRun) Where(rank, id int32) string {
	j := &w.jobs[w.jobOf[rank]]
	run := int(w.ranks[rank].run)
	if id == startID || run >= len(j.runs) {
		return fmt.Sprintf("job %s, rank %d", j.Name, rank-j.first)
	}
	return fmt.Sprintf("job %s, rank %d, run %d, %s", j.Name, rank-j.first, run+1, j.runs[run].Where(rank-j.first, id))
}

// startID is the ID of the wait for a job's start.
const startID = -1

// Start implements [Workload]. Ranks of idle jobs are through at once; others wait for their job's
// start.
func (w *JobsRun) Start(rank int32, dst []Op) []Op {
	j := &w.jobs[w.jobOf[rank]]
	if j.Idle {
		w.ranks[rank].through = true
		return dst
	}
	if j.Start > 0 {
		w.ranks[rank].open = 1
		return append(dst, Op{ID: startID, Kind: Calc, Wait: true, Size: int64(j.Start)})
	}
	return w.begin(j, rank, w.ranks[rank].end, dst)
}

// Started implements [Workload].
func (w *JobsRun) Started(rank, id int32, now int64, dst []Op) []Op {
	if id == startID {
		return dst
	}
	j, r := &w.jobs[w.jobOf[rank]], &w.ranks[rank]
	before := len(dst)
	return w.own(j, r, before, j.runs[r.run].Started(rank-j.first, id, now, dst))
}

// Done implements [Workload]. Behind a rank's last operation its program begins again, if the job
// wants that.
func (w *JobsRun) Done(rank, id int32, now int64, dst []Op) []Op {
	j, r := &w.jobs[w.jobOf[rank]], &w.ranks[rank]
	r.open--
	r.end = max(r.end, now)
	if id == startID {
		return w.begin(j, rank, r.end, dst)
	}
	before := len(dst)
	if dst = w.own(j, r, before, j.runs[r.run].Done(rank-j.first, id, now, dst)); r.open > 0 {
		return dst
	}
	w.ended(j, r)
	return w.begin(j, rank, r.end, dst)
}

// own takes up the operations from before on that a job's program has released.
func (w *JobsRun) own(j *jobRun, r *jobRank, before int, ops []Op) []Op {
	for i := before; i < len(ops); i++ {
		if ops[i].Kind != Calc && ops[i].Peer != Any {
			ops[i].Peer += j.first
		}
	}
	r.open += int32(len(ops) - before)
	return ops
}

func (w *JobsRun) ended(j *jobRun, r *jobRank) {
	for len(j.ends) <= int(r.run) {
		j.ends = append(j.ends, 0)
	}
	j.ends[r.run] = max(j.ends[r.run], r.end)
	r.run++
}

// begin begins a rank's next run from time now on, unless it was the last.
func (w *JobsRun) begin(j *jobRun, rank int32, now int64, dst []Op) []Op {
	r := &w.ranks[rank]
	for w.goesOn(j, r, now) {
		for len(j.runs) <= int(r.run) {
			j.runs = append(j.runs, j.Program())
		}
		if s, ok := j.runs[r.run].(*ScheduleRun); ok {
			s.ranks[rank-j.first].ready = now
		}
		before := len(dst)
		dst = w.own(j, r, before, j.runs[r.run].Start(rank-j.first, dst))
		for i := before; i < len(dst); i++ {
			dst[i].Ready = now
		}
		if r.open > 0 {
			return dst
		}
		w.ended(j, r)
		if j.Repeat == 0 || j.Until > 0 {
			r.idle = true
			break // in no run: those with something to do decide how many there are
		}
	}
	r.through = true
	if j.Repeat > 0 && w.timed {
		w.bound--
	}
	return dst
}

// goesOn tells whether a rank has another run. If that depends on the time, the first rank that
// asks decides for its job: messages would find no receiver otherwise.
func (w *JobsRun) goesOn(j *jobRun, r *jobRank, now int64) bool {
	switch {
	case r.run < j.granted:
		return true
	case j.over || j.Repeat > 0 && int(r.run) == j.Repeat:
		return false
	case j.Until > 0 && r.run > 0 && now >= int64(j.Until), j.Repeat == 0 && w.bound == 0:
		j.over = true
		return false
	}
	j.granted = r.run + 1
	return true
}

// Timed is a schedule that repeats an operation and times it as benchmarks do: on every rank from
// call to end, without what lies between.
type Timed interface {
	Phased
	// Operations is the number of operations that are timed.
	Operations() int
	// Timed tells whether a round belongs to one of them.
	Timed(rank, round int) bool
}

// Operations counts all iterations but the first, which makes connections; a single one counts.
func (s *Iterated) Operations() int { return max(1, s.times-1) }

// Timed implements [Timed].
func (s *Iterated) Timed(rank, round int) bool {
	n := s.rounds.of(rank)
	return (s.times == 1 || uint32(round) >= n) && uint32(round)%n < s.timed.of(rank)
}

// isTimed tells whether the round at hand is timed.
func (w *ScheduleRun) isTimed(rank int32, p *rankProgress) bool {
	return w.timed != nil && w.timed.Timed(int(rank), int(p.round))
}

// OperationTimes is the mean time of a Timed schedule's operations on each rank, in the machine's
// unit (len = ranks); else nil.
func (w *ScheduleRun) OperationTimes() []float64 {
	if w.timed == nil {
		return nil
	}
	return lists.Map(w.ranks, func(r rankProgress) float64 { return float64(r.spent) / float64(w.timed.Operations()) })
}

// OperationTimes are the times of a job's ranks' operations, on average over its runs, in
// picoseconds; nil without any.
func (w *JobsRun) OperationTimes(job int) []float64 {
	var times []float64
	for _, p := range append(w.parts, w) {
		for _, run := range p.jobs[job].runs {
			s, ok := run.(*ScheduleRun)
			if !ok || s.timed == nil {
				return nil
			}
			if times == nil {
				times = make([]float64, w.jobs[job].Ranks)
			}
			for r, t := range s.OperationTimes() { // 0 of another part's ranks
				times[r] += t / float64(max(1, w.ranks[w.First(job)+r].run))
			}
		}
	}
	return times
}
