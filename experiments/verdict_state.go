package experiments

import (
	"slices"

	"github.com/weft-sim/weft/fabric"
)

// stateColumn holds the verdict on a point, as [fabric.State] writes it.
const stateColumn = "state"

// State is the verdict on row i of a table of results. A table without one, of
// another kind or by hand, counts as steady, but for the rows in which a column
// "saturated" says "true".
func (t *Table) State(i int) fabric.State {
	if at := slices.Index(t.Columns, stateColumn); at >= 0 {
		if s, err := fabric.ParseState(t.Rows[i][at]); err == nil {
			return s
		}
	}
	if at := slices.Index(t.Columns, "saturated"); at >= 0 && t.Rows[i][at] == "true" {
		return fabric.Saturated
	}
	return fabric.Steady
}
