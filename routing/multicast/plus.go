package multicast

import (
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// PlusConfig configures mr4lms-plus.
type PlusConfig struct {
	Stretch int `toml:"stretch" min:"0" doc:"hops by which a tree may be higher than the least height"`
	Roots   int `toml:"roots" min:"1" doc:"roots for which a tree is built; the smallest wins"`
}

func init() {
	sim.Register(Registry, "mr4lms-plus", "colour first, small trees",
		PlusConfig{Roots: 4},
		func(c PlusConfig, env Env) (Engine, error) { return newPlus(c, env) })
}

type plus struct {
	config PlusConfig
	forest *Forest
	roots  *rootFinder
	colour *subgraph
	grow   *grower
	unite  *uniter
	climb  *climber

	squeezed int // groups for which no colour had room

	candidates []topology.SwitchID
	found      []topology.SwitchID
	cells      []int32
	members    []member
}

func newPlus(c PlusConfig, env Env) (*plus, error) {
	f, err := NewForest(env)
	if err != nil {
		return nil, err
	}
	g, roots := newSubgraph(f), newRootFinder(env.Hops)
	return &plus{config: c, forest: f, roots: roots, colour: g, grow: newGrower(g), unite: newUniter(f, roots, g, false), climb: newClimber(f)}, nil
}

func (e *plus) Forest() *Forest        { return e.forest }
func (e *plus) Leave(id GroupID) error { return e.forest.Remove(id) }
func (e *plus) Join(g Group) error {
	if err := e.forest.Admissible(&g); err != nil {
		return err
	}
	f, colour := e.forest, e.colour
	var height int
	height, e.candidates = e.roots.find(&g, e.candidates[:0])
	e.members = appendMembers(f.env.Graph, &g, e.members[:0])
	f.byLoad(e.candidates)
	next := Colour(0)
	for {
		e.cells = f.requiredCells(&g, e.cells[:0])
		c := f.firstFree(e.cells, next)
		if c < 0 {
			e.squeeze(g, height)
			return nil
		}
		colour.open(c, nil)
		if e.found = colour.rootsWithin(e.members, e.candidates, height, e.config.Roots, e.found[:0]); len(e.found) > 0 {
			f.Plant(e.smallest(height), c, g)
			return nil
		}
		next = c + 1
	}
}

// smallest builds a tree from each of the roots found and returns the one that
// costs the least, the first among equals.
func (e *plus) smallest(height int) *Tree {
	best, least := e.found[0], int64(-1)
	if len(e.found) > 1 {
		e.grow.trial = true
		for _, root := range e.found {
			t := e.grow.build(root, e.members, height+e.config.Stretch)
			cost := int64(0)
			for _, s := range t.Switches {
				cost += 1 + int64(e.grow.cost(s))
			}
			if least < 0 || cost < least {
				best, least = root, cost
			}
		}
		e.grow.trial = false
	}
	return e.grow.build(best, e.members, height+e.config.Stretch).keep()
}
