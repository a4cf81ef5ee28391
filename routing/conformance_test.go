package routing_test

import (
	"math"
	"math/bits"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim"
)

// canDeadlock tells which variants are for demonstrations.
func canDeadlock(v variant) bool { return v.key == "vc_rule" && v.value == "none" }

// TestDeliversWithoutDeadlock walks every path of every routing: all of them
// are made of ports that exist and end at the destination (Dependencies fails
// otherwise), and no channel dependencies form a cycle, with as many virtual
// channels as asked for and with more.
func TestDeliversWithoutDeadlock(t *testing.T) {
	eachRouting(t, func(t *testing.T, n network, v variant, r fabric.Routing) {
		for _, vcs := range []int{r.VCs(), r.VCs() + 1, 2*r.VCs() + 1} {
			c, _ := certificate(t, n.topo, r, vcs)
			if !c.Acyclic() && !canDeadlock(v) {
				t.Errorf("%d virtual channels: %s", vcs, c.Describe(n.topo.Graph()))
			}
			if !c.Exact() {
				t.Error("a walk without budget is not exact")
			}
		}
	})
}

// TestRandomNetworks does the same for networks of random parameters.
func TestRandomNetworks(t *testing.T) {
	rounds := 15
	if testing.Short() {
		rounds = 5
	}
	stream := sim.NewStream(11, "networks", 0)
	carried := 0
	for range rounds {
		for _, topo := range randomNetworks(t, &stream) {
			for _, name := range routing.Registry.Names() {
				for _, v := range variants(t, name) {
					r, err := routing.Registry.Build(name, v.config, routing.Env{Topology: topo})
					if err != nil || canDeadlock(v) {
						continue
					}
					carried++
					if c, _ := certificate(t, topo, r, r.VCs()); !c.Acyclic() {
						t.Errorf("%s %s %s on %+v: %s", v.name, v.key, v.value, topo.Facts(), c.Describe(topo.Graph()))
					}
				}
			}
		}
	}
	if carried < 20*rounds {
		t.Errorf("only %d combinations", carried)
	}
}

// randomNetworks draws one small network of each of four families.
func randomNetworks(t *testing.T, stream *sim.Stream) []topology.Topology {
	some := func(least, most int) int { return least + stream.IntN(most-least+1) }
	a, h := some(1, 4), some(1, 3)
	arrangement := []string{"absolute", "relative", "circulant"}[stream.IntN(3)]
	fly := build(t, "dragonfly", func(c *topology.DragonflyConfig) {
		c.P, c.A, c.H, c.G, c.Arrangement = some(1, 2), a, h, some(2, a*h+1), arrangement
	})
	var dims []int
	for switches, size := 1, some(2, 7); switches*size <= 40; size = some(2, 7) {
		dims, switches = append(dims, size), switches*size
	}
	grid := mesh(t, 1, dims...)
	if stream.IntN(3) > 0 {
		grid = torus(t, 1, dims...)
	}
	tree := build(t, "xgft", func(c *topology.XGFTConfig) {
		c.M, c.W = []int{some(1, 4), some(1, 4), some(1, 3)}, []int{1, some(1, 3), some(1, 3)}
		c.Parallel = []int{1, some(1, 2), some(1, 2)}
	})
	degree := some(3, 5)
	random := build(t, "random-regular", func(c *topology.RandomRegularConfig) {
		c.Switches, c.Degree, c.Terminals, c.Seed = 2*some(3, 8), degree, some(1, 2), stream.Uint64()
	})
	return []topology.Topology{fly, grid, tree, random}
}

// TestWeights holds Explore to its contract at the first switch: probabilities
// that add up to 1, or all 0, and states that a packet can carry.
func TestWeights(t *testing.T) {
	eachRouting(t, func(t *testing.T, n network, v variant, r fabric.Routing) {
		g := n.topo.Graph()
		for dst := range topology.TerminalID(g.Terminals()) {
			total, zeros, hops := 0.0, 0, 0
			port := g.TerminalPort[0]
			h := fabric.Head{Switch: g.PortSwitch[port], In: port, Dst: dst}
			r.(fabric.Explorer).Explore(r.VCs(), h, func(hop fabric.Hop, state uint32, weight float64) {
				hops++
				total += weight
				if weight == 0 {
					zeros++
				}
			})
			if zeros != hops && math.Abs(total-1) > 1e-12 || zeros != 0 && zeros != hops {
				t.Errorf("to terminal %d: %d hops, %d of weight 0, sum %v", dst, hops, zeros, total)
			}
		}
	})
}

// observer passes decisions on and checks that Explore has them.
type observer struct {
	fabric.Routing
	t     *testing.T
	calls int
	ports []float64 // decisions by output port
}

func (o *observer) ReadsOccupancy() bool {
	r, ok := o.Routing.(fabric.OccupancyReader)
	return ok && r.ReadsOccupancy()
}

func (o *observer) ReadsCrossed() bool {
	r, ok := o.Routing.(fabric.CrossedReader)
	return ok && r.ReadsCrossed()
}

func (o *observer) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	before := *h
	hop := o.Routing.Route(v, h)
	found := false
	o.Routing.(fabric.Explorer).Explore(v.VCs(), before, func(listed fabric.Hop, state uint32, _ float64) {
		found = found || listed == hop && state == h.State
	})
	if !found {
		o.t.Errorf("Route(%+v) = %+v, state %x, is not among what Explore lists", before, hop, h.State)
	}
	o.calls++
	o.ports[hop.Port]++
	return hop
}

// escapeObserver does the same for decisions that are made again.
type escapeObserver struct {
	*observer
	escape fabric.EscapeRouting
}

func (o *escapeObserver) EscapeVCs(vcs int) uint32 { return o.escape.EscapeVCs(vcs) }

func (o *escapeObserver) Reroute(v *fabric.View, h *fabric.Head) fabric.Hop {
	again := *o.observer
	again.Routing = rerouted{o.escape}
	return again.Route(v, h)
}

// rerouted makes a routing decide again.
type rerouted struct{ fabric.EscapeRouting }

func (r rerouted) Route(v *fabric.View, h *fabric.Head) fabric.Hop { return r.Reroute(v, h) }

func (r rerouted) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	r.EscapeRouting.(fabric.Explorer).Explore(vcs, h, yield)
}

type uniformly struct{ n int }

func (u uniformly) Destination(_ topology.TerminalID, r *sim.Stream) topology.TerminalID {
	return topology.TerminalID(r.IntN(u.n))
}

func (u uniformly) Weights(_ topology.TerminalID, yield func(topology.TerminalID, float64)) {
	for dst := range topology.TerminalID(u.n) {
		yield(dst, 1/float64(u.n))
	}
}

type steadily struct{ gap sim.Geometric }

func (s steadily) NextGap(r *sim.Stream, _ *uint32) int64 { return s.gap.Draw(r) }

type single struct{}

func (single) Draw(*sim.Stream) int { return 1 }

type counter struct{ delivered int }

func (c *counter) Deliver(*fabric.Delivery) { c.delivered++ }

// TestRouteFollowsExplore runs every routing in a fabric under uniform
// traffic. Each decision must be one that Explore lists; and, where choices are
// oblivious, the decisions per port must agree with the channel loads that
// Loads derives from Explore's probabilities. With n packets and an expected
// share q of them over a port (each crosses it at most twice), the count's
// standard deviation is at most sqrt(2nq); the bound of 6 of them, and at least
// 12 packets for the thin tails, fails by chance for one port in about 10^8, and
// all cases together have some 10^4 ports.
func TestRouteFollowsExplore(t *testing.T) {
	eachRouting(t, func(t *testing.T, n network, v variant, r fabric.Routing) {
		if canDeadlock(v) {
			t.Skip("can deadlock")
		}
		g := n.topo.Graph()
		o := &observer{Routing: r, t: t, ports: make([]float64, g.NumPorts())}
		observed := fabric.Routing(o)
		e, escapes := r.(fabric.EscapeRouting)
		if escapes {
			observed = &escapeObserver{o, e}
		}
		f, err := fabric.New(g, fabric.DefaultConfig(), observed, 7)
		if err != nil {
			t.Fatal(err)
		}
		pattern, sink := uniformly{g.Terminals()}, &counter{}
		source := fabric.NewOpenLoop(g.Terminals(), pattern, steadily{sim.NewGeometric(0.1)}, single{}, 7)
		f.Attach(source, sink)
		source.Stop(int64(30000 / g.Terminals()))
		f.Advance(int64(30000/g.Terminals()) + 2000)
		if f.InFlight() != 0 || sink.delivered == 0 || t.Failed() {
			t.Fatalf("%d packets delivered, %d left behind", sink.delivered, f.InFlight())
		}
		load, err := routing.Loads(g, r, f.VCs(), pattern)
		if o.ReadsOccupancy() || escapes && g.SwitchLinks() > 0 {
			if err == nil {
				t.Error("channel loads of an adaptive routing")
			}
			return
		} else if err != nil {
			t.Fatal(err)
		}
		for p, count := range o.ports {
			want := load.Port[p] * float64(sink.delivered) / float64(g.Terminals())
			if math.Abs(count-want) > max(12, 6*math.Sqrt(2*want)) {
				t.Errorf("%s: %v packets of %d, expected %.1f", g.PortName(topology.PortID(p)), count, sink.delivered, want)
			}
		}
	})
}

// TestInjection: terminals may inject on some virtual channel, and on none
// that does not exist.
func TestInjection(t *testing.T) {
	eachRouting(t, func(t *testing.T, n network, v variant, r fabric.Routing) {
		for vcs := r.VCs(); vcs <= 16; vcs++ {
			if set := r.InjectionVCs(vcs); set == 0 || bits.Len32(set) > vcs {
				t.Errorf("InjectionVCs(%d) = %b", vcs, set)
			}
		}
	})
}

// across sends from the terminals of the first leaf of 8 to the second's.
type across struct{}

func (across) Destination(src topology.TerminalID, r *sim.Stream) topology.TerminalID {
	return (src + 8) % 16
}

// runAcross runs r between two leaves of 8 terminals and counts the packets by
// port up of the first one.
func runAcross(t *testing.T, topo topology.Topology, r fabric.Routing) []float64 {
	t.Helper()
	g := topo.Graph()
	o := &observer{Routing: r, t: t, ports: make([]float64, g.NumPorts())}
	f, err := fabric.New(g, fabric.DefaultConfig(), o, 3)
	if err != nil {
		t.Fatal(err)
	}
	f.Attach(fabric.NewOpenLoop(16, across{}, steadily{sim.NewGeometric(0.9)}, single{}, 3), &counter{})
	f.Advance(3000)
	first, end := topo.(topology.Tree).UpPorts(0)
	return o.ports[first:end]
}
