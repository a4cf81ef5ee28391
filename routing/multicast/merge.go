package multicast

import (
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
)

// merge is algorithm 4: unite g with groups already there, under one of their
// colours, so that all of them share one tree.
func (e *mr4lms) merge(g Group) {
	f := e.forest
	if e.config.Merge == "nearest" {
		nearest := e.nearest(&g)
		if e.unite(g, nearest.Colour, []*Planted{nearest}) {
			return
		}
		// The optimistic step failed: clear the way of a tree for both.
		both := virtualGroup([]*Planted{nearest}, &g)
		e.unite(g, nearest.Colour, e.inTheWay(&both, &g, nearest.Colour, nearest))
		return
	}
	best := Colour(0)
	for c := range f.colours {
		if f.colours[c].groups < f.colours[best].groups {
			best = Colour(c)
		}
	}
	e.unite(g, best, e.inTheWay(&g, &g, best, nil))
}

// inTheWay lists the trees of colour c that the shortest-path tree of the
// virtual group from its least loaded root would touch, and first, if any.
func (e *mr4lms) inTheWay(virtual, g *Group, c Colour, first *Planted) []*Planted {
	f := e.forest
	_, e.candidates = e.roots.find(virtual, e.candidates[:0])
	t := e.climb.build(f.leastLoaded(e.candidates), virtual)
	e.cells = f.cellsOf(&t, []Group{*virtual}, e.cells[:0])
	return f.touched(c, e.cells, first)
}

// touched lists the trees of colour c that occupy one of the cells, and first,
// if any.
func (f *Forest) touched(c Colour, cells []int32, first *Planted) []*Planted {
	wanted := make(bitset, (f.cells+63)/64)
	for _, cell := range cells {
		wanted.set(int(cell))
	}
	var trees []*Planted
	for _, p := range f.colours[c].trees {
		if p == first || slices.ContainsFunc(p.cells, func(cell int32) bool { return wanted.has(int(cell)) }) {
			trees = append(trees, p)
		}
	}
	return trees
}

// unite puts g and the groups of the given trees, all of colour c, on one tree
// of that colour. It reports false, having changed nothing, if they are not
// connected in what the colour leaves free.
func (e *mr4lms) unite(g Group, c Colour, trees []*Planted) bool {
	f, colour := e.forest, e.graph()
	virtual := virtualGroup(trees, &g)
	e.members = appendMembers(f.env.Graph, &virtual, e.members[:0])
	colour.open(c, trees)
	for _, cell := range f.requiredCells(&virtual, nil) {
		if colour.blocked.has(int(cell)) {
			return false
		}
	}
	e.boundAll(&g, trees)
	root, height := colour.bestRoot(e.members, e.far)
	if root < 0 {
		return false
	}
	var t *Tree
	if e.config.OldTrees == "extend" {
		t = colour.extend(root, e.members, trees)
	} else {
		t = colour.tree(root, e.members, height)
	}
	var groups []Group
	for _, p := range trees {
		groups = append(groups, p.Groups...)
		f.Uproot(p)
	}
	f.Plant(t, c, append(groups, g)...).far = e.roots.bytes()
	return true
}

// boundAll fills far with the distance, in the whole network, from every switch
// to the farthest member of g or of a group on one of the trees. United trees
// remember theirs, since they have many members.
func (e *mr4lms) boundAll(g *Group, trees []*Planted) {
	r := e.roots
	r.reset()
	r.include(g)
	for _, p := range trees {
		if p.far != nil {
			widen(r.far, p.far)
			continue
		}
		for i := range p.Groups {
			r.include(&p.Groups[i])
		}
	}
	r.finish()
	for v := range e.far {
		e.far[v] = int32(byte(r.far[v/8] >> (v % 8 * 8)))
	}
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
