package routing_test

import (
	"errors"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// nextGroup is the worst case of the dragonfly.
type nextGroup struct{ topology.Grouped }

func (n nextGroup) Weights(src topology.TerminalID, yield func(topology.TerminalID, float64)) {
	g := n.Graph()
	perGroup := g.Terminals() / n.Groups()
	first := (n.GroupOf(g.TerminalSwitch(src)) + 1) % n.Groups() * perGroup
	for i := range perGroup {
		yield(topology.TerminalID(first+i), 1/float64(perGroup))
	}
}

func bound(t *testing.T, topo topology.Topology, r fabric.Routing, m routing.Matrix) (float64, string) {
	t.Helper()
	load := simtest.Must(routing.Loads(topo.Graph(), r, r.VCs(), m))(t)
	throughput, worst := load.Bound(nil)
	if worst == topology.NoPort {
		return throughput, "injection"
	}
	g := topo.Graph()
	return throughput, g.Classes[g.PortClass[worst]].Name
}

// TestDragonflyBounds: the 1056-terminal dragonfly (p = h = 4, a = 8, 33 groups).
//
// WC, MIN: the 32 terminals of a group share one global channel: 1/32. UR with self, MIN: a global channel carries the packets of 32 terminals to 32
// of 1056: 32*32/1056 = 0.9697. A local channel carries, from switch R to S of a group, direct traffic 4*4/1056, traffic of R's terminals out by S's
// four global channels 4*(4*32)/1056, and as much in: 16*(1+32+32)/1056 = 0.985. Injection and ejection carry 1: the bound is 1. WC, VAL: 31
// intermediate groups; a global channel from group i to j != i+1 carries 32/31 from i's own packets if j is an intermediate group of theirs, and
// group j-1's if it is one: for most pairs both, so 64/31, and a bound of 31/64. (The fullest local channels carry as much: 4*4/31 of their own
// switch's packets, 4*4/31 on their way in, and 32/31 on their way through.)
func TestDragonflyBounds(t *testing.T) {
	topo := dragonfly(t, 4, 8, 4, 0)
	min, val := must(t, topo, 0, "min"), must(t, topo, 0, "val")
	next := nextGroup{topo.(topology.Grouped)}
	for _, c := range []struct {
		name   string
		r      fabric.Routing
		m      routing.Matrix
		want   float64
		class  string
		global float64 // greatest load of a global channel
	}{
		{"WC MIN", min, next, 1. / 32, "global", 32},
		{"UR MIN", min, uniformly(1056), 1, "injection", 32 * 32 / 1056.},
		{"WC VAL", val, next, 31. / 64, "", 64 / 31.},
	} {
		if testing.Short() && c.r == val {
			continue
		}
		got, class := bound(t, topo, c.r, c.m)
		simtest.ErrorIf(t, math.Abs(got-c.want) > 1e-12 || c.class != "" && class != c.class,
			"%s: bound %v on a %s channel, want %v, %s", c.name, got, class, c.want, c.class)
		load, _ := routing.Loads(topo.Graph(), c.r, c.r.VCs(), c.m)
		global, local := greatest(topo, load, "global"), greatest(topo, load, "local")
		simtest.ErrorIf(t, math.Abs(global-c.global) > 1e-12 || c.name == "UR MIN" && math.Abs(local-16*65/1056.) > 1e-12,
			"%s: greatest load %v of a global, %v of a local channel", c.name, global, local)
	}
}

func greatest(topo topology.Topology, load *routing.Load, class string) float64 {
	g, most := topo.Graph(), 0.0
	for p, x := range load.Port {
		if g.Classes[g.PortClass[p]].Name == class {
			most = max(most, x)
		}
	}
	return most
}

// TestGridBounds: uniform traffic with self on k x k grids with one terminal a switch (Dally and Towles 2004, section
// 3.3.1). Mesh: the channels across the middle carry the packets of k/2 switches of a row to k/2 columns of all rows:
// k/4, for k = 8 load 2 and bound 0.5. Torus: half of that by symmetry of the two directions, k/8: load 1, bound 1.
func TestGridBounds(t *testing.T) {
	for _, c := range []struct {
		topo        topology.Topology
		most, bound float64
	}{{mesh(t, 1, 8, 8), 2, 0.5}, {torus(t, 1, 8, 8), 1, 1}} {
		r := must(t, c.topo, 0, "dor")
		load := simtest.Must(routing.Loads(c.topo.Graph(), r, r.VCs(), uniformly(64)))(t)
		simtest.Near(t, greatest(c.topo, load, "grid"), c.most, 1e-12, "greatest load")
		got, _ := load.Bound(nil)
		simtest.Near(t, got, c.bound, 1e-12, "bound")
		// Channels of half the rate halve the bound of the mesh: 4 cycles' worth of flits a cycle.
		got, _ = load.Bound(&routing.Limits{Class: []float64{1, 2}})
		simtest.Near(t, got, 1/(2*c.most), 1e-12, "bound on slow grid channels")
		got, _ = load.Bound(&routing.Limits{Class: []float64{1, 2}, Part: [3]float64{1, 5, 1}}) // what ends them is slower still
		simtest.Near(t, got, 1/(5*c.most), 1e-12, "bound where switches are slower than grid channels")
	}
}

// TestSampledWalk: a budget ends the walk before all destinations are done, and the certificate says so. To each of five
// switches in a ring lead 5 first hops (one to the terminal), and on either side one more, and one to the terminal: 9.
func TestSampledWalk(t *testing.T) {
	topo := dragonfly(t, 2, 4, 2, 0)
	r := must(t, topo, 0, "min")
	walked, all, err := routing.Dependencies(topo.Graph(), r, 2, 200, func(topology.Dependency) {})
	simtest.ErrorIf(t, err != nil || walked < 1 || walked >= all || all != 36, "walked %d of %d: %v", walked, all, err)
	ring := torus(t, 1, 5)
	r = must(t, ring, 1, "dor", param.Set("vc_rule", "none"))
	for budget, exceeds := range map[int]bool{5*9 - 1: true, 5 * 9: false} {
		simtest.Equal(t, routing.WalkExceeds(ring.Graph(), r, 1, budget), exceeds, "budget %d is exceeded:", budget)
	}
}

// misdirected changes the hops of a routing.
type misdirected struct {
	fabric.Routing
	change func(hop *fabric.Hop, state *uint32)
}

func (m misdirected) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	m.Routing.(fabric.Explorer).Explore(vcs, h, func(hop fabric.Hop, state uint32, weight float64) {
		m.change(&hop, &state)
		yield(hop, state, weight)
	})
}

// pairwise hides that a matrix is even.
type pairwise struct{ m routing.Matrix }

func (p pairwise) Weights(src topology.TerminalID, yield func(topology.TerminalID, float64)) {
	p.m.Weights(src, yield)
}

// others is uniform traffic in which no terminal sends to itself.
type others int

func (n others) Weights(src topology.TerminalID, yield func(topology.TerminalID, float64)) {
	for dst := range topology.TerminalID(n) {
		if dst != src {
			yield(dst, 1/float64(n-1))
		}
	}
}

func (n others) Even() (weight float64, self bool) { return 1 / float64(n-1), false }

// backwards sends two thirds to the terminal at the other end and the rest to the next.
type backwards int

func (n backwards) Weights(src topology.TerminalID, yield func(topology.TerminalID, float64)) {
	yield(topology.TerminalID(n)-1-src, 2./3)
	yield((src+1)%topology.TerminalID(n), 1./3)
}

// plainLoads are the loads of ports between switches, added up one destination after the
// other, one head after the other. ok is false where the routing has none.
func plainLoads(g *topology.Graph, r fabric.Routing, vcs int, m routing.Matrix) (ports []float64, ok bool) {
	ports = make([]float64, g.NumPorts())
	b, is := r.(routing.TerminalBlind)
	blind := is && b.IgnoresTerminals()
	end := make([]topology.TerminalID, g.Terminals()) // the terminal that stands for each
	first := map[topology.SwitchID]topology.TerminalID{}
	var ends []topology.TerminalID
	for t := range end {
		end[t] = topology.TerminalID(t)
		if s := g.TerminalSwitch(end[t]); blind {
			if _, known := first[s]; !known {
				first[s] = end[t]
			}
			end[t] = first[s]
		}
		if end[t] == topology.TerminalID(t) {
			ends = append(ends, end[t])
		}
	}
	flows := map[[2]topology.TerminalID]float64{}
	for src := range end {
		row := map[topology.TerminalID]float64{}
		m.Weights(topology.TerminalID(src), func(dst topology.TerminalID, w float64) { row[end[dst]] += w })
		for dst, w := range row {
			flows[[2]topology.TerminalID{end[src], dst}] += w
		}
	}
	for _, dst := range ends {
		var heads []fabric.Head
		flow := map[fabric.Head]float64{}
		enter := func(h fabric.Head, f float64) {
			if _, known := flow[h]; !known {
				heads = append(heads, h)
			}
			flow[h] += f
		}
		for _, src := range ends {
			f := flows[[2]topology.TerminalID{src, dst}]
			if f == 0 {
				continue
			}
			set := r.InjectionVCs(vcs)
			if blind {
				set &= -set
			}
			n := bits.OnesCount32(set)
			for ; set != 0; set &= set - 1 {
				in := g.TerminalPort[src]
				enter(fabric.Head{Switch: g.PortSwitch[in], In: in, VC: uint8(bits.TrailingZeros32(set)), Dst: dst}, f/float64(n))
			}
		}
		for len(heads) > 0 {
			now, carried := heads, flow
			heads, flow = nil, map[fabric.Head]float64{}
			for _, h := range now {
				total := 0.0
				r.(fabric.Explorer).Explore(vcs, h, func(hop fabric.Hop, state uint32, weight float64) {
					total += weight
					peer, ok := g.PeerPort(hop.Port)
					if !ok {
						return
					}
					for set := hop.VCs; set != 0; set &= set - 1 {
						f := carried[h] * weight / float64(bits.OnesCount32(hop.VCs))
						ports[hop.Port] += f
						enter(fabric.Head{Switch: g.PortSwitch[peer], In: peer, VC: uint8(bits.TrailingZeros32(set)), Dst: dst, State: state}, f)
					}
				})
				if total < 1-1e-9 || total > 1+1e-9 {
					return nil, false
				}
			}
		}
	}
	return ports, true
}

// TestLoadsOnThreads: channel loads are the same to the last bit as added up one after the other, for any number of
// threads, and however little these may write down; and for an even matrix the same as for its pairs.
func TestLoadsOnThreads(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	compared := 0
	for _, n := range topologytest.Special(t) {
		g := n.Topology.Graph()
		for _, name := range routing.Registry.Names() {
			for _, v := range routingtest.Variants(t, name) {
				r, ok := v.On(n.Topology)
				if _, explores := r.(fabric.Explorer); !ok || !explores {
					continue
				}
				for _, m := range []routing.Matrix{others(g.Terminals()), backwards(g.Terminals())} {
					want, ok := plainLoads(g, r, r.VCs(), m)
					whole, err := routing.Loads(g, r, r.VCs(), pairwise{m})
					if !ok {
						simtest.ErrorIf(t, !errors.Is(err, routing.ErrAdaptive), "%v on %s: %v, want %v", v, n.Name, err, routing.ErrAdaptive)
						continue
					}
					simtest.FatalIf(t, err != nil, "%v on %s: %v", v, n.Name, err)
					for threads, most := range map[int]int{2: 1 << 20, 5: 1 + compared%100} {
						runtime.GOMAXPROCS(threads)
						restore := routing.WriteDownAtMost(most)
						got, err := routing.Loads(g, r, r.VCs(), m)
						restore()
						simtest.FatalIf(t, err != nil, "%v on %s: %v", v, n.Name, err)
						compared++
						simtest.ErrorIf(t, !slices.Equal(got.Port, whole.Port) || !slices.Equal(got.Injection, whole.Injection),
							"%v on %s, %d threads: other loads than those of its pairs", v, n.Name, threads)
					}
					for _, p := range g.TerminalPort {
						whole.Port[p] = 0
					}
					simtest.ErrorIf(t, !slices.Equal(whole.Port, want), "%v on %s: other sums than one after the other", v, n.Name)
				}
			}
		}
	}
	simtest.ErrorIf(t, compared < 200, "only %d cases", compared)
}

// TestLoadsFail: decisions that no switch can carry out are errors of both walks. The error of loads
// names the first destination that cannot be reached, for any number of threads.
func TestLoadsFail(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	topo := dragonfly(t, 2, 4, 2, 0)
	r := misdirected{Routing: must(t, topo, 0, "min")}
	for _, r.change = range []func(hop *fabric.Hop, state *uint32){
		func(hop *fabric.Hop, _ *uint32) { hop.VCs = 0 },
		func(hop *fabric.Hop, _ *uint32) { hop.VCs |= 1 << 2 }, // of two virtual channels
		func(_ *fabric.Hop, state *uint32) { *state |= 1 << fabric.StateBits },
		func(hop *fabric.Hop, _ *uint32) { hop.Port = 0 },
	} {
		simtest.Refuse2(routing.Dependencies(topo.Graph(), r, 2, 0, func(topology.Dependency) {}))(t, "the routing ", " a packet ")
	}
	want := ""
	for _, threads := range []int{1, 3, 5} {
		runtime.GOMAXPROCS(threads)
		_, err := routing.Loads(topo.Graph(), r, 2, others(72))
		simtest.FatalIf(t, err == nil || want != "" && err.Error() != want, "%d threads: %v, want %q", threads, err, want)
		want = err.Error()
	}
}

// TestCaps: where every terminal that sends uses the channels that are filled first as much as the others, their load bounds the mean throughput.
// Uniform traffic on a mesh: every packet crosses the middle of its row with the same probability, 1/2. Backwards: the middle of the columns is full
// first, which 2/3 of the packets of all cross, and those to the next terminal from the end of the second row only. Each sends all over its own
// channel, under any traffic.
func TestCaps(t *testing.T) {
	grid := mesh(t, 1, 4, 4)
	for _, c := range []struct {
		name   string
		matrix routing.Matrix
		limits routing.Limits
		caps   bool
	}{
		{"uniform", uniformly(16), routing.Limits{}, true},
		{"uniform, slow out of terminals", uniformly(16), routing.Limits{Part: [3]float64{5, 1, 1}}, true},
		{"uniform, slow into terminals", uniformly(16), routing.Limits{Part: [3]float64{1, 1, 5}}, true},
		{"backwards", backwards(16), routing.Limits{}, false},
		{"backwards, slow out of terminals", backwards(16), routing.Limits{Part: [3]float64{5, 1, 1}}, true},
	} {
		loads := func(m routing.Matrix) *routing.Load {
			r := must(t, grid, 0, "dor")
			return simtest.Must(routing.Loads(grid.Graph(), r, r.VCs(), m))(t)
		}
		load := loads(c.matrix)
		simtest.Equal(t, load.Caps(&c.limits, func() *routing.Load { return loads(routing.Weighted(c.matrix)) }), c.caps, "%s:", c.name)
		own := routing.TerminalLoads(grid.Graph(), c.matrix)
		for p, x := range own.Port {
			_, ok := grid.Graph().PeerTerminal(topology.PortID(p))
			simtest.ErrorIf(t, ok && math.Abs(x-load.Port[p]) > 1e-12 || !ok && x != 0, "%s: port %d: own load %v, of all %v", c.name, p, x, load.Port[p])
		}
	}
}

// TestAlternatives: the packets of UGAL-L go minimally, or on the detours of Valiant's routing.
func TestAlternatives(t *testing.T) {
	topo := dragonfly(t, 2, 4, 2, 0)
	g := topo.Graph()
	minimal, detour, ok := routing.Alternatives(must(t, topo, 0, "ugal-l"))
	simtest.FatalIf(t, !ok, "UGAL-L does not choose")
	_, _, ok = routing.Alternatives(must(t, mesh(t, 1, 4, 4), 0, "dor"))
	simtest.ErrorIf(t, ok, "dimension order has detours")
	for _, m := range []routing.Matrix{others(g.Terminals()), nextGroup{topo.(topology.Grouped)}} {
		for name, r := range map[string]fabric.Routing{"min": minimal, "val": detour} {
			want, got := simtest.Must(routing.Loads(g, must(t, topo, 0, name), 3, m))(t), simtest.Must(routing.Loads(g, r, 3, m))(t)
			simtest.ErrorIf(t, !slices.Equal(got.Port, want.Port) || got.Hops() != want.Hops(), "%s: other loads", name)
		}
	}
	// A packet for the next group crosses its source's switch, the one with the channel but for
	// 1/4, the one behind, and its destination's but for 1/4: 4 - 2/4 switches.
	simtest.Near(t, simtest.Must(routing.Loads(g, minimal, 3, nextGroup{topo.(topology.Grouped)}))(t).Hops(), 3.5, 1e-12, "switches")
}
