package topology_test

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/graph/path"
	"gonum.org/v1/gonum/graph/simple"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/simtest"
)

// Gaps between explicit ports close in order, on both ends: switch 0 has
// cables in ports 1, 4 and 6, switch 1 in ports 0, 2 and 5, crossed.
func TestBuilderClosesGaps(t *testing.T) {
	b := topology.NewBuilder(2, topology.Class{Name: "terminal"}, topology.Class{Name: "wire"})
	b.AddLinkAt(0, 6, 1, 0, 1)
	b.AddLinkAt(0, 1, 1, 5, 1)
	b.AddTerminalAt(0, 4, 0)
	b.AddTerminalAt(1, 2, 0)
	g := b.Freeze()
	// Ports 0, 1, 2 of switch 0 are its 1, 4, 6; ports 3, 4, 5 are switch 1's 0, 2, 5.
	want := []int32{5, ^int32(0), 3, 2, ^int32(1), 0}
	for p, peer := range want {
		simtest.ErrorIf(t, g.Peer[p] != peer, "peer of port %d is %d, want %d", p, g.Peer[p], peer)
	}
	simtest.ErrorIf(t, g.TerminalPort[0] != 1 || g.TerminalPort[1] != 4, "terminals at %v, want [1 4]", g.TerminalPort)
}

func TestBuilderRefusesMisuse(t *testing.T) {
	for name, f := range map[string]func(*topology.Builder){
		"self":     func(b *topology.Builder) { b.AddLink(1, 1, 0) },
		"occupied": func(b *topology.Builder) { b.AddTerminalAt(0, 3, 0); b.AddLinkAt(0, 3, 1, 0, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				simtest.ErrorIf(t, recover() == nil, "no panic")
			}()
			f(topology.NewBuilder(2, topology.Class{Name: "wire"}))
		})
	}
}

// Distances and neighbours against gonum's all-pairs search, on one graph of
// each family, parallel cables included.
func TestDistancesMatchGonum(t *testing.T) {
	for name, g := range exported(t) {
		t.Run(name, func(t *testing.T) {
			oracle := simple.NewUndirectedGraph()
			for s := range g.Switches() {
				oracle.AddNode(simple.Node(s))
			}
			for p := range topology.PortID(g.NumPorts()) {
				if peer, ok := g.PeerPort(p); ok {
					oracle.SetEdge(simple.Edge{F: simple.Node(g.PortSwitch[p]), T: simple.Node(g.PortSwitch[peer])})
				}
			}
			all, _ := path.FloydWarshall(oracle)
			n := g.Neighbors()
			var d []int16
			for s := range topology.SwitchID(g.Switches()) {
				d = n.DistancesFrom(s, d)
				var near []topology.SwitchID
				for u, got := range d {
					want := all.Weight(int64(s), int64(u))
					simtest.FatalIf(t, float64(got) != want, "distance from %d to %d is %d, gonum says %v", s, u, got, want)
					if oracle.HasEdgeBetween(int64(s), int64(u)) {
						near = append(near, topology.SwitchID(u))
					}
				}
				simtest.FatalIf(t, !slices.Equal(n.Of(s), near), "neighbours of %d are %v, want %v", s, n.Of(s), near)
			}
		})
	}
}

func TestDistancesUnreachable(t *testing.T) {
	b := topology.NewBuilder(3, topology.Class{Name: "wire"})
	b.AddLink(0, 1, 0)
	simtest.EqualSlices(t, b.Freeze().DistancesFrom(1, nil), []int16{1, 0, topology.Unreachable}, "")
}

// A path as long as int16 can tell is measured, a longer one refused.
func TestDistancesTooFar(t *testing.T) {
	line := func(switches int) *topology.Graph {
		b := topology.NewBuilder(switches, topology.Class{Name: "wire"})
		for s := range topology.SwitchID(switches - 1) {
			b.AddLink(s, s+1, 0)
		}
		return b.Freeze()
	}
	d := line(math.MaxInt16+1).DistancesFrom(0, nil)
	simtest.ErrorIf(t, d[math.MaxInt16] != math.MaxInt16, "the end is at %d", d[math.MaxInt16])
	defer func() {
		simtest.ErrorIf(t, recover() == nil, "no panic")
	}()
	line(math.MaxInt16+2).DistancesFrom(0, nil)
}
