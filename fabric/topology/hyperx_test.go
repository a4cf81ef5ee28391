package topology

import (
	"errors"
	"fmt"
	"testing"

	"github.com/weft-sim/weft/sim/param"
)

func init() {
	for _, s := range []struct {
		dims, trunks []int
		terminals    int
		tight        bool
	}{
		{[]int{2}, nil, 1, true}, {[]int{5}, []int{3}, 2, true}, {[]int{3, 3}, nil, 1, true}, {[]int{4, 4}, nil, 2, true},
		{[]int{3, 4}, nil, 1, true}, {[]int{4, 3}, []int{1, 3}, 2, true}, {[]int{5, 3}, []int{1, 2}, 1, true}, {[]int{2, 2, 2, 2}, nil, 1, true},
		{[]int{2, 3, 3}, []int{2, 1, 1}, 1, true}, {[]int{3, 3, 3}, []int{1, 2, 3}, 2, false}, {[]int{6, 5}, nil, 3, false},
	} {
		addSample("hyperx", fmt.Sprintf("dims=%v,trunks=%v,terminals=%d", s.dims, s.trunks, s.terminals), s.tight,
			func(c *HyperXConfig) { *c = HyperXConfig{s.dims, s.trunks, s.terminals} })
	}
}

func hyperX(t testing.TB, terminals int, trunks []int, dims ...int) *HyperX {
	t.Helper()
	x := build(t, "hyperx", func(c *HyperXConfig) { *c = HyperXConfig{dims, trunks, terminals} })
	return x.(*HyperX)
}

func TestHyperXFacts(t *testing.T) {
	for _, c := range []struct {
		got, want Facts
	}{
		// 4x4, 4 terminals: 16 switches of 3+3 ports to others: 16*6/2 cables. Two
		// halves of a row are 2*2 cables apart, in 4 rows.
		{hyperX(t, 4, nil, 4, 4).Facts(), Facts{16, 64, 48, 2, 16}},
		// Doubled cables in the first dimension only: the second is cut.
		{hyperX(t, 4, []int{2, 1}, 4, 4).Facts(), Facts{16, 64, 16 * 9 / 2, 2, 16}},
		// SST merlin's hyperx_128: 4x4, two cables each, 8 terminals.
		{hyperX(t, 8, []int{2, 2}, 4, 4).Facts(), Facts{16, 128, 96, 2, 32}},
		// 3x3: 2 cables in each of 3 rows, and the middle slice of 3: 2.
		{hyperX(t, 1, nil, 3, 3).Facts(), Facts{9, 9, 18, 2, 8}},
		// K*S*P/4 = 2*32*1024/4 cut.
		{hyperX(t, 32, []int{2, 2}, 32, 32).Facts(), Facts{1024, 32768, 1024 * 124 / 2, 2, 2 * 32 * 1024 / 4}},
	} {
		if c.got != c.want {
			t.Errorf("%+v, want %+v", c.got, c.want)
		}
	}
}

// Ports as documented, on the 4x3 HyperX of the drawing with two cables in the
// second dimension: switch 6 is at (2, 1); after 1 terminal its ports lead to 4, 5,
// 7, then twice to 2 and twice to 10.
func TestHyperXPorts(t *testing.T) {
	g := hyperX(t, 1, []int{1, 2}, 4, 3).Graph()
	for i, want := range []SwitchID{4, 5, 7, 2, 2, 10, 10} {
		peer, _ := g.PeerPort(g.PortStart[6] + 1 + PortID(i))
		if got := g.PortSwitch[peer]; got != want {
			t.Errorf("port %d leads to switch %d, want %d", 1+i, got, want)
		}
	}
}

func TestHyperXRefuses(t *testing.T) {
	for _, c := range []struct {
		key    string
		config HyperXConfig
	}{
		{"dims", HyperXConfig{nil, nil, 1}},
		{"dims[1]", HyperXConfig{[]int{4, 1}, nil, 1}},
		{"trunks", HyperXConfig{[]int{4, 4}, []int{1}, 1}},
		{"trunks[0]", HyperXConfig{[]int{4, 4}, []int{0, 1}, 1}},
		{"terminals", HyperXConfig{[]int{4, 4}, nil, 0}},
		{"dims", HyperXConfig{[]int{4096, 4096, 4096, 4096, 4096, 4096}, nil, 1}},
		{"dims", HyperXConfig{[]int{400, 400, 20}, nil, 1}},
	} {
		_, err := Registry.Build("hyperx", &c.config, struct{}{})
		var problem *param.ParamError
		if !errors.As(err, &problem) || problem.Key != c.key {
			t.Errorf("%+v: %v, want a problem of %s", c.config, err, c.key)
		}
	}
}
