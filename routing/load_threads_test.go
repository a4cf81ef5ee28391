package routing_test

import (
	"errors"
	"math/bits"
	"runtime"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/routing/routingtest"
)

// pairwise hides that a matrix is even.
type pairwise struct{ m routing.Matrix }

func (p pairwise) Weights(src topology.TerminalID, yield func(topology.TerminalID, float64)) {
	p.m.Weights(src, yield)
}

// others is uniform traffic without that of terminals to themselves.
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
	blind := false
	if b, is := r.(routing.TerminalBlind); is {
		blind = b.IgnoresTerminals()
	}
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

// TestLoadsOnThreads: channel loads are the same to the last bit as added up one after the
// other, for any number of threads, and however little these may write down; and for an
// even matrix the same as for its pairs.
func TestLoadsOnThreads(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	compared := 0
	for _, n := range networks(t) {
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
						if !errors.Is(err, routing.ErrAdaptive) {
							t.Errorf("%v on %s: %v, want %v", v, n.Name, err, routing.ErrAdaptive)
						}
						continue
					}
					if err != nil {
						t.Fatalf("%v on %s: %v", v, n.Name, err)
					}
					for threads, most := range map[int]int{2: 1 << 20, 5: 1 + compared%100} {
						runtime.GOMAXPROCS(threads)
						restore := routing.WriteDownAtMost(most)
						got, err := routing.Loads(g, r, r.VCs(), m)
						restore()
						if err != nil {
							t.Fatalf("%v on %s: %v", v, n.Name, err)
						}
						compared++
						if !slices.Equal(got.Port, whole.Port) || !slices.Equal(got.Injection, whole.Injection) {
							t.Errorf("%v on %s, %d threads: other loads than those of its pairs", v, n.Name, threads)
						}
					}
					for _, p := range g.TerminalPort {
						whole.Port[p] = 0
					}
					if !slices.Equal(whole.Port, want) {
						t.Errorf("%v on %s: other sums than one after the other", v, n.Name)
					}
				}
			}
		}
	}
	if compared < 200 {
		t.Errorf("only %d cases", compared)
	}
}

// TestLoadsFail: the error is that of the first destination that cannot be reached, for any
// number of threads.
func TestLoadsFail(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	topo := dragonfly(t, 2, 4, 2, 0)
	r := misdirected{makeRouting[routing.MinConfig](t, "min", topo, nil)}
	want := ""
	for _, threads := range []int{1, 3, 5} {
		runtime.GOMAXPROCS(threads)
		_, err := routing.Loads(topo.Graph(), r, 2, others(72))
		if err == nil || want != "" && err.Error() != want {
			t.Fatalf("%d threads: %v, want %q", threads, err, want)
		}
		want = err.Error()
	}
}
