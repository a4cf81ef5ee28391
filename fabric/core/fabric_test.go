package core_test

import (
	"fmt"
	"math"
	"strings"
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

// TestCreditRoundTrip: a channel whose buffers are too shallow for its round trip carries buffer/round-trip flits a cycle. From one switch to another
// (mesh of 2 switches, latency 20, speedup 2, one VC): a flit is granted the crossbar at cycle t, leaves at t+1.5 rounded up to t+2 (granted in the
// second step), arrives at t+22, is granted there in the same cycle, and its credit leaves at t+23, arrives at t+43, and may be used credit_cycles =
// 1 later: 44 cycles. The VC allocation of the next packet is done meanwhile, so that a granted flit that waited for its credit goes in the first
// step of its cycle and arrives a cycle earlier, at t+21: 43 cycles. Where its credit takes 3 or 31 of its own back in place of 20, 26 or 54.
func TestCreditRoundTrip(t *testing.T) {
	n := newNetwork(t, "mesh", "dor", func(c *topology.GridConfig) { c.Dims, c.Terminals = []int{2}, 1 })
	for back, want := range map[sim.Time]float64{0: 43, 3 * sim.Nanosecond: 26, 31 * sim.Nanosecond: 54} {
		config := pipelined()
		config.Switch.VCs = 1
		config.Switch.BufferFlits = 4
		config.Channels = map[string]fabric.ChannelConfig{"grid": {Latency: 20 * sim.Nanosecond, CreditLatency: back}}
		_, result := n.run(t, config, 1, 1, measure.Plan{Warmup: 1000, Window: 43000})
		got := 4 / result.Accepted
		simtest.ErrorIf(t, math.Abs(got-want) > 1,
			"credits that take %v back: accepted %.4f: a round trip of %.2f cycles, want %v", back, result.Accepted, got, want)
	}
}

// TestShortWindows: in 900 cycles, nine slices, chance does not make a torus with a load of a tenth saturated, nor 13 times the load that a single
// channel takes steady. The first is hard to decide, with 16 terminals that send 10 packets each in a slice; in 4,000 cycles most of the runs, over
// 40 seeds, are.
func TestShortWindows(t *testing.T) {
	n := newNetwork(t, "torus", "dor", func(c *topology.GridConfig) { c.Dims, c.Terminals = []int{4, 4}, 1 })
	for _, c := range []struct {
		load   float64
		window int64
		want   measure.State
		least  int
	}{{0.1, 900, measure.Steady, 0}, {0.1, 4000, measure.Steady, 30}, {0.9, 900, measure.Saturated, 38}} {
		load, want := c.load, c.want
		var pattern measure.Pattern = routingtest.Others(16)
		if want == measure.Saturated {
			pattern = routingtest.To(3) // one channel into terminal 3 for everybody: 1/15 of the load 0.9
		}
		decided := 0
		for seed := range uint64(40) {
			source := measure.NewOpenLoop(16, pattern, routingtest.AtRate(load), routingtest.Fixed(1), seed)
			result := simtest.Must(measure.Run(t.Context(), n.fabric(t, pipelined()), source, load, measure.Plan{Warmup: 300, Window: c.window}))(t)
			switch result.State {
			case want:
				decided++
			case measure.Undecided:
			default:
				t.Errorf("seed %d, load %v: accepted %.4f, %v (%s)", seed, load, result.Accepted, result.State, result.Reason)
			}
		}
		simtest.ErrorIf(t, decided < c.least, "load %v, %d cycles: %d of 40 runs are decided", load, c.window, decided)
	}
}

// TestChannelCounts: every delivered flit crossed one channel into the network and one for each switch on its way,
// ejection included; over a long window the counts agree with the flits accepted and their hops.
func TestChannelCounts(t *testing.T) {
	n := dragonflyNetwork(t, "min", 2, 4, 2)
	_, result := n.run(t, fabric.DefaultConfig(), 0.3, 1, measure.Plan{Warmup: 1000, Window: 20_000})
	g := n.topo.Graph()
	vcs := len(result.ChannelFlits) / (g.NumPorts() + g.Terminals())
	var ejected, injected, all float64
	for i, flits := range result.ChannelFlits {
		port := i / vcs
		switch {
		case port >= g.NumPorts():
			injected += float64(flits)
		default:
			all += float64(flits)
			if _, ok := g.PeerTerminal(topology.PortID(port)); ok {
				ejected += float64(flits)
			}
		}
	}
	want := result.Accepted * float64(result.Window) * float64(g.Terminals())
	simtest.ErrorIf(t, math.Abs(injected-want) > 0.005*want || math.Abs(ejected-want) > 0.005*want,
		"%v flits injected, %v ejected, want %v", injected, ejected, want)
	hops := all / ejected
	simtest.ErrorIf(t, math.Abs(hops-result.MeanHops()) > 0.01*hops, "%v channels a flit, %v hops", hops, result.MeanHops())
}

// TestIdleNetworkIsSkipped: cycles in which nothing moves are not simulated,
// and what comes after them is as it would have been.
func TestIdleNetworkIsSkipped(t *testing.T) {
	n := newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = 2 })
	s := &script{}
	s.Send(0, fabric.PacketSpec{Birth: 1 << 40, Dst: 1, Flits: 1})
	n.play(t, pipelined(), s, 1<<40+100)
	simtest.ErrorIf(t, len(s.Delivered) != 1 || s.Delivered[0].Cycle != 1<<40+5, "delivered %+v, want a packet in cycle 2^40+5", s.Delivered)
}

// TestAgainstKernelClock runs the fabric under a kernel and on its own.
func TestAgainstKernelClock(t *testing.T) {
	n := dragonflyNetwork(t, "min", 2, 4, 2)
	var counters [2]core.Counters
	for i := range counters {
		f := n.fabric(t, fabric.DefaultConfig())
		f.Attach(fabric.Ends{Source: n.traffic(0.02, 2), Sink: measure.NewMeter(100)})
		if i == 0 {
			f.Advance(5000)
		} else {
			k := sim.NewKernel()
			k.RegisterClocked(f)
			k.Run(4999 * f.Clock())
		}
		counters[i] = f.Counters
	}
	simtest.ErrorIf(t, counters[0] != counters[1] || counters[0].Packets == 0, "alone %+v, under a kernel %+v", counters[0], counters[1])
}

// TestBufferWarnings: with channels of 10 and 100 cycles, speedup 2 and one cycle for each of VC allocation, switch allocation, crossbar and credit,
// the round trips are 1 + L + 1 + L + 1 = 2L + 3: 203 cycles on global channels, 23 on local ones. Routing of 3 steps makes that of a head 25 cycles,
// 16/25. From terminals, without a crossbar, 4 are enough; to terminals, which send credits a cycle after a flit's arrival, 1 + 1 + 1 + 1 + 1 = 5.
func TestBufferWarnings(t *testing.T) {
	n, config := dragonflyNetwork(t, "min", 2, 4, 2), pipelined()
	config.Channels = map[string]fabric.ChannelConfig{"local": {Latency: 10 * sim.Nanosecond}, "global": {Latency: 100 * sim.Nanosecond}}
	for buffer, want := range map[int][]string{
		16: {"\"local\"", "23 cycles", "\"global\"", "203 cycles", "0.079 flits", "buffer_flits = 203"},
		3:  {"\"terminal\"", "trip of 4 cycles"}, 202: {"\"global\""},
		203: {"{terminal.buffer_flits", "4 flits of buffer", "trip of 5 cycles", "0.800 flits", "terminal.buffer_flits = 5"},
		204: nil,
	} {
		config.Switch.BufferFlits, config.Terminal.BufferFlits = buffer, 4+buffer/204
		got := config.BufferWarnings(n.topo.Graph())
		text := fmt.Sprint(got)
		for _, w := range want {
			simtest.ErrorIf(t, !strings.Contains(text, w), "%d flits: %q lacks %q", buffer, text, w)
		}
		simtest.ErrorIf(t, len(want) == 0 && len(got) > 0, "%d flits: %q, want no warning", buffer, text)
	}
	config.Switch.BufferFlits, config.Switch.RouteCycles = 16, 3
	simtest.Says(t, fmt.Sprint(config.BufferWarnings(n.topo.Graph())), "trip of 25 cycles carry at most 0.640 flits a cycle in packets of one flit, less than 0.696 in longer ones")
}

// TestInvariants: what the checked build checks holds in a network that is full, with virtual channels given in a stage
// of their own or not, credits late or not; and each damage to it is found.
func TestInvariants(t *testing.T) {
	full := func(t *testing.T, set func(*fabric.Config)) *core.Fabric {
		config := fabric.DefaultConfig()
		config.Switch.BufferFlits = 4
		set(&config)
		n := dragonflyNetwork(t, "val", 2, 4, 2)
		f := n.fabric(t, config)
		f.Attach(fabric.Ends{Source: n.traffic(0.9, 3), Sink: measure.NewMeter(100)})
		f.Advance(1000)
		return f
	}
	for name, set := range map[string]func(*fabric.Config){
		"one stage":  func(*fabric.Config) {},
		"two stages": func(c *fabric.Config) { c.Switch.VCAllocCycles = 1 },
		"in series":  func(c *fabric.Config) { c.Switch.VCAllocCycles, c.Switch.Pipeline = 1, fabric.Serial },
		"credits back": func(c *fabric.Config) {
			c.Switch.VCReuse, c.Switch.VCAllocCycles, c.Switch.VCAllocator = fabric.CreditsBack, 1, fabric.InputFirst
		},
		"two inputs a port": func(c *fabric.Config) { c.Switch.InputSpeedup, c.Switch.VCReuse = 2, fabric.CreditsBack },
		"cut-through":       func(c *fabric.Config) { c.Switch.FlowControl = "cut-through" },
		"credit sensing":    func(c *fabric.Config) { c.Switch.CreditSensing = "on" },
	} {
		f := full(t, set)
		for range 50 {
			f.Advance(1)
			panicked := checks(f)
			simtest.FatalIf(t, panicked != "", "%s: %s", name, panicked)
		}
	}
	for name, damage := range core.Damages {
		f := full(t, func(*fabric.Config) {})
		damage(f)
		panicked := checks(f)
		simtest.ErrorIf(t, !strings.HasPrefix(panicked, "core: in cycle 999, "), "%s: panics with %q", name, panicked)
	}
}

// checks is what the checks of f panic with; empty if they do not.
func checks(f *core.Fabric) (panicked string) {
	defer func() {
		if p := recover(); p != nil {
			panicked = fmt.Sprint(p)
		}
	}()
	f.CheckAll()
	return ""
}

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

// TestGolden pins what the switch does, flit by flit: the hash of all deliveries of runs that reach every path through
// the allocators. The numbers were recorded from a plainer implementation of the same switch; they say nothing about
// right or wrong, but a change that is meant to leave results alone must leave them alone. A change of the model
// records them anew (the failure prints them) and says so in the change log.
//
// Asking for memory ahead, as large networks do, changes nothing; the loops for the usual case do what those for every
// case do; and iSLIP and input-first as they are registered do what the loops tuned for them do. A run tries one of
// these in each case.
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
	f, terminals := n.fabric(t, config), n.topo.Graph().Terminals()
	mean, d := float64(1+c.flits.most)/2, &digest{}
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

// network is a topology with a routing, for tests.
type network struct {
	topo    topology.Topology
	routing fabric.Routing
}

func newNetwork[C any](t testing.TB, family, algorithm string, set func(*C)) network {
	t.Helper()
	topo, config := simtest.Must(param.Make(topology.Registry, family, struct{}{}, set))(t), simtest.Must(routing.Registry.Config(algorithm))(t)
	r := simtest.Must(routing.Registry.Build(algorithm, config, routing.Env{Topology: topo, Seed: 1}))(t)
	return network{topo, r}
}

func dragonflyNetwork(t testing.TB, algorithm string, p, a, h int) network {
	return newNetwork(t, "dragonfly", algorithm, func(c *topology.DragonflyConfig) { c.P, c.A, c.H = p, a, h })
}

// dragonfly builds a dragonfly of 72 terminals under a routing.
func dragonfly(algorithm string) func(t testing.TB) network {
	return func(t testing.TB) network { return dragonflyNetwork(t, algorithm, 2, 4, 2) }
}

// fiveGroups builds a dragonfly of five groups, any two of which have two cables.
func fiveGroups(algorithm string) func(t testing.TB) network {
	return func(t testing.TB) network {
		return newNetwork(t, "dragonfly", algorithm, func(c *topology.DragonflyConfig) { c.P, c.A, c.H, c.G = 2, 4, 2, 5 })
	}
}

func smallTree(t testing.TB) network {
	return newNetwork(t, "fat-tree", "nca", func(c *topology.FatTreeConfig) { c.K, c.N = 4, 3 })
}

func smallTorus(t testing.TB) network {
	return newNetwork(t, "torus", "dor", func(c *topology.GridConfig) { c.Dims, c.Terminals = []int{5, 4}, 2 })
}

func smallRandom(t testing.TB) network {
	return newNetwork(t, "random-regular", "table", func(c *topology.RandomRegularConfig) { c.Switches, c.Degree, c.Terminals = 16, 4, 2 })
}

func (n network) fabric(t testing.TB, config fabric.Config) *core.Fabric {
	t.Helper()
	return simtest.Must(core.New(n.topo.Graph(), config, n.routing, 1))(t)
}

// pipelined is the default switch with virtual-channel allocation as a stage of its own.
func pipelined() fabric.Config {
	config := fabric.DefaultConfig()
	config.Switch.VCAllocCycles = 1
	return config
}

// traffic is uniform Bernoulli traffic of packets of so many flits, at a load in flits a terminal and cycle.
func (n network) traffic(load float64, flits int) *measure.OpenLoop {
	terminals := n.topo.Graph().Terminals()
	return measure.NewOpenLoop(terminals, routingtest.Others(terminals), routingtest.AtRate(load/float64(flits)), routingtest.Fixed(flits), 1)
}

// run drives the network with uniform Bernoulli traffic.
func (n network) run(t testing.TB, config fabric.Config, load float64, flits int, plan measure.Plan) (*core.Fabric, *measure.Result) {
	t.Helper()
	f := n.fabric(t, config)
	return f, simtest.Must(measure.Run(t.Context(), f, n.traffic(load, flits), load, plan))(t)
}

type script = routingtest.Script

// receivers keeps what each terminal is told of.
type receivers [][]fabric.Delivery

func (a receivers) Deliver(d *fabric.Delivery) { a[d.Dst] = append(a[d.Dst], *d) }

// play has a network carry the packets of a script for so many cycles.
func (n network) play(t testing.TB, config fabric.Config, s *script, cycles int64) *core.Fabric {
	t.Helper()
	f := n.fabric(t, config)
	simtest.Check(t, f.Attach(fabric.Ends{Source: s, Sink: s}))
	f.Advance(cycles)
	return f
}

// playToEnd has a network carry the packets of a script until all have arrived.
func (n network) playToEnd(t testing.TB, config fabric.Config, s *script) *core.Fabric {
	t.Helper()
	f := n.fabric(t, config)
	simtest.Check(t, measure.RunToEnd(t.Context(), f, fabric.Ends{Source: s, Sink: s}, measure.ToEnd{}))
	return f
}

// spy is a routing whose decisions a test sees, and may change.
type spy struct {
	fabric.Routing
	needs fabric.Needs
	see   func(v *fabric.View, h *fabric.Head, hop *fabric.Hop)
}

func (s spy) Needs() fabric.Needs { return s.needs }

func (s spy) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	hop := s.Routing.Route(v, h)
	s.see(v, h, &hop)
	return hop
}
