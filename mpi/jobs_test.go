package mpi

import (
	"testing"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestOperationTimes: on LogGOPS with o = 100, L = 1,000 and nothing else, rank 0 sends to rank 1 and
// computes 500, the send first, and rank 1 has taken in the message 100 + 1,000 + 100 = 1,200 after rank 0
// began. Rank 0 is through with the operation after 100 + 500 = 600. Where it then computes 400 apart from
// the operation, it begins every 1,000, and rank 1, which waits in its operation, ends one every 1,000.
func TestOperationTimes(t *testing.T) {
	operation := collectives.Uniform(2, 1, func(rank, _ int, dst []collectives.Op) []collectives.Op {
		if rank == 1 {
			return append(dst, collectives.RecvOp(0, 0, 1))
		}
		return append(dst, collectives.SendOp(1, 0, 1), collectives.Op{Kind: collectives.Compute, Time: 500 * sim.Nanosecond})
	})
	apart := collectives.Uniform(2, 1, func(rank, _ int, dst []collectives.Op) []collectives.Op {
		if rank == 1 {
			return dst
		}
		return append(dst, collectives.Op{Kind: collectives.Compute, Time: 400 * sim.Nanosecond})
	})
	machine := LogGOPS{L: 1000, Overhead: 100, Eager: 1000}
	for _, c := range []struct {
		name string
		s    *Iterated
		want []float64
	}{
		{"once", Iterate(operation, 1), []float64{600, 1200}},
		{"thrice", Iterate(operation, 3), []float64{600, 600}},
		{"apart, once", IterateApart(operation, apart, 1), []float64{600, 1200}},
		{"apart, thrice", IterateApart(operation, apart, 3), []float64{600, 1000}},
	} {
		w := RunSchedule(c.s, Costs{}, sim.Nanosecond)
		_, err := machine.Run(w, nil)
		simtest.FatalIf(t, err != nil, "%v", err)
		simtest.EqualSlices(t, w.OperationTimes(), c.want, "%s:", c.name)
	}
	w := RunSchedule(operation, Costs{}, sim.Nanosecond)
	got := w.OperationTimes()
	simtest.ErrorIf(t, got != nil, "a schedule without iterations has times, %v", got)
}
