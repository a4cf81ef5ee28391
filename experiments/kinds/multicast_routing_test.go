package kinds

import (
	"testing"

	"github.com/weft-sim/weft/experiments"
)

// Random groups of a fixed size on a ring of eight switches with a terminal each.
// Of five terminals out of eight, any two groups share one, so that two groups
// take two colours; no terminal is in more than two, and the bound says so by
// volume too: 5 + 5 switches, of 8. Groups of all eight are all alike.
func TestMulticastRoutingFixedSize(t *testing.T) {
	f := load(t, `
kind = "multicast-routing"
[topology]
type = "torus"
dims = [8]
terminals = 1
[groups]
pattern = "random-fixed-size"
[multicast]
engine = "mr4lms"
[measure]
check = true
[sweep.lockstep]
"groups.count" = [2, 3]
"groups.size" = [5, 8]
`, experiments.Options{})
	rows := resultCells(t, execute(t, f, experiments.Execution{Jobs: 1}))
	for i, want := range []map[string]string{
		{"groups": "2", "trees": "2", "colours": "2", "colours_at_least": "2"},
		{"groups": "3", "trees": "3", "colours": "3", "colours_at_least": "3", "tree_links": "21"},
	} {
		for column, cell := range want {
			if got := rows[i][column]; got != cell {
				t.Errorf("row %d: %s = %s, want %s", i, column, got, cell)
			}
		}
	}
}
