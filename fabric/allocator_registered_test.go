package fabric_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/allocator"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/check"
	"github.com/weft-sim/weft/sim/snapshot"
)

func init() {
	allocator.Register("longest-queue", "for tests: the longest queue first", allocator.Traits{Queues: true, Maximal: true}, newLongestQueue)
}

// longestQueue lets the longest queues cross first, of equal ones the lower input.
type longestQueue struct{ env allocator.Env }

func newLongestQueue(env allocator.Env) allocator.Allocator { return &longestQueue{env} }

func (l *longestQueue) Allocate(requests []allocator.Request, matches []int) []int {
	var inputs, outputs uint64
	order := make([]int, 0, 16) // of a small switch: no memory
	for k := range requests {
		order = append(order, k)
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(requests[y].Queued, requests[x].Queued) })
	for _, k := range order {
		if r := requests[k]; inputs>>r.Input&1 == 0 && outputs>>r.Output&1 == 0 {
			inputs, outputs = inputs|1<<r.Input, outputs|1<<r.Output
			matches = append(matches, k)
		}
	}
	return matches
}

func (*longestQueue) Archive(*snapshot.Archive) {}

// Terminals 0 and 1 send three flits each to terminal 2, which takes one a cycle. Queues
// before each choice, the lower input first where they are equal: 1 1, then with the next
// arrivals 1 2, 2 2, and then 1 2, 1 1, 0 1: they take turns. An allocator that saw no
// lengths would let all of terminal 0 go first.
func TestAllocatorSeesQueues(t *testing.T) {
	n := newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = 4 })
	config, s := fabric.DefaultConfig(), &script{}
	config.Switch.Allocator, config.Switch.Speedup, config.Switch.VCs = "longest-queue", 1, 1
	for range 3 {
		s.send(0, fabric.PacketSpec{Dst: 2, Flits: 1})
		s.send(1, fabric.PacketSpec{Dst: 2, Flits: 1})
	}
	f := n.fabric(t, config)
	f.Attach(s, s)
	f.Advance(100)
	var sources []topology.TerminalID
	for _, d := range s.delivered {
		sources = append(sources, d.Src)
	}
	if want := []topology.TerminalID{0, 1, 0, 1, 0, 1}; !slices.Equal(sources, want) {
		t.Errorf("from terminals %v, want %v", sources, want)
	}
	config.Fabric.Unit, config.Switch.Hold, config.Switch.FlowControl = fabric.UnitPacket, true, fabric.CutThrough
	if _, err := fabric.New(n.topo.Graph(), config, n.routing, 1); err == nil || !strings.Contains(err.Error(), "longest-queue") {
		t.Errorf("packets as the unit: %v, want a refusal", err)
	}
}

// Two packets for terminal 2 meet at a switch: one of terminal 0, born in cycle 1, and
// one of terminal 1, born in cycle 0 and sent in cycle 1 behind another packet. Both
// enter their channels in the same cycle. By age that of terminal 1 goes first; a round
// robin begins with input 0.
func TestAgeIsCountedFromBirth(t *testing.T) {
	n := newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = 4 })
	for name, first := range map[string]topology.TerminalID{"age": 1, "islip": 0} {
		config, s := fabric.DefaultConfig(), &script{}
		config.Switch.Allocator = name
		s.send(0, fabric.PacketSpec{Birth: 1, Dst: 2, Flits: 1})
		s.send(1, fabric.PacketSpec{Birth: 0, Dst: 3, Flits: 1})
		s.send(1, fabric.PacketSpec{Birth: 0, Dst: 2, Flits: 1})
		f := n.fabric(t, config)
		f.Attach(s, s)
		f.Advance(100)
		var sources []topology.TerminalID
		for _, d := range s.delivered {
			if d.Dst == 2 {
				sources = append(sources, d.Src)
			}
		}
		if len(sources) != 2 || sources[0] != first {
			t.Errorf("%s: from terminals %v, want %d first", name, sources, first)
		}
	}
}

// Every allocator that is registered loses nothing in a loaded network, and needs no
// memory in steady state.
func TestRegisteredAllocators(t *testing.T) {
	for _, name := range allocator.Registry.Names() {
		t.Run(name, func(t *testing.T) {
			n := dragonflyNetwork(t, "min", 2, 4, 2)
			terminals := n.topo.Graph().Terminals()
			config, meter := fabric.DefaultConfig(), fabric.NewMeter(1<<40)
			config.Switch.Allocator = name
			f := n.fabric(t, config)
			source := fabric.NewOpenLoop(terminals, uniform{terminals}, bernoulli{sim.NewGeometric(0.4)}, fixed(1), 1)
			f.Attach(source, meter)
			meter.Open(0)
			f.Advance(20_000)
			if allocations := testing.AllocsPerRun(5, func() { f.Advance(1000) }); allocations > 0 && !check.On {
				t.Errorf("%v allocations of memory in 1000 cycles", allocations)
			}
			source.Stop(f.Cycle())
			f.Advance(1000)
			if f.InFlight() != 0 || f.InjectedFlits != f.DeliveredFlits || f.Packets == 0 {
				t.Errorf("%d packets in flight, counters %+v", f.InFlight(), f.Counters)
			}
		})
	}
}
