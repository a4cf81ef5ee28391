package routing_test

import (
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/routing/certify"
	"github.com/weft-sim/weft/routing/multicast"
)

// snakeTree is a path over seven switches of a 3 x 3 mesh: (0,1) (0,0) (1,0)
// (1,1) (1,2) (2,2) (2,1).
func snakeTree(grid topology.Grid) *multicast.Tree {
	at := func(x, y int) topology.SwitchID {
		for s := range topology.SwitchID(grid.Graph().Switches()) {
			if grid.Coordinate(s, 0) == x && grid.Coordinate(s, 1) == y {
				return s
			}
		}
		panic("not on the mesh")
	}
	switches := []topology.SwitchID{at(0, 1), at(0, 0), at(1, 0), at(1, 1), at(1, 2), at(2, 2), at(2, 1)}
	up := []topology.PortID{
		topology.NoPort, grid.Towards(switches[1], 1, true), grid.Towards(switches[2], 0, false), grid.Towards(switches[3], 1, false),
		grid.Towards(switches[4], 1, false), grid.Towards(switches[5], 0, false), grid.Towards(switches[6], 1, true),
	}
	return &multicast.Tree{Switches: switches, Up: up}
}

// TestSharedVCs: dimension order on a mesh turns from rows into columns only.
// The tree turns the other way, too, at the opposite corners (0,0) and (2,2).
// Each has no cycle; on one virtual channel they have: down the first column,
// round (0,0) with the tree, along the lowest row and round (2,0) in dimension
// order, up to (2,2), and back the same way: 8 channels. On virtual channels of
// their own the dependencies add up and stay acyclic.
func TestSharedVCs(t *testing.T) {
	topo := mesh(t, 1, 3, 3)
	g := topo.Graph()
	tree := snakeTree(topo.(topology.Grid))
	r := must(t, topo, 0, "dor")
	both := func(vcs int, vc uint8) (unicast, multi, all certify.Certificate) {
		union, trees := certify.New(2), certify.New(2)
		if _, _, err := routing.Dependencies(g, r, vcs, 0, union.Add); err != nil {
			t.Fatal(err)
		}
		unicast = union.Certify(1, 1)
		tree.Dependencies(g, vc, trees.Add)
		tree.Dependencies(g, vc, union.Add)
		return unicast, trees.Certify(1, 1), union.Certify(1, 1)
	}
	unicast, multi, all := both(1, 1)
	if !unicast.Acyclic() || !multi.Acyclic() || !all.Acyclic() || all.Dependencies != unicast.Dependencies+multi.Dependencies {
		t.Errorf("virtual channels of their own: %v\n%v\n%v", unicast.Describe(g), multi.Describe(g), all.Describe(g))
	}
	if unicast, multi, all = both(1, 0); !unicast.Acyclic() || !multi.Acyclic() || len(all.Cycle) != 8 {
		t.Errorf("shared virtual channel: %v\n%v\n%v", unicast.Describe(g), multi.Describe(g), all.Describe(g))
	}
}
