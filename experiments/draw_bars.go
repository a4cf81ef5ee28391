package experiments

import (
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments/figure"
)

// categorise replaces x by the index of its category, in the order of first
// appearance.
func categorise(f *figure.Figure, s *figure.Series, t *Table, points [][]int, category func(row []string) string) {
	for i, rows := range points {
		name := category(t.Rows[rows[0]])
		at := slices.Index(f.Categories, name)
		if at < 0 {
			at = len(f.Categories)
			f.Categories = append(f.Categories, name)
		}
		s.X[i] = float64(at)
	}
}

// variant is a category under way: rows that differ in what tells series apart
// and in their seeds only.
type variant struct {
	name  string
	cells []string // of columns
}

// categories names the category of a row: by its x, and where variants share
// that, by the first swept keys that tell them apart, so that no two bars of a
// series stand in one place.
func (p *PlotConfig) categories(t *Table, groups []*group) (func(row []string) string, error) {
	x, err := t.Column(p.X)
	if err != nil || len(groups) == 0 {
		return nil, err
	}
	var columns []int
	for _, name := range t.sweptKeys() {
		if name != p.X && name != seedColumn && !slices.Contains(groups[0].by, name) {
			columns = append(columns, slices.Index(t.Columns, name))
		}
	}
	cellsOf := func(row []string) []string {
		var cells []string
		for _, j := range columns {
			cells = append(cells, row[j])
		}
		return cells
	}
	keyOf := func(row []string) string { return strings.Join(append(cellsOf(row), row[x]), "\x00") }
	var all []*variant
	byKey := map[string]*variant{}
	for _, row := range t.Rows {
		if byKey[keyOf(row)] == nil {
			v := &variant{cellName(p.X, row[x]), cellsOf(row)}
			byKey[keyOf(row)] = v
			all = append(all, v)
		}
	}
	tellApart(t, columns, all)
	return func(row []string) string { return byKey[keyOf(row)].name }, nil
}

// tellApart lengthens the names of variants that share one, until none do.
func tellApart(t *Table, columns []int, all []*variant) {
	same := map[string][]*variant{}
	for _, v := range all {
		same[v.name] = append(same[v.name], v)
	}
	for _, v := range all {
		list := same[v.name]
		if len(list) < 2 || list[0] != v {
			continue
		}
		for j, column := range columns {
			if slices.ContainsFunc(list, func(other *variant) bool { return other.cells[j] != v.cells[j] }) {
				for _, other := range list {
					other.name += ", " + seriesName(t.Columns[column], other.cells[j])
				}
				tellApart(t, columns, list)
				break
			}
		}
	}
}
