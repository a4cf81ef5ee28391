package multicast

import (
	"cmp"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

// MR4LMSConfig configures MR4LMS.
type MR4LMSConfig struct {
	Build     string `toml:"build" choices:"auto|fbtc|fctb" doc:"first build then colour, first colour then build, or change between them (algorithm 7)"`
	Successes int    `toml:"successes" min:"1" doc:"groups that FCTB must route without merging before auto returns to FBTC"`
	Merge     string `toml:"merge" choices:"fewest-groups|nearest" doc:"merge into the colour with the fewest groups, or with the nearest tree (formula 1)"`
	OldTrees  string `toml:"old_trees" choices:"rebuild|extend" doc:"what a merge does with the trees that it unites: replace them, or keep their cables and add branches"`
}

func init() {
	param.Register(Registry, "mr4lms", "trees of least height that share entries of the multicast forwarding tables (MFT); merges groups when entries run out (Chen et al. 2021)",
		MR4LMSConfig{Build: "auto", Successes: 20, Merge: "fewest-groups", OldTrees: "rebuild"},
		func(c MR4LMSConfig, env Env) (Engine, error) { return newMR4LMS(c, env) })
}

// mr4lms is multicast routing for limited MFT size (Chen, He, Li, Qi, 2021, algorithms 1 to 7).
// Left open by the paper: a root's load is the number of trees through it, ties go to the lowest
// number, colours are tried from 0, links count groups of both directions together, a merged tree
// counts once for each group.
type mr4lms struct {
	*router
	config MR4LMSConfig

	fctb      bool // what auto uses next
	successes int  // of FCTB in a row
}

func newMR4LMS(c MR4LMSConfig, env Env) (*mr4lms, error) {
	r, err := newRouter(env)
	return &mr4lms{router: r, config: c, fctb: c.Build == "fctb"}, err
}

// Join is algorithm 7.
func (e *mr4lms) Join(g Group) error {
	if err := e.forest.Admissible(&g); err != nil {
		return err
	}
	var height int
	height, e.candidates = e.roots.find(&g, e.candidates[:0])
	if e.fctb {
		// FCTB, algorithm 3: colour by colour, find a root whose tree in the colour's subgraph has least height.
		c := e.findColour(&g, height, 1)
		routed := c >= 0
		if routed {
			e.subgraph().search(e.found[0], e.members)
			e.forest.Plant(e.subgraph().tree(e.found[0], e.members, height), c, g)
			e.successes++
		} else {
			e.successes = 0
			e.merge(g)
		}
		if e.config.Build == "auto" && e.successes >= e.config.Successes {
			e.fctb = false
		}
		return nil
	}
	if !e.firstBuild(g, height) {
		if e.config.Build == "auto" {
			e.fctb, e.successes = true, 0
		}
		e.merge(g)
	}
	return nil
}

// firstBuild is FBTC, algorithm 1: build a tree of least height, then look for
// a colour that is free in all of it; failing that, try the next root.
func (e *mr4lms) firstBuild(g Group, height int) bool {
	f := e.forest
	for i := range e.candidates {
		switch i {
		case 0: // mostly the only one: a full sort can wait
			f.leastLoaded(e.candidates)
		case 1:
			e.cells = f.env.requiredCells(&g, e.cells[:0])
			if f.firstFree(e.cells, 0) < 0 {
				return false // no root can help
			}
			f.byLoad(e.candidates[1:])
		}
		t := e.climb.build(e.candidates[i], &g)
		e.cells = f.cellsOf(&t, []Group{g}, e.cells[:0])
		if c := f.firstFree(e.cells, 0); c >= 0 {
			t.Height = height
			f.Plant(t.keep(), c, g)
			return true
		}
	}
	return false
}

// merge is algorithm 4: put g and groups already there on one tree, in one of their colours.
func (e *mr4lms) merge(g Group) {
	f, extend := e.forest, e.config.OldTrees == "extend"
	if e.config.Merge == "nearest" {
		nearest := e.nearest(&g)
		if e.unite(g, nearest.Colour, []*Planted{nearest}, extend) {
			return
		}
		// The optimistic step failed: clear the way of a tree for both.
		both := virtualGroup([]*Planted{nearest}, &g)
		e.unite(g, nearest.Colour, e.inTheWay(&both, nearest.Colour), extend)
		return
	}
	best := Colour(0)
	for c := range f.colours {
		if f.colours[c].groups < f.colours[best].groups {
			best = Colour(c)
		}
	}
	e.unite(g, best, e.inTheWay(&g, best), extend)
}

// inTheWay lists the trees of colour c that the virtual group's shortest-path tree from its least
// loaded root would touch.
func (e *mr4lms) inTheWay(virtual *Group, c Colour) []*Planted {
	_, e.candidates = e.roots.find(virtual, e.candidates[:0])
	return e.forest.touched(c, e.climbed(virtual))
}

func (f *Forest) touched(c Colour, cells bitset) []*Planted {
	return lists.Filter(f.colours[c].trees, func(p *Planted) bool {
		return slices.ContainsFunc(p.cells, func(cell int32) bool { return cells.has(int(cell)) })
	})
}

func (p *Planted) switchSet(f *Forest) bitset {
	if p.set == nil {
		p.set = newBitset(f.env.Graph.Switches())
		for _, s := range p.Switches {
			p.set.set(int(s))
		}
	}
	return p.set
}

func (p *Planted) members() Group { return virtualGroup([]*Planted{p}, &Group{}) }

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
	g.each(graph, func(m member) { members = append(members, m) })
	slices.SortFunc(members[start:], func(a, b member) int {
		return cmp.Or(cmp.Compare(a.sw, b.sw), b.extra-a.extra) // terminals first: they count
	})
	rest := slices.CompactFunc(members[start:], func(a, b member) bool { return a.sw == b.sw })
	return members[:start+len(rest)]
}

// nearest is the tree with the least distance to g by formula 1: the mean, over the members of
// both, of the distance to the other's nearest member; ties go to the first. Cost: for each tree,
// its members' switches times g's.
func (e *mr4lms) nearest(g *Group) *Planted {
	f := e.forest
	graph, hops := f.env.Graph, f.env.Hops
	toGroup := make([]uint8, hops.width)
	hops.nearest(appendMembers(graph, g, nil), toGroup)
	sum := func(g *Group, distance func(s topology.SwitchID) int) (sum int) {
		for _, t := range g.Terminals {
			sum += distance(graph.TerminalSwitch(t))
		}
		for _, s := range g.Switches {
			sum += distance(s)
		}
		return sum
	}
	var best *Planted
	bestSum, bestCount := 0, 1
	for p := range f.Trees {
		tree := p.members()
		treeSpan := tree.Span(graph)
		last, nearest := topology.SwitchID(-1), 0
		distances := sum(&tree, func(s topology.SwitchID) int { return int(toGroup[s]) })
		distances += sum(g, func(s topology.SwitchID) int {
			if s != last {
				row := hops.Row(s)
				last, nearest = s, Unreachable
				for _, v := range treeSpan {
					nearest = min(nearest, int(row[v]))
				}
			}
			return nearest
		})
		if count := tree.Size() + g.Size(); best == nil || distances*bestCount < bestSum*count {
			best, bestSum, bestCount = p, distances, count
		}
	}
	return best
}
