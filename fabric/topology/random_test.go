package topology_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/sim/simtest"
)

func randomRegular(t testing.TB, c topology.RandomRegularConfig) *topology.Graph {
	t.Helper()
	return topologytest.Build(t, "random-regular", func(d *topology.RandomRegularConfig) { *d = c }).Graph()
}

// The random network of the multicast paper: 2,048 switches, 20 ports to
// terminals, 20 to other switches. Regular and simple; neighbours in order.
func TestRandomRegularOfPaper(t *testing.T) {
	g := randomRegular(t, topology.RandomRegularConfig{2048, 20, 20, 1})
	topologytest.CheckGraph(t, g)
	simtest.ErrorIf(t, g.Terminals() != 40960, "%d terminals", g.Terminals())
	n := g.Neighbors()
	for s := range topology.SwitchID(g.Switches()) {
		if len(n.Of(s)) != 20 || g.Degree(s) != 40 {
			t.Fatalf("switch %d has %d neighbours on %d ports", s, len(n.Of(s)), g.Degree(s))
		}
		simtest.FatalIf(t, !slices.Equal(topologytest.LeadsTo(g, s), n.Of(s)),
			"ports of switch %d lead to %v, its neighbours are %v", s, topologytest.LeadsTo(g, s), n.Of(s))
	}
}

func TestRandomRegularSeeds(t *testing.T) {
	config := topology.RandomRegularConfig{32, 5, 1, 1}
	first := randomRegular(t, config)
	config.Seed = 2
	simtest.ErrorIf(t, slices.Equal(first.Peer, randomRegular(t, config).Peer), "two seeds, one graph")
}

// All 70 labelled 3-regular simple graphs of 6 switches are connected (the two shapes are K33 with
// 10 labellings and the prism with 60), so that over 7,000 seeds each is expected 100 times.
// Chi-square with 69 degrees of freedom has mean 69 and standard deviation sqrt(138) = 11.7.
func TestRandomRegularIsUniform(t *testing.T) {
	counts := map[string]int{}
	for seed := range 7000 {
		n := randomRegular(t, topology.RandomRegularConfig{6, 3, 1, uint64(seed)}).Neighbors()
		key := ""
		for s := range topology.SwitchID(6) {
			key += fmt.Sprint(n.Of(s))
		}
		counts[key]++
	}
	simtest.FatalIf(t, len(counts) != 70, "%d different graphs, want 70", len(counts))
	chi := 0.0
	for _, n := range counts {
		chi += math.Pow(float64(n)-100, 2) / 100
	}
	simtest.ErrorIf(t, chi > 69+4*11.7, "chi-square %.1f, expected 69 +- 11.7", chi)
}
