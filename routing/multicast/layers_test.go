package multicast

import (
	"errors"
	"strings"
	"testing"

	"gonum.org/v1/gonum/graph/simple"
	"gonum.org/v1/gonum/graph/topo"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// ringPaths are the four paths of three cables around a ring of four switches,
// each rooted at its first switch.
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

// In each direction the path that starts at switch i has the dependencies i -> i+1 and i+1 -> i+2
// of the ring's four (of cable on next cable). Any two paths that start next to each other have
// three together, any two opposite ones all four, which is a cycle. So paths 0 and 1 share a layer,
// and 2 and 3: two layers of three dependencies in each direction, twelve in all. With one layer
// the third path closes the circle of four.
func TestLayersRing(t *testing.T) {
	g := gridNet(true, 1, 4)
	trees := ringPaths(g)
	l, err := AssignLayers(g, trees, 16)
	simtest.ErrorIf(t, err != nil || l.Count != 2 || l.Dependencies != 12 || l.Of[0] != 0 || l.Of[1] != 0 || l.Of[2] != 1 || l.Of[3] != 1,
		"%+v, %v", l, err)
	var cyclic *CyclicError
	if _, err = AssignLayers(g, trees, 1); !errors.As(err, &cyclic) || cyclic.Tree != 2 || len(cyclic.Cycle) != 4 {
		t.Fatalf("one layer: %v", err)
	}
	for i, p := range cyclic.Cycle { // each channel ends where the next begins
		peer, _ := g.PeerPort(p)
		simtest.ErrorIf(t, g.PortSwitch[peer] != g.PortSwitch[cyclic.Cycle[(i+1)%4]], "no cycle: %v", err)
	}
	simtest.ErrorIf(t, !strings.Contains(err.Error(), "4 channels wait for each other"), "%v", err)
}

// Paths 0 and 2 alone have all four dependencies of each direction: the pair of
// trees that can deadlock.
func TestLayersPair(t *testing.T) {
	g := gridNet(true, 1, 4)
	trees := ringPaths(g)
	pair := []*Tree{trees[0], trees[2]}
	l, err := AssignLayers(g, pair, 2)
	simtest.ErrorIf(t, err != nil || l.Count != 2 || l.Of[0] != 0 || l.Of[1] != 1 || l.Dependencies != 8, "%+v, %v", l, err)
	_, err = AssignLayers(g, pair, 1)
	if err == nil || !strings.HasPrefix(err.Error(), "multicast tree 1 can deadlock") || strings.Count(err.Error(), " on layer 0 waits for switch ") != 4 {
		t.Errorf("one layer: %v", err)
	}
}

// topTrees are trees over all leaves of fatTreeNet(ports), each from another of
// the top switches, the last of the graph, in turn.
func topTrees(g *topology.Graph, ports, count int) []*Tree {
	half := ports / 2
	tops := half * half
	trees := make([]*Tree, count)
	for i := range trees {
		root := topology.SwitchID(g.Switches() - 1 - i%tops)
		t := &Tree{Switches: []topology.SwitchID{root}, Up: []topology.PortID{topology.NoPort}}
		from := 0
		for range 2 {
			for end := len(t.Switches); from < end; from++ {
				first, last := g.Ports(t.Switches[from])
				for p := first; p < last; p++ {
					if peer, ok := g.PeerPort(p); ok && !isTop(g, g.PortSwitch[peer], tops) {
						t.Switches, t.Up = append(t.Switches, g.PortSwitch[peer]), append(t.Up, peer)
					}
				}
			}
		}
		trees[i] = t
	}
	return trees
}

func isTop(g *topology.Graph, s topology.SwitchID, tops int) bool { return int(s) >= g.Switches()-tops }

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
				var exhausted *ExhaustedError
				if err := v.engine.Join(randomGroup(GroupID(id), g, &draw)); err != nil && !errors.As(err, &exhausted) {
					break // an engine that refuses the network
				}
			}
			var trees []*Tree
			for p := range v.engine.Forest().Trees {
				trees = append(trees, p.Tree)
			}
			l := simtest.Must(AssignLayers(g, trees, len(trees)+1))(t)
			dependencies := 0
			for n := range l.Count {
				graph := layerGraph(g, trees, l.Of, n)
				if _, err := topo.Sort(graph); err != nil {
					t.Errorf("%s, %s: layer %d: %v", name, v.name, n, err)
				}
				dependencies += graph.Edges().Len()
			}
			simtest.ErrorIf(t, dependencies != l.Dependencies,
				"%s, %s: %d dependencies, said %d", name, v.name, dependencies, l.Dependencies)
			for i, of := range l.Of {
				for n := range of { // with the trees before it
					before := append([]int(nil), l.Of[:i+1]...)
					before[i] = n
					if _, err := topo.Sort(layerGraph(g, trees[:i+1], before, n)); err == nil {
						t.Errorf("%s, %s: tree %d is on layer %d and fits on %d", name, v.name, i, of, n)
					}
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
