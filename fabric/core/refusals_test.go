package core_test

import (
	"errors"
	"runtime/debug"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/allocator"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/marking"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestRefusals: settings that cannot be, or that do not go together, by what is said of them.
func TestRefusals(t *testing.T) {
	min, val, sensing := dragonfly("min")(t), dragonfly("val")(t), dragonfly("ugal-l-cr")(t)
	escape := newNetwork(t, "torus", "adaptive-escape", func(c *topology.GridConfig) { c.Dims = []int{4, 4} })
	line := newNetwork(t, "mesh", "dor", func(c *topology.GridConfig) { c.Dims, c.Terminals = []int{2}, 1 })
	link, star := newSharedLink(2), newStar(4, 2)
	lanes, adapters := network{link, link}, network{star, star}
	allocators := func(name string, iterations int) func(*fabric.Config) {
		return func(c *fabric.Config) { c.Switch.Allocator, c.Switch.Iterations = allocator.Named(name), iterations }
	}
	channel := func(class string, x fabric.ChannelConfig) func(*fabric.Config) {
		return func(c *fabric.Config) { c.Channels = map[string]fabric.ChannelConfig{class: x} }
	}
	inPackets := func(change func(*fabric.SwitchConfig)) func(*fabric.Config) {
		return func(c *fabric.Config) {
			packets(c)
			change(&c.Switch)
		}
	}
	probe := func(interval int64, port topology.PortID, of fabric.Quantity) func(*fabric.Config) {
		return func(c *fabric.Config) {
			c.Probes = []fabric.Probe{{Ports: []topology.PortID{port}, Interval: interval, Quantities: []fabric.Quantity{of}}}
		}
	}
	ofLanes := func(change func(*fabric.SwitchConfig)) func(*fabric.Config) {
		return func(c *fabric.Config) {
			*c = laneConfig("", "0:1,1:1", 0)
			change(&c.Switch)
		}
	}
	ofAdapters := func(change func(*fabric.Config)) func(*fabric.Config) {
		return func(c *fabric.Config) {
			*c = adapterConfig("", "0:1", 0)
			change(c)
		}
	}
	for _, c := range []struct {
		net  network
		set  func(*fabric.Config)
		want string
	}{
		{val, func(c *fabric.Config) { c.Switch.VCs = 2 }, "switch.vcs"},
		{val, func(c *fabric.Config) { c.Switch.BufferFlits = 0 }, "switch.buffer_flits"},
		{val, allocators("magic", 1), "age, input-first, input-first-output, islip, matrix, wavefront"},
		{val, allocators("wavefrond", 1), `did you mean "wavefront"?`},
		{val, allocators("wavefront", 2), "switch.iterations = 2: want 1"},
		{val, channel("lokal", fabric.ChannelConfig{}), "terminal, local, global"},
		{val, channel("local", fabric.ChannelConfig{Latency: 1500}), "channel.local.latency = 1.5ns"},
		{val, channel("local", fabric.ChannelConfig{Rate: 4e12}), "channel.local.rate"},

		// What packets cannot express.
		{min, inPackets(func(s *fabric.SwitchConfig) { s.Hold, s.FlowControl = false, "wormhole" }), "fabric.unit"},
		{min, inPackets(func(s *fabric.SwitchConfig) { s.FlowControl = "wormhole" }), "switch.hold"},
		{min, inPackets(func(s *fabric.SwitchConfig) { s.OutputBufferFlits = 1 }), "switch.output_buffer_flits"},
		{min, func(c *fabric.Config) { c.Switch.Forwarding = "store-and-forward" }, "switch.forwarding"},
		{min, inPackets(func(s *fabric.SwitchConfig) { s.CreditSensing = "on" }), "switch.credit_sensing"},
		{sensing, packets, "switch.credit_sensing"},
		{min, func(c *fabric.Config) { packets(c); c.Fabric.Unit = "byte" }, "flit"},

		{min, inPackets(func(s *fabric.SwitchConfig) { s.VCReuse = fabric.CreditsBack }), `fabric.unit = packet: want "flit", or switch.vc_reuse = "tail-sent"`},
		{min, inPackets(func(s *fabric.SwitchConfig) { s.InputSpeedup = 2 }), "switch.input_speedup = 2: want 1 where packets hold"},
		{min, func(c *fabric.Config) { c.Switch.InputSpeedup = 0 }, "switch.input_speedup = 0"},
		{min, func(c *fabric.Config) { c.Switch.VCAllocator = fabric.InputFirst }, `switch.vc_allocator = input-first: want "output-first", or switch.vc_alloc_cycles`},
		{min, func(c *fabric.Config) { c.Switch.VCReuse = "soon" }, "switch.vc_reuse"},

		// What cannot be seen.
		{min, probe(0, 0, fabric.Waiting), "probe.interval"},
		{min, probe(1, -1, fabric.Waiting), "probe.ports"},
		{min, probe(1, 1<<20, fabric.Waiting), "probe.ports"},
		{min, probe(1, 0, fabric.Marked), "marking"},
		{min, probe(1, 0, 77), "0 to 3"},
		{escape, probe(1, 0, fabric.Waiting), "waiting"},
		{sensing, probe(1, 0, fabric.Sent), "sent"},

		// Arbitration between lanes, at switches and at terminals.
		{lanes, ofLanes(func(s *fabric.SwitchConfig) { s.FlowControl = "wormhole" }), "switch.flow_control = wormhole: want cut-through"},
		{lanes, ofLanes(func(s *fabric.SwitchConfig) { s.OutputBufferFlits = 0 }), "switch.output_buffer_flits = 0: want at least 1"},
		{lanes, ofLanes(func(s *fabric.SwitchConfig) { s.VCReuse = fabric.CreditsBack }), "switch.vc_reuse = credits-back: want \"tail-sent\" with arbitration"},
		{lanes, ofLanes(func(s *fabric.SwitchConfig) { s.VLArbLow = "0:1" }), "switch.vlarb_low = 0:1: want a weight for lane 1"},
		{lanes, ofLanes(func(s *fabric.SwitchConfig) { s.VLArbLow = "0" }), "switch.vlarb_low = 0: want LANE:WEIGHT,...: entry 0, \"0\""},
		{lanes, ofLanes(func(s *fabric.SwitchConfig) { s.VLArbLow, s.VLHighLimit = "", 3 }), "switch.vl_high_limit = 3: want it left out"},
		{adapters, ofAdapters(func(c *fabric.Config) { c.Switch.FlowControl = "wormhole" }), "terminal.vlarb_low = 0:1: want it and vlarb_high left out, or switch.flow_control"},
		{adapters, ofAdapters(func(*fabric.Config) {}), "terminal.vlarb_low = 0:1: want a weight for lane 1"},
		{adapters, ofAdapters(func(c *fabric.Config) { c.Terminal.VLArbHigh = "0" }), "terminal.vlarb_high = 0: want LANE:WEIGHT,...: entry 0, \"0\""},
		{adapters, ofAdapters(func(c *fabric.Config) { c.Terminal.VLArbLow, c.Terminal.VLHighLimit = "", 3 }), "terminal.vl_high_limit = 3: want it left out"},

		// A terminal's buffer of 4 flits, less than a switch's.
		{line, func(c *fabric.Config) { packets(c); c.Terminal.BufferFlits = 4 }, "terminal.buffer_flits"},
		{line, func(c *fabric.Config) { c.Switch.FlowControl, c.Terminal.BufferFlits = fabric.CutThrough, 4 }, "terminal.buffer_flits"},

		{line, func(c *fabric.Config) { mark(t, &c.Switch, "red", marking.RED{From: 8, To: 8, Weight: 1}) }, "switch.mark_to_flits = 8: want more than mark_from_flits"},
		{escape, func(c *fabric.Config) { c.Switch.Marking = marking.Named("threshold") }, "marking"},
	} {
		config := fabric.DefaultConfig()
		c.set(&config)
		_, err := core.New(c.net.topo.Graph(), config, c.net.routing, 1)
		simtest.Fail(t, err, c.want)
		p := new(param.ParamError)
		simtest.ErrorIf(t, err != nil && !errors.As(err, &p), "%v is no ParamError", err)
	}
}

// Ports have one of five MTUs.
func TestMTU(t *testing.T) {
	for _, mtu := range []sim.Bytes{0, 256, 512, 1024, 2048, 4096, 64, 1000, 8192, -256} {
		n, config := newStar(2, 1), fabric.DefaultConfig()
		config.Fabric.MTU = mtu
		if _, err := core.New(n.graph, config, n, 1); mtu == 0 || mtu >= 256 && mtu <= 4096 && mtu&(mtu-1) == 0 {
			simtest.Check(t, err)
		} else {
			simtest.Fail(t, err, "fabric.mtu")
		}
	}
}

// TestMisuse: what a caller can get wrong is an error, not a panic and not a result that means nothing.
func TestMisuse(t *testing.T) {
	n, smaller := dragonflyNetwork(t, "min", 2, 4, 2), dragonflyNetwork(t, "min", 1, 2, 1)
	plan := measure.Plan{Warmup: 200, Window: 400}
	source := func(f *core.Fabric) *measure.OpenLoop {
		return measure.NewOpenLoop(f.Graph().Terminals(), routingtest.Uniform(72), routingtest.AtRate(0.1), routingtest.Single{}, f.Seed())
	}
	run := func(f *core.Fabric, s *measure.OpenLoop) error {
		_, err := measure.Run(t.Context(), f, s, 0.1, plan)
		return err
	}

	simtest.Refuse(core.New(n.topo.Graph(), fabric.DefaultConfig(), smaller.routing, 1))(t, "of 6 switches and 6 terminals; this one has 36 and 72")

	b := topology.NewBuilder(3, topology.Class{Name: "x", Latency: 1}) // the ring of three, its cables the other way round
	for s := range topology.SwitchID(3) {
		b.AddTerminal(s, 0)
	}
	b.AddLink(2, 0, 0)
	b.AddLink(1, 2, 0)
	b.AddLink(0, 1, 0)
	simtest.Refuse(core.New(ring(3).Graph(), fabric.DefaultConfig(), &laned{graph: b.Freeze(), lanes: 1}, 1))(t, "and other cables")

	f := n.fabric(t, fabric.DefaultConfig())
	simtest.Check(t, run(f, source(f)))
	simtest.Fail(t, run(f, source(f)), "run or attached before")
	simtest.Fail(t, f.Attach(fabric.Ends{Source: source(f), Sink: &routingtest.Counter{}}), "run or attached before")
	simtest.Fail(t, measure.RunToEnd(t.Context(), f, fabric.Ends{Source: source(f), Sink: &routingtest.Counter{}}, measure.ToEnd{}), "run or attached before")

	f, wrong := n.fabric(t, fabric.DefaultConfig()), source(smaller.fabric(t, fabric.DefaultConfig()))
	simtest.Fail(t, run(f, wrong), "the source has 6 terminals, the network 72")
	simtest.Fail(t, f.Attach(fabric.Ends{Source: wrong, Sink: &routingtest.Counter{}}), "the source has 6 terminals, the network 72")
	err := run(f, source(f)) // nothing has happened to it
	simtest.ErrorIf(t, err != nil, "after a refusal: %v", err)

	// Another build of the same network is the same network.
	simtest.Must(core.New(n.topo.Graph(), fabric.DefaultConfig(), dragonflyNetwork(t, "min", 2, 4, 2).routing, 1))(t)
}

// TestRoutingsNameTheirGraph: every registered routing says for which network it was made, so that another is refused.
func TestRoutingsNameTheirGraph(t *testing.T) {
	for _, name := range routing.Registry.Names() {
		for _, family := range []string{"dragonfly", "torus", "fat-tree"} {
			topo := simtest.Must(topology.Registry.New(family, struct{}{}))(t)
			r, err := routing.Registry.New(name, routing.Env{Topology: topo})
			if err != nil {
				continue // not on this family
			}
			g, ok := r.(fabric.GraphRouting)
			simtest.ErrorIf(t, !ok || g.Graph() != topo.Graph(), "%s on %s: no graph, or another", name, family)
		}
	}
}

// TestMisuseByRoutings: a routing that breaks its contract is told what it has done, and what it must do.
func TestMisuseByRoutings(t *testing.T) {
	n := newNetwork(t, "torus", "dor", func(c *topology.GridConfig) { c.Dims = []int{4} })
	for want, see := range map[string]func(*fabric.View, *fabric.Head, *fabric.Hop){
		"discards a packet for terminal 2 at switch 0, in a network without faults": func(_ *fabric.View, _ *fabric.Head, hop *fabric.Hop) { *hop = fabric.Discard },
		"reads what has been sent and does not declare it: fabric.Needs has Sent":   func(v *fabric.View, _ *fabric.Head, hop *fabric.Hop) { v.Sent(hop.Port) },
		"reads credits and does not declare it: fabric.Needs has Credits":           func(v *fabric.View, _ *fabric.Head, hop *fabric.Hop) { v.Credits(hop.Port, 0) },
	} {
		config := fabric.DefaultConfig()
		packets(&config)
		f, s := network{n.topo, spy{n.routing, fabric.Needs{}, see}}.fabric(t, config), &script{}
		s.Send(0, fabric.PacketSpec{Dst: 2, Flits: 4})
		simtest.Panics(t, func() { _ = measure.RunToEnd(t.Context(), f, fabric.Ends{Source: s, Sink: s}, measure.ToEnd{}) }, "routing core_test.spy "+want)
	}
	simtest.Panics(t, func() { network{n.topo, mute{n.routing}}.fabric(t, fabric.DefaultConfig()) }, "routing core_test.mute lets terminals inject on none of the ")
}

type mute struct{ fabric.Routing }

func (mute) InjectionVCs(int) uint32 { return 0 }

// TestNetworkTooLarge: a ring of 1000 switches with a terminal each has 3000 ports;
// with 8 virtual channels they take at least 3000*(48+48*8) + 1000*64 = 1,360,000
// bytes. A machine of that has room for them, one with a byte less has not.
func TestNetworkTooLarge(t *testing.T) {
	config := simtest.Must(topology.Registry.Config("torus"))(t)
	torus := config.(*topology.GridConfig)
	torus.Dims, torus.Terminals = []int{1000}, 1
	topo, c := simtest.Must(topology.Registry.Build("torus", torus, struct{}{}))(t), fabric.DefaultConfig()
	c.Switch.VCs = 8
	r, before := minimalRouting(t, topo), debug.SetMemoryLimit(1_360_000)
	defer debug.SetMemoryLimit(before)
	simtest.Check(t, c.Check(topo.Graph(), r))
	debug.SetMemoryLimit(1_359_999)
	var problem *param.ParamError
	err := c.Check(topo.Graph(), r)
	simtest.ErrorIf(t, !errors.As(err, &problem) || problem.Key != "switch.vcs", "too large: %v", err)
	// 3000 ports of 16 bytes.
	debug.SetMemoryLimit(47_999)
	_, err = topology.Registry.Build("torus", torus, struct{}{})
	simtest.ErrorIf(t, !errors.As(err, &problem) || problem.Key != "dims", "too large a graph: %v", err)
}
