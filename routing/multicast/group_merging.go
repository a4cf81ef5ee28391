package multicast

import (
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
)

// merge is algorithm 4: unite g with groups already there, under one of their
// colours, so that all of them share one tree.
func (e *mr4lms) merge(g Group) {
	e.graph()
	f := e.forest
	if e.config.Merge == "nearest" {
		nearest := e.nearest(&g)
		if e.unite.join(g, nearest.Colour, []*Planted{nearest}) {
			return
		}
		// The optimistic step failed: clear the way of a tree for both.
		both := virtualGroup([]*Planted{nearest}, &g)
		e.unite.join(g, nearest.Colour, e.inTheWay(&both, nearest.Colour, nearest))
		return
	}
	best := Colour(0)
	for c := range f.colours {
		if f.colours[c].groups < f.colours[best].groups {
			best = Colour(c)
		}
	}
	e.unite.join(g, best, e.inTheWay(&g, best, nil))
}

// inTheWay lists the trees of colour c that the shortest-path tree of the
// virtual group from its least loaded root would touch, and first, if any.
func (e *mr4lms) inTheWay(virtual *Group, c Colour, first *Planted) []*Planted {
	f := e.forest
	_, e.candidates = e.roots.find(virtual, e.candidates[:0])
	t := e.climb.build(f.leastLoaded(e.candidates), virtual)
	e.cells = f.cellsOf(&t, []Group{*virtual}, e.cells[:0])
	return f.touched(c, f.cellSet(e.cells), first)
}

// cellSet is the set of the given cells.
func (f *Forest) cellSet(cells []int32) bitset {
	set := make(bitset, (f.cells+63)/64)
	for _, cell := range cells {
		set.set(int(cell))
	}
	return set
}

// touched lists the trees of colour c that occupy one of the cells, and first,
// if any.
func (f *Forest) touched(c Colour, cells bitset, first *Planted) []*Planted {
	var trees []*Planted
	for _, p := range f.colours[c].trees {
		if p == first || p.touches(f, cells) {
			trees = append(trees, p)
		}
	}
	return trees
}

// touches tells whether p occupies one of the cells.
func (p *Planted) touches(f *Forest, cells bitset) bool {
	if f.env.PerPort {
		return slices.ContainsFunc(p.cells, func(cell int32) bool { return cells.has(int(cell)) })
	}
	for i, w := range p.switchSet(f) {
		if w&cells[i] != 0 {
			return true
		}
	}
	return false
}

// switchSet is the tree's switches as a set.
func (p *Planted) switchSet(f *Forest) bitset {
	if p.set == nil {
		p.set = make(bitset, (f.env.Graph.Switches()+63)/64)
		for _, s := range p.Switches {
			p.set.set(int(s))
		}
	}
	return p.set
}

// virtualGroup has the members of g and of all groups on the trees.
func virtualGroup(trees []*Planted, g *Group) Group {
	terminals := slices.Clone(g.Terminals)
	switches := slices.Clone(g.Switches)
	for _, p := range trees {
		for i := range p.Groups {
			terminals = append(terminals, p.Groups[i].Terminals...)
			switches = append(switches, p.Groups[i].Switches...)
		}
	}
	return NewGroup(g.ID, terminals, switches)
}

// appendMembers appends the switches that a tree for g must span, ascending.
func appendMembers(graph *topology.Graph, g *Group, members []member) []member {
	start := len(members)
	last := topology.SwitchID(-1)
	for _, t := range g.Terminals {
		if s := graph.TerminalSwitch(t); s != last {
			members = append(members, member{s, 1})
			last = s
		}
	}
	for _, s := range g.Switches {
		members = append(members, member{s, 0})
	}
	slices.SortFunc(members[start:], func(a, b member) int {
		if a.sw != b.sw {
			return int(a.sw - b.sw)
		}
		return b.extra - a.extra // terminals first: they count
	})
	rest := slices.CompactFunc(members[start:], func(a, b member) bool { return a.sw == b.sw })
	return members[:start+len(rest)]
}

// nearest is the tree with the least distance to g by formula 1: the mean, over
// the members of both, of the distance to the nearest member of the other; the
// first among equals. Cost: for each tree, its members' switches times those
// of g.
func (e *mr4lms) nearest(g *Group) *Planted {
	f := e.forest
	graph, hops := f.env.Graph, f.env.Hops
	toGroup := make([]uint8, graph.Switches())
	for i := range toGroup {
		toGroup[i] = Unreachable
	}
	span := g.Span(graph)
	for _, s := range span {
		for v, d := range hops.Row(s) {
			toGroup[v] = min(toGroup[v], d)
		}
	}
	var best *Planted
	bestSum, bestCount := 0, 1
	for p := range f.Trees {
		tree := virtualGroup([]*Planted{p}, &Group{})
		treeSpan := tree.Span(graph)
		sum := 0
		for _, t := range tree.Terminals {
			sum += int(toGroup[graph.TerminalSwitch(t)])
		}
		for _, s := range tree.Switches {
			sum += int(toGroup[s])
		}
		last, nearest := topology.SwitchID(-1), 0
		distance := func(s topology.SwitchID) int {
			if s != last {
				row := hops.Row(s)
				last, nearest = s, Unreachable
				for _, v := range treeSpan {
					nearest = min(nearest, int(row[v]))
				}
			}
			return nearest
		}
		for _, t := range g.Terminals {
			sum += distance(graph.TerminalSwitch(t))
		}
		for _, s := range g.Switches {
			sum += distance(s)
		}
		count := tree.Size() + g.Size()
		if best == nil || sum*bestCount < bestSum*count {
			best, bestSum, bestCount = p, sum, count
		}
	}
	return best
}
