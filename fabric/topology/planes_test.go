package topology

import (
	"fmt"
	"testing"
)

func init() {
	for _, c := range []PlanesConfig{
		{1, 0, []int{3, 2}, []int{1, 2}, nil}, {2, 1, []int{3, 2}, []int{1, 2}, nil}, {3, 0, []int{2, 3}, []int{1, 1}, []int{1, 2}},
		{2, 2, []int{2, 2, 2}, []int{1, 2, 2}, nil}, {4, 1, []int{5}, []int{1}, nil},
	} {
		addSample("multi-plane", fmt.Sprintf("%+v", c), false, func(d *PlanesConfig) { *d = c })
	}
}

// Planes share no switch: a cable between switches above the nodes keeps its plane, a node
// has one cable to each, and each plane has as many switches and cables as its fat tree.
func TestMultiPlane(t *testing.T) {
	c := PlanesConfig{3, 0, []int{2, 3, 2}, []int{1, 2, 2}, []int{1, 2, 1}}
	x := build(t, "multi-plane", func(d *PlanesConfig) { *d = c }).(*MultiPlane)
	plane := build(t, "xgft", func(d *XGFTConfig) { *d = XGFTConfig{c.M, c.W, c.Parallel} })
	g := x.Graph()
	switches, links := make([]int, c.Planes), make([]int, c.Planes)
	for s := range SwitchID(g.Switches()) {
		at := x.PlaneOf(s)
		met := make([]int, c.Planes)
		first, end := g.Ports(s)
		for p := first; p < end; p++ {
			peer, ok := g.PeerPort(p)
			if !ok {
				continue
			}
			to := x.PlaneOf(g.PortSwitch[peer])
			if at >= 0 && to >= 0 && at != to {
				t.Fatalf("a cable between planes %d and %d", at, to)
			}
			if at < 0 {
				met[to]++
			} else if to >= 0 {
				links[at]++
			}
		}
		if at >= 0 {
			switches[at]++
		} else if met[0] != 1 || met[1] != 1 || met[2] != 1 {
			t.Fatalf("node %d has %v cables to planes", s, met)
		}
	}
	for i := range switches {
		if f := plane.Facts(); switches[i] != f.Switches || links[i] != 2*f.Links {
			t.Errorf("plane %d: %d switches, %d ends of cables; the tree has %+v", i, switches[i], links[i], f)
		}
	}
}

func TestMultiPlaneRefuses(t *testing.T) {
	refuses(t, "multi-plane", "w[0]", func(c *PlanesConfig) { c.W = []int{2, 2} })
	refuses(t, "multi-plane", "w", func(c *PlanesConfig) { c.W = []int{1} })
	refuses(t, "multi-plane", "planes", func(c *PlanesConfig) { c.Planes, c.M, c.W = 64, []int{65536, 512}, []int{1, 1} })
}
