package core_test

import (
	"slices"
	"sync/atomic"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/marking"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestMarksOnAnyNetwork: the same packets are marked on any number of threads, after a
// snapshot and with either unit, on random networks with random policies.
func TestMarksOnAnyNetwork(t *testing.T) {
	core.DivideAlways(t.Cleanup)
	packets, units, trials := 0, 0, 0
	for seed := uint64(0); trials < 8; seed++ {
		tr, whole := routingtest.DrawTrial(t, seed), routingtest.DrawUnitTrial(t, 1000+seed)
		if !tr.Mark() || !whole.Mark() {
			continue
		}
		trials++
		heard, _ := heardAndTraced(checkUnicast(t, tr, seed, nil))
		packets += heard
		units += whole.CheckUnits(t, 400)
		whole.SetUnit(fabric.UnitPacket)
		heard, _ = heardAndTraced(checkUnicast(t, whole, seed, nil))
		packets += heard
	}
	if packets < 1000 || units < 1000 {
		t.Errorf("%d and %d packets are not a test", packets, units)
	}
}

// mark sets a policy of a switch.
func mark[C any](t *testing.T, s *fabric.SwitchConfig, policy string, settings C) {
	t.Helper()
	simtest.Check(t, s.Marking.Choose(policy))
	*s.Marking.Config().(*C) = settings
}

// TestMarksByHand: two terminals of a switch send ten packets of a flit each to a third, which
// takes a flit a cycle. Of those that come in cycle k, counted from 0, both cross in it, and
// leave from the next cycle on: 2(k+1) have come, k-1 have left before, from cycle 1 on, so that
// 2, 4, 5, 6, ... wait. From 6 on, which is cycle 3, 14 are marked.
//
// By policy infiniband, with weight 14 and buffers of 30 flits, a packet is marked beside which
// more than 30/15 = 2 flits wait on its lane: from cycle 1 on, in which 4 wait. Of these 18 one of
// three is marked with a rate of 2, the third of them first, which was born in cycle 2: 6. With
// lanes all but the packet of terminal 1 born in cycle 7 are on lane 0, of which 17 of 19 are
// marked; the one of lane 1 is alone there.
func TestMarksByHand(t *testing.T) {
	n := newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = 3 })
	needs := fabric.NeedsOf(n.routing)
	needs.Packets = true
	byLevel := spy{n.routing, needs, func(_ *fabric.View, h *fabric.Head, hop *fabric.Hop) { hop.VCs = 1 << h.Level }}
	infiniband := func(rate int) func(*fabric.SwitchConfig) {
		return func(s *fabric.SwitchConfig) {
			s.BufferFlits = 30
			mark(t, s, "infiniband", marking.InfiniBand{Threshold: 14, Rate: rate, VictimMask: "0x0"})
		}
	}
	for _, c := range []struct {
		name  string
		lanes int
		set   func(*fabric.SwitchConfig)
		first int64  // birth of the first that is marked
		want  [2]int // by lane
	}{
		{"threshold", 1, func(s *fabric.SwitchConfig) { mark(t, s, "threshold", marking.Threshold{Flits: 6}) }, 3, [2]int{14, 0}},
		{"one of three", 1, infiniband(2), 2, [2]int{6, 0}},
		{"lanes", 2, infiniband(0), 1, [2]int{17, 0}},
	} {
		units(t, func(t *testing.T, config fabric.Config) {
			config.Switch.VCs = c.lanes
			c.set(&config.Switch)
			s := &script{}
			for birth := range int64(10) {
				s.send(0, fabric.PacketSpec{Birth: birth, Dst: 2, Flits: 1})
				lane := 0
				if birth == 7 {
					lane = c.lanes - 1
				}
				s.send(1, fabric.PacketSpec{Birth: birth, Dst: 2, Flits: 1, Level: uint8(lane), Tag: uint64(lane)})
			}
			f := network{n.topo, byLevel}.fabric(t, config)
			simtest.Check(t, f.Attach(fabric.Ends{Source: s, Sink: s}))
			f.Advance(60)
			marked := [2]int{}
			for _, d := range s.delivered {
				if !d.Marked {
					continue
				}
				if marked[d.Tag]++; d.Birth < c.first {
					t.Errorf("%s: the packet of terminal %d born in cycle %d is marked", c.name, d.Src, d.Birth)
				}
			}
			if len(s.delivered) != 20 || marked != c.want {
				t.Errorf("%s: %v of %d packets marked by lane, want %v of 20", c.name, marked, len(s.delivered), c.want)
			}
		})
	}
}

// labelled sends uniform traffic whose level and entropy follow from its ends.
type labelled struct{ *measure.OpenLoop }

func labelFor(src, dst topology.TerminalID) (level uint8, entropy uint16) {
	return uint8(src+dst) % 16, uint16(1000*src + dst)
}

func (l labelled) Next(t topology.TerminalID, until int64, spec *fabric.PacketSpec) bool {
	ok := l.OpenLoop.Next(t, until, spec)
	if ok {
		spec.Level, spec.Entropy = labelFor(t, spec.Dst)
	}
	return ok
}

// byLabel gives packets virtual channels by their level, holds what it is told of them to
// what they were sent with, and counts what it is told of.
func byLabel(t *testing.T, r fabric.Routing, told, marked *atomic.Int64) fabric.Routing {
	needs := fabric.NeedsOf(r)
	needs.Packets = true
	return spy{r, needs, func(v *fabric.View, h *fabric.Head, hop *fabric.Hop) {
		if level, entropy := labelFor(h.Src, h.Dst); h.Level != level || h.Entropy != entropy {
			t.Errorf("a packet from %d to %d has level %d and entropy %d, want %d and %d", h.Src, h.Dst, h.Level, h.Entropy, level, entropy)
		}
		if told.Add(1); h.Marked {
			marked.Add(1)
		}
		hop.VCs = 1 << (int(h.Level) % v.VCs())
	}}
}

// TestLabelsTravel: a routing is told who sent a packet, and of the level, the entropy and the
// mark that it has, at every switch: with stages one after the other and overlapping, flits and
// packets, any number of threads; the same packets arrive in the same cycles.
func TestLabelsTravel(t *testing.T) {
	core.DivideAlways(t.Cleanup)
	n := newNetwork(t, "mesh", "dor", func(c *topology.GridConfig) { c.Dims = []int{3, 3} })
	terminals := n.topo.Graph().Terminals()
	for name, set := range map[string]func(*fabric.Config){
		"wormhole":           func(*fabric.Config) {},
		"stages":             func(c *fabric.Config) { c.Switch.VCAllocCycles, c.Switch.RouteCycles = 1, 1 },
		"lanes of terminals": func(c *fabric.Config) { c.Terminal.VLArbLow, c.Switch.FlowControl = "0:1,1:2,2:1", fabric.CutThrough },
		"packets as the unit": func(c *fabric.Config) {
			c.Switch.FlowControl, c.Switch.Hold, c.Fabric.Unit = fabric.CutThrough, true, fabric.UnitPacket
		},
	} {
		t.Run(name, func(t *testing.T) {
			var first receivers
			for threads := 1; threads <= 3; threads++ {
				config := fabric.DefaultConfig()
				config.Switch.VCs, config.Switch.BufferFlits = 3, 8
				set(&config)
				mark(t, &config.Switch, "threshold", marking.Threshold{Flits: 4})
				var told, marked atomic.Int64
				own := network{n.topo, byLabel(t, n.routing, &told, &marked)}
				f, got := own.fabric(t, config), make(receivers, terminals)
				f.Split(threads)
				source := labelled{measure.NewOpenLoop(terminals, routingtest.Others(terminals), routingtest.AtRate(0.2), routingtest.Fixed(3), 1)}
				simtest.Check(t, f.Attach(fabric.Ends{Source: source, Sink: got}))
				f.Advance(500)
				hops, arrived := int64(0), 0
				for _, all := range got {
					arrived += len(all)
					for _, d := range all {
						hops += int64(d.Hops)
					}
				}
				if told.Load() < hops || arrived < 500 || marked.Load() == 0 {
					t.Errorf("%d packets crossed %d switches; the routing was told of %d, %d of them marked", arrived, hops, told.Load(), marked.Load())
				}
				if first == nil {
					first = got
				}
				for i := range got {
					if !slices.Equal(got[i], first[i]) {
						t.Errorf("terminal %d hears of other packets on %d threads", i, threads)
					}
				}
			}
		})
	}
}
