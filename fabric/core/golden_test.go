package core_test

import (
	"sync/atomic"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/allocator"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// digest is a sink that hashes deliveries, whatever their order, on any number of threads.
type digest struct{ sum atomic.Uint64 }

func (d *digest) Deliver(p *fabric.Delivery) {
	h := uint64(14695981039346656037) // FNV-1a over the fields
	for _, x := range []uint64{uint64(p.Src), uint64(p.Dst), uint64(p.Birth), uint64(p.Inject), uint64(p.Cycle), uint64(p.Hops), uint64(p.Flits)} {
		h = (h ^ x) * 1099511628211
		h ^= h >> 29
	}
	if p.NonMinimal {
		h *= 3
	}
	d.sum.Add(h)
}

// mixed draws packets of one to most flits.
type mixed struct{ most int }

func (m mixed) Draw(r *sim.Stream) int { return 1 + r.IntN(m.most) }

// TestGolden pins what the switch does, flit by flit: the hash of all deliveries of runs that reach
// every path through the allocators. The numbers were recorded from a plainer implementation of the
// same switch; they say nothing about right or wrong, but a change that is meant to leave results
// alone must leave them alone. A change of the model records them anew (the failure prints them)
// and says so in the change log.
//
// Asking for memory ahead, as large networks do, changes nothing; the loops for the usual case do
// what those for every case do; and iSLIP and input-first as they are registered do what the loops
// tuned for them do. A run tries one of these in each case.
func TestGolden(t *testing.T) {
	forms := map[string]func(func(func())){"": func(func(func())) {}, ", prefetching": core.PrefetchAlways, ", plain never": core.PlainNever, ", tuned never": core.TunedNever}
	for i, c := range goldenCases() {
		n := c.network(t)
		for _, form := range append([]string{""}, simtest.Some(t, i, ", prefetching", ", plain never", ", tuned never")...) {
			t.Run(c.name+form, func(t *testing.T) {
				forms[form](t.Cleanup)
				for perCycle, want := range map[int]uint64{1: c.want, 0: c.unlimited} {
					got, counters := c.digest(t, n, func(s *fabric.SwitchConfig) { s.CreditsPerCycle = perCycle })
					simtest.ErrorIf(t, got != want, "credits_per_cycle %d: digest %#x, want %#x: %+v", perCycle, got, want, counters)
				}
			})
		}
	}
}

// goldenCase is a network with its switches and traffic, and what comes out of it.
type goldenCase struct {
	name      string
	network   func(testing.TB) network
	set       func(*fabric.Config)
	load      float64 // flits per terminal and cycle
	flits     mixed
	want      uint64
	unlimited uint64 // with credits_per_cycle = 0
}

// digest runs a case on its network with settings of its own and hashes what it delivers.
func (c *goldenCase) digest(t *testing.T, n network, set func(*fabric.SwitchConfig)) (uint64, core.Counters) {
	t.Helper()
	config := fabric.DefaultConfig()
	c.set(&config)
	set(&config.Switch)
	f := n.fabric(t, config)
	terminals := n.topo.Graph().Terminals()
	mean := float64(1+c.flits.most) / 2
	d := &digest{}
	f.Attach(fabric.Ends{Source: measure.NewOpenLoop(terminals, routingtest.Others(terminals), routingtest.AtRate(c.load/mean), c.flits, 1), Sink: d})
	cycles := int64(2000)
	if terminals > 500 {
		cycles = 300
	}
	f.Advance(cycles)
	return d.sum.Load() + uint64(f.InjectedFlits)<<32 + uint64(f.FlitHops), f.Counters
}

func goldenCases() []goldenCase {
	torus := func(t testing.TB) network {
		return newNetwork(t, "torus", "dor", func(c *topology.GridConfig) { c.Dims, c.Terminals = []int{4, 5}, 2 })
	}
	tree := func(up string) func(testing.TB) network {
		return func(t testing.TB) network {
			n := newNetwork(t, "fat-tree", "nca", func(c *topology.FatTreeConfig) { c.K, c.N = 48, 2 })
			r := simtest.Must(routing.Registry.Build("nca", &routing.NCAConfig{Up: up, Down: "random"}, routing.Env{Topology: n.topo, Seed: 1}))(t)
			n.routing = r
			return n
		}
	}
	ugal := func(decidedAt, decision string) func(testing.TB) network {
		return func(t testing.TB) network {
			n := dragonflyNetwork(t, "ugal-l-vch", 2, 4, 2)
			r, err := param.Make(routing.Registry, "ugal-l-vch", routing.Env{Topology: n.topo, Seed: 1}, func(c *routing.UGALSettings) {
				c.DecidedAt, c.Decision = decidedAt, decision
			})
			simtest.Check(t, err)
			n.routing = r
			return n
		}
	}
	return []goldenCase{
		{"default", dragonfly("min"), func(c *fabric.Config) {}, 0.4, mixed{1}, 0x900a6f730b040ccf, 0x900a6f730b040ccf},
		{"saturated", dragonfly("min"), func(c *fabric.Config) { c.Switch.BufferFlits = 4 }, 1, mixed{1}, 0xa5964151b5448807, 0xab24b1e4ec026b27},
		{"wormhole", dragonfly("val"), func(c *fabric.Config) { c.Switch.BufferFlits = 5 }, 0.5, mixed{6}, 0x510152eb18ca7797, 0x549fb7f91600ddb1},
		{"cut-through", dragonfly("val"), func(c *fabric.Config) { c.Switch.FlowControl, c.Switch.BufferFlits = "cut-through", 9 }, 0.5, mixed{6}, 0x8ffbc439b76456d8, 0x7f959a45af3c0e5c},
		{"input-first", dragonfly("min"), func(c *fabric.Config) { c.Switch.Allocator = allocator.Named("input-first") }, 0.8, mixed{2}, 0x8559758818e68847, 0x8559758818e68847},
		{"iterations", dragonfly("val"), func(c *fabric.Config) { c.Switch.Iterations, c.Switch.VCs = 3, 6 }, 0.6, mixed{3}, 0xea3ab202f5866690, 0xb2f98a686b713028},
		{"input-first iterations", dragonfly("val"), func(c *fabric.Config) { c.Switch.Iterations, c.Switch.Allocator = 2, allocator.Named("input-first") }, 0.6, mixed{3}, 0xc3fbf197f69fc14e, 0xd05aa2cc7f7a988e},
		{"wavefront", dragonfly("val"), func(c *fabric.Config) { c.Switch.Allocator = allocator.Named("wavefront") }, 0.6, mixed{3}, 0x233d96cd2edac8fc, 0x29baf2752d300631},
		{"age", dragonfly("val"), func(c *fabric.Config) { c.Switch.Allocator = allocator.Named("age") }, 0.6, mixed{3}, 0xeb1830541f04692b, 0xd1182ed8a708de64},
		{"matrix", dragonfly("val"), func(c *fabric.Config) { c.Switch.Iterations, c.Switch.Allocator = 2, allocator.Named("matrix") }, 0.6, mixed{3}, 0xf70fd52dceace60, 0x3802418f691feab6},
		{"fractional speedup", dragonfly("min"), func(c *fabric.Config) { c.Switch.Speedup = 1.5 }, 0.7, mixed{2}, 0x701a002ab1bb0250, 0x701a002ab1bb0250},
		{"output buffers", dragonfly("min"), func(c *fabric.Config) { c.Switch.OutputBufferFlits, c.Switch.BufferFlits = 2, 8 }, 0.9, mixed{4}, 0x13ef5f0361e8156d, 0xeb830614d67960a6},
		{"slow channels", dragonfly("min"), func(c *fabric.Config) {
			c.Channels = map[string]fabric.ChannelConfig{"local": {CyclesPerFlit: 1.75, Latency: 9 * sim.Nanosecond}, "terminal": {CyclesPerFlit: 1.3}}
		}, 0.6, mixed{3}, 0x597c6345c5e5cfaa, 0x62cc31c895ea82a},
		{"deep stages", dragonfly("min"), func(c *fabric.Config) {
			c.Switch.RouteCycles, c.Switch.VCAllocCycles, c.Switch.SwitchAllocCycles, c.Switch.CrossbarCycles, c.Switch.Pipeline = 2, 3, 4, 5, fabric.Serial
		}, 0.4, mixed{3}, 0xfd3c99fa67a9229f, 0xfd3c99fa67a9229f},
		{"deep stages overlapped", dragonfly("min"), func(c *fabric.Config) {
			c.Switch.RouteCycles, c.Switch.VCAllocCycles, c.Switch.SwitchAllocCycles, c.Switch.CrossbarCycles = 2, 3, 4, 5
		}, 0.4, mixed{3}, 0x6d3154deadf7f109, 0x6d3154deadf7f109},
		{"single step", dragonfly("min"), func(c *fabric.Config) { c.Switch.VCAllocCycles, c.Switch.CrossbarCycles, c.Switch.Speedup = 0, 0, 1 }, 0.7, mixed{3}, 0x86e5234377011fcf, 0x86e5234377011fcf},
		{"credit sensing", dragonfly("val"), func(c *fabric.Config) { c.Switch.CreditSensing, c.Switch.BufferFlits = "on", 6 }, 0.5, mixed{2}, 0x38b48f803a85aee, 0xc9c11fdebf74fc7},
		{"adaptive", dragonfly("ugal-l-vch"), func(c *fabric.Config) { c.Switch.BufferFlits = 6 }, 0.6, mixed{3}, 0x86f4c88e2be1b1c, 0x74a1d75e31fc778},
		{"adaptive decided at switches", ugal("switch", "greedy"), func(c *fabric.Config) { c.Switch.BufferFlits = 6 }, 0.6, mixed{3}, 0x7d2d5d7ee908f792, 0xa89b7c51909e8344},
		{"adaptive sequential", ugal("switch", "sequential"), func(c *fabric.Config) { c.Switch.BufferFlits = 6 }, 0.6, mixed{3}, 0x7f42257490c82a79, 0x2b1c4a481e0b099c},
		{"adaptive with credit sensing", dragonfly("ugal-l-cr"), func(c *fabric.Config) { c.Switch.BufferFlits = 6 }, 0.6, mixed{3}, 0x6294353adf34454f, 0x112439ead2ae9a19},
		{"torus", torus, func(c *fabric.Config) { c.Switch.VCs, c.Switch.BufferFlits = 6, 8 }, 0.9, mixed{4}, 0x876b82fce08c8b62, 0x2a293ce7e4ed9aa8},
		{"torus with injection delay", torus, func(c *fabric.Config) { c.Switch.BufferFlits, c.Terminal.InjectionCycles = 3, 7 }, 0.9, mixed{9}, 0xe20a5371932916be, 0xef97d386c08a7169},
		{"tree", tree("random"), func(c *fabric.Config) { c.Switch.VCs, c.Switch.BufferFlits = 3, 4 }, 0.9, mixed{2}, 0xac1292a8a3eac6a2, 0xfeb5ed2d33b1a8ed},
		{"tree by load", tree("least-loaded"), func(c *fabric.Config) { c.Switch.VCs, c.Switch.BufferFlits = 2, 8 }, 0.9, mixed{3}, 0xe01c5e054d953d5a, 0x6fc82d2aaecfab2a},
	}
}
