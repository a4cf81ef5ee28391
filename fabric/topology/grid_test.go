package topology

import (
	"errors"
	"fmt"
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
	x, err := param.Make(Registry, family, struct{}{}, func(c *GridConfig) { *c = GridConfig{dims, terminals} })
	if err != nil {
		t.Fatal(err)
	}
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
