package core_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

func cutThrough(config fabric.Config, vcs int) fabric.Config {
	config.Switch.FlowControl = "cut-through"
	config.Switch.VCs = vcs
	return config
}

// models runs a test with switches that hold no ports, and with each unit under those
// that do.
func models(t *testing.T, test func(t *testing.T, config fabric.Config)) {
	t.Run("no hold", func(t *testing.T) { test(t, fabric.DefaultConfig()) })
	units(t, test)
}

func (n network) multicast(t testing.TB, config fabric.Config, m *routingtest.Trees) *core.Fabric {
	t.Helper()
	f := n.fabric(t, config)
	simtest.Check(t, f.SetMulticast(m.Tables, config.Switch.VCs-1))
	return f
}

func terminals(n int) []topology.TerminalID {
	all := make([]topology.TerminalID, n)
	for i := range all {
		all[i] = topology.TerminalID(i)
	}
	return all
}

// One switch: 3 flits from terminal 0 reach terminals 1 to 3 like a unicast
// packet: injection 1 + channel 1 + switch 1 + channel 1 + 2 further flits = 6
// cycles. 3 flits in, 9 out, 9 hops.
func TestMulticastOneSwitch(t *testing.T) { models(t, testMulticastOneSwitch) }

func testMulticastOneSwitch(t *testing.T, config fabric.Config) {
	n := newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = 4 })
	m := routingtest.NewTrees(n.topo.Graph())
	m.Plant(0, terminals(4))
	f := n.multicast(t, cutThrough(config, 2), m)
	s := &script{}
	s.send(0, fabric.PacketSpec{Flits: 3, VCs: 2, Tag: 7})
	simtest.Check(t, measure.RunToEnd(t.Context(), f, s, s, measure.ToEnd{}))
	got := map[topology.TerminalID]int64{}
	for _, d := range s.delivered {
		got[d.Dst] = d.Cycle
		if d.Src != 0 || d.Tag != 7 || !d.Multicast || d.Hops != 1 {
			t.Errorf("%+v", d)
		}
	}
	if len(s.delivered) != 3 || got[1] != 6 || got[2] != 6 || got[3] != 6 {
		t.Errorf("arrivals %v", got)
	}
	if want := (core.Counters{InjectedFlits: 3, DeliveredFlits: 9, FlitHops: 9, Packets: 3, ReplicatedFlits: 6}); f.Counters != want {
		t.Errorf("counters %+v, want %+v", f.Counters, want)
	}
}

// A group of the sender alone: the packet ends at its switch, and is counted.
func TestMulticastNoBranch(t *testing.T) { models(t, testMulticastNoBranch) }

func testMulticastNoBranch(t *testing.T, config fabric.Config) {
	n := newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = 4 })
	m := routingtest.NewTrees(n.topo.Graph())
	m.Plant(0, terminals(1))
	f := n.multicast(t, cutThrough(config, 2), m)
	s := &script{}
	s.send(0, fabric.PacketSpec{Flits: 3, VCs: 2})
	simtest.Check(t, measure.RunToEnd(t.Context(), f, s, s, measure.ToEnd{}))
	if want := (core.Counters{InjectedFlits: 3, DiscardedFlits: 3}); f.Counters != want {
		t.Errorf("counters %+v, want %+v", f.Counters, want)
	}
}

// In an idle network every member hears a multicast packet when it would hear
// the same packet sent to it alone, whatever the pipeline.
func TestMulticastZeroLoad(t *testing.T) { models(t, testMulticastZeroLoad) }

func testMulticastZeroLoad(t *testing.T, config fabric.Config) {
	for _, st := range stages {
		n := newNetwork(t, "torus", "dor", func(c *topology.GridConfig) { c.Dims = []int{5, 4}; c.Terminals = 2 })
		g := n.topo.Graph()
		config := cutThrough(config, 3)
		config.Switch.RouteCycles, config.Switch.VCAllocCycles, config.Switch.SwitchAllocCycles, config.Switch.CrossbarCycles, config.Switch.Speedup =
			st.route, st.vcAlloc, st.alloc, st.crossbar, st.speedup
		for _, flits := range []int32{1, 5} {
			m := routingtest.NewTrees(g)
			const src = 13
			mlid := m.Plant(g.PortSwitch[g.TerminalPort[src]], terminals(g.Terminals())) // rooted at the sender: minimal paths
			f := n.multicast(t, config, m)
			s := &script{}
			s.send(src, fabric.PacketSpec{Birth: 7, Flits: flits, VCs: 4, MLID: mlid})
			simtest.Check(t, measure.RunToEnd(t.Context(), f, s, s, measure.ToEnd{}))
			if len(s.delivered) != g.Terminals()-1 {
				t.Errorf("%s: %d deliveries", st.name, len(s.delivered))
			}
			for _, d := range s.delivered {
				one := &script{}
				one.send(src, fabric.PacketSpec{Birth: 7, Dst: d.Dst, Flits: flits})
				simtest.Check(t, measure.RunToEnd(t.Context(), n.fabric(t, config), one, one, measure.ToEnd{}))
				if want := one.delivered[0]; d.Cycle != want.Cycle || d.Hops != want.Hops {
					t.Errorf("%s, %d flits to %d: in cycle %d over %d switches, alone %d over %d", st.name, flits, d.Dst, d.Cycle, d.Hops, want.Cycle, want.Hops)
				}
			}
		}
	}
}

// Branches do not wait for each other. A packet of 20 flits from terminal 3
// reaches terminal 1 in cycle 6 + 17 = 23. The copy for terminal 2 of 3 flits
// born in cycle 2 is not held up and arrives in 2 + 6; the flits for terminal 1
// follow the 20: 24, 25, 26.
func TestMulticastBranchesApart(t *testing.T) { models(t, testMulticastBranchesApart) }

func testMulticastBranchesApart(t *testing.T, config fabric.Config) {
	n := newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = 4 })
	m := routingtest.NewTrees(n.topo.Graph())
	m.Plant(0, terminals(3))
	f := n.multicast(t, cutThrough(config, 2), m)
	s := &script{}
	s.send(3, fabric.PacketSpec{Dst: 1, Flits: 20})
	s.send(0, fabric.PacketSpec{Birth: 2, Flits: 3, VCs: 1}) // the same virtual channel
	simtest.Check(t, measure.RunToEnd(t.Context(), f, s, s, measure.ToEnd{}))
	at := map[string]int64{}
	for _, d := range s.delivered {
		at[fmt.Sprint(d.Src, " to ", d.Dst)] = d.Cycle
	}
	if at["3 to 1"] != 23 || at["0 to 2"] != 8 || at["0 to 1"] != 26 {
		t.Errorf("arrivals %v", at)
	}
}

// mixedTraffic sends, from every terminal, packets one after the other, each either to
// a random terminal or to a random group that the terminal belongs to.
type mixedTraffic struct {
	groups  [][]topology.TerminalID // by MLID
	of      [][]int32               // groups of a terminal
	streams []sim.Stream
	left    []int
	flits   int
	vcs     uint32
	wait    map[uint64]map[topology.TerminalID]bool // by packet: who is still to hear it
	tag     uint64
	wrong   []string
}

func newMixed(g *topology.Graph, groups [][]topology.TerminalID, packets, flits int, vcs uint32) *mixedTraffic {
	m := &mixedTraffic{groups: groups, flits: flits, vcs: vcs, wait: map[uint64]map[topology.TerminalID]bool{}}
	m.of = make([][]int32, g.Terminals())
	for mlid, members := range groups {
		for _, t := range members {
			m.of[t] = append(m.of[t], int32(mlid))
		}
	}
	for t := range g.Terminals() {
		m.streams = append(m.streams, sim.NewStream(1, "mixed", t))
		m.left = append(m.left, packets)
	}
	return m
}

func (m *mixedTraffic) Next(t topology.TerminalID, until int64, spec *fabric.PacketSpec) bool {
	if m.left[t] == 0 || until < 0 {
		spec.Birth = 0
		if m.left[t] == 0 {
			spec.Birth = fabric.Never
		}
		return false
	}
	m.left[t]--
	m.tag++
	r := &m.streams[t]
	*spec = fabric.PacketSpec{Birth: until, Flits: int32(1 + r.IntN(m.flits)), Tag: m.tag}
	hearers := map[topology.TerminalID]bool{}
	if r.IntN(3) == 0 || len(m.of[t]) == 0 {
		spec.Dst = uniform{len(m.left)}.Destination(t, r)
		hearers[spec.Dst] = true
	} else {
		spec.MLID, spec.VCs = m.of[t][r.IntN(len(m.of[t]))], m.vcs
		for _, member := range m.groups[spec.MLID] {
			if member != t {
				hearers[member] = true
			}
		}
	}
	if len(hearers) > 0 {
		m.wait[m.tag] = hearers
	}
	return true
}

func (m *mixedTraffic) Deliver(d *fabric.Delivery) {
	if !m.wait[d.Tag][d.Dst] {
		m.wrong = append(m.wrong, fmt.Sprintf("%+v", *d))
	}
	delete(m.wait[d.Tag], d.Dst)
	if len(m.wait[d.Tag]) == 0 {
		delete(m.wait, d.Tag)
	}
}

// mixedNetworks are small networks under multicast and unicast traffic together,
// the multicast on the last virtual channel, all trees parts of one (on any
// graph; on trees of switches, of those from one root switch): no deadlock.
func mixedNetworks(t testing.TB) map[string]network {
	return map[string]network{
		"fat-tree":      newNetwork(t, "fat-tree", "nca", func(c *topology.FatTreeConfig) { c.K, c.N = 4, 3 }),
		"dragonfly":     dragonflyNetwork(t, "min", 2, 4, 2),
		"dragonfly par": dragonflyNetwork(t, "par", 2, 4, 2),
		"torus":         newNetwork(t, "torus", "dor", func(c *topology.GridConfig) { c.Dims = []int{4, 4}; c.Terminals = 2 }),
		"random":        newNetwork(t, "random-regular", "table", func(c *topology.RandomRegularConfig) { c.Switches, c.Degree, c.Terminals = 12, 4, 2 }),
	}
}

// Every member hears every packet once, nobody else does, flits and credits are
// conserved (RunToEnd audits), and nothing deadlocks: on five networks and three
// pipelines with traffic as dense as it gets.
func TestMulticastMixed(t *testing.T) { models(t, testMulticastMixed) }

func testMulticastMixed(t *testing.T, config fabric.Config) {
	packets := 60
	if config.Switch.Hold {
		packets = 25
	}
	for name, n := range mixedNetworks(t) {
		for _, st := range []int{0, 1, 4, 6} {
			config := cutThrough(config, n.routing.VCs()+1)
			s := stages[st]
			config.Switch.RouteCycles, config.Switch.VCAllocCycles, config.Switch.SwitchAllocCycles, config.Switch.CrossbarCycles, config.Switch.Speedup =
				s.route, s.vcAlloc, s.alloc, s.crossbar, s.speedup
			config.Switch.BufferFlits, config.Switch.OutputBufferFlits = 9, st%2
			if config.Switch.Hold {
				config.Switch.OutputBufferFlits *= 9 // room for whole copies
			}
			t.Run(name+", "+s.name, func(t *testing.T) {
				g := n.topo.Graph()
				m := routingtest.NewTrees(g)
				r := sim.NewStream(3, "groups", 0)
				var groups [][]topology.TerminalID
				for range 12 {
					members := terminals(g.Terminals())
					sim.Shuffle(&r, members)
					members = members[:1+r.IntN(len(members)-1)]
					m.Plant(topology.SwitchID(g.Switches()-1), members)
					groups = append(groups, members)
				}
				x := newMixed(g, groups, packets, 4, 1<<n.routing.VCs())
				simtest.Check(t, measure.RunToEnd(t.Context(), n.multicast(t, config, m), x, x, measure.ToEnd{}))
				if len(x.wait) > 0 || len(x.wrong) > 0 {
					t.Errorf("%d packets not heard by all, %d heard by others, the first %.1v", len(x.wait), len(x.wrong), x.wrong)
				}
			})
		}
	}
}

// Four paths of three links around a ring of four, in one virtual channel: each
// link waits for the next. They jam, and the watchdog shows the circle; with
// two trees on each of two virtual channels there is none.
func TestMulticastDeadlock(t *testing.T) { models(t, testMulticastDeadlock) }

func testMulticastDeadlock(t *testing.T, config fabric.Config) {
	n := newNetwork(t, "torus", "dor", func(c *topology.GridConfig) { c.Dims = []int{4} })
	g := n.topo.Graph()
	m := routingtest.NewTrees(g)
	var groups [][]topology.TerminalID
	for first := range 4 {
		// The path that lacks the link from first-1 to first.
		mlid := int32(first)
		for s := range 4 {
			ports := []topology.PortID{g.TerminalPort[s]}
			for p, end := g.Ports(topology.SwitchID(s)); p < end; p++ {
				if peer, ok := g.PeerPort(p); ok {
					other := int(g.PortSwitch[peer])
					if before := (first + 3) % 4; !(s == first && other == before || s == before && other == first) {
						ports = append(ports, p)
					}
				}
			}
			slices.Sort(ports)
			m.Tables[s].MLIDs, m.Tables[s].Ports = append(m.Tables[s].MLIDs, mlid), append(m.Tables[s].Ports, ports)
		}
		groups = append(groups, terminals(4))
	}
	config = cutThrough(config, 3)
	config.Switch.BufferFlits = 4
	x := newMixed(g, groups, 2000, 4, 1<<2)
	err := measure.RunToEnd(t.Context(), n.multicast(t, config, m), x, x, measure.ToEnd{})
	var deadlock *core.DeadlockError
	if !errors.As(err, &deadlock) {
		t.Fatalf("no deadlock: %v", err)
	}
	if len(deadlock.Waits) == 0 || !deadlock.Waits[0].Multicast || !strings.Contains(err.Error(), "to a group") {
		t.Errorf("waits %+v", deadlock.Waits)
	}
	for i, w := range deadlock.Waits {
		next := deadlock.Waits[(i+1)%len(deadlock.Waits)]
		if w.Wants != next.Holds {
			t.Errorf("%+v waits for what %+v does not hold", w, next)
		}
	}
}

// What multicast packets cannot do with is refused by the key.
func TestMulticastRefusals(t *testing.T) {
	n := newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = 4 })
	for key, set := range map[string]func(s *fabric.SwitchConfig){
		"switch.output_buffer_flits": func(s *fabric.SwitchConfig) { s.Hold, s.OutputBufferFlits = true, s.BufferFlits-1 },
		"switch.forwarding":          func(s *fabric.SwitchConfig) { s.Forwarding = fabric.StoreAndForward },
	} {
		config := cutThrough(fabric.DefaultConfig(), 2)
		set(&config.Switch)
		var wrong *param.ParamError
		if err := n.fabric(t, config).SetMulticast(routingtest.NewTrees(n.topo.Graph()).Tables, 1); !errors.As(err, &wrong) || wrong.Key != key {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// SetMulticast refuses wormhole.
func TestMulticastNeedsCutThrough(t *testing.T) {
	n := newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = 4 })
	var wrong *param.ParamError
	if err := n.fabric(t, fabric.DefaultConfig()).SetMulticast(routingtest.NewTrees(n.topo.Graph()).Tables, 1); !errors.As(err, &wrong) || wrong.Key != "switch.flow_control" {
		t.Errorf("%v", err)
	}
}
