package core_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// groupTraffic sends, from every terminal, packets one after the other, some of them to a
// random group of the terminal's, the others to a random terminal. What is a terminal's is
// its own, so that threads may share it.
type groupTraffic struct {
	of    [][]int32 // groups of a terminal
	from  []groupSender
	flits int
	vcs   uint32
}

type groupSender struct {
	random sim.Stream
	sent   int
	birth  int64
}

func (x *groupTraffic) Next(t topology.TerminalID, until int64, spec *fabric.PacketSpec) bool {
	s := &x.from[t]
	if s.sent == 25 {
		spec.Birth = fabric.Never
		return false
	}
	if s.birth > until {
		spec.Birth = s.birth
		return false
	}
	*spec = fabric.PacketSpec{Birth: s.birth, Flits: int32(1 + s.random.IntN(x.flits)), Tag: uint64(t)<<32 | uint64(s.sent)}
	if s.random.IntN(3) == 0 || len(x.of[t]) == 0 {
		spec.Dst = uniform{len(x.from)}.Destination(t, &s.random)
	} else {
		spec.MLID, spec.VCs = x.of[t][s.random.IntN(len(x.of[t]))], x.vcs
	}
	s.sent++
	s.birth += int64(s.random.IntN(12))
	return true
}

// TestThreadsMulticast: every copy of every packet arrives in the same cycle by the same
// number of switches for any number of threads, on all networks of TestMulticastMixed and
// several pipelines; in the end every record of a packet is free and every flit and credit
// accounted for ([measure.RunToEnd] audits).
func TestThreadsMulticast(t *testing.T) {
	core.DivideAlways(t.Cleanup)
	testThreadsMulticast(t, fabric.DefaultConfig(), 0, 4)
}

// TestThreadsMulticastPackets is TestThreadsMulticast with packets as the unit.
func TestThreadsMulticastPackets(t *testing.T) {
	core.DivideAlways(t.Cleanup)
	config := fabric.DefaultConfig()
	packets(&config)
	testThreadsMulticast(t, config, 4)
}

func testThreadsMulticast(t *testing.T, base fabric.Config, pipelines ...int) {
	for name, n := range mixedNetworks(t) {
		for _, st := range pipelines {
			config := cutThrough(base, n.routing.VCs()+1)
			s := stages[st]
			config.Switch.RouteCycles, config.Switch.VCAllocCycles, config.Switch.SwitchAllocCycles, config.Switch.CrossbarCycles, config.Switch.Speedup =
				s.route, s.vcAlloc, s.alloc, s.crossbar, s.speedup
			config.Switch.BufferFlits = 9
			t.Run(name+", "+s.name, func(t *testing.T) {
				sameForThreads(t, func(t *testing.T, threads int) string {
					g := n.topo.Graph()
					x := &groupTraffic{of: make([][]int32, g.Terminals()), flits: 4, vcs: 1 << n.routing.VCs()}
					m := routingtest.NewTrees(g)
					r := sim.NewStream(3, "groups", 0)
					for range 12 {
						members := terminals(g.Terminals())
						sim.Shuffle(&r, members)
						members = members[:1+r.IntN(len(members)-1)]
						mlid := m.Plant(topology.SwitchID(g.Switches()-1), members)
						for _, member := range members {
							x.of[member] = append(x.of[member], mlid)
						}
					}
					for terminal := range g.Terminals() {
						x.from = append(x.from, groupSender{random: sim.NewStream(1, "mixed", terminal)})
					}
					f := n.multicast(t, config, m)
					f.Split(threads)
					if f.Threads() != threads {
						t.Errorf("%d threads, want %d", f.Threads(), threads)
					}
					got := make(logbook, g.Terminals())
					simtest.Check(t, measure.RunToEnd(t.Context(), f, x, got, measure.ToEnd{}))
					all := fmt.Sprintln(f.Counters, f.Cycle(), f.ChannelFlits())
					for _, list := range got {
						slices.SortFunc(list, func(a, b fabric.Delivery) int {
							return cmp.Or(cmp.Compare(a.Cycle, b.Cycle), cmp.Compare(a.Tag, b.Tag))
						})
						all += fmt.Sprintln(list)
					}
					return all
				})
			})
		}
	}
}
