package topology

import (
	"slices"
	"testing"

	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestLevelsWithHostsAbove: a few hosts on the roots, as in real fabrics, do not
// make leaves of them; a torus has no levels.
func TestLevelsWithHostsAbove(t *testing.T) {
	b := NewBuilder(6, Class{Name: "terminal"}, Class{Name: "cable"})
	for leaf := range 4 {
		for range 5 {
			b.AddTerminal(SwitchID(leaf), 0)
		}
		b.AddLink(SwitchID(leaf), 4, 1)
		b.AddLink(SwitchID(leaf), 5, 1)
	}
	b.AddTerminal(4, 0)
	if got := levelsFromTerminals(b.Freeze()); !slices.Equal(got, []int{0, 0, 0, 0, 1, 1}) {
		t.Errorf("levels %v", got)
	}
	x := simtest.Must(param.Make(Registry, "torus", struct{}{}, func(c *GridConfig) { c.Dims = []int{4, 4} }))(t)
	if got := levelsFromTerminals(x.Graph()); got != nil {
		t.Errorf("a torus of levels %v", got)
	}
}

// TestCuthillMcKee: a path is followed from one of its ends.
func TestCuthillMcKee(t *testing.T) {
	b := NewBuilder(5, Class{Name: "terminal"}, Class{Name: "cable"})
	b.AddTerminal(0, 0)
	for _, link := range [][2]SwitchID{{3, 0}, {0, 4}, {4, 1}, {1, 2}} {
		b.AddLink(link[0], link[1], 1)
	}
	got := cuthillMcKee(b.Freeze())
	simtest.ErrorIf(t, !slices.Equal(got, []SwitchID{2, 1, 4, 0, 3}), "order %v", got)
}
