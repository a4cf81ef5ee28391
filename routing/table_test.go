package routing_test

import (
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim/param"
)

// TestTablePaths: every path is as short as the graph's distance, hop n is on
// virtual channel n alone, hashed ties give one path for a pair, and random
// ones every shortest path (counted by the usual recursion over distances).
func TestTablePaths(t *testing.T) {
	topo := build(t, "random-regular", func(c *topology.RandomRegularConfig) { c.Switches, c.Degree, c.Terminals = 40, 4, 2 })
	g := topo.Graph()
	for _, ties := range []string{"hashed", "random"} {
		r := makeRouting(t, "table", topo, func(c *routing.TableConfig) { c.Ties = ties })
		for dst := range topology.TerminalID(g.Terminals()) {
			distance := g.DistancesFrom(g.TerminalSwitch(dst), nil)
			count := 0
			paths(topo, r, r.VCs(), 0, dst, func(path []step, _ uint32) {
				count++
				if hops := len(path) - 1; hops != int(distance[g.TerminalSwitch(0)]) {
					t.Errorf("to %d in %d hops", dst, hops)
				}
				for n, s := range path[:len(path)-1] {
					if s.vcs != 1<<n {
						t.Errorf("hop %d on virtual channels %b", n, s.vcs)
					}
				}
			})
			want := 1
			if ties == "random" {
				want = shortest(g, distance, g.TerminalSwitch(0))
			}
			if count != want {
				t.Errorf("%s: %d paths to %d, want %d", ties, count, dst, want)
			}
		}
	}
}

// shortest counts the shortest paths from s to the switch at distance 0.
func shortest(g *topology.Graph, distance []int16, s topology.SwitchID) int {
	if distance[s] == 0 {
		return 1
	}
	count := 0
	first, end := g.Ports(s)
	for p := first; p < end; p++ {
		if peer, ok := g.PeerPort(p); ok && distance[g.PortSwitch[peer]] == distance[s]-1 {
			count += shortest(g, distance, g.PortSwitch[peer])
		}
	}
	return count
}

// TestTableNeeds: as many virtual channels as the diameter; what is missing is
// said. A ring of 40 has diameter 20, more than a switch can have.
func TestTableNeeds(t *testing.T) {
	topo := mesh(t, 1, 3, 4) // diameter 2 + 3
	if n := makeRouting[routing.TableConfig](t, "table", topo, nil).VCs(); n != 5 {
		t.Errorf("%d virtual channels, want 5", n)
	}
	for _, c := range []struct {
		topo topology.Topology
		vcs  int
		want string
	}{
		{topo, 4, `switch.vcs = 4: want at least 5, which routing "table" needs`},
		{torus(t, 1, 40), 0, `needs 20 virtual channels on this topology; a channel can have 16`},
		{parted{}, 0, "needs a connected network; no path joins switch 1 and switch 0"},
		{torus(t, 1, 16385), 0, "at most 16384 switches with terminals; this topology has 16385"},
	} {
		_, err := param.Make[routing.TableConfig](routing.Registry, "table", routing.Env{Topology: c.topo, VCs: c.vcs}, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// parted is two switches without a cable between them.
type parted struct{}

func (parted) Facts() topology.Facts { return topology.Facts{} }

func (parted) Graph() *topology.Graph {
	b := topology.NewBuilder(2, topology.Class{Name: "terminal", Latency: 1})
	b.AddTerminal(0, 0)
	b.AddTerminal(1, 0)
	return b.Freeze()
}
