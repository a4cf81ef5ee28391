package topologytest

import (
	"math"
	"math/bits"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
)

// CheckGraph holds a graph to its documented invariants.
func CheckGraph(t testing.TB, g *topology.Graph) {
	t.Helper()
	ports := g.NumPorts()
	if g.PortStart[0] != 0 || int(g.PortStart[g.Switches()]) != ports || len(g.PortClass) != ports || len(g.PortSwitch) != ports {
		t.Fatalf("lengths disagree: %d ports, PortStart to %d, %d classes, %d switches",
			ports, g.PortStart[g.Switches()], len(g.PortClass), len(g.PortSwitch))
	}
	terminals := 0
	for s := range topology.SwitchID(g.Switches()) {
		first, end := g.Ports(s)
		for p := first; p < end; p++ {
			if g.PortSwitch[p] != s || g.LocalPort(p) != int(p-first) {
				t.Fatalf("port %d of switch %d says switch %d, local %d", p, s, g.PortSwitch[p], g.LocalPort(p))
			}
			if int(g.PortClass[p]) >= len(g.Classes) {
				t.Fatalf("port %d has class %d of %d", p, g.PortClass[p], len(g.Classes))
			}
			if terminal, ok := g.PeerTerminal(p); ok {
				terminals++
				if g.TerminalPort[terminal] != p || g.TerminalSwitch(terminal) != s {
					t.Fatalf("port %d leads to terminal %d, which hangs from port %d", p, terminal, g.TerminalPort[terminal])
				}
				continue
			}
			peer, _ := g.PeerPort(p)
			if back, ok := g.PeerPort(peer); !ok || back != p || g.PortClass[p] != g.PortClass[peer] || g.PortSwitch[peer] == s {
				t.Fatalf("cable of port %d to port %d is not paired, changes its class or is a loop", p, peer)
			}
		}
	}
	if terminals != g.Terminals() {
		t.Fatalf("%d ports lead to %d terminals", terminals, g.Terminals())
	}
	for _, c := range g.Classes {
		if c.Name == "" || c.Latency < 1 {
			t.Errorf("class %+v", c)
		}
	}
	if g.Switches() > 0 && slices.Contains(g.DistancesFrom(0, nil), topology.Unreachable) {
		t.Error("not connected")
	}
}

// checkFacts compares the closed forms with the graph: the diameter by
// breadth-first search, the bisection by trying all halvings where the network
// is small.
func checkFacts(t testing.TB, topo topology.Topology, tightBisection bool) {
	t.Helper()
	g, f := topo.Graph(), topo.Facts()
	for _, c := range []struct {
		what      string
		fact, got int
	}{{"switches", f.Switches, g.Switches()}, {"terminals", f.Terminals, g.Terminals()}, {"links", f.Links, g.SwitchLinks()}} {
		if c.fact >= 0 && c.fact != c.got {
			t.Errorf("Facts say %d %s, the graph has %d", c.fact, c.what, c.got)
		}
	}
	if d := Diameter(g); f.Diameter >= 0 && f.Diameter != d {
		t.Errorf("Facts say diameter %d, search says %d", f.Diameter, d)
	}
	if tightBisection && g.Switches() > 20 {
		t.Fatal("too large for a check of the bisection")
	}
	if f.Bisection >= 0 && g.Switches() <= 16 || tightBisection {
		if b := bisection(g); f.Bisection < b || tightBisection && f.Bisection != b {
			t.Errorf("Facts say bisection %d (tight: %v), trying all halvings says %d", f.Bisection, tightBisection, b)
		}
	}
}

// checkForms compares the closed forms beyond the facts with what is measured.
func checkForms(t testing.TB, topo topology.Formed) {
	t.Helper()
	g, f := topo.Graph(), topo.Forms()
	m := topology.Measure(g)
	if f.Degree != [2]int{} && f.Degree != m.Degree {
		t.Errorf("Forms say degrees %v, the graph has %v", f.Degree, m.Degree)
	}
	if f.MeanDistance != 0 && math.Abs(f.MeanDistance-m.MeanDistance) > 1e-9 {
		t.Errorf("Forms say a mean distance of %v, search says %v", f.MeanDistance, m.MeanDistance)
	}
	if f.UniformCapacity > m.UniformCapacity*(1+1e-9) {
		t.Errorf("Forms say a capacity of %v, all channels together have %v", f.UniformCapacity, m.UniformCapacity)
	}
	if f.BisectionAtLeast != 0 {
		if least := topology.AlgebraicConnectivity(g) * topology.Halving(m.Switches); f.BisectionAtLeast > least*(1+1e-6) {
			t.Errorf("Forms say a bisection of at least %v, the spectrum says %v", f.BisectionAtLeast, least)
		}
		if g.Switches() <= 16 {
			if b := bisection(g); f.BisectionAtLeast > float64(b)+1e-9 {
				t.Errorf("Forms say a bisection of at least %v, trying all halvings says %d", f.BisectionAtLeast, b)
			}
		}
	}
}

// Diameter is the largest distance between switches that have terminals.
func Diameter(g *topology.Graph) int {
	hosts := make([]bool, g.Switches())
	for t := range topology.TerminalID(g.Terminals()) {
		hosts[g.TerminalSwitch(t)] = true
	}
	most, n := 0, g.Neighbors()
	var d []int16
	for s, host := range hosts {
		if !host {
			continue
		}
		d = n.DistancesFrom(topology.SwitchID(s), d)
		for u, h := range d {
			if hosts[u] {
				most = max(most, int(h))
			}
		}
	}
	return most
}

// bisection is the smallest cut over all divisions of the switches (at most
// 20) in which the terminals are divided as evenly as whole switches allow.
func bisection(g *topology.Graph) int {
	n := g.Switches()
	weight := make([]int, n)
	for t := range topology.TerminalID(g.Terminals()) {
		weight[g.TerminalSwitch(t)]++
	}
	count := make([][]int, n) // cables between two switches
	for s := range count {
		count[s] = make([]int, n)
	}
	for p := range topology.PortID(g.NumPorts()) {
		if peer, ok := g.PeerPort(p); ok {
			count[g.PortSwitch[p]][g.PortSwitch[peer]]++
		}
	}
	// Gray code: one switch changes sides at a time.
	side, difference, cut := make([]int, n), g.Terminals(), 0
	bestDifference, best := g.Terminals(), 0
	for i := 1; i < 1<<(n-1); i++ {
		s := bits.TrailingZeros(uint(i))
		for u, k := range count[s] {
			if side[u] == side[s] {
				cut += k
			} else {
				cut -= k
			}
		}
		side[s] = 1 - side[s]
		difference += 2 * weight[s] * (1 - 2*side[s])
		if d := max(difference, -difference); d < bestDifference || d == bestDifference && cut < best {
			bestDifference, best = d, cut
		}
	}
	return best
}
