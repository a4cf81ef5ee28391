package trace

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/goal"
)

// Outcome is what becomes of an operation of a trace.
type Outcome uint8

// The outcomes.
const (
	Replayed     Outcome = iota
	Approximated         // replayed, but for what the note says
	Refused              // left out, which is an error unless the settings allow it
)

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
	var lines []line
	for l := range r.counts {
		lines = append(lines, l)
	}
	slices.SortFunc(lines, func(a, b line) int {
		return cmp.Or(cmp.Compare(a.outcome, b.outcome), cmp.Compare(a.operation, b.operation), cmp.Compare(a.note, b.note))
	})
	return lines
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
