package certify

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"gonum.org/v1/gonum/graph/simple"
	"gonum.org/v1/gonum/graph/topo"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// of makes a graph of single-VC channels from pairs of ports.
func of(pairs ...[2]int) *Graph {
	g := New(1)
	for _, p := range pairs {
		g.Add(topology.Dependency{Held: topology.Channel{Port: topology.PortID(p[0])}, Wanted: topology.Channel{Port: topology.PortID(p[1])}})
	}
	return g
}

// TestCycles: small graphs whose shortest cycles are plain to see.
func TestCycles(t *testing.T) {
	for _, c := range []struct {
		name  string
		pairs [][2]int
		want  []topology.PortID
	}{
		{"empty", nil, nil},
		{"chain", [][2]int{{0, 1}, {1, 2}, {0, 2}}, nil},
		{"diamond", [][2]int{{0, 1}, {0, 2}, {1, 3}, {2, 3}}, nil},
		{"loop", [][2]int{{0, 1}, {4, 4}}, []topology.PortID{4}},
		{"pair", [][2]int{{0, 1}, {1, 0}}, []topology.PortID{0, 1}},
		{"behind a chain", [][2]int{{0, 7}, {7, 3}, {3, 5}, {5, 7}}, []topology.PortID{3, 5, 7}},
		{"shorter of two", [][2]int{{0, 1}, {1, 2}, {2, 3}, {3, 0}, {8, 9}, {9, 8}, {3, 8}}, []topology.PortID{8, 9}},
		{"chord", [][2]int{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 0}, {3, 1}}, []topology.PortID{1, 2, 3}},
	} {
		got := of(c.pairs...).Certify(1, 1)
		var cycle []topology.PortID
		for _, channel := range got.Cycle {
			cycle = append(cycle, channel.Port)
		}
		simtest.ErrorIf(t, got.Dependencies != len(c.pairs) || got.Acyclic() != (c.want == nil) || !slices.Equal(cycle, c.want), "%s: %+v, want cycle %v", c.name, got, c.want)
	}
}

// TestCounts: channels and dependencies are counted once, however often they are entered.
func TestCounts(t *testing.T) {
	c := of([2]int{0, 1}, [2]int{0, 1}, [2]int{5, 1}).Certify(3, 9)
	simtest.ErrorIf(t, c.Channels != 3 || c.Dependencies != 2 || c.Exact(), "%+v, want 3 channels, 2 dependencies, a sample", c)
}

// TestAgainstGonum compares random graphs around the threshold where cycles appear: components with gonum's Tarjan, the
// length of the shortest cycle with searches from every node on an adjacency matrix.
func TestAgainstGonum(t *testing.T) {
	stream, cyclic := sim.NewStream(1, "graphs", 0), 0
	for round := range 300 {
		n := 2 + stream.IntN(30)
		g, reference := New(2), simple.NewDirectedGraph()
		edges := make([][]bool, n)
		for v := range edges {
			edges[v] = make([]bool, n)
			reference.AddNode(simple.Node(v))
		}
		for range stream.IntN(2 * n) {
			v, w := stream.IntN(n), stream.IntN(n)
			if v == w {
				continue // gonum's simple graphs have no loops
			}
			edges[v][w] = true
			reference.SetEdge(simple.Edge{F: simple.Node(v), T: simple.Node(w)})
			g.Add(topology.Dependency{Held: g.channel(int32(v)), Wanted: g.channel(int32(w))})
		}
		want, got := shortest(edges), g.Certify(1, 1)
		simtest.FatalIf(t, len(got.Cycle) != want, "round %d: cycle of %d, want %d", round, len(got.Cycle), want)
		for i, held := range got.Cycle {
			simtest.FatalIf(t, !edges[g.node(held)][g.node(got.Cycle[(i+1)%len(got.Cycle)])], "round %d: the cycle is not in the graph", round)
		}
		if want > 0 {
			cyclic++
		}
		_, sizes := g.compress().components()
		var wantSizes []int32
		for _, c := range topo.TarjanSCC(reference) {
			wantSizes = append(wantSizes, int32(len(c)))
		}
		simtest.Equal(t, larger(sizes), larger(wantSizes), "round %d: components of several nodes:", round)
	}
	simtest.ErrorIf(t, cyclic < 50 || cyclic > 250, "%d of 300 graphs have a cycle: not a test of both", cyclic)
}

func larger(sizes []int32) int {
	return len(slices.DeleteFunc(slices.Clone(sizes), func(s int32) bool { return s < 2 }))
}

// shortest is the length of a shortest cycle, by powers of the adjacency matrix: 0 if there is none.
func shortest(edges [][]bool) int {
	n := len(edges)
	walk := edges // pairs joined by a walk of so many edges
	for length := 1; length <= n; length++ {
		for v := range n {
			if walk[v][v] {
				return length
			}
		}
		next := make([][]bool, n)
		for v := range next {
			next[v] = make([]bool, n)
			for u := range n {
				for w := range n {
					next[v][w] = next[v][w] || walk[v][u] && edges[u][w]
				}
			}
		}
		walk = next
	}
	return 0
}

// TestDeepGraph: a chain of 2^18 channels does not exhaust the stack.
func TestDeepGraph(t *testing.T) {
	g := New(1)
	const n = 1 << 18
	for i := range n {
		g.Add(topology.Dependency{Held: g.channel(int32(i)), Wanted: g.channel(int32(i + 1))})
	}
	c := g.Certify(1, 1)
	simtest.ErrorIf(t, !c.Acyclic() || c.Channels != n+1, "%d channels, cycle %v", c.Channels, c.Cycle)
	g.Add(topology.Dependency{Held: g.channel(n), Wanted: g.channel(n - 2)})
	simtest.Equal(t, len(g.Certify(1, 1).Cycle), 3, "channels of the cycle:")
}

// TestRow: a row is a set, whatever the order in which near and far members come. The plain version is a sorted slice.
func TestRow(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		r, want, centre := row{}, []int(nil), random.IntN(100_000)
		for range 1 + random.IntN(100) {
			node := max(0, centre+random.IntN(200)-100)
			if random.IntN(3) == 0 {
				node = random.IntN(200_000)
			}
			r.add(node)
			want = append(want, node)
		}
		want = slices.Compact(slices.Sorted(slices.Values(want)))
		var got []int
		r.each(func(node int) { got = append(got, node) })
		simtest.FatalIf(t, !slices.Equal(got, want), "members %v, want %v", got, want)
	}
}

// TestLocal enters random dependencies at the switches of random graphs, from several
// goroutines, and compares with [Graph]: counts, and whether there is a cycle.
func TestLocal(t *testing.T) {
	stream, cyclic := sim.NewStream(2, "local", 0), 0
	const rounds = 200
	for round := range rounds {
		switches, vcs := 3+stream.IntN(6), 1+stream.IntN(3)
		b := topology.NewBuilder(switches, topology.Class{Name: "terminal", Latency: 1}, topology.Class{Name: "link", Latency: 1})
		for s := range switches {
			b.AddTerminal(topology.SwitchID(s), 0)
			b.AddLink(topology.SwitchID(s), topology.SwitchID((s+1)%switches), 1)
		}
		for range stream.IntN(4) * 10 { // parallel cables, too, and rows of several words
			from := stream.IntN(switches)
			b.AddLink(topology.SwitchID(from), topology.SwitchID((from+1+stream.IntN(switches-1))%switches), 1)
		}
		g := b.Freeze()
		plain, local := New(vcs), NewLocal(g, vcs)
		var entered []topology.Dependency
		for range stream.IntN(12 * switches * vcs) {
			held := topology.PortID(stream.IntN(g.NumPorts()))
			peer, ok := g.PeerPort(held)
			if !ok {
				continue
			}
			first, end := g.Ports(g.PortSwitch[peer])
			wanted := first + topology.PortID(stream.IntN(int(end-first)))
			if _, ok := g.PeerPort(wanted); ok {
				entered = append(entered, topology.Dependency{
					Held:   topology.Channel{Port: held, VC: uint8(stream.IntN(vcs))},
					Wanted: topology.Channel{Port: wanted, VC: uint8(stream.IntN(vcs))},
				})
			}
		}
		var threads sync.WaitGroup
		for thread := range 3 {
			threads.Go(func() {
				for i := thread; i < len(entered); i += 2 { // some of them twice
					d := entered[i]
					peer, _ := g.PeerPort(d.Held.Port)
					set, bit := make([]uint64, local.width(g.PortSwitch[peer])), g.LocalPort(d.Wanted.Port)*vcs+int(d.Wanted.VC)
					set[bit/64] |= 1 << (bit % 64)
					local.AddAll(d.Held, set)
				}
			})
		}
		threads.Wait()
		for _, d := range entered {
			plain.Add(d)
		}
		want := plain.Certify(1, 1)
		got, acyclic := local.Certify(1)
		simtest.FatalIf(t, got.Channels != want.Channels || got.Dependencies != want.Dependencies || !got.AtMost || acyclic != want.Acyclic(),
			"round %d: %+v, acyclic %v, want %+v", round, got, acyclic, want)
		if !acyclic {
			cyclic++
		}
	}
	simtest.ErrorIf(t, cyclic < rounds/10 || cyclic > 9*rounds/10, "%d of %d graphs have a cycle: not a test of both", cyclic, rounds)
}
