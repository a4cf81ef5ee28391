package multicast

import (
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
)

// MR4LMSConfig configures MR4LMS.
type MR4LMSConfig struct {
	Build     string `toml:"build" choices:"auto|fbtc|fctb" doc:"first build then colour, first colour then build, or change between them (algorithm 7)"`
	Successes int    `toml:"successes" min:"1" doc:"groups that FCTB must route without merging before auto returns to FBTC"`
	Merge     string `toml:"merge" choices:"fewest-groups|nearest" doc:"merge into the colour with the fewest groups, or with the nearest tree (formula 1)"`
	OldTrees  string `toml:"old_trees" choices:"rebuild|extend" doc:"what a merge does with the trees that it unites: replace them, or keep their cables and add branches"`
	Subset    bool   `toml:"subset" doc:"FCTB lets a group use an existing tree that has all its terminals and the least height"`
}

func init() {
	param.Register(Registry, "mr4lms", "trees of least height that share entries of the multicast forwarding tables (MFT); merges groups when entries run out (Chen et al. 2021)",
		MR4LMSConfig{Build: "auto", Successes: 20, Merge: "fewest-groups", OldTrees: "rebuild"},
		func(c MR4LMSConfig, env Env) (Engine, error) { return newMR4LMS(c, env) })
}

// mr4lms is multicast routing for limited MFT size (Chen, He, Li, Qi, 2021,
// algorithms 1 to 7). What the paper leaves open: the load of a root is the
// number of trees through it, all ties go to the lowest number, colours are
// tried from 0, links count groups in both directions together, a merged tree
// counts once for each of its groups.
type mr4lms struct {
	config MR4LMSConfig
	forest *Forest
	roots  *rootFinder
	climb  *climber
	colour *subgraph
	unite  *uniter

	fctb      bool // what auto uses next
	successes int  // of FCTB in a row

	candidates []topology.SwitchID
	found      []topology.SwitchID
	cells      []int32
	members    []member
}

func newMR4LMS(c MR4LMSConfig, env Env) (*mr4lms, error) {
	f, err := NewForest(env)
	if err != nil {
		return nil, err
	}
	return &mr4lms{
		config: c,
		forest: f,
		roots:  newRootFinder(env.Hops),
		climb:  newClimber(f),
		fctb:   c.Build == "fctb",
	}, nil
}

func (e *mr4lms) Forest() *Forest { return e.forest }

// graph is the search of colour subgraphs, made when first needed: with
// unlimited entries it never is.
func (e *mr4lms) graph() *subgraph {
	if e.colour == nil {
		e.colour = newSubgraph(e.forest)
		e.unite = newUniter(e.forest, e.roots, e.colour, e.config.OldTrees == "extend")
	}
	return e.colour
}

// Join is algorithm 7.
func (e *mr4lms) Join(g Group) error {
	if err := e.forest.Admissible(&g); err != nil {
		return err
	}
	var height int
	height, e.candidates = e.roots.find(&g, e.candidates[:0])
	if e.fctb {
		routed := e.firstColour(g, height)
		if routed {
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
			f.leastLoadedFirst(e.candidates)
		case 1:
			e.cells = f.requiredCells(&g, e.cells[:0])
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

// firstColour is FCTB, algorithm 3: colour by colour, look for a root from
// which the colour's subgraph allows a tree of least height.
func (e *mr4lms) firstColour(g Group, height int) bool {
	f, colour := e.forest, e.graph()
	e.members = appendMembers(f.env.Graph, &g, e.members[:0])
	if e.config.Subset {
		if p := e.covering(&g, height); p != nil {
			f.Share(p, g)
			return true
		}
	}
	e.cells = f.requiredCells(&g, e.cells[:0])
	for next := Colour(0); ; {
		c := f.firstFree(e.cells, next)
		if c < 0 {
			return false
		}
		if next == 0 { // mostly no colour has room: sorting can wait
			f.byLoad(e.candidates)
		}
		colour.open(c, nil)
		if e.found = colour.rootsWithin(e.members, e.candidates, height, 1, e.found[:0]); len(e.found) > 0 {
			colour.search(e.found[0], e.members)
			f.Plant(colour.tree(e.found[0], e.members, height), c, g)
			return true
		}
		next = c + 1
	}
}

// covering is the tree of the lowest colour that has all members of g and from
// whose root none is farther than height, or nil.
func (e *mr4lms) covering(g *Group, height int) *Planted {
	f := e.forest
	for c := range f.colours {
		for _, p := range f.colours[c].trees {
			if p.Height <= height && p.carries(g) {
				return p
			}
		}
	}
	return nil
}

// carries tells whether every member of g is a member of a group on p.
func (p *Planted) carries(g *Group) bool {
	all := virtualGroup([]*Planted{p}, &Group{})
	for _, t := range g.Terminals {
		if _, in := slices.BinarySearch(all.Terminals, t); !in {
			return false
		}
	}
	for _, s := range g.Switches {
		if _, in := slices.BinarySearch(all.Switches, s); !in {
			return false
		}
	}
	return true
}

// Leave is algorithm 6: the group's members go, then every switch that has
// none left below it.
func (e *mr4lms) Leave(id GroupID) error { return e.forest.Remove(id) }

// requiredCells appends the cells that any tree for g occupies.
func (f *Forest) requiredCells(g *Group, cells []int32) []int32 {
	if f.env.PerPort {
		for _, t := range g.Terminals {
			cells = append(cells, int32(f.env.Graph.TerminalPort[t]))
		}
		for _, s := range g.Switches {
			cells = append(cells, int32(f.env.Graph.NumPorts())+int32(s))
		}
		return cells
	}
	last := int32(-1)
	for _, t := range g.Terminals {
		if s := int32(f.env.Graph.TerminalSwitch(t)); s != last {
			cells = append(cells, s)
			last = s
		}
	}
	for _, s := range g.Switches {
		cells = append(cells, int32(s))
	}
	return cells
}
