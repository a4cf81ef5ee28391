package figures

import (
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments/plot"
	"github.com/weft-sim/weft/experiments/results"
)

// categorise replaces x by the index of its category, in the order of first
// appearance.
func categorise(f *plot.Figure, s *plot.Series, t *results.Table, points [][]int, category func(row []string) string) {
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

// spread tells whether a bar is the mean of all rows of its place, as the channels of one
// role are, and shows from the least to the largest of them.
func (p *PlotConfig) spread(t *results.Table) bool { return p.categorical() && !t.OfResults() }

// variant is a category under way: rows that differ in what tells series apart
// and in their seeds only.
type variant struct {
	name   string
	cells  []string // of columns
	series []int    // that have it
}

// categories names the category of a row: by its x, and where a series has
// several variants with that, by the first swept keys that tell them apart, so
// that no two bars of a series stand in one place.
func (p *PlotConfig) categories(t *results.Table, groups []*group) (func(row []string) string, error) {
	x, err := t.Column(p.X)
	if err != nil || len(groups) == 0 {
		return nil, err
	}
	var columns []int
	for _, name := range t.SweptKeys() {
		if name != p.X && name != results.SeedKey && !slices.Contains(groups[0].by, name) {
			columns = append(columns, slices.Index(t.Columns, name))
		}
	}
	keyOf := func(row []string) string { return strings.Join(append(results.Pick(row, columns), row[x]), "\x00") }
	var all []*variant
	byKey := map[string]*variant{}
	for i, g := range groups {
		for _, row := range g.rows.Rows {
			v := byKey[keyOf(row)]
			if v == nil {
				v = &variant{name: p.nameOf(row[x], CellName(p.X, row[x])), cells: results.Pick(row, columns)}
				byKey[keyOf(row)] = v
				all = append(all, v)
			}
			v.series = results.AddNew(v.series, i)
		}
	}
	tellApart(results.Pick(t.Columns, columns), all)
	return func(row []string) string { return byKey[keyOf(row)].name }, nil
}

// tellApart lengthens the names of variants of one series that share one, until
// none do.
func tellApart(columns []string, all []*variant) {
	for _, list := range results.Grouped(all, func(v *variant) string { return v.name }) {
		for j, column := range columns {
			if !tells(list, j) {
				continue
			}
			for _, v := range list {
				v.name += ", " + seriesName(column, v.cells[j])
			}
			tellApart(columns, list)
			break
		}
	}
}

// tells finds two variants of one series that differ in column j.
func tells(list []*variant, j int) bool {
	first := map[int]string{} // cell by series
	for _, v := range list {
		for _, i := range v.series {
			if cell, known := first[i]; known && cell != v.cells[j] {
				return true
			}
			first[i] = v.cells[j]
		}
	}
	return false
}

// ownCategories leaves a panel with the categories that it has something in, in their
// order.
func (p *PlotConfig) ownCategories(f *plot.Figure) {
	if !p.categorical() {
		return
	}
	used := map[int]bool{}
	for i := range f.Series {
		for _, x := range f.Series[i].X {
			used[int(x)] = true
		}
	}
	place := map[int]int{}
	var own []string
	for i, name := range f.Categories {
		if used[i] {
			place[i] = len(own)
			own = append(own, name)
		}
	}
	f.Categories = own
	for i := range f.Series {
		s := &f.Series[i]
		s.X = slices.Clone(s.X)
		for j := range s.X {
			s.X[j] = float64(place[int(s.X[j])])
		}
	}
}
