package multicast

import (
	"fmt"
	"slices"
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
	for _, p := range e.Cycle {
		fmt.Fprintf(&b, "\n  %s", e.graph.PortName(p))
	}
	return b.String()
}

// AssignLayers puts each tree, in order, on the first layer that it leaves free
// of deadlock. Cost: linear in the dependencies if one layer is enough;
// otherwise every dependency that goes against the order found so far costs a
// search between its ends.
//
// What a packet of a tree may hold is the buffer behind a channel of the tree
// that leads into a switch; it holds that until it has gone on by every other
// channel of the tree out of the switch. So each of these depends on it, and a
// set of trees whose dependencies together have no cycle cannot deadlock (Dally
// and Seitz 1987, for packets that are held until all of their copies have
// left). A single tree never has one. Trees whose packets all climb to a level
// and then descend have none either; shortest paths on tori have.
func AssignLayers(g *topology.Graph, trees []*Tree, most int) (*Layers, error) {
	l := &Layers{Of: make([]int, len(trees)), Count: 1}
	if n, acyclic := acyclicTogether(g, trees); acyclic {
		l.Dependencies = n
		return l, nil
	}
	var layers []*orderedChannels
	for i, t := range trees {
		edges := dependenciesOf(g, t)
		l.Of[i] = -1
		var cycle []topology.PortID
		for n := 0; n <= len(layers) && n < most; n++ {
			if n == len(layers) {
				layers = append(layers, newOrderedChannels(g.NumPorts()))
			}
			if cycle = layers[n].add(edges); cycle == nil {
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
		l.Dependencies += o.edges
	}
	return l, nil
}

// dependency is an edge of the channel dependency graph. A channel is named by
// the port that it leaves.
type dependency struct{ held, wanted topology.PortID }

// dependenciesOf lists those of a tree. Channels from and to terminals take no
// part: nothing waits for the former, and the latter wait for nothing.
func dependenciesOf(g *topology.Graph, t *Tree) []dependency {
	at := make(map[topology.SwitchID][]topology.PortID, len(t.Switches)) // the tree's ports
	for _, up := range t.Up[1:] {
		down := topology.PortID(g.Peer[up])
		at[g.PortSwitch[up]] = append(at[g.PortSwitch[up]], up)
		at[g.PortSwitch[down]] = append(at[g.PortSwitch[down]], down)
	}
	var all []dependency
	for _, s := range t.Switches {
		for _, in := range at[s] {
			for _, out := range at[s] {
				if in != out {
					all = append(all, dependency{topology.PortID(g.Peer[in]), out})
				}
			}
		}
	}
	return all
}

// acyclicTogether counts the dependencies of all trees and tells whether they
// have no cycle.
func acyclicTogether(g *topology.Graph, trees []*Tree) (count int, acyclic bool) {
	succ := make([][]topology.PortID, g.NumPorts())
	for _, t := range trees {
		for _, d := range dependenciesOf(g, t) {
			succ[d.held] = append(succ[d.held], d.wanted)
		}
	}
	waits := make([]int32, len(succ)) // dependencies on the channel
	for p, list := range succ {
		slices.Sort(list)
		succ[p] = slices.Compact(list)
		count += len(succ[p])
		for _, w := range succ[p] {
			waits[w]++
		}
	}
	var ready []topology.PortID
	for p, n := range waits {
		if n == 0 {
			ready = append(ready, topology.PortID(p))
		}
	}
	sorted := 0
	for ; len(ready) > 0; sorted++ {
		p := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		for _, w := range succ[p] {
			if waits[w]--; waits[w] == 0 {
				ready = append(ready, w)
			}
		}
	}
	return count, sorted == len(succ)
}

// orderedChannels is an acyclic dependency graph that grows, with a topological
// order of its channels (Pearce and Kelly, ACM JEA 2007).
type orderedChannels struct {
	position   []int32 // by channel: of no two the same
	succ, pred [][]topology.PortID
	from       []topology.PortID // by channel: by which the search came
	seen       []bool
	edges      int
}

func newOrderedChannels(ports int) *orderedChannels {
	o := &orderedChannels{
		position: make([]int32, ports), succ: make([][]topology.PortID, ports), pred: make([][]topology.PortID, ports),
		from: make([]topology.PortID, ports), seen: make([]bool, ports),
	}
	for i := range o.position {
		o.position[i] = int32(i)
	}
	return o
}

// add enters dependencies unless they would close a cycle, which it returns;
// then the graph is as it was.
func (o *orderedChannels) add(edges []dependency) (cycle []topology.PortID) {
	var added []dependency
	for _, d := range edges {
		if slices.Contains(o.succ[d.held], d.wanted) {
			continue
		}
		if cycle = o.order(d); cycle != nil {
			for _, back := range slices.Backward(added) {
				o.succ[back.held] = o.succ[back.held][:len(o.succ[back.held])-1]
				o.pred[back.wanted] = o.pred[back.wanted][:len(o.pred[back.wanted])-1]
			}
			o.edges -= len(added)
			return cycle
		}
		o.succ[d.held] = append(o.succ[d.held], d.wanted)
		o.pred[d.wanted] = append(o.pred[d.wanted], d.held)
		o.edges++
		added = append(added, d)
	}
	return nil
}

// order makes the order good for a further dependency, or returns the cycle that
// it would close.
func (o *orderedChannels) order(d dependency) (cycle []topology.PortID) {
	first, last := o.position[d.wanted], o.position[d.held]
	if last < first {
		return nil
	}
	after, met := o.search(d.wanted, d.held, o.succ, func(p topology.PortID) bool { return o.position[p] <= last })
	if met {
		for p := d.held; p != d.wanted; p = o.from[p] {
			cycle = append(cycle, p)
		}
		cycle = append(cycle, d.wanted)
		slices.Reverse(cycle)
		return cycle
	}
	before, _ := o.search(d.held, -1, o.pred, func(p topology.PortID) bool { return o.position[p] >= first })
	// What leads to held takes the earliest of the places of both, what follows
	// wanted the latest, each in its old order.
	byPosition := func(a, b topology.PortID) int { return int(o.position[a] - o.position[b]) }
	slices.SortFunc(before, byPosition)
	slices.SortFunc(after, byPosition)
	all := append(before, after...)
	places := make([]int32, len(all))
	for i, p := range all {
		places[i] = o.position[p]
	}
	slices.Sort(places)
	for i, p := range all {
		o.position[p] = places[i]
	}
	return nil
}

// search lists the channels that can be reached from one by next within bounds,
// and tells whether it met another.
func (o *orderedChannels) search(start, other topology.PortID, next [][]topology.PortID, within func(topology.PortID) bool) (reached []topology.PortID, met bool) {
	reached = append(reached, start)
	o.seen[start] = true
	for i := 0; i < len(reached) && !met; i++ {
		for _, q := range next[reached[i]] {
			if o.seen[q] || !within(q) {
				continue
			}
			o.seen[q], o.from[q] = true, reached[i]
			reached = append(reached, q)
			if met = q == other; met {
				break
			}
		}
	}
	for _, p := range reached {
		o.seen[p] = false
	}
	return reached, met
}
