package topology

import (
	"fmt"
	"math"
	"testing"
)

func init() {
	for _, c := range []MegaflyConfig{
		{2, 2, 2, 2, 0, "absolute"}, {1, 2, 2, 2, 4, "relative"}, {3, 1, 2, 1, 0, "circulant"},
		{1, 3, 3, 1, 3, "absolute"}, {1, 2, 1, 1, 2, "absolute"}, {2, 1, 3, 3, 7, "relative"}, {1, 1, 1, 1, 0, "absolute"},
	} {
		addSample("megafly", fmt.Sprintf("%+v", c), false, func(d *MegaflyConfig) { *d = c })
	}
}

// The reference data's two networks: pairs of leaves by distance, counted there.
func TestMegafly(t *testing.T) {
	for _, c := range []struct {
		config MegaflyConfig
		pairs  string
		mean   float64
		links  int
	}{
		{MegaflyConfig{3, 3, 3, 3, 0, "absolute"}, "[30 0 60 810]", 2.931034, 135},
		{MegaflyConfig{2, 2, 2, 2, 0, "absolute"}, "[10 0 10 80]", 2.888889, 30},
	} {
		m := Measure(build(t, "megafly", func(d *MegaflyConfig) { *d = c.config }).Graph())
		if fmt.Sprint(m.Pairs) != c.pairs || math.Abs(m.MeanDistance-c.mean) > 5e-7 || m.Links != c.links {
			t.Errorf("%+v: %+v", c.config, m)
		}
	}
	// Radix 36: 18 leaves and 18 spines a group, 18 terminals and 18 global ports:
	// 324*325 terminals on 11,700 switches.
	c := MegaflyConfig{18, 18, 18, 18, 0, "absolute"}
	if f := (&Megafly{MegaflyConfig: MegaflyConfig{18, 18, 18, 18, c.groups(), "absolute"}}).Facts(); f.Terminals != 105300 || f.Switches != 11700 {
		t.Errorf("%+v", f)
	}
}

// Balanced groups (p = l = s = h = 2, g = 5): 4*5/(2*2*4) = 5/4 by the global channels,
// 2*10/(2*9) = 10/9 by those up. Twice the terminals: half of that. One global port (g =
// 3): 2*3/(2*2*2) = 3/4 by the global ones.
func TestMegaflyCapacity(t *testing.T) {
	for _, c := range []struct {
		config MegaflyConfig
		want   float64
	}{
		{MegaflyConfig{2, 2, 2, 2, 0, "absolute"}, 10. / 9},
		{MegaflyConfig{4, 2, 2, 2, 0, "absolute"}, 5. / 9},
		{MegaflyConfig{2, 2, 2, 1, 0, "absolute"}, 3. / 4},
	} {
		x := build(t, "megafly", func(d *MegaflyConfig) { *d = c.config }).(*Megafly)
		if got := x.Forms().UniformCapacity; math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%+v: %v, want %v", c.config, got, c.want)
		}
	}
}

func TestMegaflyRefuses(t *testing.T) {
	refuses(t, "megafly", "g", func(c *MegaflyConfig) { c.G = 6 })
	refuses(t, "megafly", "g", func(c *MegaflyConfig) { c.G = 1 })
	refuses(t, "megafly", "arrangement", func(c *MegaflyConfig) { c.Arrangement = "palmtree" })
}
