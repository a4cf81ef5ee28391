package core_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/allocator"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// flitRunCase draws a network, its switches and its traffic.
func flitRunCase(t testing.TB, r *sim.Stream) (n network, config fabric.Config, load float64, flits int, threads int) {
	config = fabric.DefaultConfig()
	s := &config.Switch
	switch r.IntN(5) {
	case 0:
		n = dragonflyNetwork(t, []string{"min", "val"}[r.IntN(2)], 1+r.IntN(2), 2+2*r.IntN(2), 1+r.IntN(2))
	case 1:
		n = newNetwork(t, "torus", "dor", func(c *topology.GridConfig) { c.Dims, c.Terminals = []int{3, 2 + r.IntN(3)}, 1+r.IntN(3) })
	case 2:
		n = newNetwork(t, "mesh", "dor", func(c *topology.GridConfig) { c.Dims = []int{1 + r.IntN(3) + 1, 4} })
	case 3:
		n = newNetwork(t, "fat-tree", "nca", func(c *topology.FatTreeConfig) { c.K, c.N = 4, 2+r.IntN(2) })
	default:
		n = newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = 2 + r.IntN(80) })
	}
	s.VCs = n.routing.VCs() + r.IntN(3)
	s.BufferFlits = 2 + r.IntN(40)
	s.Speedup = []float64{1, 2, 2, 3, 1.5}[r.IntN(5)]
	s.RouteCycles, s.SwitchAllocCycles, s.CrossbarCycles, s.CreditCycles = r.IntN(3), 1+r.IntN(3), r.IntN(3), r.IntN(3)
	s.VCAllocCycles, s.Pipeline = r.IntN(3), []string{fabric.Serial, fabric.Overlapped}[r.IntN(2)]
	s.CreditsPerCycle = []int{1, 1, 0, 2}[r.IntN(4)]
	s.Iterations = 1 + r.IntN(2)
	s.Allocator = allocator.Named([]string{"islip", "islip", "input-first"}[r.IntN(3)])
	if r.IntN(4) == 0 {
		s.OutputBufferFlits = 1 + r.IntN(12)
	}
	config.Channels = map[string]fabric.ChannelConfig{}
	for _, class := range n.topo.Graph().Classes {
		c := fabric.ChannelConfig{Latency: sim.Time(1+r.IntN(20)) * sim.Nanosecond}
		if r.IntN(8) == 0 {
			c.CyclesPerFlit = 1 + float64(r.IntN(5))/4
		}
		config.Channels[class.Name] = c
	}
	return n, config, []float64{0.05, 0.2, 0.5, 0.9}[r.IntN(4)], []int{3, 5, 9, 20, 70}[r.IntN(5)], 1 + r.IntN(2)
}

// TestFlitRuns: networks drawn at random are, with runs of flits, in every respect what they are
// flit by flit: counters, flits by channel and deliveries at any time; and their whole
// state, where it is written, which ends runs of flits, and later on.
func TestFlitRuns(t *testing.T) {
	core.DivideAlways(t.Cleanup)
	passing, reaching := int64(0), int64(0)
	for _, seed := range simtest.Seeds(t, 200, 3) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			r := sim.NewStream(seed, "convoys", 0)
			n, config, load, flits, threads := flitRunCase(t, &r)
			terminals := n.topo.Graph().Terminals()
			both := [2]*core.Fabric{}
			sinks := [2]*digest{{}, {}}
			for i := range both {
				f := n.fabric(t, config)
				f.Split(threads)
				lengths := mixed{flits}
				source := measure.NewOpenLoop(terminals, uniform{terminals}, routingtest.AtRate(min(1, 2*load/float64(1+flits))), lengths, 1)
				attach := f.Attach
				if i == 1 {
					attach = f.WithoutFlitRuns
				}
				simtest.Check(t, attach(source, sinks[i]))
				both[i] = f
			}
			for step := range 30 {
				cycles := int64(1 + r.IntN(60))
				for _, f := range both {
					f.Advance(cycles)
				}
				p, q := both[0].Passing()
				passing, reaching = passing+p, reaching+q
				if a, b := both[0], both[1]; a.Counters != b.Counters || !slices.Equal(a.ChannelFlits(), b.ChannelFlits()) || sinks[0].sum.Load() != sinks[1].sum.Load() {
					t.Fatalf("by cycle %d:\n%+v with convoys,\n%+v without; %+v, load %v, packets of up to %d flits, %d threads", a.Cycle(), a.Counters, b.Counters, config, load, flits, threads)
				}
				if step%7 != 6 {
					continue
				}
				var states [2][]byte
				for i, f := range both {
					states[i] = simtest.Must(f.AppendState(nil))(t)
				}
				if !bytes.Equal(states[0], states[1]) {
					t.Fatalf("in cycle %d the state with convoys is another one; %+v, load %v, packets of up to %d flits, %d threads", both[0].Cycle(), config, load, flits, threads)
				}
			}
		})
	}
	if passing < 7 || reaching < 4 {
		t.Errorf("%d convoys pass switches, %d reach terminals: too few to tell", passing, reaching)
	}
}
