package systems

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"strings"
)

// Error is how far a preset was from measured rows of a class and of some sizes, in percent, when weft
// reproduce hardware wrote errors.csv: rows of quality A and B that it was not fitted to.
type Error struct{ Class, Sizes, Rows, Median, P90 string }

//go:embed errors.csv
var measured string

// Errors are those of a preset; none: no row was measured on such a machine.
func (p *Preset) Errors() (all []Error) {
	lines, err := csv.NewReader(strings.NewReader(measured)).ReadAll()
	if err != nil {
		panic("systems: errors.csv: " + err.Error())
	}
	for _, l := range lines[1:] { // preset, class, sizes, rows, median, p90, aim
		if l[0] == p.Name {
			all = append(all, Error{l[1], l[2], l[3], l[4], l[5]})
		}
	}
	return all
}

// String names the rows.
func (f Fit) String() string {
	return fmt.Sprintf("%s of %s, %s, %d x %d, sizes %v: %s", f.Benchmark, f.System, f.Library, f.Nodes, f.PerNode, f.Sizes, strings.Join(f.Values, ", "))
}
