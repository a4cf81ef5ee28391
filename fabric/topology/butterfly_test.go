package topology

import (
	"fmt"
	"slices"
	"testing"
)

func init() {
	for _, c := range []ButterflyConfig{{2, 1, "both"}, {2, 2, "both"}, {2, 3, "first"}, {3, 2, "both"}, {3, 3, "first"}, {4, 2, "first"}, {5, 2, "both"}} {
		addSample("butterfly", fmt.Sprintf("%+v", c), false, func(d *ButterflyConfig) { *d = c })
	}
}

// From a switch of the first stage to one of the last there is one path of n-1 cables.
func TestButterflyPaths(t *testing.T) {
	for _, c := range []ButterflyConfig{{2, 3, "both"}, {3, 3, "both"}, {2, 4, "first"}} {
		g := build(t, "butterfly", func(d *ButterflyConfig) { *d = c }).Graph()
		rows, n := g.Switches()/c.N, g.Neighbors()
		for s := range rows {
			paths := make([]int, g.Switches())
			paths[s] = 1
			for stage := range c.N - 1 {
				for r := range rows {
					at := SwitchID(stage*rows + r)
					for _, u := range n.Of(at) {
						if int(u)/rows == stage+1 {
							paths[u] += paths[at]
						}
					}
				}
			}
			if last := paths[g.Switches()-rows:]; slices.Min(last) != 1 || slices.Max(last) != 1 {
				t.Fatalf("%+v: paths from switch %d: %v", c, s, last)
			}
		}
	}
}

// With ends = "first" the cables are those of the k-ary n-tree, an XGFT of n levels with k
// children and k parents everywhere: the pairs of leaves at each distance agree.
func TestButterflyIsTree(t *testing.T) {
	tree := build(t, "xgft", func(c *XGFTConfig) { c.M, c.W = []int{3, 3, 3}, []int{1, 3, 3} })
	fly := build(t, "butterfly", func(c *ButterflyConfig) { *c = ButterflyConfig{3, 3, "first"} })
	a, b := Measure(tree.Graph()), Measure(fly.Graph())
	if !slices.Equal(a.Pairs, b.Pairs) || a.Links != b.Links || a.Switches != b.Switches {
		t.Errorf("%+v, %+v", a, b)
	}
}

func TestButterflyRefuses(t *testing.T) {
	refuses(t, "butterfly", "n", func(c *ButterflyConfig) { c.K, c.N = 4096, 16 })
	refuses(t, "butterfly", "ends", func(c *ButterflyConfig) { c.Ends = "last" })
}
