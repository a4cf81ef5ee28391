package multicast

import (
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
)

// PlusConfig configures mr4lms-plus and mr4lms-plus-offline.
type PlusConfig struct {
	Stretch int `toml:"stretch" min:"0" doc:"hops by which a tree may be higher than the least height"`
	Roots   int `toml:"roots" min:"1" doc:"roots from which a tree is built; the smallest tree is kept"`
}

var defaultPlus = PlusConfig{Roots: 4}

func init() {
	param.Register(Registry, "mr4lms-plus", "MR4LMS with fewer colours: colour first, small trees, identical spans share when entries run out",
		defaultPlus, func(c PlusConfig, env Env) (Engine, error) { return newPlus(c, env) })
}

// plus improves on MR4LMS (Chen et al. 2021) for groups that come one after the
// other. It differs in three ways. It always takes the lowest colour whose
// subgraph has a tree of least height. In that subgraph it builds small trees
// rather than bundles of shortest paths, see [grower], from several roots, so
// that colours hold more trees. And when no colour has room, trees whose
// switches others have too give way to the group, see [plus.squeeze]; in place
// of large unions only groups with like spans share a tree, which adds nothing
// to the EFI of cables.
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
	return &plus{
		config: c, forest: f, roots: roots, colour: g, grow: newGrower(g),
		unite: newUniter(f, roots, g, false), climb: newClimber(f),
	}, nil
}

func (e *plus) Forest() *Forest { return e.forest }

func (e *plus) Leave(id GroupID) error { return e.forest.Remove(id) }

func (e *plus) Join(g Group) error {
	f := e.forest
	if err := f.Admissible(&g); err != nil {
		return err
	}
	var height int
	height, e.candidates = e.roots.find(&g, e.candidates[:0])
	e.members = appendMembers(f.env.Graph, &g, e.members[:0])
	f.byLoad(e.candidates)
	e.cells = f.requiredCells(&g, e.cells[:0])
	for next := Colour(0); ; {
		c := f.firstFree(e.cells, next)
		if c < 0 {
			e.squeeze(g, height)
			return nil
		}
		e.colour.open(c, nil)
		e.found = e.colour.rootsWithin(e.members, e.candidates, height, e.config.Roots, e.found[:0])
		if len(e.found) > 0 {
			f.Plant(e.smallest(height), c, g)
			return nil
		}
		next = c + 1
	}
}

// smallest builds a tree from each of the roots found and returns the one that
// costs the least, the first among equals.
func (e *plus) smallest(height int) *Tree {
	height += e.config.Stretch
	if len(e.found) == 1 {
		return e.grow.build(e.found[0], e.members, height).keep()
	}
	var best *Tree
	least, from := int64(0), topology.SwitchID(0)
	e.grow.trial = true
	for _, root := range e.found {
		t := e.grow.build(root, e.members, height)
		cost := int64(0)
		for _, s := range t.Switches {
			cost += 1 + int64(e.grow.cost(s))
		}
		if best == nil || cost < least {
			best, least, from = t.keep(), cost, root
		}
	}
	e.grow.trial = false
	if e.grow.demand != nil { // which changes as a tree grows in earnest
		return e.grow.build(from, e.members, height).keep()
	}
	return best
}
