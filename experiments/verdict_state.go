package experiments

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-sim/weft/fabric/core"
)

// stateColumn holds the verdict on a point, as [core.State] writes it.
const stateColumn = "state"

// State is the verdict on row i of a table of results. A table without one, of
// another kind or by hand, counts as steady, but for the rows in which a column
// "saturated" says "true".
func (t *Table) State(i int) core.State {
	if at := slices.Index(t.Columns, stateColumn); at >= 0 {
		if s, err := core.ParseState(t.Rows[i][at]); err == nil {
			return s
		}
	}
	if at := slices.Index(t.Columns, "saturated"); at >= 0 && t.Rows[i][at] == "true" {
		return core.Saturated
	}
	return core.Steady
}

// CountStates says how many rows have each verdict: "74 steady, 6 undecided, 40 saturated";
// "" of a table without verdicts.
func (t *Table) CountStates() string {
	if !slices.Contains(t.Columns, stateColumn) {
		return ""
	}
	counts := map[core.State]int{}
	for i := range t.Rows {
		counts[t.State(i)]++
	}
	var parts []string
	for _, s := range []core.State{core.Steady, core.Undecided, core.Saturated} {
		if counts[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %v", counts[s], s))
		}
	}
	return strings.Join(parts, ", ")
}
