package multicast

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/graph/simple"
	"gonum.org/v1/gonum/graph/topo"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// limited is MR4LMS on a network with so many entries.
func limited(t *testing.T, g *topology.Graph, entries int, c MR4LMSConfig) *mr4lms {
	t.Helper()
	env := newEnv(t, g)
	env.Entries = entries
	return simtest.Must(newMR4LMS(c, env))(t)
}

// join has groups of these terminals join one after the other, and calls after each.
func join(t *testing.T, e *mr4lms, groups [][]topology.TerminalID, after func(id int)) {
	t.Helper()
	for id, members := range groups {
		simtest.Check(t, e.Join(NewGroup(GroupID(id), members, nil)))
		after(id)
	}
	simtest.Check(t, e.forest.Check())
}

// TestMergeFewestGroups: within one switch no two groups have the same entry. Of two entries the one
// with fewer groups takes the next, the lower among equals: 0 1 0 1 0, 3 and 2 groups on two trees.
func TestMergeFewestGroups(t *testing.T) {
	e := limited(t, smallNets()["single switch"], 2, MR4LMSConfig{Build: "auto", Successes: 20, Merge: "fewest-groups"})
	join(t, e, [][]topology.TerminalID{{0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}}, func(id int) {
		p := simtest.Must(e.forest.Planted(GroupID(id)))(t)
		simtest.ErrorIf(t, int(p.Colour) != id%2, "group %d has entry %d, want %d", id, p.Colour, id%2)
	})
	m := e.forest.Measure()
	simtest.ErrorIf(t, m.MeanTFI != 2.5 || m.MaxTFI != 3 || m.Colours != 2,
		"%d colours, %v groups a tree, %d at most; want 2, 2.5, 3", m.Colours, m.MeanTFI, m.MaxTFI)
}

// TestBuildTurns is algorithm 7 on a row of ten switches with one entry and two successes: a merge
// turns to colouring first; two groups in a row that need none turn back. A merge between them
// starts the count anew, and so does the next turn. The second, fourth and seventh group merge. Otherwise nothing turns.
func TestBuildTurns(t *testing.T) {
	for build, fctb := range map[string]string{"auto": "01111011", "fbtc": "00000000", "fctb": "11111111"} {
		e := limited(t, gridNet(false, 1, 10), 1, MR4LMSConfig{Build: build, Successes: 2, Merge: "fewest-groups"})
		join(t, e, [][]topology.TerminalID{{0, 1}, {0, 1}, {2, 3}, {2, 3}, {4, 5}, {6, 7}, {6, 7}, {8, 9}}, func(id int) {
			simtest.ErrorIf(t, e.fctb != (fctb[id] == '1'), "%s: after group %d colours come first: %v", build, id, e.fctb)
		})
	}
}

// TestOrderMakesRoom: channels that move into one gap halve it each time, 2^32 at first, until the labels are dealt out
// anew; they rise along the list after every move, those to its beginning and its end among them.
func TestOrderMakesRoom(t *testing.T) {
	o := newOrderedPairs(gridNet(true, 1, 5))
	ends := topology.PortID(len(o.label) - 1)
	for i := range 42 {
		o.move([]topology.PortID{topology.PortID(2 + i%2), 4}[:1+i/40], []topology.PortID{0, ends, o.prev[ends]}[max(0, i-39)])
		for p := o.succ[ends]; o.succ[p] != ends; p = o.succ[p] {
			simtest.FatalIf(t, o.label[o.succ[p]] <= o.label[p], "move %d: label %d before %d", i, o.label[p], o.label[o.succ[p]])
		}
	}
}

// TestGrowsAlongMembers: switches 0-1-2-5 are in a line, and so are 0-3-4-5, with members at 4 and 5, which may be no farther than height 4 from root
// 0 with the cable to their terminals. The second is a neighbour of the first, at the last hop that is allowed: no further switch is needed, though
// the first shortest path to it is by 1 and 2. In the other network 3 members follow each other, 0-1-2-3, and switch 4 leads from 0 to 3, too; member
// 5, behind 3, is within 3 hops by 4 only, to which 3 then moves up.
func TestGrowsAlongMembers(t *testing.T) {
	for _, c := range []struct {
		links   [][2]topology.SwitchID
		members []member
		height  int
		want    []topology.SwitchID
	}{
		{[][2]topology.SwitchID{{0, 1}, {1, 2}, {2, 5}, {0, 3}, {3, 4}, {4, 5}}, []member{{4, 1}, {5, 1}}, 4, []topology.SwitchID{0, 3, 4, 5}},
		{[][2]topology.SwitchID{{0, 1}, {1, 2}, {2, 3}, {0, 4}, {4, 3}, {3, 5}}, []member{{1, 0}, {2, 0}, {3, 0}, {5, 0}}, 3, []topology.SwitchID{0, 1, 2, 3, 4, 5}},
	} {
		b := topology.NewBuilder(6, topology.Class{Name: "local"})
		for _, link := range c.links {
			b.AddLink(link[0], link[1], 0)
		}
		b.AddTerminal(4, 0)
		sub := newSubgraph(simtest.Must(NewForest(newEnv(t, b.Freeze())))(t))
		sub.open(0, nil)
		tree := newGrower(sub).build(0, c.members, c.height)
		simtest.ErrorIf(t, !slices.Equal(slices.Sorted(slices.Values(tree.Switches)), c.want) || tree.Height != c.height, "%+v, want %v", tree, c.want)
	}
}

// TestMergedTree: on a ring of five switches group {0, 2} has the tree 0-1-2, and {0, 2, 3, 4} has to share the only entry. All roots have a member
// two hops away but none farther; of those without a tree, 3 and 4, the lower is taken: 2-3-4-0 if the old tree is replaced, 0-1-2 and all five
// switches if it is kept. Without the second group the tree that replaces keeps 0 and 2, what lies between, and its root.
func TestMergedTree(t *testing.T) {
	for oldTrees, want := range map[string][]topology.SwitchID{"rebuild": {0, 2, 3, 4}, "extend": {0, 1, 2, 3, 4}} {
		e := limited(t, gridNet(true, 1, 5), 1, MR4LMSConfig{Build: "auto", Successes: 20, Merge: "fewest-groups", OldTrees: oldTrees})
		join(t, e, [][]topology.TerminalID{{0, 2}, {0, 2, 3, 4}}, func(int) {})
		p := simtest.Must(e.forest.Planted(0))(t)
		got := slices.Sorted(slices.Values(p.Switches))
		simtest.ErrorIf(t, p.Switches[0] != 3 || !slices.Equal(got, want), "%s: switches %v from root %d, want %v from 3", oldTrees, got, p.Switches[0], want)
	}
}

// TestRemovedGroup: on a row of four switches {0, 1} and {1, 2, 3} share a tree whose root is 2, the
// better placed one that no tree passes. Without the second group switch 3 is left out.
func TestRemovedGroup(t *testing.T) {
	e := limited(t, gridNet(false, 1, 4), 1, MR4LMSConfig{Build: "auto", Successes: 20, Merge: "fewest-groups"})
	join(t, e, [][]topology.TerminalID{{0, 1}, {1, 2, 3}}, func(int) {})
	simtest.Check(t, e.forest.Remove(1))
	p := simtest.Must(e.forest.Planted(0))(t)
	simtest.ErrorIf(t, !slices.Equal(p.Switches, []topology.SwitchID{2, 1, 0}) || p.Height != 3, "switches %v, height %d; want 2 1 0 and 3", p.Switches, p.Height)
}

// TestNextRoot: if no colour is free on the tree from the least loaded root, the others follow by load.
// All of five switches, each joined to each, are one hop from members 3 and 4, on which colour 2 of three is
// free. Switch 0 has one tree, of colour 2; 1 has two and 2 has one, which leave colour 2 free.
func TestNextRoot(t *testing.T) {
	b := topology.NewBuilder(5, topology.Class{Name: "local"})
	for s := range topology.SwitchID(5) {
		b.AddTerminal(s, 0)
		for other := range s {
			b.AddLink(other, s, 0)
		}
	}
	e, id := limited(t, b.Freeze(), 3, MR4LMSConfig{Build: "fbtc", Successes: 20, Merge: "fewest-groups"}), GroupID(1)
	for s, colours := range [][]Colour{{2}, {0, 1}, {0}, {0, 1}, {0, 1}} {
		for _, c := range colours {
			g := NewGroup(id, []topology.TerminalID{topology.TerminalID(s)}, nil)
			tree := e.climb.build(topology.SwitchID(s), &g)
			tree.Height = 1
			e.forest.Plant(tree.keep(), c, g)
			id++
		}
	}
	join(t, e, [][]topology.TerminalID{{3, 4}}, func(int) {})
	p := simtest.Must(e.forest.Planted(0))(t)
	simtest.ErrorIf(t, p.Switches[0] != 2 || p.Colour != 2, "root %d and colour %d, want 2 and 2", p.Switches[0], p.Colour)
}

// TestNearestIsByMean: formula 1 divides by the members of both. On a row, {4} is 1 from {5, 6}, which are 1 and 2 from it: 4/3. {7, 8, 9} are 1, 2
// and 3 from {5, 6}, which are 2 and 1 from it: 9/5. By the members of the tree alone it would be 4 and 3.
func TestNearestIsByMean(t *testing.T) {
	for first, want := range map[topology.TerminalID]GroupID{4: 0, 3: 1} { // {3} is 2 from {5, 6}, which are 2 and 3 from it: 7/3
		e := limited(t, gridNet(false, 1, 10), 2, MR4LMSConfig{Build: "auto", Successes: 20, Merge: "nearest"})
		join(t, e, [][]topology.TerminalID{{first}, {7, 8, 9}}, func(int) {})
		g := NewGroup(2, []topology.TerminalID{5, 6}, nil)
		simtest.Equal(t, e.nearest(&g).Groups[0].ID, want, "beside {%d} the nearest group is", first)
	}
}

// TestNearestClearsTheWay: with one entry {2, 3} has to share. Switches 0 to 3 are a row, with a row of 5 more behind switch 1 and of 9 more behind
// switch 3. By formula 1 {0} is nearest, at 7/3, before {1, 8} and {3, 17}, at 10/4 each. These two are in the way of a tree for both: {3, 17} has
// switch 3, {1, 8} only switch 1, between them. So all four groups come to one tree.
func TestNearestClearsTheWay(t *testing.T) {
	b := topology.NewBuilder(18, topology.Class{Name: "local"})
	for s := range topology.SwitchID(18) {
		b.AddTerminal(s, 0)
		if before, turns := map[topology.SwitchID]topology.SwitchID{4: 1, 9: 3}[s]; turns {
			b.AddLink(before, s, 0)
		} else if s > 0 {
			b.AddLink(s-1, s, 0)
		}
	}
	e := limited(t, b.Freeze(), 1, MR4LMSConfig{Build: "auto", Successes: 20, Merge: "nearest"})
	join(t, e, [][]topology.TerminalID{{0}, {1, 8}, {3, 17}, {2, 3}}, func(int) {})
	m := e.forest.Measure()
	simtest.ErrorIf(t, m.Groups != 4 || m.Trees != 1 || m.MaxTFI != 4, "%d groups on %d trees, at most %d; want 4 on one", m.Groups, m.Trees, m.MaxTFI)
}

// TestMetricsByHand: on a row of three switches two groups of switches 0 and 1 have a tree each, of one cable, which carries both; the other cable
// carries none: 2 at most, 1 in the mean. A member is the cable and its own away: 2. Without the first group entry 0 is not in use.
func TestMetricsByHand(t *testing.T) {
	e := limited(t, gridNet(false, 1, 3), 4, MR4LMSConfig{Build: "auto", Successes: 20, Merge: "nearest"})
	join(t, e, [][]topology.TerminalID{{0, 1}, {0, 1}}, func(int) {})
	m := e.forest.Measure()
	simtest.ErrorIf(t, m.Colours != 2 || m.Trees != 2 || m.MaxEFI != 2 || m.MeanEFI != 1 || m.MeanTFI != 1 || m.MeanHeight != 2 || m.TreeLinks != 2, "%+v", m)
	simtest.EqualSlices(t, e.forest.EFIHistogram(), []int{1, 0, 1}, "cables by the groups over them:")
	simtest.Check(t, e.forest.Remove(0))
	m = e.forest.Measure()
	simtest.ErrorIf(t, m.Colours != 1 || m.Trees != 1 || m.MaxEFI != 1 || m.MeanEFI != 0.5, "without the first group: %+v", m)
}

// ringPaths are the four paths of three cables around a ring of four switches, each rooted at its first switch.
func ringPaths(g *topology.Graph) []*Tree {
	var trees []*Tree
	for first := range 4 {
		var switches []topology.SwitchID
		var up []topology.PortID
		for i := range 4 {
			s := topology.SwitchID((first + i) % 4)
			switches, up = append(switches, s), append(up, topology.NoPort)
			for p, end := g.Ports(s); p < end && i > 0; p++ {
				if peer, ok := g.PeerPort(p); ok && g.PortSwitch[peer] == switches[i-1] {
					up[i] = p
				}
			}
		}
		trees = append(trees, &Tree{Switches: switches, Up: up})
	}
	return trees
}

// In each direction the path that starts at switch i has the dependencies i -> i+1 and i+1 -> i+2 of the ring's four (of cable on next cable). Any
// two paths that start next to each other have three together, any two opposite ones all four, which is a cycle. So paths 0 and 1 share a layer, and
// 2 and 3: two layers of three dependencies in each direction, twelve in all. With one layer the third path closes the circle of four.
func TestLayersRing(t *testing.T) {
	g := gridNet(true, 1, 4)
	trees := ringPaths(g)
	l, err := AssignLayers(g, trees, 16)
	simtest.ErrorIf(t, err != nil || l.Count != 2 || l.Dependencies != 12 || l.Of[0] != 0 || l.Of[1] != 0 || l.Of[2] != 1 || l.Of[3] != 1, "%+v, %v", l, err)
	var cyclic *CyclicError
	_, err = AssignLayers(g, trees, 1)
	simtest.FatalIf(t, !errors.As(err, &cyclic) || cyclic.Tree != 2 || len(cyclic.Cycle) != 4, "one layer: %v", err)
	for i, p := range cyclic.Cycle { // each channel ends where the next begins
		peer, _ := g.PeerPort(p)
		simtest.ErrorIf(t, g.PortSwitch[peer] != g.PortSwitch[cyclic.Cycle[(i+1)%4]], "no cycle: %v", err)
	}
	simtest.ErrorIf(t, !strings.Contains(err.Error(), "4 channels wait for each other"), "%v", err)
}

// Paths 0 and 2 alone have all four dependencies of each direction: the pair of trees that can deadlock.
func TestLayersPair(t *testing.T) {
	g := gridNet(true, 1, 4)
	trees := ringPaths(g)
	pair := []*Tree{trees[0], trees[2]}
	l, err := AssignLayers(g, pair, 2)
	simtest.ErrorIf(t, err != nil || l.Count != 2 || l.Of[0] != 0 || l.Of[1] != 1 || l.Dependencies != 8, "%+v, %v", l, err)
	_, err = AssignLayers(g, pair, 1)
	simtest.ErrorIf(t, err == nil || !strings.HasPrefix(err.Error(), "multicast tree 1 can deadlock") ||
		strings.Count(err.Error(), " on layer 0 waits for switch ") != 4, "one layer: %v", err)
}

// topTrees are trees over all leaves of fatTreeNet(ports), each from another of the top switches, the last of the graph, in turn.
func topTrees(g *topology.Graph, ports, count int) []*Tree {
	half := ports / 2
	tops, trees := half*half, make([]*Tree, count)
	for i := range trees {
		root := topology.SwitchID(g.Switches() - 1 - i%tops)
		t, from := &Tree{Switches: []topology.SwitchID{root}, Up: []topology.PortID{topology.NoPort}}, 0
		for range 2 {
			for end := len(t.Switches); from < end; from++ {
				first, last := g.Ports(t.Switches[from])
				for p := first; p < last; p++ {
					if peer, ok := g.PeerPort(p); ok && int(g.PortSwitch[peer]) < g.Switches()-tops {
						t.Switches, t.Up = append(t.Switches, g.PortSwitch[peer]), append(t.Up, peer)
					}
				}
			}
		}
		trees[i] = t
	}
	return trees
}

// BenchmarkAssignLayers: 10,000 trees on 5,120 switches, each to the 2,048 leaves of the network.
func BenchmarkAssignLayers(b *testing.B) {
	g := fatTreeNet(64)
	trees := topTrees(g, 64, 1024)
	for len(trees) < 10_000 {
		trees = append(trees, trees[len(trees)-1024])
	}
	for b.Loop() {
		l, err := AssignLayers(g, trees, 1)
		simtest.FatalIf(b, err != nil || l.Count != 1, "%v", err)
	}
}

// Every layer of every engine's trees is acyclic by gonum's sort, every layer is
// needed (its first tree does not fit below), and trees of switches need one.
func TestLayers(t *testing.T) {
	for name, g := range smallNets() {
		env := newEnv(t, g)
		for _, v := range engineVariants(t, env) {
			draw := sim.NewStream(1, "layers", 0)
			for id := range 40 {
				if err := v.engine.Join(randomGroup(GroupID(id), g, &draw)); err != nil && !errors.As(err, new(*ExhaustedError)) {
					break // an engine that refuses the network
				}
			}
			var trees []*Tree
			for p := range v.engine.Forest().Trees {
				trees = append(trees, p.Tree)
			}
			l, dependencies := simtest.Must(AssignLayers(g, trees, len(trees)+1))(t), 0
			for n := range l.Count {
				graph := layerGraph(g, trees, l.Of, n)
				_, err := topo.Sort(graph)
				simtest.ErrorIf(t, err != nil, "%s, %s: layer %d: %v", name, v.name, n, err)
				dependencies += graph.Edges().Len()
			}
			simtest.ErrorIf(t, dependencies != l.Dependencies, "%s, %s: %d dependencies, said %d", name, v.name, dependencies, l.Dependencies)
			for i, of := range l.Of {
				for n := range of { // with the trees before it
					before := append([]int(nil), l.Of[:i+1]...)
					before[i] = n
					_, err := topo.Sort(layerGraph(g, trees[:i+1], before, n))
					simtest.ErrorIf(t, err == nil, "%s, %s: tree %d is on layer %d and fits on %d", name, v.name, i, of, n)
				}
			}
		}
	}
}

// layerGraph is the dependency graph of a layer, made the plain way: by trying all pairs of ports.
func layerGraph(g *topology.Graph, trees []*Tree, of []int, layer int) *simple.DirectedGraph {
	graph := simple.NewDirectedGraph()
	for i, t := range trees {
		if of[i] != layer {
			continue
		}
		in := map[topology.PortID]bool{}
		for _, up := range t.Up[1:] {
			in[up], in[topology.PortID(g.Peer[up])] = true, true
		}
		for a := range in {
			for b := range in {
				if a != b && g.PortSwitch[a] == g.PortSwitch[b] {
					graph.SetEdge(graph.NewEdge(simple.Node(g.Peer[a]), simple.Node(b)))
				}
			}
		}
	}
	return graph
}
