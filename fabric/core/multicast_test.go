package core_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/marking"
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

// models runs a test with switches that hold no ports, and with each unit under those that do.
func models(t *testing.T, test func(t *testing.T, config fabric.Config)) {
	t.Run("no hold", func(t *testing.T) { test(t, fabric.DefaultConfig()) })
	units(t, test)
}

func (n network) multicast(t testing.TB, config fabric.Config, m *trees) *core.Fabric {
	t.Helper()
	f := n.fabric(t, config)
	simtest.Check(t, f.SetMulticast(m.tables, config.Switch.VCs-1))
	return f
}

// groupOnSwitch is a switch of four terminals, the first of which are a group.
func groupOnSwitch(t testing.TB, config fabric.Config, members int) *core.Fabric {
	t.Helper()
	n := newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = 4 })
	m := newTrees(n.topo.Graph())
	m.plant(0, terminals(members))
	return n.multicast(t, cutThrough(config, 2), m)
}

func terminals(n int) []topology.TerminalID {
	all := make([]topology.TerminalID, n)
	for i := range all {
		all[i] = topology.TerminalID(i)
	}
	return all
}

// One switch: 3 flits from terminal 0 reach terminals 1 to 3 like a unicast packet: injection 1 +
// channel 1 + switch 1 + channel 1 + 2 further flits = 6 cycles. 3 flits in, 9 out, 9 hops.
func TestMulticastOneSwitch(t *testing.T) { models(t, testMulticastOneSwitch) }

func testMulticastOneSwitch(t *testing.T, config fabric.Config) {
	f, s := groupOnSwitch(t, config, 4), &script{}
	s.Send(0, fabric.PacketSpec{Flits: 3, VCs: 2, Tag: 7})
	simtest.Check(t, measure.RunToEnd(t.Context(), f, fabric.Ends{Source: s, Sink: s}, measure.ToEnd{}))
	got := map[topology.TerminalID]int64{}
	for _, d := range s.Delivered {
		got[d.Dst] = d.Cycle
		simtest.ErrorIf(t, d.Src != 0 || d.Tag != 7 || !d.Multicast || d.Hops != 1, "%+v", d)
	}
	simtest.ErrorIf(t, len(s.Delivered) != 3 || got[1] != 6 || got[2] != 6 || got[3] != 6, "arrivals %v", got)
	want := (core.Counters{InjectedFlits: 3, DeliveredFlits: 9, FlitHops: 9, Packets: 3, ReplicatedFlits: 6})
	simtest.ErrorIf(t, f.Counters != want, "counters %+v, want %+v", f.Counters, want)
}

// A group of the sender alone: the packet ends at its switch, and is counted.
func TestMulticastNoBranch(t *testing.T) { models(t, testMulticastNoBranch) }

func testMulticastNoBranch(t *testing.T, config fabric.Config) {
	f, s := groupOnSwitch(t, config, 1), &script{}
	s.Send(0, fabric.PacketSpec{Flits: 3, VCs: 2})
	simtest.Check(t, measure.RunToEnd(t.Context(), f, fabric.Ends{Source: s, Sink: s}, measure.ToEnd{}))
	simtest.Equal(t, f.Counters, (core.Counters{InjectedFlits: 3, DiscardedFlits: 3}), "counters")
}

// In an idle network every member hears a multicast packet when it would hear
// the same packet sent to it alone, whatever the pipeline.
func TestMulticastZeroLoad(t *testing.T) { models(t, testMulticastZeroLoad) }

func testMulticastZeroLoad(t *testing.T, config fabric.Config) {
	for i, st := range stages {
		n := smallTorus(t)
		g, config := n.topo.Graph(), pipeline(cutThrough(config, 3), i)
		for _, flits := range []int32{1, 5, 6} {
			if flits == 6 && config.Holds() { // other switches forward them as they come
				config.Switch.Forwarding = fabric.StoreAndForward
			}
			m := newTrees(g)
			const src = 13
			mlid := m.plant(g.PortSwitch[g.TerminalPort[src]], terminals(g.Terminals())) // rooted at the sender: minimal paths
			f, s := n.multicast(t, config, m), &script{}
			s.Send(src, fabric.PacketSpec{Birth: 7, Flits: flits, VCs: 4, MLID: mlid})
			simtest.Check(t, measure.RunToEnd(t.Context(), f, fabric.Ends{Source: s, Sink: s}, measure.ToEnd{}))
			simtest.ErrorIf(t, len(s.Delivered) != g.Terminals()-1, "%s: %d deliveries", st.name, len(s.Delivered))
			for _, d := range s.Delivered {
				one := &script{}
				one.Send(src, fabric.PacketSpec{Birth: 7, Dst: d.Dst, Flits: flits})
				n.playToEnd(t, config, one)
				want := one.Delivered[0]
				simtest.ErrorIf(t, d.Cycle != want.Cycle || d.Hops != want.Hops, "%s, %d flits to %d: in cycle %d over %d switches, alone %d over %d", st.name, flits, d.Dst, d.Cycle, d.Hops, want.Cycle, want.Hops)
			}
		}
	}
}

// Branches do not wait for each other. A packet of 20 flits from terminal 3 reaches terminal 1 in
// cycle 6 + 17 = 23. The copy for terminal 2 of 3 flits born in cycle 2 is not held up and arrives
// in 2 + 6; the flits for terminal 1 follow the 20: 24, 25, 26.
func TestMulticastBranchesApart(t *testing.T) { models(t, testMulticastBranchesApart) }

func testMulticastBranchesApart(t *testing.T, config fabric.Config) {
	f, s := groupOnSwitch(t, config, 3), &script{}
	s.Send(3, fabric.PacketSpec{Dst: 1, Flits: 20})
	s.Send(0, fabric.PacketSpec{Birth: 2, Flits: 3, VCs: 1}) // the same virtual channel
	simtest.Check(t, measure.RunToEnd(t.Context(), f, fabric.Ends{Source: s, Sink: s}, measure.ToEnd{}))
	at := map[string]int64{}
	for _, d := range s.Delivered {
		at[fmt.Sprint(d.Src, " to ", d.Dst)] = d.Cycle
	}
	simtest.ErrorIf(t, at["3 to 1"] != 23 || at["0 to 2"] != 8 || at["0 to 1"] != 26, "arrivals %v", at)
}

// Who wants the same output takes turns. The channel to terminal 1 carries a flit a cycle, from cycle 4 on:
// in 1,204 cycles 600 of the multicast packets of terminal 0 and 600 of the unicast packets of terminal 3; or
// 400 of the multicast packets of each of 0, 2 and 3.
func TestMulticastTurns(t *testing.T) { models(t, testMulticastTurns) }

func testMulticastTurns(t *testing.T, config fabric.Config) {
	alone, toAll := fabric.PacketSpec{Dst: 1, Flits: 1}, fabric.PacketSpec{Flits: 1, VCs: 2}
	for _, senders := range []map[topology.TerminalID]fabric.PacketSpec{{0: toAll, 3: alone}, {0: toAll, 2: toAll, 3: toAll}} {
		f, s := groupOnSwitch(t, config, 4), &script{}
		for src, spec := range senders {
			for range 1300 {
				s.Send(src, spec)
			}
		}
		f.Attach(fabric.Ends{Source: s, Sink: s})
		f.Advance(1204)
		heard := map[topology.TerminalID]int{}
		for _, d := range s.Delivered {
			if d.Dst == 1 {
				heard[d.Src]++
			}
		}
		for src := range senders {
			want := 1200 / len(senders)
			simtest.FatalIf(t, heard[src] < want-10 || heard[src] > want+10, "terminal 1 hears %v of %d senders, want %d of each", heard, len(senders), want)
		}
	}
}

// Queues of an input take turns, too. Terminals 2 and 3 send 20 flits to each other while 16 packets of terminal 0 come,
// for 2 and on another virtual channel for 3 in turn. Where ports are held they wait until both outputs are free, and
// then cross in turn as well.
func TestMulticastInputTurns(t *testing.T) { models(t, testMulticastInputTurns) }

func testMulticastInputTurns(t *testing.T, config fabric.Config) {
	n := newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = 4 })
	m, s := newTrees(n.topo.Graph()), &script{}
	config = cutThrough(config, 3)
	config.Switch.Speedup = 1
	f := simtest.Must(core.New(n.topo.Graph(), config, n.routing, 1))(t)
	s.Send(2, fabric.PacketSpec{Dst: 3, Flits: 20})
	s.Send(3, fabric.PacketSpec{Dst: 2, Flits: 20})
	var heard, want []topology.TerminalID
	for i := range topology.TerminalID(16) {
		dst := 2 + i%2
		s.Send(0, fabric.PacketSpec{Birth: 1, Flits: 1, VCs: 2 << (i % 2), MLID: m.plant(0, []topology.TerminalID{0, dst})})
		want = append(want, dst)
	}
	simtest.Check(t, f.SetMulticast(m.tables, 1))
	simtest.Check(t, measure.RunToEnd(t.Context(), f, fabric.Ends{Source: s, Sink: s}, measure.ToEnd{}))
	for _, d := range s.Delivered {
		if d.Src == 0 {
			heard = append(heard, d.Dst)
		}
	}
	simtest.EqualSlices(t, heard, want, "packets are heard by")
}

// groupTraffic sends, from every terminal, packets one after the other, one in three to a random group that the
// terminal belongs to, the others to a random terminal. What is a terminal's is its own, so that threads may share it.
type groupTraffic struct {
	groups [][]topology.TerminalID // by MLID
	from   []groupSender
	left   int // packets that a terminal sends in all
	gap    int // births of a terminal are less than so many cycles apart; 1: all are born at once
	vcs    uint32
}

type groupSender struct {
	random sim.Stream
	groups []int32
	sent   int
	birth  int64
	due    []hearing // of what has been sent
}

// hearing is a packet that reaches a terminal.
type hearing struct {
	tag uint64
	dst topology.TerminalID
}

func newGroupTraffic(g *topology.Graph, groups [][]topology.TerminalID, packets, gap int, vcs uint32) *groupTraffic {
	x := &groupTraffic{groups: groups, from: make([]groupSender, g.Terminals()), left: packets, gap: gap, vcs: vcs}
	for t := range x.from {
		x.from[t].random = sim.NewStream(1, "mixed", t)
	}
	for mlid, members := range groups {
		for _, t := range members {
			x.from[t].groups = append(x.from[t].groups, int32(mlid))
		}
	}
	return x
}

func (x *groupTraffic) Next(t topology.TerminalID, until int64, spec *fabric.PacketSpec) bool {
	s := &x.from[t]
	if spec.Birth = s.birth; s.sent == x.left {
		spec.Birth = fabric.Never
	}
	if spec.Birth > until {
		return false
	}
	tag := uint64(t)<<32 | uint64(s.sent)
	s.sent++
	*spec = fabric.PacketSpec{Birth: s.birth, Flits: int32(1 + s.random.IntN(4)), Tag: tag}
	if s.random.IntN(3) == 0 || len(s.groups) == 0 {
		spec.Dst = routingtest.Others(len(x.from)).Destination(t, &s.random)
		s.due = append(s.due, hearing{tag, spec.Dst})
	} else {
		spec.MLID, spec.VCs = s.groups[s.random.IntN(len(s.groups))], x.vcs
		for _, member := range x.groups[spec.MLID] {
			if member != t {
				s.due = append(s.due, hearing{tag, member})
			}
		}
	}
	s.birth += int64(s.random.IntN(x.gap))
	return true
}

// mixedNetworks are small networks under multicast and unicast traffic together, the multicast on the last virtual
// channel, all trees parts of one (on any graph; on trees of switches, of those from one root switch): no deadlock.
func mixedNetworks(t testing.TB) map[string]network {
	return map[string]network{
		"fat-tree":      smallTree(t),
		"dragonfly":     dragonflyNetwork(t, "min", 2, 4, 2),
		"dragonfly par": dragonflyNetwork(t, "par", 2, 4, 2),
		"torus":         newNetwork(t, "torus", "dor", func(c *topology.GridConfig) { c.Dims = []int{4, 4}; c.Terminals = 2 }),
		"random":        newNetwork(t, "random-regular", "table", func(c *topology.RandomRegularConfig) { c.Switches, c.Degree, c.Terminals = 12, 4, 2 }),
	}
}

// Every member hears every packet once, nobody else does, flits and credits are conserved (RunToEnd audits), and
// nothing deadlocks: on five networks and several pipelines with traffic as dense as it gets. Every copy arrives in the
// same cycle by the same number of switches for any number of threads.
func TestMulticastMixed(t *testing.T) {
	core.DivideAlways(t.Cleanup)
	models(t, testMulticastMixed)
}

func testMulticastMixed(t *testing.T, config fabric.Config) {
	for name, n := range mixedNetworks(t) {
		t.Run(name, func(t *testing.T) {
			for _, st := range simtest.Some(t, 0, 0, 1, 4, 6) {
				config := pipeline(cutThrough(config, n.routing.VCs()+1), st)
				config.Switch.BufferFlits, config.Switch.OutputBufferFlits = 9, st%2
				if config.Switch.Hold {
					config.Switch.OutputBufferFlits *= 9 // room for whole copies
				}
				sameForThreads(t, func(t *testing.T, threads int) string { return n.hearAll(t, config, threads) })
			}
		})
	}
}

// hearAll runs traffic to random groups on threads, wants every packet heard by whom it is for, and tells all deliveries.
func (n network) hearAll(t *testing.T, config fabric.Config, threads int) string {
	t.Helper()
	g := n.topo.Graph()
	m, r := newTrees(g), sim.NewStream(3, "groups", 0)
	var groups [][]topology.TerminalID
	for range 12 {
		members := terminals(g.Terminals())
		sim.Shuffle(&r, members)
		members = members[:1+r.IntN(len(members)-1)]
		m.plant(topology.SwitchID(g.Switches()-1), members)
		groups = append(groups, members)
	}
	x := newGroupTraffic(g, groups, 12, 1, 1<<n.routing.VCs())
	f, got := n.multicast(t, config, m), make(receivers, g.Terminals())
	f.Split(threads)
	simtest.ErrorIf(t, f.Threads() != threads, "%d threads, want %d", f.Threads(), threads)
	simtest.Check(t, measure.RunToEnd(t.Context(), f, fabric.Ends{Source: x, Sink: got}, measure.ToEnd{}))
	var due, heard []hearing
	for i := range x.from {
		due = append(due, x.from[i].due...)
		for _, d := range got[i] {
			heard = append(heard, hearing{d.Tag, d.Dst})
		}
		slices.SortFunc(got[i], func(a, b fabric.Delivery) int {
			return cmp.Or(cmp.Compare(a.Cycle, b.Cycle), cmp.Compare(a.Tag, b.Tag))
		})
	}
	order := func(a, b hearing) int { return cmp.Or(cmp.Compare(a.tag, b.tag), cmp.Compare(a.dst, b.dst)) }
	slices.SortFunc(due, order)
	slices.SortFunc(heard, order)
	simtest.ErrorIf(t, !slices.Equal(due, heard), "%d packets are heard, not all of them by those whom they are for, %d", len(heard), len(due))
	return fmt.Sprintln(f.Counters, f.Cycle(), f.ChannelFlits(), got)
}

// Four paths of three links around a ring of four, in one virtual channel: each link waits for the next. They jam, and
// the watchdog shows the circle; with two trees on each of two virtual channels there is none.
func TestMulticastDeadlock(t *testing.T) { models(t, testMulticastDeadlock) }

func testMulticastDeadlock(t *testing.T, config fabric.Config) {
	n := newNetwork(t, "torus", "dor", func(c *topology.GridConfig) { c.Dims = []int{4} })
	g := n.topo.Graph()
	m := newTrees(g)
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
			m.tables[s].MLIDs, m.tables[s].Ports = append(m.tables[s].MLIDs, mlid), append(m.tables[s].Ports, ports)
		}
		groups = append(groups, terminals(4))
	}
	config = cutThrough(config, 3)
	config.Switch.BufferFlits = 4
	err := measure.RunToEnd(t.Context(), n.multicast(t, config, m), fabric.Ends{Source: newGroupTraffic(g, groups, 2000, 1, 1<<2), Sink: &script{}}, measure.ToEnd{})
	var deadlock *core.DeadlockError
	simtest.FatalIf(t, !errors.As(err, &deadlock), "no deadlock: %v", err)
	simtest.ErrorIf(t, len(deadlock.Waits) == 0 || !deadlock.Waits[0].Multicast || !strings.Contains(err.Error(), "to a group"), "waits %+v", deadlock.Waits)
	for i, w := range deadlock.Waits {
		next := deadlock.Waits[(i+1)%len(deadlock.Waits)]
		simtest.ErrorIf(t, w.Wants != next.Holds, "%+v waits for what %+v does not hold", w, next)
	}
}

// What multicast packets cannot do with is refused by the key.
func TestMulticastRefusals(t *testing.T) {
	n := newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = 4 })
	for key, set := range map[string]func(c *fabric.Config){
		"switch.flow_control":        func(c *fabric.Config) { c.Switch.FlowControl = "wormhole" },
		"switch.output_buffer_flits": func(c *fabric.Config) { c.Switch.Hold, c.Switch.OutputBufferFlits = true, c.Switch.BufferFlits-1 },
		"switch.forwarding":          func(c *fabric.Config) { c.Switch.Forwarding = fabric.StoreAndForward },
		"switch.marking = threshold: want \"none\" with multicast packets, whose copies share one mark": func(c *fabric.Config) {
			c.Switch.Marking = marking.Named("threshold")
		},
		"terminal.buffer_flits = 64":     func(c *fabric.Config) { c.Terminal.BufferFlits = 64 },
		"switch.vc_reuse = credits-back": func(c *fabric.Config) { c.Switch.VCReuse = fabric.CreditsBack },
		"switch.input_speedup = 2":       func(c *fabric.Config) { c.Switch.InputSpeedup = 2 },
		"terminal.vlarb_low = 0:1,1:1":   func(c *fabric.Config) { c.Terminal.VLArbLow = "0:1,1:1" },
	} {
		config := cutThrough(fabric.DefaultConfig(), 2)
		set(&config)
		var wrong *param.ParamError
		err := n.fabric(t, config).SetMulticast(newTrees(n.topo.Graph()).tables, 1)
		simtest.ErrorIf(t, !errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), key), "%s: %v", key, err)
	}
	counts := network{n.topo, spy{Routing: n.routing, needs: fabric.Needs{Sent: true}}}.fabric(t, cutThrough(fabric.DefaultConfig(), 2))
	simtest.Panics(t, func() { _ = counts.SetMulticast(newTrees(n.topo.Graph()).tables, 1) }, "declares Needs.Sent: nobody counts")
}
