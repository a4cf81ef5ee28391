package topology_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/sim/simtest"
)

// ports lists who is plugged into each port of each copy of PK_(r-1) in a
// PK_r, numbered from 1, 0 where nobody is: the paper's tables.
func ports(s *topology.DistributedSwitch, r int) [][]int {
	table := make([][]int, s.Design().Points())
	for c := range table {
		table[c] = make([]int, s.Level(r-1))
	}
	for x := range s.Level(r) {
		for j := range s.Radix() {
			c, p := s.Port(r, x, j)
			table[c][p] = x + 1
		}
	}
	return table
}

// Podlazov 2012, tables 1 and 2: the processors at ports 1, 2, 3 of switches 1 to 7; and rows for the copies
// of PK_1(7, 3, 1), the last column the one port that is left for processor 15; a dash is 0.
func TestPKTables(t *testing.T) {
	for name, want := range map[string][][]int{
		"PK_1(7, 3, 1)": {{1, 7, 5}, {2, 1, 6}, {3, 2, 7}, {4, 3, 1}, {5, 4, 2}, {6, 5, 3}, {7, 6, 4}},
		"PK_2(15, 3, 1|3)": {
			{1, 7, 5, 8, 14, 12, 15}, {2, 1, 6, 9, 8, 13, 15}, {3, 2, 7, 10, 9, 14, 0}, {4, 3, 1, 11, 10, 8, 15},
			{5, 4, 2, 12, 11, 9, 0}, {6, 5, 3, 13, 12, 10, 0}, {7, 6, 4, 14, 13, 11, 0}},
	} {
		s := simtest.Must(topology.NewDistributedSwitch(topology.PKConfig{M: 3, Cascades: len(want[0])/7 + 1}))(t)
		simtest.Equal(t, s.Name(), name, "named")
		got := ports(s, s.Cascades())
		simtest.ErrorIf(t, !slices.EqualFunc(got, want, slices.Equal), "%s: got %v\nwant %v", name, got, want)
	}
}

// The largest R_k: with R_1 = N = m(m-1)+1 one port of each copy is left over,
// so that R_2 = N(m-1) + 1, a multiple of m; then R_3 = N*R_2/m exactly, and
// R_2/m = m*m - 2m + 2 leaves 2 spare ports in R_3 = N(m*m-2m+2).
func TestPKSizes(t *testing.T) {
	for _, m := range []int{3, 4, 5, 6, 8} {
		n := m*(m-1) + 1
		s := simtest.Must(topology.NewDistributedSwitch(topology.PKConfig{M: m, Cascades: 3}))(t)
		simtest.Equal(t, s.Level(2), n*(m-1)+1, "m = %d: R_2 =", m)
		simtest.Equal(t, s.Level(3), n*(m*m-2*m+2), "m = %d: R_3 =", m)
	}
	// m = 3: R_3 = 35 leaves 35 mod 3 = 2 ports; the Fano plane has four
	// points of which no three are on a line, so R_4 = 7*11 + 4.
	simtest.Equal(t, simtest.Must(topology.NewDistributedSwitch(topology.PKConfig{M: 3, Cascades: 4}))(t).Level(4), 81, "R_4 =")
	// R_2 = 14 leaves 2 ports of 14: R_3 = 7*4 + 4.
	got := simtest.Must(topology.NewDistributedSwitch(topology.PKConfig{M: 3, Cascades: 3, Inner: []int{14}}))(t).Level(3)
	simtest.ErrorIf(t, got != 32, "R_3 over R_2 = 14 is %d, want 32", got)
}

func TestPKRefusals(t *testing.T) {
	for _, c := range []struct {
		config topology.PKConfig
		want   string
	}{
		{topology.PKConfig{M: 3, Cascades: 2, Terminals: 16}, "terminals = 16: want 14 to 15"},
		{topology.PKConfig{M: 3, Cascades: 2, Terminals: 13}, "terminals = 13: want 14 to 15"},
		{topology.PKConfig{M: 3, Cascades: 1, Terminals: 6}, "want 7 with one cascade"},
		{topology.PKConfig{M: 3, Cascades: 3, Inner: []int{20}}, "inner[0] = 20: want 14 to 15"},
		{topology.PKConfig{M: 3, Cascades: 2, Inner: []int{7}}, "at most 0 values"},
		{topology.PKConfig{M: 7, Cascades: 1}, "m = 7: want a prime power plus one"},
		{topology.PKConfig{M: 48, Cascades: 3}, "switch ports"},
		{topology.PKConfig{M: 128, Cascades: 6}, "switch ports"},
	} {
		simtest.Refuse(topology.NewDistributedSwitch(c.config))(t, c.want)
	}
}

// Every port of every copy holds at most one cable, every unit and switch is where Up and Node say,
// every two terminals are Diameter cables apart, and the number of shortest paths between them is
// 1, or m for each stage on which they stand on equal elements.
func TestPKGraph(t *testing.T) {
	for _, c := range []topology.PKConfig{
		{M: 3, Cascades: 1}, {M: 3, Cascades: 2}, {M: 3, Cascades: 2, Terminals: 14}, {M: 3, Cascades: 3},
		{M: 3, Cascades: 3, Inner: []int{14}}, {M: 4, Cascades: 2}, {M: 5, Cascades: 2}, {M: 9, Cascades: 1},
	} {
		s := simtest.Must(topology.NewDistributedSwitch(c))(t)
		t.Run(s.Name(), func(t *testing.T) {
			g, facts := s.Graph(), s.Facts()
			simtest.ErrorIf(t, g.Switches() != facts.Switches || g.Terminals() != facts.Terminals || g.SwitchLinks() != facts.Links,
				"graph has %d, %d, %d; facts %+v", g.Switches(), g.Terminals(), g.SwitchLinks(), facts)
			k, m := s.Cascades(), s.Radix()
			for stage := 1; stage <= k; stage++ {
				for u := range s.Units(stage) {
					node := s.Node(stage, u)
					for j := range m {
						to, port := s.Up(stage, u, j)
						peer, ok := g.PeerPort(g.PortStart[node] + topology.PortID(g.Degree(node)-m+j))
						simtest.FatalIf(t, !ok || g.PortSwitch[peer] != s.Node(stage+1, to), "stage %d unit %d port %d: cable leads to %s", stage, u, j, g.PortName(peer))
						simtest.FatalIf(t, g.LocalPort(peer) != port, "stage %d unit %d port %d: arrives at port %d, want %d", stage, u, j, g.LocalPort(peer), port)
					}
				}
			}
			for b := range s.Copies(0) {
				d := g.Degree(s.Node(k+1, b))
				simtest.FatalIf(t, d != m, "spine switch %d has %d cables", b, d)
			}
			checkPKPaths(t, s)
		})
	}
}

func checkPKPaths(t *testing.T, s *topology.DistributedSwitch) {
	g := s.Graph()
	for x := range g.Terminals() {
		distance, paths := make([]int, g.Switches()), make([]int, g.Switches())
		for i := range distance {
			distance[i] = -1
		}
		distance[x], paths[x] = 0, 1
		queue := []topology.SwitchID{topology.SwitchID(x)}
		for len(queue) > 0 {
			u := queue[0]
			queue = queue[1:]
			for _, v := range topologytest.LeadsTo(g, u) {
				if distance[v] < 0 {
					distance[v] = distance[u] + 1
					queue = append(queue, v)
				}
				if distance[v] == distance[u]+1 {
					paths[v] += paths[u]
				}
			}
		}
		for y := range g.Terminals() {
			if y == x {
				continue
			}
			simtest.FatalIf(t, distance[y] != s.Facts().Diameter, "terminals %d and %d are %d cables apart", x, y, distance[y])
			want := countPaths(s, s.Cascades(), x, y)
			simtest.FatalIf(t, paths[y] != want, "terminals %d and %d: %d paths, want %d", x, y, paths[y], want)
		}
	}
}

// countPaths follows the recursion of the construction.
func countPaths(s *topology.DistributedSwitch, r, x, y int) int {
	if r == 0 || x == y {
		return 1
	}
	total := 0
	for i := range s.Radix() {
		for j := range s.Radix() {
			cx, px := s.Port(r, x, i)
			cy, py := s.Port(r, y, j)
			if cx == cy {
				total += countPaths(s, r-1, px, py)
			}
		}
	}
	return total
}

// The paper, section 1: in PK_2 processors whose numbers agree modulo N are
// joined by m paths, all others by one.
func TestPKPathsOfTwoCascades(t *testing.T) {
	for _, m := range []int{3, 4, 5} {
		s := simtest.Must(topology.NewDistributedSwitch(topology.PKConfig{M: m, Cascades: 2}))(t)
		for x := range s.Level(2) {
			for y := range x {
				want := 1
				if x%s.Design().Points() == y%s.Design().Points() {
					want = m
				}
				got := countPaths(s, 2, x, y)
				simtest.FatalIf(t, got != want, "%s: %d and %d are joined by %d paths, want %d", s.Name(), x, y, got, want)
			}
		}
	}
}

func TestPCC(t *testing.T) {
	for _, c := range []topology.PCCConfig{{M: 3, Sigma: 1}, {M: 6, Sigma: 1}, {M: 4, Sigma: 2}, {M: 5, Sigma: 2}, {M: 6, Sigma: 2}} {
		t.Run(fmt.Sprintf("m=%d,sigma=%d", c.M, c.Sigma), func(t *testing.T) {
			top := topologytest.Build(t, "pcc", func(p *topology.PCCConfig) { *p = c })
			n := c.M*(c.M-1)/c.Sigma + 1
			simtest.Equal(t, top.Facts(), topology.Facts{Switches: 2 * n, Terminals: n, Links: n * c.M, Diameter: 2, Bisection: -1}, "facts")
			g := top.Graph()
			simtest.ErrorIf(t, g.Switches() != 2*n || g.SwitchLinks() != n*c.M, "%d nodes, %d cables", g.Switches(), g.SwitchLinks())
			// Two processors share sigma switches.
			for x := range n {
				near := make([]int, n)
				for _, b := range topologytest.LeadsTo(g, topology.SwitchID(x)) {
					for _, y := range topologytest.LeadsTo(g, b) {
						near[y]++
					}
				}
				for y := range n {
					simtest.FatalIf(t, y != x && near[y] != c.Sigma, "processors %d and %d share %d switches", x, y, near[y])
				}
			}
		})
	}
}
