package topology_test

import (
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/sim/simtest"
)

// The two Sunway machines of the multicast paper, as its numbers fit best.
func TestSunwayTrees(t *testing.T) {
	for _, c := range []struct {
		name      string
		config    topology.TrimmedTreeConfig
		facts     topology.Facts
		pathsUp   int // from a leaf to each top switch
		lastLeaf  int // terminals on the last leaf of a group
		middleUps int // cables from a middle switch up
	}{
		// 15 leaves a board: 14 of 18 and one of 4. Links 34*(15*16 + 32*8); cut 17*256.
		{"BlueLight", topology.TrimmedTreeConfig{34, 256, 18, 16, 32, 8, "blocks"}, topology.Facts{34*31 + 32, 8704, 34 * (240 + 256), 4, 17 * 256}, 8, 4, 16},
		// 8 leaves of 32. Links 160*(8*8 + 40*2); cut the lesser of 80*80 and
		// half of 1,280 leaves * 8 = 5,120.
		{"TaihuLight", topology.TrimmedTreeConfig{160, 256, 32, 8, 40, 2, "alternating"}, topology.Facts{160*16 + 40, 40960, 160 * (64 + 80), 4, 5120}, 2, 32, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			topo := topologytest.Build(t, "trimmed-tree", func(d *topology.TrimmedTreeConfig) { *d = c.config })
			x, g := topo.(*topology.TrimmedTree), topo.Graph()
			topologytest.CheckGraph(t, g)
			if got := x.Facts(); got != c.facts || got.Switches != g.Switches() || got.Links != g.SwitchLinks() {
				t.Errorf("facts %+v, want %+v; the graph has %d switches, %d links", got, c.facts, g.Switches(), g.SwitchLinks())
			}
			leaves := c.config.Leaves()
			if first, _ := x.UpPorts(topology.SwitchID(leaves - 1)); int(first-g.PortStart[leaves-1]) != c.lastLeaf {
				t.Errorf("last leaf has %d terminals, want %d", first-g.PortStart[leaves-1], c.lastLeaf)
			}
			paths := map[topology.SwitchID]int{}
			for _, middle := range topologytest.LeadsTo(g, 0) {
				up, end := x.UpPorts(middle)
				simtest.ErrorIf(t, int(end-up) != c.middleUps, "switch %d has %d cables up, want %d", middle, end-up, c.middleUps)
				for _, top := range topologytest.LeadsTo(g, middle) {
					if x.LevelOf(top) == 2 {
						paths[top]++
					}
				}
			}
			for top, n := range paths {
				simtest.ErrorIf(t, n != c.pathsUp, "%d paths from leaf 0 to switch %d, want %d", n, top, c.pathsUp)
			}
			simtest.ErrorIf(t, len(paths) != c.config.Tops, "leaf 0 reaches %d of %d tops", len(paths), c.config.Tops)
		})
	}
}

// TestTopWiring: the middle switches of every top, in both wirings. BlueLight's 32 tops with 8
// cables each on 16 middles: alternating, even tops take 0 to 7 and odd ones 8 to 15; in blocks,
// tops 0 to 15 take 0 to 7. Where it does not come out even, 5 tops of 2 cables on 3 middles start
// at 0 2 1 0 2 (2t mod 3), in blocks at 0 0 1 2 2.
func TestTopWiring(t *testing.T) {
	for _, c := range []struct {
		config topology.TrimmedTreeConfig
		first  []int // middle switch at each top's first cable
	}{
		{topology.TrimmedTreeConfig{2, 10, 4, 3, 5, 2, "alternating"}, []int{0, 2, 1, 0, 2}},
		{topology.TrimmedTreeConfig{2, 10, 4, 3, 5, 2, "blocks"}, []int{0, 0, 1, 2, 2}},
		{topology.TrimmedTreeConfig{2, 256, 18, 16, 32, 8, "alternating"}, slices.Repeat([]int{0, 8}, 16)},
		{topology.TrimmedTreeConfig{2, 256, 18, 16, 32, 8, "blocks"}, slices.Concat(slices.Repeat([]int{0}, 16), slices.Repeat([]int{8}, 16))},
	} {
		x := topologytest.Build(t, "trimmed-tree", func(d *topology.TrimmedTreeConfig) { *d = c.config })
		g := x.Graph()
		middles, tops := c.config.Groups*c.config.Leaves(), c.config.Groups*(c.config.Leaves()+c.config.Middles)
		for top, first := range c.first {
			start, end := g.Ports(topology.SwitchID(tops + top))
			simtest.FatalIf(t, int(end-start) != c.config.Groups*c.config.TopCables,
				"%+v: top %d has %d ports", c.config, top, end-start)
			for i := range int(end - start) {
				peer, _ := g.PeerPort(start + topology.PortID(i))
				group, cable := i/c.config.TopCables, i%c.config.TopCables
				want := middles + group*c.config.Middles + (first+cable)%c.config.Middles
				simtest.Equal(t, int(g.PortSwitch[peer]), want, "%+v: cable %d of top %d leads to switch", c.config, i, top)
			}
		}
	}
}
