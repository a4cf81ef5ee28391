package topology

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/weft-sim/weft/sim/param"
)

func init() {
	for _, family := range []string{"torus", "mesh"} {
		for _, s := range []struct {
			dims      []int
			terminals int
			tight     bool
		}{
			{[]int{2}, 1, true}, {[]int{3}, 2, true}, {[]int{4}, 1, true}, {[]int{5}, 1, true},
			{[]int{2, 2}, 1, true}, {[]int{3, 2}, 1, true}, {[]int{5, 2}, 2, true}, {[]int{2, 7}, 1, true},
			{[]int{3, 3}, 1, true}, {[]int{3, 4}, 2, true}, {[]int{5, 3}, 1, true}, {[]int{4, 5}, 1, true},
			{[]int{2, 2, 2, 2}, 1, true}, {[]int{3, 3, 2}, 1, true}, {[]int{2, 4, 2}, 1, true}, {[]int{3, 2, 3}, 1, true},
			{[]int{4, 3, 5}, 2, false}, {[]int{3, 3, 3}, 3, false}, {[]int{2, 3, 2, 4}, 1, false},
		} {
			addSample(family, fmt.Sprintf("dims=%v,terminals=%d", s.dims, s.terminals), s.tight, func(c *GridConfig) { *c = GridConfig{s.dims, s.terminals} })
		}
	}
}

func grid(t testing.TB, family string, terminals int, dims ...int) *GridNetwork {
	t.Helper()
	x := build(t, family, func(c *GridConfig) { *c = GridConfig{dims, terminals} })
	return x.(*GridNetwork)
}

func TestGridFacts(t *testing.T) {
	for _, c := range []struct {
		got, want Facts
	}{
		// 8x8 mesh: 2*8*7 cables, 14 hops corner to corner, 8 cut in the middle.
		{grid(t, "mesh", 1, 8, 8).Facts(), Facts{64, 64, 112, 14, 8}},
		{grid(t, "torus", 1, 8, 8).Facts(), Facts{64, 64, 128, 8, 16}},
		// The multicast paper's torus: 24,000 terminals.
		{grid(t, "torus", 2, 30, 20, 20).Facts(), Facts{12000, 24000, 36000, 35, 800}},
		// Hypercube of 4 dimensions: 16*4/2 cables, 4 hops, half the switches cut.
		{grid(t, "mesh", 1, 2, 2, 2, 2).Facts(), Facts{16, 16, 32, 4, 8}},
	} {
		if c.got != c.want {
			t.Errorf("%+v, want %+v", c.got, c.want)
		}
	}
}

// Numbers and ports as documented, on the 4x3 torus of the drawing: switch 6
// is at (2, 1); after 2 terminals its ports lead to 7, 5, 10 and 2.
func TestGridPorts(t *testing.T) {
	g := grid(t, "torus", 2, 4, 3).Graph()
	for i, want := range []SwitchID{7, 5, 10, 2} {
		peer, _ := g.PeerPort(g.PortStart[6] + 2 + PortID(i))
		if got := g.PortSwitch[peer]; got != want {
			t.Errorf("port %d leads to switch %d, want %d", 2+i, got, want)
		}
	}
}

func TestGridRefuses(t *testing.T) {
	for _, c := range []struct {
		key    string
		config GridConfig
	}{
		{"dims", GridConfig{nil, 1}},
		{"dims[1]", GridConfig{[]int{4, 1}, 1}},
		{"terminals", GridConfig{[]int{4, 4}, 0}},
		{"dims", GridConfig{[]int{32767, 32767, 32767}, 1}},
		{"dims", GridConfig{[]int{20000, 20000}, 1}},
		{"dims", GridConfig{[]int{32767, 3}, 1}},
	} {
		_, err := Registry.Build("mesh", &c.config, struct{}{})
		var problem *param.ParamError
		if !errors.As(err, &problem) || problem.Key != c.key {
			t.Errorf("%+v: %v, want a problem of %s", c.config, err, c.key)
		}
	}
}

func init() {
	for _, c := range []TwistedTorusConfig{
		{[]int{4, 2}, []int{0, 2}, 1}, {[]int{6, 3}, []int{0, 3}, 2}, {[]int{5, 4}, []int{0, 2}, 1},
		{[]int{4, 2, 2}, []int{0, 2, 2}, 1}, {[]int{4, 3}, []int{0, 0}, 1}, {[]int{7}, []int{0}, 1},
	} {
		addSample("twisted-torus", fmt.Sprintf("%+v", c), false, func(d *TwistedTorusConfig) { *d = c })
	}
}

// The way round: 2a steps along dimension 1 come back to the start, half way they are a
// further along dimension 0. Without a twist it is the torus.
func TestTwistedTorus(t *testing.T) {
	g := build(t, "twisted-torus", func(c *TwistedTorusConfig) { *c = TwistedTorusConfig{[]int{10, 5}, []int{0, 5}, 1} }).Graph()
	at := SwitchID(3)
	for i := range 10 {
		if i == 5 && at != 8 {
			t.Errorf("after 5 steps at %d, want 3 + 5", at)
		}
		peer, _ := g.PeerPort(g.PortStart[at] + 3)
		at = g.PortSwitch[peer]
	}
	if at != 3 {
		t.Errorf("after 10 steps at %d", at)
	}
	plain := build(t, "twisted-torus", func(c *TwistedTorusConfig) { *c = TwistedTorusConfig{[]int{4, 3, 5}, []int{0, 0, 0}, 2} }).Graph()
	torus := build(t, "torus", func(c *GridConfig) { *c = GridConfig{[]int{4, 3, 5}, 2} }).Graph()
	if !slices.Equal(plain.Peer, torus.Peer) {
		t.Error("without a twist it is not the torus")
	}
	// Cámara et al.: the doubly twisted 2a x a x a torus has a smaller diameter than the
	// torus, 2a: here a = 4.
	prism := build(t, "twisted-torus", func(c *TwistedTorusConfig) { *c = TwistedTorusConfig{[]int{8, 4, 4}, []int{0, 4, 4}, 1} }).Graph()
	if d := Measure(prism).Diameter(); d != 6 {
		t.Errorf("diameter %d", d)
	}
}

func TestTwistedTorusRefuses(t *testing.T) {
	refuses(t, "twisted-torus", "twist", func(c *TwistedTorusConfig) { c.Twist = nil })
	refuses(t, "twisted-torus", "twist[0]", func(c *TwistedTorusConfig) { c.Twist = []int{1, 4} })
	refuses(t, "twisted-torus", "twist[1]", func(c *TwistedTorusConfig) { c.Twist = []int{0, 8} })
	refuses(t, "twisted-torus", "dims[1]", func(c *TwistedTorusConfig) { c.Dims, c.Twist = []int{4, 2}, []int{0, 0} })
}
