package dswitch

import (
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
)

// Routes read off the paper's tables 1 and 2 by hand, ports and processors
// from 1. PK_1: 1 and 7 stand in row 1 of table 1, at ports 1 and 2, row 1
// being switch 1 at port 1 of processor 1: (1, 2). PK_2: 15 and 6 stand in row
// 2 of table 2, which is the second of the rows of 15, so c_1 = 2; there they
// have ports 7 and 3 of PK_1, which meet in row 3 of table 1, at its ports 3
// and 1: (2, 3, 1). 1 and 8 stand together in rows 1, 2 and 4; the first is
// taken, c_1 = 1, ports 1 and 4; these meet in row 4 of table 1 at ports 3 and
// 1: (1, 3, 1).
func TestSessionsRoutes(t *testing.T) {
	for _, c := range []struct {
		cascades, from, to int
		want               []uint8
	}{
		{1, 1, 7, []uint8{1, 2}},
		{2, 15, 6, []uint8{2, 3, 1}},
		{2, 1, 8, []uint8{1, 3, 1}},
	} {
		n := pkNetwork(t, topology.PKConfig{M: 3, Cascades: c.cascades})
		route := make([]uint8, c.cascades)
		port, ok := n.Route(c.from-1, c.to-1, route)
		got := []uint8{uint8(port) + 1}
		for _, p := range route {
			got = append(got, p+1)
		}
		if !ok || !slices.Equal(got, c.want) {
			t.Errorf("%d to %d: route %v, want %v", c.from, c.to, got, c.want)
		}
	}
	// With copy 0 (row 1) switched off, 1 reaches 8 over row 2.
	n := pkNetwork(t, topology.PKConfig{M: 3, Cascades: 2})
	n.Fail(Fault{Kind: ChannelFault, Stage: 1, Index: 0, Port: 0})
	if port, ok := n.Route(0, 7, make([]uint8, 2)); !ok || port != 1 {
		t.Errorf("around a failed channel: port %d, %t", port+1, ok)
	}
}
