package mpi

// Timed is a schedule that repeats an operation and times it as benchmarks do: on every rank from its
// call to its end, without what lies between two calls.
type Timed interface {
	Phased
	// Operations is the number of operations that are timed.
	Operations() int
	// Timed tells whether a round belongs to one of them.
	Timed(rank, round int) bool
}

// Operations counts all iterations but the first, in which connections are made; a single one counts.
func (s *Iterated) Operations() int { return max(1, s.times-1) }

// Timed implements [Timed].
func (s *Iterated) Timed(rank, round int) bool {
	n := s.rounds[rank]
	return (s.times == 1 || uint32(round) >= n) && uint32(round)%n < s.timed[rank]
}

// isTimed tells whether the round at hand is timed.
func (w *ScheduleRun) isTimed(rank int32, p *rankProgress) bool {
	return w.timed != nil && w.timed.Timed(int(rank), int(p.round))
}

// OperationTimes is how long the operations of a schedule that is Timed take on each rank, on average,
// in the machine's unit (len = ranks); nil of other schedules.
func (w *ScheduleRun) OperationTimes() []float64 {
	if w.timed == nil {
		return nil
	}
	times := make([]float64, len(w.ranks))
	for r := range times {
		times[r] = float64(w.ranks[r].spent) / float64(w.timed.Operations())
	}
	return times
}

// OperationTimes are the times of the operations of a job's ranks, on average over its runs, in picoseconds;
// nil if its program has none.
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
