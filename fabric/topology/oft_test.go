package topology

import (
	"fmt"
	"testing"
)

func init() {
	for _, c := range []OFTConfig{{3, 0}, {4, 1}, {5, 2}, {6, 1}, {8, 1}} {
		addSample("oft", fmt.Sprintf("%+v", c), false, func(d *OFTConfig) { *d = c })
	}
}

// One path of two hops between different points, k between a point and its copy.
func TestOFTPaths(t *testing.T) {
	for _, k := range []int{3, 4, 5} {
		g := build(t, "oft", func(c *OFTConfig) { c.K = k }).Graph()
		n, neighbours := k*k-k+1, g.Neighbors()
		for s := range SwitchID(2 * n) {
			paths := make([]int, g.Switches())
			for _, line := range neighbours.Of(s) {
				for _, u := range neighbours.Of(line) {
					paths[u]++
				}
			}
			for u := range SwitchID(2 * n) {
				want := 1
				if int(u)%n == int(s)%n {
					want = k
				}
				if paths[u] != want {
					t.Fatalf("k = %d: %d paths from %d to %d, want %d", k, paths[u], s, u, want)
				}
			}
		}
	}
}

func TestOFTRefuses(t *testing.T) {
	refuses(t, "oft", "k", func(c *OFTConfig) { c.K = 7 })
	refuses(t, "oft", "k", func(c *OFTConfig) { c.K = 2 })
}
