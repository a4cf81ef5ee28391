package families

import (
	"math"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/metrics"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/sim/simtest"
)

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
					simtest.FatalIf(t, len(n.Of(s)) != g.Degree(s)-1,
						"%d switches of %d ports: parallel cables", switches, degree)
					ends += len(n.Of(s))
				}
				simtest.FatalIf(t, ends != switches*degree-switches*degree%2,
					"%d switches of %d ports, seed %d: %d ends of cables", switches, degree, seed, ends)
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
	mean := total / 20
	simtest.ErrorIf(t, math.Abs(mean-2.124) > 0.02, "mean distance %v over 20 graphs", mean)
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
			want := 1
			simtest.FatalIf(t, k != want && node != int(s)/32 || k != 0 && node == int(s)/32,
				"switch %d has %d cables to meta-node %d", s, k, node)
		}
	}
	if gap, want := metrics.AlgebraicConnectivity(g), 10-2*math.Sqrt(9); gap < 0.8*want {
		t.Errorf("algebraic connectivity %v", gap)
	}
}
