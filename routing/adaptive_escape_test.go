package routing_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/routing/certify"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

func adaptiveEscape(t *testing.T, topo topology.Topology, settings ...param.Setting) fabric.EscapeRouting {
	t.Helper()
	return must(t, topo, 0, "adaptive-escape", settings...).(fabric.EscapeRouting)
}

// extended proves r on topo by its escape channels.
func extended(t *testing.T, topo topology.Topology, r fabric.EscapeRouting, wormhole bool) certify.Certificate {
	t.Helper()
	g := certify.NewEscape(r.VCs())
	walked, all := simtest.Must2(routing.EscapeDependencies(topo.Graph(), r, r.VCs(), wormhole, 0, g.Add))(t)
	return g.Certify(walked, all)
}

// On a ring of 8 what is adaptive are, but for ties, the virtual channels. Without a dateline the escape channels in a direction wait for each other
// in a circle of 8. Under wormhole a packet can have come by adaptive channels in between: from channel i, out of switch i, it waits for i+1 or i+2
// if it makes at least 3 hops, and for i+3 if it makes 4, which in the direction up escape hops do only towards odd destinations, so for odd i. That
// closes the circle with 4 dependencies (2+2+1+3), and not with 3: two of these would have to be of 3, of which the first leads to an even channel,
// and one of 2 to an even one again.
func TestEscapeWithoutDateline(t *testing.T) {
	topo := torus(t, 2, 8)
	r := adaptiveEscape(t, topo, param.Set("vc_rule", "none"))
	for _, flow := range []string{"wormhole", "cut-through"} {
		c, length := extended(t, topo, r, flow == "wormhole"), map[string]int{"cut-through": 8, "wormhole": 4}[flow]
		if text := c.Describe(topo.Graph()); len(c.Cycle) != length || !strings.HasPrefix(text, fmt.Sprintf("can deadlock: a cycle of %d escape channels (exact)\n  switch ", length)) {
			t.Errorf("%s: %s", flow, text)
		}
		err := overload(t, topo, r, fabric.DefaultConfig(), flow, 2, 5000)
		var deadlock *core.DeadlockError
		simtest.FatalIf(t, !errors.As(err, &deadlock) || len(deadlock.Waits) == 0, "%s: %v", flow, err)
		_, all := routingtest.Certificate(t, topo, r, r.VCs())
		for _, w := range deadlock.Waits {
			simtest.ErrorIf(t, !all[w.Dependency()], "%s: %+v is no dependency", flow, w)
		}
	}
}

// overload runs uniform traffic at full load through buffers of as many flits as a packet has, on switches of a config.
func overload(t *testing.T, topo topology.Topology, r fabric.Routing, config fabric.Config, flow string, flits int, cycles int64) error {
	t.Helper()
	config.Fabric.AllowDeadlock = true
	config.Switch.BufferFlits, config.Switch.FlowControl = flits, flow
	_, err := simulate(t, topo, config, r, uniformly(topo.Graph().Terminals()), 1, flits, measure.Plan{Warmup: 100, Window: cycles})
	return err
}

// TestEscapeUnderLoad: with a certificate, nothing stops at full load, where
// packets live on escape channels, neither with long packets in short buffers.
func TestEscapeUnderLoad(t *testing.T) {
	random := build(t, "random-regular", func(c *topology.RandomRegularConfig) { c.Switches, c.Degree, c.Terminals = 16, 4, 2 })
	for _, n := range []topologytest.Network{{Name: "torus", Topology: torus(t, 2, 5, 4)}, {Name: "mesh", Topology: mesh(t, 2, 4, 4)}, {Name: "random", Topology: random}, {Name: "dragonfly", Topology: dragonfly(t, 2, 4, 2, 0)}} {
		for _, flow := range []string{"wormhole", "cut-through"} {
			r := adaptiveEscape(t, n.Topology)
			c := extended(t, n.Topology, r, flow == "wormhole")
			simtest.ErrorIf(t, !c.Acyclic(), "%s, %s: %s", n.Name, flow, c.Describe(n.Topology.Graph()))
			simtest.Check(t, overload(t, n.Topology, r, fabric.DefaultConfig(), flow, 3, 1500))
		}
	}
}

// TestEscapeStages: escape channels go with a stage for virtual channels, in series and overlapped, with packets of one flit and of several.
func TestEscapeStages(t *testing.T) {
	topo := torus(t, 2, 4, 4)
	for _, pipeline := range []string{fabric.Serial, fabric.Overlapped} {
		for _, flits := range []int{1, 5} {
			config := fabric.DefaultConfig()
			config.Switch.VCAllocCycles, config.Switch.Pipeline = 1, pipeline
			simtest.Check(t, overload(t, topo, adaptiveEscape(t, topo), config, "wormhole", flits, 500))
		}
	}
}

// remembering is adaptive-escape on a torus with the dateline of routing "dor": packets that enter a ring, or come back
// to it from adaptive channels, are on the lower escape channel, and on the higher from the edge on.
type remembering struct {
	fabric.EscapeRouting
	grid topology.Grid
}

func (r *remembering) IgnoresTerminals() bool { return true }

// along is the dimension of the channel out of a port, and whether it crosses the edge of a ring.
func (r *remembering) along(p topology.PortID) (dimension int, crosses bool) {
	g := r.grid.Graph()
	peer, _ := g.PeerPort(p)
	for d, size := range r.grid.Dims() {
		step := r.grid.Coordinate(g.PortSwitch[p], d) - r.grid.Coordinate(g.PortSwitch[peer], d)
		if step != 0 {
			return d, max(step, -step) == size-1
		}
	}
	return -1, false
}

func (r *remembering) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	escape, g := r.EscapeVCs(vcs), r.grid.Graph()
	r.EscapeRouting.(fabric.Explorer).Explore(vcs, h, func(hop fabric.Hop, state uint32, weight float64) {
		if _, ok := g.PeerPort(hop.Port); ok && hop.VCs&escape != 0 {
			d, high := r.along(hop.Port)
			if before, ok := g.PeerPort(h.In); ok && h.VC == 1 {
				same, _ := r.along(before)
				high = high || same == d
			}
			hop.VCs = map[bool]uint32{false: 1, true: 2}[high]
		}
		yield(hop, state, weight)
	})
}

// TestIndirectDependencies: a packet that has crossed the edge of a row may take a column by adaptive channels and ask
// for the lower escape channel of the next row, and from the end of that row packets get back to the first row in the
// same way. These are indirect dependencies, which wormhole has and cut-through has not: there the memory does no harm.
func TestIndirectDependencies(t *testing.T) {
	topo := torus(t, 1, 5, 5)
	r := &remembering{adaptiveEscape(t, topo), topo.(topology.Grid)}
	c := extended(t, topo, r, false)
	simtest.ErrorIf(t, !c.Acyclic(), "cut-through: %s", c.Describe(topo.Graph()))
	c = extended(t, topo, r, true)
	simtest.FatalIf(t, c.Acyclic(), "wormhole: no cycle")
	rows := map[int]bool{}
	for _, channel := range c.Cycle {
		rows[r.grid.Coordinate(topo.Graph().PortSwitch[channel.Port], 1)] = true
		d, _ := r.along(channel.Port)
		simtest.ErrorIf(t, d != 0 || channel.VC > 1, "%+v is no escape channel of a row", channel)
	}
	simtest.ErrorIf(t, len(rows) < 2, "a cycle within a row: %s", c.Describe(topo.Graph()))
}

// stranding offers no escape channel to packets that came in on an adaptive one.
type stranding struct{ fabric.EscapeRouting }

func (s stranding) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	escape := s.EscapeVCs(vcs)
	s.EscapeRouting.(fabric.Explorer).Explore(vcs, h, func(hop fabric.Hop, state uint32, weight float64) {
		if hop.VCs&escape == 0 || hop.VCs&^escape != 0 || escape>>h.VC&1 != 0 {
			yield(hop, state, weight)
		}
	})
}

func TestNoEscape(t *testing.T) {
	topo := mesh(t, 1, 3, 3)
	_, _, err := routing.EscapeDependencies(topo.Graph(), stranding{adaptiveEscape(t, topo)}, 2, false, 0, func(topology.Dependency) {})
	simtest.Fail(t, err, "no escape channel for a packet to terminal ")
}

// TestAdaptsToTranspose: in dimension order the channel of row y towards the diagonal carries the packets of all y switches before it, and the
// channel from the other side the packets of 5-y. Of 0.4 flits a cycle offered by each terminal they pass min(0.4 n, 1), which is 2 (0.4 + 0.8 + 1 +
// 1 + 1) = 8.4 for the six rows; with 0.4 for each of the six terminals on the diagonal that is 10.8 flits for 36 terminals, 0.3 a terminal. Adaptive
// packets use all shortest paths.
func TestAdaptsToTranspose(t *testing.T) {
	topo := mesh(t, 1, 6, 6)
	transpose := permuted(36, func(src int) int { return src%6*6 + src/6 })
	accepted := func(r fabric.Routing) float64 {
		config := fabric.DefaultConfig()
		config.Switch.VCs = 4
		return simtest.Must(simulate(t, topo, config, r, transpose, 0.4, 1, measure.Plan{Warmup: 2000, Window: 4000}))(t).Accepted
	}
	ordered, adaptive := accepted(must(t, topo, 0, "dor")), accepted(adaptiveEscape(t, topo))
	simtest.ErrorIf(t, math.Abs(ordered-0.3) > 0.01 || adaptive < 0.36, "accepted: dor %.3f, adaptive %.3f", ordered, adaptive)
}

// learningRecorder is a recorder of a routing that learns.
type learningRecorder struct {
	*recorder
	fabric.Learner
}

// TestQLearns follows packets through 3 groups of 2 switches with a terminal and a
// global channel each, by hand. Local channels are 2 cycles long, global ones 10. Switch
// 0 leads to group 1 by its port 2, switch 1 to group 2.
//
// Before anything is learned, a channel to a group takes 10 cycles, any other 12. A packet that goes to group 1 in cycle c is at the next switch in
// c+1+10: the answer is 11, nothing being left, and is back in c+22. That is 1 more than 10: 10 + 0.25*1. A packet to group 2 is at switch 1 in
// c+1+2, which answers 3 + 10: back in c+6, and 12 + 0.25*1.
func TestQLearns(t *testing.T) {
	topo := dragonfly(t, 1, 2, 1, 0)
	r, config := must(t, topo, 0, "q-adaptive", param.Set("exploration", 0), param.Set("beta", 0.25)), fabric.DefaultConfig()
	config.Channels = map[string]fabric.ChannelConfig{"local": {Latency: 2 * sim.Nanosecond}, "global": {Latency: 10 * sim.Nanosecond}}
	for _, c := range []struct {
		dst   topology.TerminalID
		port  topology.PortID
		after int64 // cycles until the next packet is decided on
		want  float32
	}{
		{3, 2, 21, 10}, {3, 2, 22, 10.25},
		{4, 1, 5, 12}, {4, 1, 6, 12.25},
	} {
		rec := &recorder{Routing: r}
		f, s := simtest.Must(core.New(topo.Graph(), config, learningRecorder{rec, r.(fabric.Learner)}, 1))(t), &routingtest.Script{}
		s.Send(0, fabric.PacketSpec{Dst: c.dst, Flits: 1})
		s.Send(0, fabric.PacketSpec{Birth: c.after, Dst: c.dst, Flits: 1})
		f.Attach(fabric.Ends{Source: s, Sink: s})
		for decided := 0; decided < 2; {
			n := len(rec.heads)
			f.Advance(1)
			for _, h := range rec.heads[n:] {
				if h.In == 0 {
					decided++
				}
			}
		}
		got := routing.QEstimate(rec.view.Memory(), c.port, int(c.dst)/2, 0)
		simtest.Equal(t, got, c.want, "to terminal %d, %d cycles later: port %d takes cycles", c.dst, c.after, c.port)
	}
}

// TestQMoves: towards a lower answer by alpha, towards a higher one by beta.
func TestQMoves(t *testing.T) {
	config := routing.QAdaptiveConfig{Alpha: 0.5, Beta: 0.125}
	for _, c := range [][3]float32{{20, 12, 16}, {20, 28, 21}, {20, 20, 20}} {
		simtest.Equal(t, routing.QMove(config, c[0], c[1]), c[2], "from %v towards %v", c[0], c[1])
	}
}

// onward sends to a random terminal of the next of groups of so many terminals.
type onward struct{ group, all int }

func (o onward) Destination(src topology.TerminalID, r *sim.Stream) topology.TerminalID {
	return topology.TerminalID(((int(src)/o.group+1)*o.group + r.IntN(o.group)) % o.all)
}

// arounds counts packets, and packets that went around.
type arounds struct{ all, around int }

func (a *arounds) Deliver(d *fabric.Delivery) {
	a.all++
	if d.NonMinimal {
		a.around++
	}
}

// TestQAdaptiveGoesAround: all terminals of a group send to the next, on 9 groups of 4 switches with 2 terminals and 2
// global channels each. Minimal routing carries 1/8 of a flit a terminal and cycle, all 8 terminals of a group by one
// channel. At a load of 0.3, once switches have learned, more than half of the packets go around (that channel has room
// for 0.125/0.3 of them, 42 %) and all of the load arrives; under uniform traffic most go minimally.
func TestQAdaptiveGoesAround(t *testing.T) {
	topo := dragonfly(t, 2, 4, 2, 0)
	n := topo.Graph().Terminals()
	for _, c := range []struct {
		name, routing string
		pattern       measure.Pattern
		accepted      [2]float64 // flits a terminal and cycle
		around        [2]float64 // of packets
	}{
		{"next group", "min", onward{8, n}, [2]float64{0.1, 0.126}, [2]float64{0, 0}},
		{"next group", "q-adaptive", onward{8, n}, [2]float64{0.29, 0.31}, [2]float64{0.55, 1}},
		{"uniform", "q-adaptive", uniformly(n), [2]float64{0.29, 0.31}, [2]float64{0, 0.3}},
	} {
		config := fabric.DefaultConfig()
		config.Switch.BufferFlits = 32
		f, sink := simtest.Must(core.New(topo.Graph(), config, must(t, topo, 0, c.routing), 1))(t), &arounds{}
		f.Attach(fabric.Ends{Source: measure.NewOpenLoop(n, c.pattern, steadily(0.3), single{}, 1), Sink: sink})
		f.Advance(10000)
		*sink = arounds{}
		const cycles = 5000
		f.Advance(cycles)
		accepted, around := float64(sink.all)/cycles/float64(n), float64(sink.around)/float64(sink.all)
		t.Logf("%s, %s: accepted %.3f, around %.3f", c.name, c.routing, accepted, around)
		simtest.ErrorIf(t, accepted < c.accepted[0] || accepted > c.accepted[1], "%s, %s: accepted %.3f, want %v", c.name, c.routing, accepted, c.accepted)
		simtest.ErrorIf(t, around < c.around[0] || around > c.around[1], "%s, %s: around %.3f, want %v", c.name, c.routing, around, c.around)
	}
}
