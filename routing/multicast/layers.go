package multicast

import (
	"fmt"
	"strings"

	"github.com/weft-sim/weft/fabric/topology"
)

// Layers divides trees among layers: sets of virtual channels (virtual lanes,
// chosen by the service level that packets carry) of which every layer is free
// of deadlock by itself.
type Layers struct {
	Of    []int // by tree
	Count int
	// Dependencies is the number of different dependencies between channels,
	// summed over layers.
	Dependencies int
}

// CyclicError says that trees need more layers than there may be.
type CyclicError struct {
	Tree  int // the first that fits on no layer
	Most  int
	Cycle []topology.PortID // on the last layer, with that tree: each channel waits for the next
	graph *topology.Graph
}

func (e *CyclicError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "multicast tree %d can deadlock with others on each of %d layers; on the last, %d channels wait for each other:", e.Tree, e.Most, len(e.Cycle))
	for i, p := range e.Cycle {
		next := e.Cycle[(i+1)%len(e.Cycle)]
		fmt.Fprintf(&b, "\n  %s on layer %d waits for %s", e.graph.PortName(p), e.Most-1, e.graph.PortName(next))
	}
	return b.String()
}

// AssignLayers puts each tree, in order, on the first layer that it leaves free
// of deadlock; most bounds the number of layers. Cost: linear in the sizes of
// the trees if one layer is enough, as on fat trees; otherwise, for each layer
// tried, a search for every new pair of ports whose dependencies go against the
// order found so far. Memory: a bit for each pair of ports of a switch, and 40
// bytes a port, for each layer.
//
// What a packet of a tree may hold is the buffer behind a channel of the tree
// that leads into a switch; it holds that until it has gone on by every other
// channel of the tree out of the switch. So each of these depends on it, and a
// set of trees whose dependencies together have no cycle cannot deadlock (Dally
// and Seitz 1987, for packets that are held until all of their copies have
// left). Branches of one packet do not wait for each other, because a branch
// begins only where the whole packet fits (cut-through). In a wormhole switch a
// branch that has begun would wait for the flits that a later one holds up, and
// each for the other, so that no tree with a branch had a certificate. A single
// tree never has a cycle. Trees whose packets all climb to a level and then
// descend have none either; shortest paths on tori have.
func AssignLayers(g *topology.Graph, trees []*Tree, most int) (*Layers, error) {
	l := &Layers{Of: make([]int, len(trees)), Count: 1}
	marks := newPortMarks(g)
	all := newPortPairs(g)
	for _, t := range trees {
		marks.each(t, all.join)
	}
	if all.acyclic() {
		l.Dependencies = all.count()
		return l, nil
	}
	var layers []*orderedPairs
	for i, t := range trees {
		l.Of[i] = -1
		var cycle []topology.PortID
		for n := 0; n <= len(layers) && n < most; n++ {
			if n == len(layers) {
				layers = append(layers, newOrderedPairs(g))
			}
			if cycle = layers[n].add(t, marks); cycle == nil {
				l.Of[i] = n
				break
			}
		}
		if l.Of[i] < 0 {
			return nil, &CyclicError{i, most, cycle, g}
		}
	}
	l.Count = len(layers)
	for _, o := range layers {
		l.Dependencies += o.count()
	}
	return l, nil
}

// Dependencies yields what AssignLayers takes into account of the tree, for a
// layer that is virtual channel vc: together with those of other packets on
// the same virtual channel they make the dependency graph to be certified.
// Channels from and to terminals take no part: nothing waits for the former,
// and the latter wait for nothing.
func (t *Tree) Dependencies(g *topology.Graph, vc uint8, yield func(topology.Dependency)) {
	at := make(map[topology.SwitchID][]topology.PortID, len(t.Switches)) // the tree's ports
	for _, up := range t.Up[1:] {
		down := topology.PortID(g.Peer[up])
		at[g.PortSwitch[up]] = append(at[g.PortSwitch[up]], up)
		at[g.PortSwitch[down]] = append(at[g.PortSwitch[down]], down)
	}
	for _, s := range t.Switches {
		for _, in := range at[s] {
			for _, out := range at[s] {
				if in != out {
					yield(topology.Dependency{Held: topology.Channel{Port: topology.PortID(g.Peer[in]), VC: vc}, Wanted: topology.Channel{Port: out, VC: vc}})
				}
			}
		}
	}
}
