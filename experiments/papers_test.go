package experiments

import (
	"maps"
	"slices"
	"testing"
)

// TestPaperExperiments: every published number is measured by an experiment that
// comes with weft, and by one only; and in full that experiment has the points
// that the number is about, as far as settings say which (cells of results and
// of further tables are known only once it has run).
func TestPaperExperiments(t *testing.T) {
	bound := map[string]string{}
	for _, name := range Embedded("papers") {
		f, err := Open(name, Options{})
		if err != nil {
			t.Fatal(err)
		}
		settings := f.settingsTable()
		for _, e := range f.Expects {
			if first, twice := bound[e.Target]; twice {
				t.Errorf("%s is judged by %s and by %s", e.Target, first, name)
			}
			bound[e.Target] = name
			of := slices.Collect(maps.Values(e.Of))
			if len(of) == 0 {
				of = []map[string]string{nil}
			}
			if len(e.Baseline) > 0 {
				of = append(of, e.Baseline)
			}
			for _, more := range of {
				where := overlaid(e.Where, more)
				maps.DeleteFunc(where, func(column, _ string) bool { return !slices.Contains(settings.Columns, column) })
				if rows, err := settings.Where(where); err != nil || len(rows.Rows) == 0 {
					t.Errorf("%s: %s: no point has %s (%v)", name, e.Target, selectionText(where), err)
				}
			}
		}
	}
	for _, target := range Targets() {
		if bound[target.ID] == "" {
			t.Errorf("%s is bound to no experiment", target.ID)
		}
	}
}

// settingsTable has a row for each point and the swept keys for columns.
func (f *File) settingsTable() *Table {
	t := &Table{Columns: f.keys}
	for _, p := range f.Points {
		t.Rows = append(t.Rows, p.Swept)
	}
	return t
}
