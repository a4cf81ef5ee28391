package experiments

import (
	"strconv"
	"testing"
)

// TestFiguresOfExperiments: the figures of every file that comes with weft tell
// the variants of its sweep apart. The tables are those of the points, without
// results.
func TestFiguresOfExperiments(t *testing.T) {
	for _, name := range Embedded("") {
		f, err := Open(name, Options{})
		if err != nil {
			t.Error(err)
			continue
		}
		results := &Table{Columns: f.columnNames()}
		for _, p := range f.Points {
			row := make([]string, len(results.Columns))
			lead := f.lead(p)
			copy(row, lead)
			for i := len(lead); i < len(row); i++ {
				row[i] = strconv.Itoa(p.Index)
				if results.Columns[i] == "offered_load" {
					row[i], _ = f.valueAt(p, "traffic.load")
				}
			}
			results.Rows = append(results.Rows, row)
		}
		for _, p := range f.Plots {
			if p.Table != resultsTable {
				continue
			}
			source, err := f.plotSource(&p, results, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.figureOf(source); err != nil {
				t.Errorf("%s: %s: %v", name, p.File, err)
			}
		}
	}
}
