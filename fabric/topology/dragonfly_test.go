package topology_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/metrics"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/sim/simtest"
)

func dragonfly(t testing.TB, p, a, h, g int, arrangement string) *topology.Dragonfly {
	t.Helper()
	return topologytest.Build(t, "dragonfly", func(c *topology.DragonflyConfig) { *c = topology.DragonflyConfig{p, a, h, g, arrangement} }).(*topology.Dragonfly)
}

// The peer's k = 2: p = 2, a = 4, 9 groups of which each pair has one cable:
// group G's global port j leads to group j if j < G, else to j+1; ports are
// terminals, local (complete, self skipped), global.
func TestDragonflyMatchesBookSim(t *testing.T) {
	d := dragonfly(t, 2, 4, 2, 0, "absolute")
	g := d.Graph()
	for s := range topology.SwitchID(36) {
		group, local := int(s)/4, int(s)%4
		for i := range 7 { // radix 4p-1
			p := g.PortStart[s] + topology.PortID(i)
			peer, ok := g.PeerPort(p)
			switch {
			case i < 2:
				terminal, _ := g.PeerTerminal(p)
				simtest.FatalIf(t, ok || int(terminal) != 2*int(s)+i, "switch %d port %d: terminal %d", s, i, terminal)
			case i < 5:
				want := i - 2
				if want >= local {
					want++
				}
				if int(g.PortSwitch[peer]) != group*4+want {
					t.Fatalf("switch %d port %d: local switch %d, want %d", s, i, g.PortSwitch[peer]%4, want)
				}
			default:
				j := local*2 + i - 5
				want, wantJ := j, group-1 // the other end is in a smaller group: it counts us as its port group-1
				if j >= group {
					want, wantJ = j+1, group
				}
				u := g.PortSwitch[peer]
				gotJ := int(u)%4*2 + g.LocalPort(peer) - 5
				simtest.FatalIf(t, int(u)/4 != want || gotJ != wantJ,
					"group %d global port %d: group %d port %d, want %d port %d", group, j, u/4, gotJ, want, wantJ)
			}
		}
	}
}

// First principles on a = 2, h = 2, g = 5: where port j of group 1 leads.
func TestDragonflyArrangements(t *testing.T) {
	for arrangement, want := range map[string][4]int{
		"absolute":  {0, 2, 3, 4},
		"relative":  {2, 3, 4, 0},
		"circulant": {2, 0, 3, 4}, // +1, -1, +2, -2
	} {
		d := dragonfly(t, 1, 2, 2, 0, arrangement)
		g := d.Graph()
		for j, group := range want {
			peer, _ := g.PeerPort(g.PortStart[2+j/2] + topology.PortID(2+j%2))
			simtest.Equal(t, d.GroupOf(g.PortSwitch[peer]), group, "%s: port %d of group 1 leads to group", arrangement, j)
		}
	}
}

// Cables are spread evenly over the pairs of groups, and ports stay free only
// when their number is odd: then one in each group.
func TestDragonflySpreadsEvenly(t *testing.T) {
	for _, arrangement := range []string{"absolute", "relative", "circulant"} {
		for a := 1; a <= 4; a++ {
			for h := 1; h <= 4; h++ {
				for g := 2; g <= a*h+1; g++ {
					d := dragonfly(t, 1, a, h, g, arrangement)
					used, least, most := 0, a*h, 0
					for from := range g {
						for to := range g {
							if from != to {
								n := len(d.Gateways(from, to))
								used, least, most = used+n, min(least, n), max(most, n)
							}
						}
					}
					free := 0
					if a*h*g%2 == 1 {
						free = g
					}
					simtest.ErrorIf(t, most-least > 1 || used != a*h*g-free,
						"%s a=%d h=%d g=%d: %d to %d cables a pair, %d of %d ports used", arrangement, a, h, g, least, most, used, a*h*g)
				}
			}
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	b.Run("dragonfly/terminals=16512", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			dragonfly(b, 8, 16, 8, 0, "absolute")
		}
	})
}

// The reference data's two networks: pairs of leaves by distance, counted there. Capacity: balanced
// groups (p = l = s = h = 2, g = 5): 4*5/(2*2*4) = 5/4 by the global channels, 2*10/(2*9) = 10/9 by
// those up; of 3, 9*10/(3*3*9) = 10/9 by the former, 3*30/(3*29) by the latter. Twice the
// terminals: half of that. One global port (g = 3): 2*3/(2*2*2) = 3/4 by the global ones.
func TestMegafly(t *testing.T) {
	for _, c := range []struct {
		config topology.MegaflyConfig
		pairs  string
		mean   float64
		links  int
		most   float64 // capacity
	}{
		{topology.MegaflyConfig{3, 3, 3, 3, 0, "absolute"}, "[30 0 60 810]", 2.931034, 135, 30. / 29},
		{topology.MegaflyConfig{2, 2, 2, 2, 0, "absolute"}, "[10 0 10 80]", 2.888889, 30, 10. / 9},
		{topology.MegaflyConfig{4, 2, 2, 2, 0, "absolute"}, "[10 0 10 80]", 2.888889, 30, 5. / 9},
		{topology.MegaflyConfig{2, 2, 2, 1, 0, "absolute"}, "[6 0 6 24]", 2.8, 15, 3. / 4},
	} {
		x := topologytest.Build(t, "megafly", func(d *topology.MegaflyConfig) { *d = c.config }).(*topology.Megafly)
		m := metrics.Measure(x.Graph())
		simtest.ErrorIf(t, fmt.Sprint(m.Pairs) != c.pairs || math.Abs(m.MeanDistance-c.mean) > 5e-7 || m.Links != c.links,
			"%+v: %+v", c.config, m)
		got := x.Forms().UniformCapacity
		simtest.ErrorIf(t, math.Abs(got-c.most) > 1e-12, "%+v: %v, want %v", c.config, got, c.most)
	}
	// Radix 36: 18 leaves and 18 spines a group, 18 terminals and 18 global ports:
	// 324*325 terminals on 11,700 switches.
	f := topologytest.Build(t, "megafly", func(d *topology.MegaflyConfig) { *d = topology.MegaflyConfig{18, 18, 18, 18, 0, "absolute"} }).Facts()
	simtest.ErrorIf(t, f.Terminals != 105300 || f.Switches != 11700, "%+v", f)
}
