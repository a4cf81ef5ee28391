package topology

import (
	"fmt"
	"math"
	"testing"
)

func init() {
	for _, c := range []XpanderConfig{{3, 1, "one", 1, 1}, {3, 4, "one", 2, 2}, {3, 4, "doubling", 2, 2}, {4, 3, "one", 1, 3}, {6, 8, "doubling", 1, 4}} {
		addSample("xpander", fmt.Sprintf("%+v", c), false, func(d *XpanderConfig) { *d = c })
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

func TestXpanderRefuses(t *testing.T) {
	refuses(t, "xpander", "lift", func(c *XpanderConfig) { c.Lifts, c.Lift = "doubling", 6 })
	refuses(t, "xpander", "degree", func(c *XpanderConfig) { c.Degree = 2 })
}
