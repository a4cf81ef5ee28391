package families

import (
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/metrics"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/sim/simtest"
)

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
	d := metrics.Measure(prism).Diameter()
	simtest.ErrorIf(t, d != 6, "diameter %d", d)
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
				if peer, _ := g.PeerPort(at); g.PortSwitch[peer] != to {
					t.Fatalf("%+v: port %d of %s leads to %s, want %s", c, at-g.PortStart[s], word, words[g.PortSwitch[peer]], words[to])
				}
				at++
			}
		}
	}
}
