package core_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestCreditRoundTrip: a channel whose buffers are too shallow for its round trip carries
// buffer/round-trip flits a cycle. From one switch to another (mesh of 2 switches, latency 20,
// speedup 2, one VC): a flit is granted the crossbar at cycle t, leaves at t+1.5 rounded up to t+2
// (granted in the second step), arrives at t+22, is granted there in the same cycle, and its credit
// leaves at t+23, arrives at t+43, and may be used credit_cycles = 1 later: 44 cycles. The VC
// allocation of the next packet is done meanwhile, so that a granted flit that waited for its
// credit goes in the first step of its cycle and arrives a cycle earlier, at t+21: 43 cycles. Where
// its credit takes 3 or 31 of its own back in place of 20, 26 or 54.
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

// TestShortWindows: in 900 cycles, nine slices, chance does not make a torus with
// a load of a tenth saturated, nor 13 times the load that a single channel takes
// steady. The first is hard to decide, with 16 terminals that send 10 packets each in
// a slice; in 4,000 cycles most of the runs, over 40 seeds, are.
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

// TestChannelCounts: every delivered flit crossed one channel into the network
// and one for each switch on its way, ejection included; over a long window
// the counts agree with the flits accepted and their hops.
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
	s.send(0, fabric.PacketSpec{Birth: 1 << 40, Dst: 1, Flits: 1})
	n.play(t, pipelined(), s, 1<<40+100)
	simtest.ErrorIf(t, len(s.delivered) != 1 || s.delivered[0].Cycle != 1<<40+5, "delivered %+v, want a packet in cycle 2^40+5", s.delivered)
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

// TestBufferWarnings: with channels of 10 and 100 cycles, speedup 2 and one cycle for each of VC
// allocation, switch allocation, crossbar and credit, the round trips are 1 + L + 1 + L + 1 = 2L +
// 3: 203 cycles on global channels, 23 on local ones and 5 to and from terminals.
func TestBufferWarnings(t *testing.T) {
	n := dragonflyNetwork(t, "min", 2, 4, 2)
	config := pipelined()
	config.Channels = map[string]fabric.ChannelConfig{"local": {Latency: 10 * sim.Nanosecond}, "global": {Latency: 100 * sim.Nanosecond}}
	for buffer, want := range map[int][]string{
		16:  {"\"local\"", "23 cycles", "\"global\"", "203 cycles", "0.079 flits", "buffer_flits = 203"},
		202: {"\"global\""},
		203: nil,
	} {
		config.Switch.BufferFlits = buffer
		got := config.BufferWarnings(n.topo.Graph())
		text := strings.Join(got, "\n")
		for _, w := range want {
			simtest.ErrorIf(t, !strings.Contains(text, w), "%d flits: %q lacks %q", buffer, text, w)
		}
		simtest.ErrorIf(t, len(want) == 0 && len(got) > 0, "%d flits: %q, want no warning", buffer, text)
	}
}

// TestInvariants: what the checked build checks holds in a network that is full, with
// virtual channels given in a stage of their own or not, credits late or not; and each
// damage to it is found.
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
