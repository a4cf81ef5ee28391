package topology_test

import (
	"math"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/sim/simtest"
)

func laidOut[C any](t *testing.T, name string, set func(*C)) (topology.Topology, *topology.Layout) {
	t.Helper()
	x := topologytest.Build(t, name, set)
	return x, topologytest.CheckLayout(t, x, 0.99)
}

// TestLayouts: where switches stand in grids and groups.
func TestLayouts(t *testing.T) {
	_, l := laidOut(t, "torus", func(c *topology.GridConfig) { c.Dims = []int{5, 3} })
	// Coordinate 0, 0 is the lower left corner; x runs fastest.
	if l.Places[0] != (topology.Place{0, 2}) || l.Places[4] != (topology.Place{4, 2}) || l.Places[5] != (topology.Place{0, 1}) || l.Longest == 0 {
		t.Errorf("torus: %v", l.Places)
	}
	_, l = laidOut(t, "mesh", func(c *topology.GridConfig) { c.Dims = []int{3, 3, 2} })
	simtest.ErrorIf(t, len(l.Frames) != 2 || l.Frames[1].Name != "plane 1" || l.Plane[8] != 0 || l.Plane[9] != 1,
		"mesh: %v, %v", l.Frames, l.Plane)
	x, l := laidOut(t, "dragonfly", func(c *topology.DragonflyConfig) { c.P, c.A, c.H = 2, 4, 2 })
	for s, at := range l.Places {
		f := l.Frames[x.(topology.Grouped).GroupOf(topology.SwitchID(s))]
		d := math.Hypot(at.X-f.Center.X, at.Y-f.Center.Y)
		simtest.ErrorIf(t, d > f.Radius, "switch %d is %v from the centre of its group of radius %v", s, d, f.Radius)
	}
}

// TestTreeLayout: a fat tree stands in its levels, each pod over its own leaves; the
// same graph without the knowledge of its levels, as an imported one, is drawn alike.
func TestTreeLayout(t *testing.T) {
	x, l := laidOut(t, "fat-tree", func(c *topology.FatTreeConfig) { c.K, c.N = 6, 3 })
	tree := x.(topology.Tree)
	heights := map[int]float64{}
	for s, at := range l.Places {
		level := tree.LevelOf(topology.SwitchID(s))
		y, known := heights[level]
		simtest.ErrorIf(t, known && y != at.Y, "level %d at %v and %v", level, y, at.Y)
		heights[level] = at.Y
	}
	simtest.ErrorIf(t, !(heights[0] > heights[1] && heights[1] > heights[2]), "levels at %v", heights)
	// k = 6: pods of 3 leaves and 3 switches above, 6 of them; leaf 3i is in pod i.
	for pod := range 6 {
		low, high := l.Places[3*pod].X, l.Places[3*pod+2].X
		for i := range 3 {
			at := l.Places[18+3*pod+i].X
			simtest.ErrorIf(t, at < low || at > high,
				"switch %d of pod %d at %v, its leaves from %v to %v", i, pod, at, low, high)
		}
	}
	imported := topology.LayoutOf(topology.NewFileNetwork(x.Graph()))
	simtest.ErrorIf(t, imported.Shape != topology.Levels || !slices.Equal(imported.Places, l.Places),
		"the imported tree is drawn in another way")
}

// TestFamilyLayouts: no two switches stand on each other, in the shape of the family.
func TestFamilyLayouts(t *testing.T) {
	for _, c := range []struct {
		family string
		set    func(any)
		shape  topology.Shape
		frames int
	}{
		{"megafly", topologytest.But(func(*topology.MegaflyConfig) {}), topology.Rings, 5},
		{"hyperx", topologytest.But(func(c *topology.HyperXConfig) { c.Dims = []int{4, 3, 3} }), topology.Rows, 0},
		{"torus", topologytest.But(func(c *topology.GridConfig) { c.Dims = []int{12} }), topology.Circle, 0},
		{"random-regular", topologytest.But(func(c *topology.RandomRegularConfig) { c.Switches, c.Degree = 40, 3 }), topology.Circle, 0},
		{"single-switch", topologytest.But(func(*topology.SingleSwitchConfig) {}), topology.Circle, 0},
		// Splitters of both stages below the spine: 3 levels of the same width.
		{"pk", topologytest.But(func(c *topology.PKConfig) { c.M, c.Cascades = 3, 1 }), topology.Levels, 0},
	} {
		topologytest.CheckShape(t, c.family, c.set, c.shape, c.frames)
	}
}
