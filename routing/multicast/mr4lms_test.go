package multicast

import (
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/simtest"
)

// limited is MR4LMS on a network with so many entries.
func limited(t *testing.T, g *topology.Graph, entries int, c MR4LMSConfig) *mr4lms {
	t.Helper()
	env := newEnv(t, g)
	env.Entries = entries
	return simtest.Must(newMR4LMS(c, env))(t)
}

// join has groups of these terminals join one after the other, and calls after each.
func join(t *testing.T, e *mr4lms, groups [][]topology.TerminalID, after func(id int)) {
	t.Helper()
	for id, members := range groups {
		simtest.Check(t, e.Join(NewGroup(GroupID(id), members, nil)))
		after(id)
	}
	simtest.Check(t, e.forest.Check())
}

// TestMergeFewestGroups: within one switch no two groups have the same entry. Of two entries the one
// with fewer groups takes the next, the lower among equals: 0 1 0 1 0, 3 and 2 groups on two trees.
func TestMergeFewestGroups(t *testing.T) {
	e := limited(t, smallNets()["single switch"], 2, MR4LMSConfig{Build: "auto", Successes: 20, Merge: "fewest-groups"})
	join(t, e, [][]topology.TerminalID{{0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}}, func(id int) {
		if p := simtest.Must(e.forest.Planted(GroupID(id)))(t); int(p.Colour) != id%2 {
			t.Errorf("group %d has entry %d, want %d", id, p.Colour, id%2)
		}
	})
	if m := e.forest.Measure(); m.MeanTFI != 2.5 || m.MaxTFI != 3 || m.Colours != 2 {
		t.Errorf("%d colours, %v groups a tree, %d at most; want 2, 2.5, 3", m.Colours, m.MeanTFI, m.MaxTFI)
	}
}

// TestBuildTurns is algorithm 7 on a row of ten switches with one entry and two successes: a merge
// turns to colouring first; two groups in a row that need none turn back. A merge between them
// starts the count anew.
func TestBuildTurns(t *testing.T) {
	e := limited(t, gridNet(false, 1, 10), 1, MR4LMSConfig{Build: "auto", Successes: 2, Merge: "fewest-groups"})
	fctb := []bool{false, true, true, true, true, false} // the second and the fourth group merge
	join(t, e, [][]topology.TerminalID{{0, 1}, {0, 1}, {2, 3}, {2, 3}, {4, 5}, {6, 7}}, func(id int) {
		if e.fctb != fctb[id] {
			t.Errorf("after group %d colours come first: %v, want %v", id, e.fctb, fctb[id])
		}
	})
}

// TestMergedTree: on a ring of five switches group {0, 2} has the tree 0-1-2, and {0, 2, 3, 4} has to
// share the only entry. All roots have a member two hops away but none farther; of those without a
// tree, 3 and 4, the lower is taken: 2-3-4-0 if the old tree is replaced, 0-1-2 and all five switches if
// it is kept. Without the second group the tree that replaces keeps 0 and 2, what lies between,
// and its root.
func TestMergedTree(t *testing.T) {
	for oldTrees, want := range map[string][]topology.SwitchID{"rebuild": {0, 2, 3, 4}, "extend": {0, 1, 2, 3, 4}} {
		e := limited(t, gridNet(true, 1, 5), 1, MR4LMSConfig{Build: "auto", Successes: 20, Merge: "fewest-groups", OldTrees: oldTrees})
		join(t, e, [][]topology.TerminalID{{0, 2}, {0, 2, 3, 4}}, func(int) {})
		p := simtest.Must(e.forest.Planted(0))(t)
		if got := slices.Sorted(slices.Values(p.Switches)); p.Switches[0] != 3 || !slices.Equal(got, want) {
			t.Errorf("%s: switches %v from root %d, want %v from 3", oldTrees, got, p.Switches[0], want)
		}
	}
}

// TestRemovedGroup: on a row of four switches {0, 1} and {1, 2, 3} share a tree whose root is 2, the
// better placed one that no tree passes. Without the second group switch 3 is left out.
func TestRemovedGroup(t *testing.T) {
	e := limited(t, gridNet(false, 1, 4), 1, MR4LMSConfig{Build: "auto", Successes: 20, Merge: "fewest-groups"})
	join(t, e, [][]topology.TerminalID{{0, 1}, {1, 2, 3}}, func(int) {})
	simtest.Check(t, e.forest.Remove(1))
	if p := simtest.Must(e.forest.Planted(0))(t); !slices.Equal(p.Switches, []topology.SwitchID{2, 1, 0}) || p.Height != 3 {
		t.Errorf("switches %v, height %d; want 2 1 0 and 3", p.Switches, p.Height)
	}
}
