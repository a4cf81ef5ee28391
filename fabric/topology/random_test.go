package topology

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/weft-sim/weft/sim/param"
)

func init() {
	for _, s := range []RandomRegularConfig{
		{2, 1, 1, 1}, {3, 2, 1, 1}, {4, 3, 2, 1}, {8, 3, 1, 5}, {7, 4, 1, 2}, {33, 8, 3, 9}, {9, 8, 1, 1},
	} {
		addSample("random-regular", fmt.Sprintf("%+v", s), false, func(c *RandomRegularConfig) { *c = s })
	}
}

func randomRegular(t testing.TB, c RandomRegularConfig) *Graph {
	t.Helper()
	x, err := param.Make(Registry, "random-regular", struct{}{}, func(d *RandomRegularConfig) { *d = c })
	if err != nil {
		t.Fatal(err)
	}
	return x.Graph()
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
		for i, u := range n.Of(s) {
			if peer, _ := g.PeerPort(g.PortStart[s] + PortID(20+i)); g.PortSwitch[peer] != u {
				t.Fatalf("switch %d: port %d does not lead to neighbour %d", s, 20+i, u)
			}
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

func TestRandomRegularRefuses(t *testing.T) {
	for _, c := range []struct {
		key    string
		config RandomRegularConfig
	}{
		{"degree", RandomRegularConfig{8, 8, 1, 1}},
		{"degree", RandomRegularConfig{9, 3, 1, 1}},
		{"degree", RandomRegularConfig{8, 2, 1, 1}},
		{"degree", RandomRegularConfig{8, 1, 1, 1}},
		{"switches", RandomRegularConfig{1, 3, 1, 1}},
		{"switches", RandomRegularConfig{1000000, 4096, 1, 1}},
		{"terminals", RandomRegularConfig{8, 3, 0, 1}},
	} {
		_, err := Registry.Build("random-regular", &c.config, struct{}{})
		var problem *param.ParamError
		if !errors.As(err, &problem) || problem.Key != c.key {
			t.Errorf("%+v: %v, want a problem of %s", c.config, err, c.key)
		}
	}
}
