package topologytest

import (
	"math"
	"reflect"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
)

// apart is the least distance of two switches in a layout: neighbours are about 1
// apart.
const apart = 0.9

// checkLayout holds the layout of a topology to what pictures need: a place for
// every switch, none near another, planes and explanation; the same each time.
func checkLayout(t testing.TB, topo topology.Topology) {
	t.Helper()
	n := topo.Graph().Switches()
	l := topology.LayoutOf(topo)
	if len(l.Places) != n || l.Plane != nil && len(l.Plane) != n || l.How == "" {
		t.Fatalf("layout of %d switches: %d places, %d planes, %q", n, len(l.Places), len(l.Plane), l.How)
	}
	if !reflect.DeepEqual(l, topology.LayoutOf(topo)) {
		t.Error("two layouts of one topology differ")
	}
	// Squares of side apart: whoever is near is in the same one or beside it.
	squares := map[[2]int][]int{}
	for s, at := range l.Places {
		if math.IsNaN(at.X+at.Y) || math.IsInf(at.X+at.Y, 0) {
			t.Fatalf("layout: switch %d at %v", s, at)
		}
		x, y := int(math.Floor(at.X/apart)), int(math.Floor(at.Y/apart))
		for dx := -1; dx <= 1; dx++ {
			for dy := -1; dy <= 1; dy++ {
				for _, other := range squares[[2]int{x + dx, y + dy}] {
					if d := math.Hypot(at.X-l.Places[other].X, at.Y-l.Places[other].Y); d < apart {
						t.Errorf("layout: switches %d and %d are %.2f apart", other, s, d)
						return
					}
				}
			}
		}
		squares[[2]int{x, y}] = append(squares[[2]int{x, y}], s)
	}
}
