package multicast

import (
	"fmt"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
)

func init() {
	param.Register(Registry, "one-tree", "all groups on one tree, in one entry: everybody receives everything", struct{}{},
		func(_ struct{}, env Env) (Engine, error) {
			f, err := NewForest(env)
			if err != nil {
				return nil, err
			}
			return &oneTree{f, newRootFinder(env.Hops), newClimber(f)}, nil
		})
}

// oneTree keeps all groups on a single tree, as the bold tree of figure 4 of Chen
// et al. 2021: the other end of the range that merging spans, and the heaviest
// load that a link can have. A group that the tree does not reach has it made
// anew for all members: shortest paths from the first of the switches with the
// least hop count to the farthest.
type oneTree struct {
	forest *Forest
	roots  *rootFinder
	climb  *climber
}

func (e *oneTree) Forest() *Forest { return e.forest }

func (e *oneTree) Join(g Group) error { return e.JoinAll([]Group{g}) }

// JoinAll implements BatchEngine: the tree is made once.
func (e *oneTree) JoinAll(groups []Group) error {
	if len(groups) == 0 {
		return nil
	}
	for i := range groups {
		if err := e.forest.Admissible(&groups[i]); err != nil {
			return err
		}
	}
	all := slices.Clone(groups)
	for old := range e.forest.Trees {
		if e.reaches(old.Tree, groups) {
			e.forest.Share(old, groups...)
			return nil
		}
		all = append(slices.Clone(old.Groups), groups...)
	}
	virtual := virtualGroup([]*Planted{{Groups: all}}, &Group{ID: groups[0].ID})
	height, roots := e.roots.find(&virtual, nil)
	if height >= Unreachable {
		return fmt.Errorf("group %d: no path joins it to the members of other groups", groups[0].ID)
	}
	t := e.climb.build(roots[0], &virtual)
	t.Switches, t.Up = slices.Clone(t.Switches), slices.Clone(t.Up)
	t.Height = heightOf(e.forest.env.Graph, &t, &virtual)
	for old := range e.forest.Trees {
		e.forest.Uproot(old)
	}
	e.forest.Plant(&t, 0, all...)
	return nil
}

// reaches tells whether a tree has all switches of the groups' members.
func (e *oneTree) reaches(t *Tree, groups []Group) bool {
	in := make(map[topology.SwitchID]bool, len(t.Switches))
	for _, s := range t.Switches {
		in[s] = true
	}
	for i := range groups {
		for _, s := range groups[i].Span(e.forest.env.Graph) {
			if !in[s] {
				return false
			}
		}
	}
	return true
}

func (e *oneTree) Leave(id GroupID) error { return e.forest.Remove(id) }
