package topology

import (
	"math"
	"slices"
	"testing"

	"github.com/weft-sim/weft/sim/simtest"
)

func laidOut[C any](t *testing.T, name string, set func(*C)) (Topology, *Layout) {
	t.Helper()
	x := build(t, name, set)
	return x, layout(t, x)
}

// layout lays a topology out and checks that its switches are at least a distance of 1 apart.
func layout(t *testing.T, x Topology) *Layout {
	t.Helper()
	l := LayoutOf(x)
	if len(l.Places) != x.Graph().Switches() || l.How == "" {
		t.Fatalf("%d places, %q", len(l.Places), l.How)
	}
	for s, a := range l.Places {
		for u, b := range l.Places[:s] {
			if math.Hypot(a.X-b.X, a.Y-b.Y) < 0.99 {
				t.Errorf("%s: switches %d and %d are %v apart", l.How, u, s, math.Hypot(a.X-b.X, a.Y-b.Y))
			}
		}
	}
	return l
}

// TestLayouts: where switches stand in grids and groups.
func TestLayouts(t *testing.T) {
	_, l := laidOut(t, "torus", func(c *GridConfig) { c.Dims = []int{5, 3} })
	// Coordinate 0, 0 is the lower left corner; x runs fastest.
	if l.Places[0] != (Place{0, 2}) || l.Places[4] != (Place{4, 2}) || l.Places[5] != (Place{0, 1}) || l.Longest == 0 {
		t.Errorf("torus: %v", l.Places)
	}
	_, l = laidOut(t, "mesh", func(c *GridConfig) { c.Dims = []int{3, 3, 2} })
	if len(l.Frames) != 2 || l.Frames[1].Name != "plane 1" || l.Plane[8] != 0 || l.Plane[9] != 1 {
		t.Errorf("mesh: %v, %v", l.Frames, l.Plane)
	}
	x, l := laidOut(t, "dragonfly", func(c *DragonflyConfig) { c.P, c.A, c.H = 2, 4, 2 })
	for s, at := range l.Places {
		f := l.Frames[x.(Grouped).GroupOf(SwitchID(s))]
		if d := math.Hypot(at.X-f.Center.X, at.Y-f.Center.Y); d > f.Radius {
			t.Errorf("switch %d is %v from the centre of its group of radius %v", s, d, f.Radius)
		}
	}
}

// TestTreeLayout: a fat tree stands in its levels, each pod over its own leaves; the
// same graph without the knowledge of its levels, as an imported one, is drawn alike.
func TestTreeLayout(t *testing.T) {
	x, l := laidOut(t, "fat-tree", func(c *FatTreeConfig) { c.K, c.N = 6, 3 })
	tree := x.(Tree)
	heights := map[int]float64{}
	for s, at := range l.Places {
		level := tree.LevelOf(SwitchID(s))
		if y, known := heights[level]; known && y != at.Y {
			t.Errorf("level %d at %v and %v", level, y, at.Y)
		}
		heights[level] = at.Y
	}
	if !(heights[0] > heights[1] && heights[1] > heights[2]) {
		t.Errorf("levels at %v", heights)
	}
	// k = 6: pods of 3 leaves and 3 switches above, 6 of them; leaf 3i is in pod i.
	for pod := range 6 {
		low, high := l.Places[3*pod].X, l.Places[3*pod+2].X
		for i := range 3 {
			if at := l.Places[18+3*pod+i].X; at < low || at > high {
				t.Errorf("switch %d of pod %d at %v, its leaves from %v to %v", i, pod, at, low, high)
			}
		}
	}
	imported := LayoutOf(NewFileNetwork(x.Graph()))
	if imported.Shape != Levels || !slices.Equal(imported.Places, l.Places) {
		t.Error("the imported tree is drawn in another way")
	}
}

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
	x, _ := laidOut(t, "torus", func(c *GridConfig) { c.Dims = []int{4, 4} })
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
	if got := cuthillMcKee(b.Freeze()); !slices.Equal(got, []SwitchID{2, 1, 4, 0, 3}) {
		t.Errorf("order %v", got)
	}
}

// TestFamilyLayouts: no two switches stand on each other, in the shape of the family.
func TestFamilyLayouts(t *testing.T) {
	for _, c := range []struct {
		family string
		set    func(any)
		shape  Shape
		frames int
	}{
		{"slim-fly", but(func(c *SlimFlyConfig) { c.Q = 5 }), Rings, 10},
		{"polarfly", but(func(c *PolarFlyConfig) { c.Q = 7 }), Rings, 8}, // the quadrics, and 7 racks
		{"polarfly", but(func(c *PolarFlyConfig) { c.Q = 4 }), Rings, 5},
		{"polarstar", but(func(*PolarStarConfig) {}), Rings, 13},
		{"megafly", but(func(*MegaflyConfig) {}), Rings, 5},
		{"xpander", but(func(*XpanderConfig) {}), Rings, 6},
		{"oft", but(func(*OFTConfig) {}), Levels, 0},
		{"butterfly", but(func(c *ButterflyConfig) { c.K = 4 }), Rows, 0},
		{"twisted-torus", but(func(c *TwistedTorusConfig) { c.Dims, c.Twist = []int{6, 3, 3}, []int{0, 3, 3} }), Rows, 0},
		{"hyperx", but(func(c *HyperXConfig) { c.Dims = []int{4, 3, 3} }), Rows, 0},
		{"rail-optimised", but(func(*RailConfig) {}), Levels, 0},
		{"multi-plane", but(func(*PlanesConfig) {}), Levels, 0},
		{"torus", but(func(c *GridConfig) { c.Dims = []int{12} }), Circle, 0},
		{"random-regular", but(func(c *RandomRegularConfig) { c.Switches, c.Degree = 40, 3 }), Circle, 0},
		{"single-switch", but(func(*SingleSwitchConfig) {}), Circle, 0},
		// Splitters of both stages below the spine: 3 levels of the same width.
		{"pk", but(func(c *PKConfig) { c.M, c.Cascades = 3, 1 }), Levels, 0},
	} {
		x := simtest.Must(made(c.family, c.set))(t)
		if l := layout(t, x); l.Shape != c.shape || len(l.Frames) != c.frames {
			t.Errorf("%s: shape %v with %d frames: %s", c.family, l.Shape, len(l.Frames), l.How)
		}
	}
}
