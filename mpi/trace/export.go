package trace

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/goal"
	"github.com/weft-sim/weft/sim"
)

// Export writes the programs of jobs, with times in ns, as a schedule in which their ranks follow
// each other. Each job repeats its program at least once, and ends with that. Rounds of a schedule of collectives wait for all of
// the round before; what another program releases waits for the operation that released it, and
// times that it makes depend on its own past are as on a machine on which messages take
// no time. Memory: the schedule, and the runs of a program.
func Export(name string, jobs []mpi.Job) (*goal.Schedule, *Report, error) {
	if len(jobs) == 1 && jobs[0].Start < sim.Nanosecond && jobs[0].Repeat == 1 {
		if g := goal.Of(jobs[0].Program()); g != nil {
			return g, Whole(g), nil
		}
	}
	ranks := 0
	for i := range jobs {
		ranks += jobs[i].Program().Ranks()
	}
	x := &exporter{Builder: goal.NewBuilder(name, ranks), report: Report{Place: func() string { return name }}}
	for i := range jobs {
		if err := x.job(&jobs[i]); err != nil {
			return nil, nil, err
		}
	}
	g, err := x.Schedule()
	return g, &x.report, err
}

// exporter is an export under way.
type exporter struct {
	*goal.Builder
	report Report
	first  int32 // rank of the job
}

func (x *exporter) job(j *mpi.Job) error {
	runs := []mpi.Workload{j.Program()}
	ranks := int32(runs[0].Ranks())
	for r := range ranks {
		x.Rank()
		var before []int32 // what the next run waits for
		if j.Start >= sim.Nanosecond {
			start, err := x.add(&mpi.Op{Kind: mpi.Calc, Wait: true, Size: int64(j.Start / sim.Nanosecond)})
			if err != nil {
				return err
			}
			before = []int32{start}
		}
		for i := range j.Repeat {
			if i == len(runs) {
				runs = append(runs, j.Program())
			}
			var err error
			if g := goal.Of(runs[i]); g != nil {
				before, err = x.copy(g, int(r), before)
			} else {
				before, err = x.run(runs[i], r, before)
			}
			if err != nil {
				return err
			}
		}
	}
	x.first += ranks
	return nil
}

// add appends an operation of a program and counts it.
func (x *exporter) add(op *mpi.Op) (int32, error) {
	peer := op.Peer
	if op.Kind != mpi.Calc && peer != mpi.Any {
		peer += x.first
	}
	note := ""
	switch {
	case op.Wait:
		note = "a wait until a time, which becomes a computation"
	case op.Copy:
		note = "a copy inside the rank, which becomes a computation"
	case op.Control:
		note = "it only synchronises, and becomes a message as others"
	case op.Protocol != 0:
		note = "how it travels is left to the replay"
	}
	x.report.Noted(op.Kind.String(), note)
	return x.Add(op.Kind, op.Size, peer, op.Tag)
}

// mostPairs is how many pairs of operations wait for each other one by one. More do through an
// operation of no time, which on a CPU with messages to take in has to wait its turn.
const mostPairs = 1 << 12

// after makes operations wait for others.
func (x *exporter) after(before, ops []int32) error {
	if len(before)*len(ops) > mostPairs {
		joint, err := x.Add(mpi.Calc, 0, 0, 0)
		if err != nil {
			return err
		}
		for _, b := range before {
			x.After(b, joint)
		}
		before = []int32{joint}
	}
	for _, b := range before {
		for _, op := range ops {
			x.After(b, op)
		}
	}
	return nil
}

// copy appends a rank of a schedule behind operations, and returns its last ones.
func (x *exporter) copy(g *goal.Schedule, rank int, before []int32) (last []int32, err error) {
	var ids, first []int32
	leads := map[int32]bool{}
	err = g.Steps(rank, func(s goal.Step) error {
		id, err := x.add(&s.Op)
		if err != nil {
			return err
		}
		if ids = append(ids, id); len(s.After) == 0 {
			first = append(first, id)
		}
		for _, b := range s.After { // which may come later
			b += id - s.ID
			x.After(b, id)
			leads[b] = true
		}
		return nil
	})
	for _, id := range ids {
		if !leads[id] {
			last = append(last, id)
		}
	}
	if err == nil {
		err = x.after(before, first)
	}
	if len(last) == 0 {
		last = before // the rank has nothing to do
	}
	return last, err
}

// released is an operation that a run has handed out.
type released struct {
	id, number int32 // of the run, of the schedule
	start, end int64 // on a machine on which messages take no time
}

// run appends what a run hands out for a rank behind operations, and returns the last ones.
func (x *exporter) run(w mpi.Workload, rank int32, before []int32) (last []int32, err error) {
	_, rounds := w.(*mpi.ScheduleRun)
	var queue []released
	release := func(ops []mpi.Op, at int64) (numbers []int32, err error) {
		for i := range ops {
			n, err := x.add(&ops[i])
			if err != nil {
				return nil, err
			}
			end := at
			if ops[i].Kind == mpi.Calc {
				end += ops[i].Size
			}
			queue, numbers = append(queue, released{ops[i].ID, n, at, end}), append(numbers, n)
		}
		return numbers, nil
	}
	numbers, err := release(w.Start(rank, nil), 0)
	if err == nil {
		err = x.after(before, numbers)
	}
	for len(queue) > 0 && err == nil {
		op := queue[0]
		queue = queue[1:]
		var started []int32
		if started, err = release(w.Started(rank, op.id, op.start, nil), op.start); err != nil {
			break
		}
		for _, n := range started {
			x.AfterStart(op.number, n)
		}
		if numbers, err = release(w.Done(rank, op.id, op.end, nil), op.end); err != nil {
			break
		}
		last = append(last, op.number)
		if len(numbers) == 0 {
			continue
		}
		if rounds {
			err = x.after(last, numbers)
			last = last[:0]
		} else {
			err = x.after(last[len(last)-1:], numbers)
			last = last[:len(last)-1]
		}
	}
	if len(last) == 0 {
		last = before
	}
	return last, err
}

// Outcome is what becomes of an operation of a trace.
type Outcome uint8

// The outcomes.
const (
	Replayed     Outcome = iota
	Approximated         // replayed, but for what the note says
	Refused              // left out, which is an error unless the settings allow it
)

// String is the word for the outcome.
func (o Outcome) String() string { return [...]string{"replayed", "approximated", "refused"}[o] }

// Report counts the operations of a trace by what became of them.
type Report struct {
	// Place tells where the trace is read, for messages.
	Place  func() string
	counts map[line]int64
	first  map[line]string // where operations of a line were met first
}

// line is an outcome of operations of one name.
type line struct {
	outcome         Outcome
	operation, note string
}

// Count counts an operation; the note says why it is not replayed as it stands.
func (r *Report) Count(outcome Outcome, operation, note string) {
	r.CountAll(1, outcome, operation, note)
}

// Noted counts an operation that is replayed, but for what a note says if there is one.
func (r *Report) Noted(operation, note string) {
	outcome := Replayed
	if note != "" {
		outcome = Approximated
	}
	r.Count(outcome, operation, note)
}

// Refusal says why an operation is left out.
type Refusal string

// Error is the reason.
func (r Refusal) Error() string { return string(r) }

// UnknownRanks is why nothing on a communicator is replayed of which no more is known.
const UnknownRanks = Refusal("on a communicator whose ranks are not known")

// Done counts an operation as [Report.Noted] does, or as refused where err is a [Refusal]. It
// returns any other error.
func (r *Report) Done(operation, note string, err error) error {
	var refusal Refusal
	if errors.As(err, &refusal) {
		r.Count(Refused, operation, string(refusal))
		return nil
	}
	if err == nil {
		r.Noted(operation, note)
	}
	return err
}

// CountAll counts n operations.
func (r *Report) CountAll(n int64, outcome Outcome, operation, note string) {
	if r.counts == nil {
		r.counts, r.first = map[line]int64{}, map[line]string{}
	}
	l := line{outcome, operation, note}
	if r.counts[l] == 0 {
		r.first[l] = r.Place()
	}
	r.counts[l] += n
}

// lines are the outcomes in the order of the report.
func (r *Report) lines() []line {
	return slices.SortedFunc(maps.Keys(r.counts), func(a, b line) int {
		return cmp.Or(cmp.Compare(a.outcome, b.outcome), cmp.Compare(a.operation, b.operation), cmp.Compare(a.note, b.note))
	})
}

// Notes are the outcomes other than a plain replay.
func (r *Report) Notes() (notes []string) {
	for _, l := range r.lines() {
		if l.outcome != Replayed {
			notes = append(notes, fmt.Sprintf("%d x %s %s: %s", r.counts[l], l.operation, l.outcome, l.note))
		}
	}
	return notes
}

// Write writes a line for every outcome of an operation.
func (r *Report) Write(w io.Writer) error {
	for _, l := range r.lines() {
		note := l.note
		if note != "" {
			note = ": " + note
		}
		if _, err := fmt.Fprintf(w, "%-12s %10d  %s%s\n", l.outcome, r.counts[l], l.operation, note); err != nil {
			return err
		}
	}
	return nil
}

// refusal is what is wrong with a trace of which something would be left out.
func (r *Report) refusal() error {
	var problems []error
	for _, l := range r.lines() {
		if l.outcome == Refused {
			problems = append(problems, fmt.Errorf("%s: %d x %s cannot be replayed: %s (drop leaves them out)", r.first[l], r.counts[l], l.operation, l.note))
		}
	}
	return errors.Join(problems...)
}

// Whole is the report of a schedule that is replayed as it stands.
func Whole(g *goal.Schedule) *Report {
	r := &Report{counts: map[line]int64{}}
	for _, kind := range []mpi.Kind{mpi.Send, mpi.Recv, mpi.Calc} {
		if n, _ := g.Count(kind); n > 0 {
			r.counts[line{operation: kind.String()}] = n
		}
	}
	return r
}
