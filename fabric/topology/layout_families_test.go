package topology

import "testing"

// TestFamilyLayouts: no two switches stand on each other, in the shape of the family.
func TestFamilyLayouts(t *testing.T) {
	check := func(l *Layout, shape Shape, frames int) {
		t.Helper()
		if l.Shape != shape || len(l.Frames) != frames {
			t.Errorf("shape %v with %d frames: %s", l.Shape, len(l.Frames), l.How)
		}
	}
	_, l := laidOut(t, "slim-fly", func(c *SlimFlyConfig) { c.Q = 5 })
	check(l, Rings, 10)
	_, l = laidOut(t, "polarfly", func(c *PolarFlyConfig) { c.Q = 7 })
	check(l, Rings, 8) // the quadrics, and 7 racks
	_, l = laidOut(t, "polarfly", func(c *PolarFlyConfig) { c.Q = 4 })
	check(l, Rings, 5)
	_, l = laidOut(t, "polarstar", func(*PolarStarConfig) {})
	check(l, Rings, 13)
	_, l = laidOut(t, "megafly", func(*MegaflyConfig) {})
	check(l, Rings, 5)
	_, l = laidOut(t, "xpander", func(*XpanderConfig) {})
	check(l, Rings, 6)
	_, l = laidOut(t, "oft", func(*OFTConfig) {})
	check(l, Levels, 0)
	_, l = laidOut(t, "butterfly", func(c *ButterflyConfig) { c.K = 4 })
	check(l, Rows, 0)
	_, l = laidOut(t, "twisted-torus", func(c *TwistedTorusConfig) { c.Dims, c.Twist = []int{6, 3, 3}, []int{0, 3, 3} })
	check(l, Rows, 0)
	_, l = laidOut(t, "hyperx", func(c *HyperXConfig) { c.Dims = []int{4, 3, 3} })
	check(l, Rows, 0)
	_, l = laidOut(t, "rail-optimised", func(*RailConfig) {})
	check(l, Levels, 0)
	_, l = laidOut(t, "multi-plane", func(*PlanesConfig) {})
	check(l, Levels, 0)
}
