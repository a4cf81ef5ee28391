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

// Every exact figure of the connections paper: sections 1, 2, 4.2, tables 1
// and 2, within 0.5 %.
func TestMemoryOfThePaper(t *testing.T) {
	const mb, perProcess, perNode = 1e6, false, true
	for _, c := range []struct {
		name        string
		mode        string
		group       int
		buffer      sim.Bytes
		ranks, node int
		ofNode      bool
		want        float64
	}{
		{"section 1", RC, 0, 8000, 10000, 1, perProcess, 420},
		{"section 2", RCSRQ, 0, 8000, 10000, 1, perProcess, 90.88},
		{"table 1", RC, 0, 8000, 8000, 8, perProcess, 336},
		{"table 1", RC, 0, 8000, 16000, 16, perProcess, 672},
		{"table 1", RC, 0, 8000, 8000, 8, perNode, 2688},
		{"table 1", RC, 0, 8000, 16000, 16, perNode, 10750},
		{"table 1", RCSRQ, 0, 8000, 8000, 8, perProcess, 72.7},
		{"table 1", RCSRQ, 0, 8000, 16000, 16, perProcess, 145.4},
		{"table 1", RCSRQ, 0, 8000, 8000, 8, perNode, 581},
		{"table 1", RCSRQ, 0, 8000, 16000, 16, perNode, 2326},
		{"table 1", XRCS, 0, 8000, 8000, 8, perProcess, 9.088},
		{"table 1", XRCS, 0, 8000, 16000, 16, perProcess, 9.088},
		{"table 1", XRCS, 0, 8000, 8000, 8, perNode, 72.7},
		{"table 1", XRCS, 0, 8000, 16000, 16, perNode, 145.4},
		{"table 1", XRCM, 0, 8000, 8000, 8, perProcess, 3.71},
		{"table 1", XRCM, 0, 8000, 16000, 16, perProcess, 3.71},
		{"table 1", XRCM, 0, 8000, 8000, 8, perNode, 29.6},
		{"table 1", XRCM, 0, 8000, 16000, 16, perNode, 59.2},
		{"section 4.2", XRCS, 4096, 8192, 320000, 4, perProcess, 10.22},
		{"section 4.2", XRCS, 4096, 8192, 1000000, 4, perProcess, 11.77},
		{"table 2", RCSRQ, 0, 8000, 2048, 4, perProcess, 18.6},
		{"table 2", RCSRQ, 0, 8000, 4096, 4, perProcess, 37.2},
		{"table 2", RCSRQ, 0, 8000, 8192, 4, perProcess, 74.4},
		{"table 2", RCSRQ, 0, 8000, 16384, 4, perProcess, 148.8},
		{"table 2", XRCS, 4096, 8000, 2048, 4, perProcess, 4.65},
		{"table 2", XRCS, 4096, 8000, 4096, 4, perProcess, 9.3},
		{"table 2", XRCS, 4096, 8000, 8192, 4, perProcess, 9.315},
		{"table 2", XRCS, 4096, 8000, 16384, 4, perProcess, 9.344},
	} {
		config := DefaultConnections
		config.Mode, config.Group, config.Buffer = c.mode, c.group, c.buffer
		f := config.Footprint(c.ranks, c.node, 0)
		got := f.Process / mb
		if c.ofNode {
			got = f.Node / mb
		}
		if math.Abs(got-c.want) > 0.005*c.want {
			t.Errorf("%s: %s, groups of %d, %d ranks, %d a node: %.4f MB, want %.4f", c.name, c.mode, c.group, c.ranks, c.node, got, c.want)
		}
	}
}

func TestConnectionsOfThePaper(t *testing.T) {
	grouped := DefaultConnections
	grouped.Mode, grouped.Group = XRCS, 4096
	// 1024 nodes of its own group and one process in each of the 78 and 244
	// other groups.
	if got := grouped.QPs(320000, 4); got != 1102 {
		t.Errorf("320,000 ranks: %d QPs, want 1102", got)
	}
	if got := grouped.QPs(1000000, 4); got != 1268 {
		t.Errorf("1,000,000 ranks: %d QPs, want 1268", got)
	}
	// 1023 connections on demand, as FT makes on 8,192 ranks, nearly double it:
	// (1025 + 1023) x 9088 B.
	f := grouped.Footprint(8192, 4, 1023)
	if f.Process != 2048*9088 || f.ProcessStatic != 1025*9088 || f.Node != 4*f.Process {
		t.Errorf("with connections on demand: %+v", f)
	}
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

func TestGroupedConnections(t *testing.T) {
	c := DefaultConnections
	c.Group = 4
	for _, x := range []struct {
		a, b      int32
		connected bool
		relay     int32
	}{
		{1, 3, true, 0},  // same group
		{1, 9, true, 0},  // same index
		{1, 6, false, 5}, // over index 1 of group 1
		{3, 8, false, 0}, // group 2 is {8, 9}: index 3 is missing, so over index 0 of group 0
	} {
		if got := c.connected(x.a, x.b); got != x.connected {
			t.Errorf("connected(%d, %d) = %v", x.a, x.b, got)
		}
		if x.connected {
			continue
		}
		relay := c.relay(x.a, x.b, 10)
		if relay != x.relay || !c.connected(x.a, relay) || !c.connected(relay, x.b) {
			t.Errorf("relay(%d, %d) = %d, want %d", x.a, x.b, relay, x.relay)
		}
	}
}

// TestWay compares the connector's way, which does without divisions, with the
// plain one, for full groups and others, up to group sizes of 1 and of more than
// all ranks.
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
						if static != want || !want && relay != over {
							t.Fatalf("%s, groups of %d, on demand %v: way(%d, %d) = %d, %v; want %d, %v", mode, group, onDemand, a, b, relay, static, over, want)
						}
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
	if got, want := c.Footprint(1000, 4, 0).Process, 1024*(2088+64)+16*64+250*128.0; got != want {
		t.Errorf("UD takes %v B, want %v", got, want)
	}
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
		if got, want := l.get(a, p), plain[[2]int32{a, p}]; got != want {
			t.Fatalf("link %d-%d is %d, want %d", a, p, got, want)
		}
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
		if got := slices.Collect(l.ready(a)); !slices.Equal(got, want) {
			t.Errorf("rank %d: ready %v, want %v", a, got, want)
		}
	}
}

// TestWaiting keeps messages for several connections of one rank: they come out in
// order, whichever was waited for first.
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
		if !slices.Equal(got, want[b]) {
			t.Fatalf("for rank %d: %v, want %v", b, got, want[b])
		}
		delete(want, b)
	}
}
