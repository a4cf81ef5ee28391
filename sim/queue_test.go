package sim

import (
	"slices"
	"testing"

	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/snapshot"
)

// TestFIFO: items that come and go at random against a list, and through a snapshot.
func TestFIFO(t *testing.T) {
	var q FIFO[int]
	var want []int
	s := NewStream(1, "fifo", 0)
	for i := range 2000 {
		if len(want) > 0 && s.IntN(9) < 4 {
			got := q.Take()
			simtest.FatalIf(t, got != want[0], "%d is taken, want %d", got, want[0])
			want = want[1:]
		} else {
			q.Put(i)
			want = append(want, i)
		}
	}
	w := snapshot.Writer()
	q.Archive(w)
	var again FIFO[int]
	again.Put(1)
	again.Archive(snapshot.Reader(w.Bytes()))
	var got []int
	for again.Len() > 0 {
		got = append(got, again.Take())
	}
	simtest.ErrorIf(t, !slices.Equal(got, want) || *q.At(q.Len() - 1) != want[len(want)-1], "%v, want %v", got, want)
}
