package routing

import (
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing/certify"
)

// TestTurnsNeedFewChannels: what the reference data on topologies gives as the virtual
// channels of Dragonfly+ and the orthogonal fat tree (vcs.csv): one for minimal routing, two
// for Valiant and UGAL; one fewer has a cycle.
func TestTurnsNeedFewChannels(t *testing.T) {
	for _, family := range []string{"megafly", "oft"} {
		x, err := topology.Registry.New(family, struct{}{})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name string
			vcs  int
		}{{"table", 1}, {"val", 2}, {"ugal-l", 2}} {
			r, err := Registry.New(c.name, Env{Topology: x})
			if err != nil {
				t.Fatal(err)
			}
			if r.VCs() != c.vcs {
				t.Errorf("%s on %s needs %d virtual channels, want %d", c.name, family, r.VCs(), c.vcs)
			}
			for _, vcs := range []int{c.vcs, c.vcs - 1} {
				if vcs == 0 {
					continue
				}
				r, err := Registry.New(c.name, Env{Topology: x, VCs: vcs, AllowDeadlock: true})
				if err != nil {
					t.Fatal(err)
				}
				g := certify.New(vcs)
				walked, all, err := Dependencies(x.Graph(), r, vcs, 0, g.Add)
				if err != nil {
					t.Fatal(err)
				}
				if proof := g.Certify(walked, all); proof.Acyclic() != (vcs == c.vcs) {
					t.Errorf("%s on %s with %d virtual channels: acyclic %v", c.name, family, vcs, proof.Acyclic())
				}
			}
		}
	}
}

// A path that climbs, crosses, descends, climbs again, crosses twice and descends changes
// its class as it climbs again and at the second crossing.
func TestTurnClasses(t *testing.T) {
	turns := &turns{direction: []uint8{uint8(climbs), uint8(crosses), uint8(descends)}}
	made, classes := uint32(0), []uint32{}
	for _, port := range []topology.PortID{0, 1, 2, 0, 1, 1, 2, 2} {
		var class uint32
		class, made = turns.step(made, port)
		classes = append(classes, class)
	}
	if want := []uint32{0, 0, 0, 1, 1, 2, 2, 2}; !slices.Equal(classes, want) {
		t.Errorf("classes %v, want %v", classes, want)
	}
}
