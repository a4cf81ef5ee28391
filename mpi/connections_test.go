package mpi

import (
	"math"
	"slices"
	"testing"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// Every exact figure of the connections paper: sections 1, 2, 4.2, tables 1 and 2, within 0.5 %.
func TestMemoryOfThePaper(t *testing.T) {
	check := func(where, mode string, group int, buffer sim.Bytes, ranks, perNode int, of func(Footprint) float64, want float64) {
		config := DefaultConnections
		config.Mode, config.Group, config.Buffer = mode, group, buffer
		got := of(config.Footprint(ranks, perNode, 0)) / 1e6
		simtest.ErrorIf(t, math.Abs(got-want) > 0.005*want, "%s: %s, groups of %d, %d ranks, %d a node: %.4f MB, want %.4f", where, mode, group, ranks, perNode, got, want)
	}
	process := func(f Footprint) float64 { return f.Process }
	node := func(f Footprint) float64 { return f.Node }
	check("section 1", RC, 0, 8000, 10000, 1, process, 420)
	check("section 2", RCSRQ, 0, 8000, 10000, 1, process, 90.88)
	check("section 4.2", XRCS, 4096, 8192, 320000, 4, process, 10.22)
	check("section 4.2", XRCS, 4096, 8192, 1000000, 4, process, 11.77)
	// Table 1: 8000 ranks, 8 a node, and 16000, 16 a node; of a process and of a node.
	for mode, want := range map[string][4]float64{
		RC: {336, 672, 2688, 10750}, RCSRQ: {72.7, 145.4, 581, 2326}, XRCS: {9.088, 9.088, 72.7, 145.4}, XRCM: {3.71, 3.71, 29.6, 59.2},
	} {
		for i, perNode := range []int{8, 16} {
			check("table 1", mode, 0, 8000, 1000*perNode, perNode, process, want[i])
			check("table 1", mode, 0, 8000, 1000*perNode, perNode, node, want[2+i])
		}
	}
	// Table 2: 2048, 4096, 8192 and 16384 ranks, 4 a node.
	for i, want := range [4][2]float64{{18.6, 4.65}, {37.2, 9.3}, {74.4, 9.315}, {148.8, 9.344}} {
		check("table 2", RCSRQ, 0, 8000, 2048<<i, 4, process, want[0])
		check("table 2", XRCS, 4096, 8000, 2048<<i, 4, process, want[1])
	}
}

func TestConnectionsOfThePaper(t *testing.T) {
	grouped := DefaultConnections
	grouped.Mode, grouped.Group = XRCS, 4096
	// 1024 nodes of its own group and one process in each of the 78 and 244 other groups.
	simtest.Equal(t, grouped.QPs(320000, 4), 1102, "320,000 ranks: QPs")
	simtest.Equal(t, grouped.QPs(1000000, 4), 1268, "1,000,000 ranks: QPs")
	// Groups of ten, four a node: a group lies on three nodes, and there are three other groups.
	// A group of all ranks is as none.
	small := grouped
	small.Group = 10
	simtest.Equal(t, small.QPs(40, 4), 3+3, "groups of 10: QPs")
	simtest.Equal(t, small.QPs(10, 4), 3, "one group of 10: QPs")
	// 1023 connections on demand, as FT makes on 8,192 ranks, nearly double it: (1025 + 1023) x 9088 B.
	f := grouped.Footprint(8192, 4, 1023)
	simtest.ErrorIf(t, f.Process != 2048*9088 || f.ProcessStatic != 1025*9088 || f.Node != 4*f.Process, "with connections on demand: %+v", f)
}

// connected tells whether two processes are connected from the start.
func (c *Connections) connected(a, b int32) bool {
	switch {
	case c.Mode == UD:
		return true
	case c.OnDemand:
		return false
	case c.Group == 0:
		return true
	}
	n := int32(c.Group)
	return a/n == b/n || a%n == b%n
}

// relay is the process over which a reaches b without a connection.
func (c *Connections) relay(a, b int32, ranks int) int32 {
	n := int32(c.Group)
	if r := b/n*n + a%n; int(r) < ranks {
		return r
	}
	return a/n*n + b%n
}

// TestWayByHand: ways from process to process of ten in groups of four; -1: they are connected.
func TestWayByHand(t *testing.T) {
	config := GroupedConfig()
	rt := simtest.Must(config.whole(RunSchedule(collectives.Uniform(10, 0, nil), Costs{}, sim.Picosecond)))(t)
	for _, c := range []struct{ from, to, relay int32 }{
		{1, 3, -1}, // same group
		{1, 9, -1}, // same index
		{1, 6, 5},  // over index 1 of group 1
		{3, 8, 0},  // group 2 is {8, 9}: index 3 is missing, so over index 0 of group 0
	} {
		relay, static := rt.connect.way(c.from, c.to)
		simtest.ErrorIf(t, static != (c.relay < 0) || !static && relay != c.relay, "from %d to %d over %d, static %v; want %d", c.from, c.to, relay, static, c.relay)
	}
}

// TestWay compares the connector's way, which does without divisions, with the plain one, for full
// groups and others, up to group sizes of 1 and of more than all ranks.
func TestWay(t *testing.T) {
	const ranks, perNode = 61, 3
	for _, mode := range []string{RC, XRCS, UD} {
		for _, onDemand := range []bool{false, true} {
			for _, group := range []int{0, 1, 2, 3, 7, 16, 60, 61, 100, 1<<31 - 1} {
				if mode == UD && (onDemand || group > 0) || onDemand && group > 0 {
					continue
				}
				config := QDRConfig(perNode)
				config.Connections.Mode, config.Connections.OnDemand, config.Connections.Group = mode, onDemand, group
				rt := simtest.Must(config.whole(RunSchedule(collectives.Uniform(ranks, 0, nil), Costs{}, sim.Picosecond)))(t)
				for a := range int32(ranks) {
					for b := range int32(ranks) {
						want := config.Connections.connected(a, b)
						var over int32
						if !want && group > 0 {
							over = config.Connections.relay(a, b, ranks)
							want = mode == XRCS && over/perNode == b/perNode
						}
						relay, static := rt.connect.way(a, b)
						simtest.FatalIf(t, static != want || !want && relay != over, "%s, groups of %d, on demand %v: way(%d, %d) = %d, %v; want %d, %v", mode, group, onDemand, a, b, relay, static, over, want)
					}
				}
			}
		}
	}
}

func TestUDBaseline(t *testing.T) {
	c := DefaultConnections
	c.Mode = UD
	// 1024 buffers and requests, a send queue, 250 address handles.
	got, want := c.Footprint(1000, 4, 0).Process, 1024*(2088+64)+16*64+250*128.0
	simtest.ErrorIf(t, got != want, "UD takes %v B, want %v", got, want)
}

func TestConnectionsRefuse(t *testing.T) {
	for _, c := range []struct {
		want string
		set  func(*Connections)
	}{
		{"recv_depth", func(c *Connections) { c.Mode, c.Preposted = RC, 17 }},
		{"a connected mode", func(c *Connections) { c.Mode, c.Group = UD, 8 }},
		{"group > 0 with it", func(c *Connections) { c.Proxy = true }},
		{"on_demand", func(c *Connections) { c.Group, c.OnDemand = 8, true }},
		{"mode", func(c *Connections) { c.Mode = "uc" }},
	} {
		config := DefaultConnections
		c.set(&config)
		simtest.Fail(t, param.Validate(&config), c.want)
	}
}

// TestLinks compares the packed tables with a map.
func TestLinks(t *testing.T) {
	const ranks, peers = 50, 100
	l := newLinks(ranks, peers)
	plain := map[[2]int32]linkState{}
	s := sim.NewStream(1, "links", 0)
	for range 20000 {
		a, p := int32(s.IntN(ranks)), int32(s.IntN(peers))
		got, want := l.get(a, p), plain[[2]int32{a, p}]
		simtest.FatalIf(t, got != want, "link %d-%d is %d, want %d", a, p, got, want)
		state := linkState(s.IntN(3))
		l.set(a, p, state)
		plain[[2]int32{a, p}] = state
	}
	for a := range int32(ranks) {
		var want []int32
		for p := range int32(peers) {
			if plain[[2]int32{a, p}] == linkReady {
				want = append(want, p)
			}
		}
		simtest.EqualSlices(t, slices.Collect(l.ready(a)), want, "rank %d: ready", a)
	}
}

// TestWaiting keeps messages for several connections of one rank: they come out in order, whichever was waited for first.
func TestWaiting(t *testing.T) {
	config := GroupedConfig()
	rt := simtest.Must(config.whole(RunSchedule(collectives.Uniform(8, 0, nil), Costs{}, sim.Picosecond)))(t)
	c := &rt.connect
	s := sim.NewStream(1, "waiting", 0)
	want := map[int32][]int32{}
	for range 3000 {
		b := int32(4 + s.IntN(4))
		if s.IntN(4) > 0 {
			id := rt.allocate()
			c.wait(id, 1, b)
			want[b] = append(want[b], id)
			continue
		}
		var got []int32
		for next := c.released(1, b); next != 0; next = rt.messages.At(next - 1).next {
			got = append(got, next-1)
		}
		simtest.FatalIf(t, !slices.Equal(got, want[b]), "for rank %d: %v, want %v", b, got, want[b])
		delete(want, b)
	}
}

// TestNodeQPs: the queue pairs of a node of 60 of 7,200 processes. RC: 7,199 each. XRC: one to each of 120
// nodes, and as many that they lead to here. Datagrams: one each. Four processes on a node for eight are four.
func TestNodeQPs(t *testing.T) {
	for _, c := range []struct {
		mode           string
		ranks, perNode int
		onDemand       int64
		want           int64
	}{
		{RC, 7200, 60, 0, 431_940},
		{RCSRQ, 7200, 60, 1, 432_000},
		{XRCS, 7200, 60, 0, 14_400},
		{UD, 7200, 60, 0, 60},
		{RC, 4, 8, 0, 12},
	} {
		config := DefaultConnections
		config.Mode = c.mode
		f := config.Footprint(c.ranks, c.perNode, c.onDemand)
		simtest.Equal(t, f.Node, f.Process*float64(min(c.ranks, c.perNode)), "memory of the processes of a node:")
		simtest.ErrorIf(t, f.NodeQPs != c.want, "%s, %d ranks, %d on a node: %d QPs, want %d", c.mode, c.ranks, c.perNode, f.NodeQPs, c.want)
	}
}

// TestSharedQueueOfFixedSize: with buffers of 1,000 B, requests of 50 B and ten sends, 100 buffers take 100 * 1,050 B and
// each of seven QPs 500 B; xrc-m with two sizes has buffers of 750 B on average, and eight processes on eight nodes eight
// QPs; mode ud takes 100 * (2,088 + 50) B, 500 B for its one QP and 128 B an address of eight nodes.
func TestSharedQueueOfFixedSize(t *testing.T) {
	for mode, want := range map[string]float64{
		RCSRQ: 105_000 + 7*500,
		XRCS:  105_000 + 8*500,
		XRCM:  80_000 + 8*500,
		UD:    213_800 + 500 + 8*128,
		RC:    7 * (2*1000 + 500 + 4*50), // its queues are not shared
	} {
		c := Connections{Mode: mode, Buffer: 1000, Request: 50, SendDepth: 10, Preposted: 2, RecvDepth: 4, Sizes: 2, SRQBuffers: 100}
		f := c.Footprint(8, 1, 0)
		simtest.ErrorIf(t, f.Process != want || f.ProcessStatic != want, "%s: %v B, %v static, want %v", mode, f.Process, f.ProcessStatic, want)
	}
}

// TestInboxIsFreeOnTime: a buffer that is in use until 5 is free at 5.
func TestInboxIsFreeOnTime(t *testing.T) {
	for _, c := range []struct {
		until   inbox
		buffers int
		want    bool
	}{
		{inbox{5}, 1, true},
		{inbox{6}, 1, false},
		{inbox{4, 6, 7}, 3, true},
		{inbox{4, 6, 7}, 2, false},
		{slices.Repeat(inbox{4}, fewTimes), 1, true}, // which are looked through
		{slices.Repeat(inbox{6}, fewTimes), fewTimes, false},
		{slices.Repeat(inbox{6}, fewTimes), fewTimes + 1, true},
	} {
		b := slices.Clone(c.until)
		simtest.ErrorIf(t, b.has(c.buffers, 5) != c.want, "%d buffers, in use until %v: one is free at 5: %v, want %v", c.buffers, c.until, !c.want, c.want)
	}
}

// TestSharedQueueGrows: a shared receive queue has a buffer for each QP, here for the group's one other
// rank and the one of its place in the other group, and one more for each QP made on demand; at least SRQLeast.
func TestSharedQueueGrows(t *testing.T) {
	for _, c := range []struct {
		least     int
		connected int32
		want      int
	}{{1, 0, 2}, {1, 3, 5}, {4, 1, 4}, {4, 3, 5}} {
		config := QDRConfig(1)
		config.Connections.Group, config.Connections.SRQLeast = 2, c.least
		rt := simtest.Must(config.whole(RunSchedule(collectives.Uniform(4, 0, nil), Costs{}, sim.Picosecond)))(t)
		rt.ranks[0].connected = c.connected
		taken := 0
		for m := (&message{}); rt.connect.takeBuffer(m, 0); taken++ {
			rt.connect.putBuffer(m, 1)
		}
		simtest.Equal(t, taken, c.want, "%d QPs on demand, at least %d buffers:", c.connected, c.least)
	}
}

// TestSharedQueueOfXRC: five processes, two on a node, have QPs to three nodes, and as many buffers.
func TestSharedQueueOfXRC(t *testing.T) {
	config := QDRConfig(2)
	config.Connections.Mode = XRCS
	rt := simtest.Must(config.whole(RunSchedule(collectives.Uniform(5, 0, nil), Costs{}, sim.Picosecond)))(t)
	simtest.Equal(t, rt.connect.buffers, 3, "buffers:")
}

// TestTearDownOfOneSide: two ranks on two nodes, each with a connection to the other's. RC closes
// both ends; with XRC the other one is a connection of its own.
func TestTearDownOfOneSide(t *testing.T) {
	for mode, want := range map[string]struct {
		closed int64
		other  linkState
	}{RCSRQ: {2, linkNone}, XRCS: {1, linkReady}} {
		config := QDRConfig(1)
		config.Connections.Mode, config.Connections.OnDemand = mode, true
		rt := simtest.Must(config.whole(RunSchedule(collectives.Uniform(2, 0, nil), Costs{}, sim.Picosecond)))(t)
		c := &rt.connect
		c.set(0, 1, linkReady)
		c.set(1, 0, linkReady)
		c.tearDown(0, 0)
		simtest.ErrorIf(t, rt.stats.QPsClosed != want.closed || c.get(0, 1) != linkNone || c.get(1, 0) != want.other,
			"%s: %d QPs closed, links %d and %d; want %d, none and %d", mode, rt.stats.QPsClosed, c.get(0, 1), c.get(1, 0), want.closed, want.other)
	}
}
