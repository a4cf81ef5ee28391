package traffic

import (
	"math"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
)

// TestLocalShares: an xgft of two pods with two leaves of three terminals each,
// a third of the packets in the leaf, half in the pod. Of terminal 4's packets a
// third is divided among 2 others of its leaf, a half among 5 of its pod, a
// sixth among all 11:
//
//	same leaf     1/6 + 1/10 + 1/66
//	same pod      1/10 + 1/66
//	other pod     1/66
func TestLocalShares(t *testing.T) {
	topo := build(t, "xgft", func(c *topology.XGFTConfig) { c.M, c.W = []int{3, 2, 2}, []int{1, 2, 2} })
	p := pattern(t, "local", topo, func(c *LocalConfig) { c.Switch, c.Group = 1./3, 1./2 })
	share := make([]float64, 12)
	p.(Matrix).Weights(4, func(dst topology.TerminalID, weight float64) { share[dst] += weight })
	for dst, got := range share {
		want := 1. / 66
		switch {
		case dst == 4:
			want = 0
		case dst/3 == 1:
			want += 1./6 + 1./10
		case dst < 6:
			want += 1. / 10
		}
		if math.Abs(got-want) > 1e-12 {
			t.Errorf("share of %d: %v, want %v", dst, got, want)
		}
	}
}

// TestLocalGroups: groups of a dragonfly, 8 terminals each.
func TestLocalGroups(t *testing.T) {
	p := pattern(t, "local", dragonfly(t, 2, 4, 2), func(c *LocalConfig) { c.Switch, c.Group = 0, 1 })
	p.(Matrix).Weights(9, func(dst topology.TerminalID, weight float64) {
		if dst/8 != 1 || math.Abs(weight-1./7) > 1e-12 {
			t.Errorf("share of %d: %v", dst, weight)
		}
	})
}

func TestLocalErrors(t *testing.T) {
	for _, c := range []struct {
		topo          topology.Topology
		atSwitch, grp float64
		want          string
	}{
		{grid(t, "torus", 2, 4, 4), 0.3, 0.2, `pattern "local" needs a topology with groups or pods; this topology has none`},
		{grid(t, "torus", 1, 4, 4), 0.3, 0, "two terminals or more at every switch"},
		{dragonfly(t, 2, 4, 2), 0.7, 0.4, "group = 0.4: want at most what switch leaves of 1"},
	} {
		config, _ := Patterns.Config("local")
		config.(*LocalConfig).Switch, config.(*LocalConfig).Group = c.atSwitch, c.grp
		_, err := Patterns.Build("local", config, Env{Topology: c.topo})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}
