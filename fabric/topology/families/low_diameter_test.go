package families

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/metrics"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/sim/simtest"
)

// Every order to 27 has diameter 2 and algebraic connectivity q. The cables of q = 5
// agree with another construction from the published definition
// (topologies/graphs/slimfly_q5.edges.gz of the reference data).
func TestSlimFly(t *testing.T) {
	for _, q := range []int{3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25, 27} {
		x := topologytest.Build(t, "slim-fly", func(c *SlimFlyConfig) { c.Q = q })
		simtest.Equal(t, metrics.Measure(x.Graph()).Diameter(), 2, "q = %d: diameter", q)
		simtest.Near(t, metrics.AlgebraicConnectivity(x.Graph()), float64(q), 1e-6, "q = %d: algebraic connectivity", q)
	}
	x := topologytest.Build(t, "slim-fly", func(c *SlimFlyConfig) { c.Q = 5 })
	got := edgesHash(x.Graph())
	simtest.Equal(t, got, "6d4effacea9da68c61345eb2026bc76d074e7195186ac7ba3ecdef23661520a6", "q = 5 has other cables than the reference:")
}

// Every two switches have exactly one path of two hops where a loop is one, that is A² = J + qI:
// neighbours have one common neighbour, or none if one of them is a quadric; others have one.
func TestPolarityGraph(t *testing.T) {
	for _, q := range []int{2, 3, 4, 5, 8, 9} {
		rows, quadric := polarity(q)
		n := 0
		for s := range rows {
			if quadric[s] {
				n++
			}
			paths := make([]int, len(rows))
			step := func(u topology.SwitchID) {
				for _, v := range rows[u] {
					paths[v]++
				}
				if quadric[u] {
					paths[u]++
				}
			}
			for _, u := range rows[s] {
				step(u)
			}
			if quadric[s] {
				step(topology.SwitchID(s))
			}
			for u, k := range paths {
				simtest.FatalIf(t, u != s && k != 1 || u == s && k != q+1, "q = %d: %d paths of two hops from %d to %d", q, k, s, u)
			}
		}
		simtest.ErrorIf(t, n != q+1, "q = %d: %d quadrics", q, n)
	}
}

// The cables of q = 7 and 13 agree with another construction from the published
// definition (topologies/graphs/polarfly_q*.edges.gz of the reference data), as does the
// algebraic connectivity.
func TestPolarFly(t *testing.T) {
	for _, c := range []struct {
		q    int
		gap  float64
		hash string
	}{
		{7, 5.35425, "9394ca0435904919565ad4ac94ac04c65c382cca894685169cc5e86e00daa872"},
		{13, 10.39445, "151d4e217d610330cf8f78a14cf3e8b7423f52fb6833de5277fa8603fb4380f7"},
	} {
		x := topologytest.Build(t, "polarfly", func(d *PolarFlyConfig) { d.Q = c.q })
		simtest.Equal(t, edgesHash(x.Graph()), c.hash, "q = %d has other cables than the reference:", c.q)
		gap := metrics.AlgebraicConnectivity(x.Graph())
		simtest.ErrorIf(t, math.Abs(gap-c.gap) > 1e-5, "q = %d: algebraic connectivity %v, want %v", c.q, gap, c.gap)
	}
	// Lakhotia et al.'s size: 993 of the 1 + 32*32 switches of the Moore bound.
	x := topologytest.Build(t, "polarfly", func(c *PolarFlyConfig) { c.Q = 31 })
	m := metrics.Measure(x.Graph())
	simtest.ErrorIf(t, m.Switches != 993 || m.Terminals != 15888 || m.Diameter() != 2 || math.Abs(m.MooreEfficiency()-993.0/1025) > 1e-12, "%+v", m)
}

// The two properties of supernodes that the diameter rests on: every vertex has d neighbours, and G
// and f(G) have nothing in common and together all pairs, but for (i, f(i)) with iq.
func TestPolarStarSupernodes(t *testing.T) {
	check := func(name string, d int, rows [][]int, f []int, but func(i, j int) bool) {
		for i, row := range rows {
			simtest.FatalIf(t, len(row) != d, "%s %d: vertex %d has %d neighbours", name, d, i, len(row))
			for j := range rows {
				own := slices.Contains(row, j)
				image := slices.Contains(rows[slices.Index(f, i)], slices.Index(f, j))
				simtest.FatalIf(t, (own != image) != (i != j && !but(i, j)) || own && image,
					"%s %d: vertices %d and %d: joined in G %v, in f(G) %v", name, d, i, j, own, image)
				simtest.FatalIf(t, slices.Contains(rows[f[f[i]]], f[f[j]]) != own, "%s %d: f twice is no automorphism", name, d)
			}
		}
	}
	for _, d := range []int{0, 3, 4, 7, 8, 11, 12, 27} {
		rows, f := quads(d)
		check("iq", d, rows, f, func(i, j int) bool { return f[i] == j })
	}
	for _, d := range []int{2, 4, 6, 8, 12, 14} {
		rows, f := paley(d)
		check("paley", d, rows, f, func(i, j int) bool { return false })
	}
}

// At most 3 hops, by search; ER_3 x Paley 5, of which the reference data's cycles are
// told, has 65 switches.
func TestPolarStarDiameter(t *testing.T) {
	for _, c := range []struct {
		config   PolarStarConfig
		switches int
		diameter int
	}{
		{PolarStarConfig{3, "paley", 2, 1}, 65, 3},
		{PolarStarConfig{2, "iq", 0, 1}, 14, 3},
		{PolarStarConfig{2, "paley", 2, 1}, 35, 3},
		{PolarStarConfig{4, "iq", 3, 1}, 168, 3},
		{PolarStarConfig{5, "paley", 6, 1}, 403, 3},
		{PolarStarConfig{7, "iq", 4, 1}, 570, 3},
		{PolarStarConfig{8, "paley", 4, 1}, 657, 3},
	} {
		g := topologytest.Build(t, "polarstar", func(d *PolarStarConfig) { *d = c.config }).Graph()
		d := metrics.Measure(g).Diameter()
		simtest.ErrorIf(t, g.Switches() != c.switches || d != c.diameter, "%+v: %d switches, diameter %d", c.config, g.Switches(), d)
	}
}

// edgesHash is the SHA-256 of a network's cables between switches, a line "u v" each, u
// < v, in ascending order.
func edgesHash(g *topology.Graph) string {
	h := sha256.New()
	n := g.Neighbors()
	for s := range topology.SwitchID(g.Switches()) {
		for _, t := range n.Of(s) {
			if s < t {
				fmt.Fprintf(h, "%d %d\n", s, t)
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Every port but one at most is used, no two cables are parallel, over all small sizes
// and some seeds; the mean distance keeps its bound.
func TestJellyfish(t *testing.T) {
	for switches := 4; switches <= 14; switches++ {
		for degree := 3; degree < switches; degree++ {
			for seed := range uint64(5) {
				g := topologytest.Build(t, "jellyfish", func(c *JellyfishConfig) { *c = JellyfishConfig{switches, degree, 1, seed} }).Graph()
				topologytest.CheckGraph(t, g)
				n, ends := g.Neighbors(), 0
				for s := range topology.SwitchID(switches) {
					simtest.FatalIf(t, len(n.Of(s)) != g.Degree(s)-1, "%d switches of %d ports: parallel cables", switches, degree)
					ends += len(n.Of(s))
				}
				simtest.FatalIf(t, ends != switches*degree-switches*degree%2, "%d switches of %d ports, seed %d: %d ends of cables", switches, degree, seed, ends)
				m := metrics.Measure(g)
				simtest.ErrorIf(t, m.MeanDistance < metrics.MeanDistanceBound(switches, degree)-1e-12,
					"%d switches of %d ports: mean distance %v", switches, degree, m.MeanDistance)
			}
		}
	}
}

// 57 switches of degree 8: 8 at distance 1, the other 48 at 2: (8 + 96)/56. The reference
// data's graph of this size has a mean distance of 2.124.
func TestMeanDistanceBound(t *testing.T) {
	got, want := metrics.MeanDistanceBound(57, 8), 104.0/56
	simtest.ErrorIf(t, math.Abs(got-want) > 1e-12, "%v, want %v", got, want)
	total := 0.0
	for seed := range uint64(20) {
		total += metrics.Measure(topologytest.Build(t, "jellyfish", func(c *JellyfishConfig) { *c = JellyfishConfig{57, 8, 4, seed} }).Graph()).MeanDistance
	}
	simtest.Near(t, total/20, 2.124, 0.02, "mean distance over 20 graphs")
}

// A lift of the complete graph: every switch has one cable to each other meta-node and
// none to its own. A random one of degree d is close to a Ramanujan graph, whose
// algebraic connectivity is d - 2√(d-1) or more: within 20 % of that here.
func TestXpander(t *testing.T) {
	g := topologytest.Build(t, "xpander", func(c *XpanderConfig) { *c = XpanderConfig{10, 32, 1, 7} }).Graph()
	n := g.Neighbors()
	for s := range topology.SwitchID(g.Switches()) {
		var met [11]int
		for _, u := range n.Of(s) {
			met[int(u)/32]++
		}
		for node, k := range met {
			simtest.FatalIf(t, k != 1 && node != int(s)/32 || k != 0 && node == int(s)/32, "switch %d has %d cables to meta-node %d", s, k, node)
		}
	}
	gap, want := metrics.AlgebraicConnectivity(g), 10-2*math.Sqrt(9)
	simtest.ErrorIf(t, gap < 0.8*want, "algebraic connectivity %v", gap)
}

// The way round: 2a steps along dimension 1 come back to the start, half way they are a
// further along dimension 0. Without a twist it is the torus.
func TestTwistedTorus(t *testing.T) {
	g := topologytest.Build(t, "twisted-torus", func(c *TwistedTorusConfig) { *c = TwistedTorusConfig{[]int{10, 5}, []int{0, 5}, 1} }).Graph()
	at := topology.SwitchID(3)
	for i := range 10 {
		simtest.ErrorIf(t, i == 5 && at != 8, "after 5 steps at %d, want 3 + 5", at)
		peer, _ := g.PeerPort(g.PortStart[at] + 3)
		at = g.PortSwitch[peer]
	}
	simtest.ErrorIf(t, at != 3, "after 10 steps at %d", at)
	plain := topologytest.Build(t, "twisted-torus", func(c *TwistedTorusConfig) { *c = TwistedTorusConfig{[]int{4, 3, 5}, []int{0, 0, 0}, 2} }).Graph()
	torus := topologytest.Build(t, "torus", func(c *topology.GridConfig) { *c = topology.GridConfig{Dims: []int{4, 3, 5}, Terminals: 2} }).Graph()
	simtest.ErrorIf(t, !slices.Equal(plain.Peer, torus.Peer), "without a twist it is not the torus")
	// Cámara et al.: the doubly twisted 2a x a x a torus has a smaller diameter than the
	// torus, 2a: here a = 4.
	prism := topologytest.Build(t, "twisted-torus", func(c *TwistedTorusConfig) { *c = TwistedTorusConfig{[]int{8, 4, 4}, []int{0, 4, 4}, 1} }).Graph()
	simtest.Equal(t, metrics.Measure(prism).Diameter(), 6, "diameter")
}

// From a switch of the first stage to one of the last there is one path of n-1 cables.
func TestButterflyPaths(t *testing.T) {
	for _, c := range []ButterflyConfig{{2, 3, "both"}, {3, 3, "both"}, {2, 4, "first"}} {
		g := topologytest.Build(t, "butterfly", func(d *ButterflyConfig) { *d = c }).Graph()
		rows, n := g.Switches()/c.N, g.Neighbors()
		for s := range rows {
			paths := make([]int, g.Switches())
			paths[s] = 1
			for stage := range c.N - 1 {
				for r := range rows {
					at := topology.SwitchID(stage*rows + r)
					for _, u := range n.Of(at) {
						if int(u)/rows == stage+1 {
							paths[u] += paths[at]
						}
					}
				}
			}
			last := paths[g.Switches()-rows:]
			simtest.FatalIf(t, slices.Min(last) != 1 || slices.Max(last) != 1, "%+v: paths from switch %d: %v", c, s, last)
		}
	}
}

// With ends = "first" the cables are as in the k-ary n-tree, an XGFT of n levels with k
// children and k parents everywhere: the pairs of leaves at each distance agree.
func TestButterflyIsTree(t *testing.T) {
	tree := topologytest.Build(t, "xgft", func(c *topology.XGFTConfig) { c.M, c.W = []int{3, 3, 3}, []int{1, 3, 3} })
	fly := topologytest.Build(t, "butterfly", func(c *ButterflyConfig) { *c = ButterflyConfig{3, 3, "first"} })
	a, b := metrics.Measure(tree.Graph()), metrics.Measure(fly.Graph())
	simtest.ErrorIf(t, !slices.Equal(a.Pairs, b.Pairs) || a.Links != b.Links || a.Switches != b.Switches, "%+v, %+v", a, b)
}

// First principles: the words are listed, and each is joined to those that drop its
// first letter and add one.
func TestKautzWords(t *testing.T) {
	for _, c := range []KautzConfig{{2, 1, 1}, {2, 2, 1}, {2, 4, 1}, {3, 3, 1}, {4, 3, 1}} {
		words := []string{}
		var grow func(word string)
		grow = func(word string) {
			if len(word) == c.N {
				words = append(words, word)
				return
			}
			for a := range c.D + 1 {
				if letter := string(rune('a' + a)); word == "" || word[len(word)-1:] != letter {
					grow(word + letter)
				}
			}
		}
		grow("")
		number := map[string]topology.SwitchID{}
		for i, word := range words { // in lexicographic order, which is the order of numbers
			number[word] = topology.SwitchID(i)
		}
		g := topologytest.Build(t, "kautz", func(d *KautzConfig) { *d = c }).Graph()
		simtest.FatalIf(t, g.Switches() != len(words), "%+v: %d switches, %d words", c, g.Switches(), len(words))
		for s, word := range words {
			at := g.PortStart[s] + 1
			for a := range c.D + 1 {
				to, ok := number[word[1:]+string(rune('a'+a))]
				if letter := byte('a' + a); !ok || word[len(word)-1] == letter {
					continue
				}
				peer, _ := g.PeerPort(at)
				simtest.FatalIf(t, g.PortSwitch[peer] != to, "%+v: port %d of %s leads to %s, want %s", c, at-g.PortStart[s], word, words[g.PortSwitch[peer]], words[to])
				at++
			}
		}
	}
}
