package topology

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

func randomRegular(t testing.TB, c RandomRegularConfig) *Graph {
	t.Helper()
	return build(t, "random-regular", func(d *RandomRegularConfig) { *d = c }).Graph()
}

// The random network of the multicast paper: 2,048 switches, 20 ports to
// terminals, 20 to other switches. Regular and simple; neighbours in order.
func TestRandomRegularOfPaper(t *testing.T) {
	g := randomRegular(t, RandomRegularConfig{2048, 20, 20, 1})
	CheckGraph(t, g)
	if g.Terminals() != 40960 {
		t.Errorf("%d terminals", g.Terminals())
	}
	n := g.Neighbors()
	for s := range SwitchID(g.Switches()) {
		if len(n.Of(s)) != 20 || g.Degree(s) != 40 {
			t.Fatalf("switch %d has %d neighbours on %d ports", s, len(n.Of(s)), g.Degree(s))
		}
		if !slices.Equal(leadsTo(g, s), n.Of(s)) {
			t.Fatalf("ports of switch %d lead to %v, its neighbours are %v", s, leadsTo(g, s), n.Of(s))
		}
	}
}

func TestRandomRegularSeeds(t *testing.T) {
	config := RandomRegularConfig{32, 5, 1, 1}
	first := randomRegular(t, config)
	config.Seed = 2
	if slices.Equal(first.Peer, randomRegular(t, config).Peer) {
		t.Error("two seeds, one graph")
	}
}

// All 70 labelled 3-regular simple graphs of 6 switches are connected (the two
// shapes are K33 with 10 labellings and the prism with 60), so that over 7,000
// seeds each is expected 100 times. Chi-square with 69 degrees of freedom has
// mean 69 and standard deviation sqrt(138) = 11.7.
func TestRandomRegularIsUniform(t *testing.T) {
	counts := map[string]int{}
	for seed := range 7000 {
		n := randomRegular(t, RandomRegularConfig{6, 3, 1, uint64(seed)}).Neighbors()
		key := ""
		for s := range SwitchID(6) {
			key += fmt.Sprint(n.Of(s))
		}
		counts[key]++
	}
	if len(counts) != 70 {
		t.Fatalf("%d different graphs, want 70", len(counts))
	}
	chi := 0.0
	for _, n := range counts {
		chi += math.Pow(float64(n)-100, 2) / 100
	}
	if chi > 69+4*11.7 {
		t.Errorf("chi-square %.1f, expected 69 +- 11.7", chi)
	}
}

// Every port but one at most is used, no two cables are parallel, over all small sizes
// and some seeds; the mean distance keeps its bound.
func TestJellyfish(t *testing.T) {
	for switches := 4; switches <= 14; switches++ {
		for degree := 3; degree < switches; degree++ {
			for seed := range uint64(5) {
				g := build(t, "jellyfish", func(c *JellyfishConfig) { *c = JellyfishConfig{switches, degree, 1, seed} }).Graph()
				CheckGraph(t, g)
				n, ends := g.Neighbors(), 0
				for s := range SwitchID(switches) {
					if len(n.Of(s)) != g.Degree(s)-1 {
						t.Fatalf("%d switches of %d ports: parallel cables", switches, degree)
					}
					ends += len(n.Of(s))
				}
				if ends != switches*degree-switches*degree%2 {
					t.Fatalf("%d switches of %d ports, seed %d: %d ends of cables", switches, degree, seed, ends)
				}
				if m := Measure(g); m.MeanDistance < MeanDistanceBound(switches, degree)-1e-12 {
					t.Errorf("%d switches of %d ports: mean distance %v", switches, degree, m.MeanDistance)
				}
			}
		}
	}
}

// 57 switches of degree 8: 8 at distance 1, the other 48 at 2: (8 + 96)/56. The reference
// data's graph of this size has a mean distance of 2.124.
func TestMeanDistanceBound(t *testing.T) {
	if got, want := MeanDistanceBound(57, 8), 104.0/56; math.Abs(got-want) > 1e-12 {
		t.Errorf("%v, want %v", got, want)
	}
	total := 0.0
	for seed := range uint64(20) {
		total += Measure(build(t, "jellyfish", func(c *JellyfishConfig) { *c = JellyfishConfig{57, 8, 4, seed} }).Graph()).MeanDistance
	}
	if mean := total / 20; math.Abs(mean-2.124) > 0.02 {
		t.Errorf("mean distance %v over 20 graphs", mean)
	}
}

// A lift of the complete graph: every switch has one cable to each other meta-node and
// none to its own. A random one of degree d is close to a Ramanujan graph, whose
// algebraic connectivity is d - 2√(d-1) or more: within 20 % of that here.
func TestXpander(t *testing.T) {
	for _, lifts := range []string{"one", "doubling"} {
		g := build(t, "xpander", func(c *XpanderConfig) { *c = XpanderConfig{10, 32, lifts, 1, 7} }).Graph()
		n := g.Neighbors()
		for s := range SwitchID(g.Switches()) {
			var met [11]int
			for _, u := range n.Of(s) {
				met[int(u)/32]++
			}
			for node, k := range met {
				if want := 1; k != want && node != int(s)/32 || k != 0 && node == int(s)/32 {
					t.Fatalf("%s: switch %d has %d cables to meta-node %d", lifts, s, k, node)
				}
			}
		}
		if gap, want := AlgebraicConnectivity(g), 10-2*math.Sqrt(9); gap < 0.8*want {
			t.Errorf("%s: algebraic connectivity %v", lifts, gap)
		}
	}
}
