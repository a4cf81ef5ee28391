package dswitch

import (
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/simtest"
)

// onlyPackets is a schedule of which only some packets are sent.
func onlyPackets(of *SessionSchedule, m int, send func(t, x, j int) bool) *SessionSchedule {
	some := *of
	some.Fill = func(t int, h *Headers) {
		of.Fill(t, h)
		for p := 0; p < len(h.digits); p += h.k {
			if !send(t, p/h.k/m, p/h.k%m) {
				h.digits[p] = noPacket
			}
		}
	}
	return &some
}

// TestAccessBound: the pairs of PK_3(35, 3) that every rule of multiple access loses, 63 of 1,190;
// the paper's rule, the lowest port first, loses 84. No rule loses fewer than 63 by the proof at
// accessBound, and 63 can be had: if only the packets of a largest matching are sent, none of them
// meets another, and all but 63 pairs are served. Where the theorem holds the bound is 0.
func TestAccessBound(t *testing.T) {
	for _, c := range []struct {
		config      topology.PKConfig
		bound, lost int
	}{
		{topology.PKConfig{M: 3, Cascades: 2}, 0, 0},
		{topology.PKConfig{M: 3, Cascades: 3, Inner: []int{14}}, 0, 0},
		{topology.PKConfig{M: 3, Cascades: 3}, 63, 84},
	} {
		n := pkNetwork(t, c.config)
		schedule := simtest.Must(newSessionSchedule(n, DefaultSessionsConfig(), 1))(t)
		R := n.Processors()
		if got := n.accessBound(schedule); got != c.bound {
			t.Errorf("%s: at least %d pairs lost, want %d", n.sw.Name(), got, c.bound)
		}
		if o := n.Run(schedule, SessionOptions{PacketFlits: 1}); o.MissingPairs != c.lost {
			t.Errorf("%s: %d pairs lost, want %d", n.sw.Name(), o.MissingPairs, c.lost)
		}
		// Packets meet in stage 1 only, counted from 0.
		slots, owner := n.slots(schedule), make([]map[int]int, R)
		for d := range R {
			wanted := make([][]int, R)
			for x := range R {
				wanted[x] = slots[1][x*R+d]
			}
			owner[d] = largestMatching(wanted)
		}
		var h Headers
		passed, filled := make([]int32, n.k+1), -1
		best := onlyPackets(schedule, n.m, func(session, x, j int) bool {
			if filled != session {
				h = n.headers()
				schedule.Fill(session, &h)
				filled = session
			}
			d, ok := n.follow(&h, x, j, schedule.Indirect, passed)
			if !ok || d == x {
				return false
			}
			of, given := owner[d][n.slot(session, 1, passed)]
			return given && of == x
		})
		o := n.Run(best, SessionOptions{PacketFlits: 1})
		if o.MissingPairs != c.bound || o.AccessDrops != 0 || o.Conflicts != 0 {
			t.Errorf("%s: without the losers %d pairs are lost, %d packets dropped, %d in conflict; want %d, 0, 0", n.sw.Name(), o.MissingPairs, o.AccessDrops, o.Conflicts, c.bound)
		}
	}
}

// TestLargestMatching: three rows that want two slots; and one that has to give
// way along a path of exchanges.
func TestLargestMatching(t *testing.T) {
	for _, c := range []struct {
		wanted [][]int
		want   int
	}{
		{nil, 0},
		{[][]int{{1, 2}, {1, 2}, {1, 2}}, 2},
		{[][]int{{1, 2}, {2, 3}, {1}}, 3}, // 1 to the last row, 2 to the first, 3 to the second
		{[][]int{{1}, {1}, {}, {2}}, 2},
	} {
		simtest.Equal(t, len(largestMatching(c.wanted)), c.want, "%v:", c.wanted)
	}
}

// Routes read off the paper's tables 1 and 2 by hand, ports and processors from 1. PK_1: 1 and 7
// stand in row 1 of table 1, at ports 1 and 2, row 1 being switch 1 at port 1 of processor 1: (1,
// 2). PK_2: 15 and 6 stand in row 2 of table 2, which is the second of the rows of 15, so c_1 = 2;
// there they have ports 7 and 3 of PK_1, which meet in row 3 of table 1, at its ports 3 and 1: (2,
// 3, 1). 1 and 8 stand together in rows 1, 2 and 4; the first is taken, c_1 = 1, ports 1 and 4;
// these meet in row 4 of table 1 at ports 3 and 1: (1, 3, 1).
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
		simtest.ErrorIf(t, !ok || !slices.Equal(got, c.want), "%d to %d: route %v, want %v", c.from, c.to, got, c.want)
	}
	// With copy 0 (row 1) switched off, 1 reaches 8 over row 2.
	n := pkNetwork(t, topology.PKConfig{M: 3, Cascades: 2})
	n.Fail(Fault{Kind: ChannelFault, Stage: 1, Index: 0, Port: 0})
	if port, ok := n.Route(0, 7, make([]uint8, 2)); !ok || port != 1 {
		t.Errorf("around a failed channel: port %d, %t", port+1, ok)
	}
}
