package arbitration

import (
	"testing"

	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/snapshot"
)

// TestArbiterSnapshot: an arbiter that goes on from a snapshot chooses as the one that wrote
// it, packet after packet of 2 units in a table of weights 3 and 5.
func TestArbiterSnapshot(t *testing.T) {
	tables := &Tables{High: []Entry{{Lane: 0, Weight: 3}, {Lane: 1, Weight: 5}}, Low: []Entry{{Lane: 2, Weight: 4}, {Lane: 0, Weight: 2}}, Limit: 1}
	for at := range 40 {
		one, other := New(tables), New(tables)
		for i := range 80 {
			if i == at {
				w := snapshot.Writer()
				snapshot.Value(w, &one)
				r := snapshot.Reader(w.Bytes())
				snapshot.Value(r, &other)
				simtest.FatalIf(t, r.End() != nil, "%v", r.End())
			}
			c, _ := one.Choose(7)
			one.Send(c, 2*Unit)
			if i < at {
				continue
			}
			d, _ := other.Choose(7)
			simtest.FatalIf(t, d != c, "after a snapshot before choice %d, choice %d is %+v, want %+v", at, i, d, c)
			other.Send(c, 2*Unit)
		}
	}
}
