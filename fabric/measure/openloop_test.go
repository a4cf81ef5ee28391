package measure

import (
	"math"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/snapshot/snapshottest"
)

// toOne sends all to one terminal.
type toOne topology.TerminalID

func (p toOne) Destination(topology.TerminalID, *sim.Stream) topology.TerminalID {
	return topology.TerminalID(p)
}

// everyThird has a birth in every third cycle: gaps of 3, the first counted from the cycle before
// the first, give births in cycles 2, 5, 8 of a phase.
type everyThird struct{}

func (everyThird) NextGap(*sim.Stream, *uint32) int64 { return 3 }

type oneFlit struct{}

func (oneFlit) Draw(*sim.Stream) int { return 1 }

// TestPhasedLoop: destination 1 from cycle 0, 2 from 7, 3 from 10: births in 2 and 5; 9; 12, 15, and
// so on; and a source that goes on from a state has the others.
func TestPhasedLoop(t *testing.T) {
	fresh := func() *PhasedLoop {
		return NewPhasedLoop(4, toOne(1), []Phase{{From: 7, Pattern: toOne(2)}, {From: 10, Pattern: toOne(3)}}, everyThird{}, oneFlit{}, 1)
	}
	p := fresh()
	want := []struct {
		birth int64
		dst   topology.TerminalID
	}{{2, 1}, {5, 1}, {9, 2}, {12, 3}, {15, 3}}
	var spec fabric.PacketSpec
	for i, w := range want {
		simtest.ErrorIf(t, p.Next(0, w.birth-1, &spec) || spec.Birth != w.birth,
			"packet %d: told of cycle %d, want %d", i, spec.Birth, w.birth)
		simtest.ErrorIf(t, !p.Behind(w.birth+1) || w.birth > 5 && p.loops[0].sources[0].next < 7,
			"packet %d waits, and nothing is behind", i)
		if i == 3 { // 12 of one terminal, and 2 of the three others, seen from cycle 14
			simtest.Equal(t, p.BehindBy(14), math.Sqrt((2*2+3*12*12)/4.0), "behind by")
			state := snapshottest.State(p)
			p = fresh()
			simtest.Check(t, snapshottest.Restore(p, state))
		}
		simtest.ErrorIf(t, !p.Next(0, 100, &spec) || spec.Birth != w.birth || spec.Dst != w.dst,
			"packet %d: born in %d to %d, want %+v", i, spec.Birth, spec.Dst, w)
	}
	for other := range topology.TerminalID(3) {
		for p.Next(other+1, 17, &spec) {
		}
	}
	simtest.ErrorIf(t, p.Behind(18) || p.BehindBy(18) != 0, "all is sent, and something is behind")
	if p.Stop(16); p.Next(0, 100, &spec) || spec.Birth != fabric.Never {
		t.Errorf("born in %d after the end", spec.Birth)
	}
}
