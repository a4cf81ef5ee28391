package core_test

import (
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/allocator"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/check"
	"github.com/weft-sim/weft/sim/simtest"
)

// Of two rivals the round robins choose the same, played out for them alone or for any number.
func TestMatchPair(t *testing.T) {
	random := sim.NewStream(1, "pairs", 0)
	for _, vcs := range []int{1, 3} {
		config := fabric.DefaultConfig()
		config.Switch.VCs = vcs
		f := newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = 5 }).fabric(t, config)
		f.OpenIdle()
		for range 20_000 {
			pair, plain := f.MatchPair(random.IntN)
			simtest.FatalIf(t, pair != plain, "chose queue, input, output %v, want %v", pair, plain)
		}
	}
}

// Packets that share neither input nor output of a switch of more than 64 ports do not meet, even if the numbers of
// their ports are equal modulo 64: three pairs of ports, one packet on each, arrive as soon as a packet alone does.
func TestManyPorts(t *testing.T) {
	n := newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = 200 })
	arrival := func(sources ...topology.TerminalID) (cycles []int64) {
		f, s := n.fabric(t, fabric.DefaultConfig()), &script{}
		for _, src := range sources {
			s.Send(src, fabric.PacketSpec{Dst: src + 1, Flits: 1})
		}
		f.Attach(fabric.Ends{Source: s, Sink: s})
		f.Advance(100)
		for _, d := range s.Delivered {
			cycles = append(cycles, d.Cycle)
		}
		return cycles
	}
	alone := arrival(0)[0]
	for _, sources := range [][]topology.TerminalID{{0, 64}, {0, 64, 128}, {3, 67, 10, 138}} {
		got := arrival(sources...)
		simtest.FatalIf(t, len(got) != len(sources), "from %v: %d packets arrived", sources, len(got))
		for _, cycle := range got {
			simtest.ErrorIf(t, cycle != alone, "from %v: arrivals in cycles %v, want %d", sources, got, alone)
		}
	}
}

// Two packets for terminal 2 meet at a switch: one of terminal 0, born in cycle 1, and one of
// terminal 1, born in cycle 0 and sent in cycle 1 behind another packet. Both enter their channels
// in the same cycle. By age that of terminal 1 goes first; a round robin begins with input 0.
func TestAgeIsCountedFromBirth(t *testing.T) {
	n := newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = 4 })
	for name, first := range map[string]topology.TerminalID{"age": 1, "islip": 0} {
		config, s := fabric.DefaultConfig(), &script{}
		config.Switch.Allocator = allocator.Named(name)
		s.Send(0, fabric.PacketSpec{Birth: 1, Dst: 2, Flits: 1})
		s.Send(1, fabric.PacketSpec{Birth: 0, Dst: 3, Flits: 1})
		s.Send(1, fabric.PacketSpec{Birth: 0, Dst: 2, Flits: 1})
		n.play(t, config, s, 100)
		var sources []topology.TerminalID
		for _, d := range s.Delivered {
			if d.Dst == 2 {
				sources = append(sources, d.Src)
			}
		}
		simtest.ErrorIf(t, len(sources) != 2 || sources[0] != first, "%s: from terminals %v, want %d first", name, sources, first)
	}
}

// Every allocator that is registered loses nothing in a loaded network, and needs no memory in steady state.
func TestRegisteredAllocators(t *testing.T) {
	for _, name := range allocator.Registry.Names() {
		t.Run(name, func(t *testing.T) {
			n := dragonflyNetwork(t, "min", 2, 4, 2)
			config, meter := fabric.DefaultConfig(), measure.NewMeter(1<<40)
			config.Switch.Allocator = allocator.Named(name)
			f, source := n.fabric(t, config), n.traffic(0.4, 1)
			f.Attach(fabric.Ends{Source: source, Sink: meter})
			meter.Open(0)
			if f.Advance(2000); !check.On { // the checked build needs memory for its checks
				f.Advance(18_000)
				allocations := testing.AllocsPerRun(5, func() { f.Advance(1000) })
				simtest.ErrorIf(t, allocations > 0, "%v allocations of memory in 1000 cycles", allocations)
			}
			source.Stop(f.Cycle())
			f.Advance(1000)
			simtest.ErrorIf(t, f.InFlight() != 0 || f.InjectedFlits != f.DeliveredFlits || f.Packets == 0,
				"%d packets in flight, counters %+v", f.InFlight(), f.Counters)
		})
	}
}

// onlooker is a routing that notes, as packets leave their terminal, how many credits of a port are outstanding.
type onlooker struct {
	fabric.Routing
	port topology.PortID
	seen []int
}

func (o *onlooker) Needs() fabric.Needs { return fabric.Needs{Credits: true, Departs: true} }

func (o *onlooker) Depart(v *fabric.View, h *fabric.Head) uint32 {
	o.seen = append(o.seen, v.OutstandingAll(o.port))
	return v.AllVCs()
}

// pairOfSwitches is a line of two switches with a terminal each, whose stages and channels
// take a cycle each, and a routing that notes the credits of the channel between them.
func pairOfSwitches(t *testing.T, set func(*fabric.Config)) (*core.Fabric, *onlooker) {
	n := newNetwork(t, "mesh", "dor", func(c *topology.GridConfig) { c.Dims, c.Terminals = []int{2}, 1 })
	o, config := &onlooker{Routing: n.routing, port: n.topo.(topology.Grid).Towards(0, 0, true)}, fabric.DefaultConfig()
	config.Switch.Speedup, config.Switch.VCs = 1, 1
	set(&config)
	f := simtest.Must(core.New(n.topo.Graph(), config, o, 1))(t)
	return f, o
}

// TestDepartureSeesTheCycleBefore: a terminal decides in the cycle before a head enters its channel, and by what the
// cycle before that has left, as BookSim2's do: its terminals send before routers take the credits of a cycle, and
// their heads reach a router two cycles later.
//
// A first packet is born in cycle 0. With injection_cycles = 1 it enters its channel in cycle 1 and reaches the switch
// in cycle 2, which grants it: a credit is taken. It leaves in cycle 4 and is granted at the second switch in cycle 5.
// The credit leaves in cycle 6 and can be used in cycle 6 + 1 + 1 = 8. A packet born in cycle b is decided in cycle b,
// so that it sees the credit out if b is from 3, the cycle after it was taken, to 8, as terminals decide before the
// credits of a cycle come. With injection_cycles = 0 all is a cycle earlier, but the decision, which falls in the cycle
// of the head.
func TestDepartureSeesTheCycleBefore(t *testing.T) {
	for _, unit := range []func(*fabric.Config){func(*fabric.Config) {}, packets} {
		for injection, first := range map[int]int64{1: 3, 0: 2} {
			for birth := int64(1); birth <= 10; birth++ {
				f, o := pairOfSwitches(t, func(c *fabric.Config) {
					unit(c)
					c.Terminal.InjectionCycles = injection
				})
				s := &script{}
				s.Send(0, fabric.PacketSpec{Birth: 0, Dst: 1, Flits: 1})
				s.Send(0, fabric.PacketSpec{Birth: birth, Dst: 1, Flits: 1})
				f.Attach(fabric.Ends{Source: s, Sink: s})
				f.Advance(40)
				want := 0
				if birth >= first && birth <= first+5 {
					want = 1
				}
				simtest.ErrorIf(t, !slices.Equal(o.seen, []int{0, want}),
					"injection_cycles %d, born in cycle %d: saw %v credits outstanding, want 0 and %d", injection, birth, o.seen, want)
				simtest.Check(t, f.Audit())
			}
		}
	}
}

// TestSuccessorDecidedAhead: so it is where packets follow upon each other. One of 3 flits
// enters its channel in cycles 1 to 3, its flits are granted in cycles 2 to 4. The next
// enters in cycle 4; it is decided in cycle 3 and sees the credit taken in cycle 2.
func TestSuccessorDecidedAhead(t *testing.T) {
	for _, unit := range []func(*fabric.Config){func(*fabric.Config) {}, packets} {
		f, o := pairOfSwitches(t, unit)
		s := &script{}
		for range 2 {
			s.Send(0, fabric.PacketSpec{Birth: 0, Dst: 1, Flits: 3})
		}
		f.Attach(fabric.Ends{Source: s, Sink: s})
		f.Advance(40)
		simtest.EqualSlices(t, o.seen, []int{0, 1}, "saw credits outstanding")
	}
}

// TestTerminalBuffer: terminals with buffers return credits. Packets of a flit are granted in cycle 2 and every cycle
// from then on, leave 2 cycles later and arrive a cycle after that, the first in cycle 5. Its credit leaves in cycle 6,
// and can be used in cycle 6 + 1 + 1 = 8, six cycles after it was taken: a buffer of 2 flits takes 2 in 6 cycles.
func TestTerminalBuffer(t *testing.T) {
	for flits, want := range map[int][]int64{0: {5, 6, 7, 8, 9, 10}, 2: {5, 6, 11, 12, 17, 18}, 5: {5, 6, 7, 8, 9, 11}} {
		n := newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = 2 })
		config := fabric.DefaultConfig()
		config.Switch.Speedup, config.Switch.VCs, config.Terminal.BufferFlits = 1, 1, flits
		s := &script{}
		for range want {
			s.Send(0, fabric.PacketSpec{Birth: 0, Dst: 1, Flits: 1})
		}
		f := n.play(t, config, s, 60)
		simtest.EqualSlices(t, s.Arrivals(1), want, "buffer of %d flits: arrivals in cycles", flits)
		simtest.Check(t, f.Audit())
	}
}

// TestAliasedPorts: rivals are looked for by ports modulo 64. Terminals 0, 2 and 64 of a switch of 70 send to 1, 3 and 65,
// and none waits: packets arrive in cycle 5, as the first one in TestTerminalBuffer.
func TestAliasedPorts(t *testing.T) {
	n := newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = 70 })
	config, s := fabric.DefaultConfig(), &script{}
	config.Switch.Speedup, config.Switch.VCs = 1, 1
	for _, src := range []topology.TerminalID{0, 2, 64} {
		s.Send(src, fabric.PacketSpec{Dst: src + 1, Flits: 1})
	}
	n.play(t, config, s, 60)
	simtest.Alike(t, "arrivals", s.Arrivals(1), []int64{5}, s.Arrivals(3), []int64{5}, s.Arrivals(65), []int64{5})
}

// TestTerminalBufferBehindLink: the same behind a link of 4 cycles, which the credits of terminals do not cross, with a
// channel of 1.25 cycles a flit and a buffer of 3. Flits come to the second switch from cycle 8 on. The first three are
// granted in 8, 9 and 10, leave in 10, 11.25 and 12.5 and arrive in 11, 13 and 14; their credits count from 14, 16 and 17
// on. So the others are granted then, leave in 16, 18 and 19.25, the last of them behind that before it, and arrive in
// 17, 19 and 21.
func TestTerminalBufferBehindLink(t *testing.T) {
	b := topology.NewBuilder(2, topology.Class{Name: "in", Latency: 1}, topology.Class{Name: "link", Latency: 4}, topology.Class{Name: "out", Latency: 1})
	b.AddTerminal(0, 0)
	b.AddTerminal(1, 2)
	b.AddLink(0, 1, 1)
	n := &laned{b.Freeze(), 1, func(topology.TerminalID) int { return 0 }}
	config, s := fabric.DefaultConfig(), &script{}
	config.Switch.Speedup, config.Switch.VCs, config.Terminal.BufferFlits = 1, 1, 3
	config.Channels = map[string]fabric.ChannelConfig{"out": {CyclesPerFlit: 1.25}}
	for range 6 {
		s.Send(0, fabric.PacketSpec{Dst: 1, Flits: 1})
	}
	f := simtest.Must(core.New(n.graph, config, n, 1))(t)
	simtest.Check(t, measure.RunToEnd(t.Context(), f, fabric.Ends{Source: s, Sink: s}, measure.ToEnd{}))
	simtest.EqualSlices(t, s.Arrivals(1), []int64{11, 13, 14, 17, 19, 21}, "arrivals in cycles")
}
