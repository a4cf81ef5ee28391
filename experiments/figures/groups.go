package figures

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments/plot"
	"github.com/weft-sim/weft/experiments/results"
)

// group is the rows of one combination of the By columns: a series.
type group struct {
	by    []string // columns
	cells []string // their values
	name  string   // in the legend
	rows  *results.Table
}

// groups divides the rows by the By columns, in the order of first appearance.
func (p *PlotConfig) groups(t *results.Table) ([]*group, error) {
	by := p.By
	if len(by) == 0 {
		by = p.defaultBy(t)
	}
	if p.Panels != "" && !slices.Contains(by, p.Panels) {
		by = append(slices.Clone(by), p.Panels)
	}
	columns, err := t.Places(by)
	if err != nil {
		return nil, err
	}
	var all []*group
	for _, rows := range results.Grouped(t.Rows, func(row []string) string { return strings.Join(results.Pick(row, columns), "\x00") }) {
		all = append(all, &group{by: by, cells: results.Pick(rows[0], columns), rows: &results.Table{Columns: t.Columns, Rows: rows}})
	}
	p.sortGroups(all)
	return all, nil
}

// sortGroups puts the groups into the order that the file gives; those that it does
// not name follow as they are.
func (p *PlotConfig) sortGroups(all []*group) {
	place := func(g *group) int {
		least := len(p.Order)
		for j, cell := range g.cells {
			if g.by[j] == p.Panels {
				continue
			}
			for i, value := range p.Order {
				if results.SameCell(cell, value) {
					least = min(least, i)
				}
			}
		}
		return least
	}
	slices.SortStableFunc(all, func(a, b *group) int { return place(a) - place(b) })
}

// nameOf is the name that the file gives a value, or the one that it has otherwise.
func (p *PlotConfig) nameOf(cell, otherwise string) string {
	if name, given := p.Names[cell]; given {
		return name
	}
	return otherwise
}

// nameGroups names the groups for the legend and returns its title. What all
// groups share stands in the title, once; where they differ in one column, the
// title says which, and they are called by their values alone, if one column is
// shown. Of columns that are not given, but found, those stand in the names that it
// takes. Panels have their own titles.
func (p *PlotConfig) nameGroups(groups []*group) (title string) {
	if len(groups) == 0 {
		return ""
	}
	by := groups[0].by
	var shared, different []int
	for j := range by {
		switch {
		case by[j] == p.Panels:
		case slices.ContainsFunc(groups, func(g *group) bool { return g.cells[j] != groups[0].cells[j] }):
			different = append(different, j)
		default:
			shared = append(shared, j)
		}
	}
	if len(groups) == 1 {
		shared, different = nil, shared
	} else if len(p.By) == 0 {
		different = needed(groups, different)
	}
	var parts []string
	for _, j := range shared {
		parts = append(parts, p.seriesName(by[j], groups[0].cells[j]))
	}
	if len(p.Y) <= 1 && len(groups) > 1 && len(different) == 1 {
		j := different[0]
		for _, g := range groups {
			g.name = p.nameOf(g.cells[j], CellName(by[j], g.cells[j]))
		}
		if slices.ContainsFunc(groups, func(g *group) bool { return p.seriesName(by[j], g.cells[j]) != g.name }) {
			parts = append(parts, p.nameOf(by[j], settingName(by[j])))
		}
		return strings.Join(parts, ", ")
	}
	for _, g := range groups {
		var names []string
		for _, j := range different {
			names = append(names, p.seriesName(by[j], g.cells[j]))
		}
		g.name = strings.Join(names, ", ")
	}
	return strings.Join(parts, ", ")
}

// needed drops the columns that tell no groups apart that those before do not:
// of keys swept in lockstep, all but the first.
func needed(groups []*group, columns []int) []int {
	var kept []int
	classes := 1
	for _, j := range columns {
		seen := map[string]bool{}
		for _, g := range groups {
			key := ""
			for _, k := range append(slices.Clone(kept), j) {
				key += g.cells[k] + "\x00"
			}
			seen[key] = true
		}
		if len(seen) > classes {
			kept, classes = append(kept, j), len(seen)
		}
	}
	return kept
}

// defaultBy finds the swept keys that tell series apart: those with several
// values, but not x, nor what x follows (the load that is swept behind the
// offered load on the axis), nor what follows x (the ranks that are swept together
// with the dimensions on the axis), nor the seed. If x is a metric that follows none of
// them, the longest axis of the sweep runs along the series.
func (p *PlotConfig) defaultBy(t *results.Table) []string {
	x := slices.Index(t.Columns, p.X)
	if x < 0 {
		return nil // the caller reports it
	}
	var by []string
	swept := t.SweptKeys()
	axis := p.X // or what is swept behind it
	for _, key := range swept {
		if bound(t, p.X, key) && bound(t, key, p.X) {
			axis = key
		}
	}
	longest, most, along := -1, 1, slices.Contains(swept, p.X)
	for _, key := range swept {
		if key == p.X || key == results.SeedKey {
			continue
		}
		values, follows := follows(t, p.X, key)
		switch {
		case values < 2:
		case follows || slices.Contains(swept, axis) && bound(t, key, axis):
			along = true
		default:
			by = append(by, key)
			if values > most {
				longest, most = len(by)-1, values
			}
		}
	}
	if !along && longest >= 0 && t.OfResults() {
		by = slices.Delete(by, longest, longest+1)
	}
	return by
}

// follows counts the values of a key and tells whether x, if it varies at all,
// has one value for each.
func follows(t *results.Table, x, key string) (values int, follows bool) {
	i, j := slices.Index(t.Columns, key), slices.Index(t.Columns, x)
	of := map[string]string{}
	follows = slices.ContainsFunc(t.Rows, func(row []string) bool { return row[j] != t.Rows[0][j] })
	for _, row := range t.Rows {
		if first, known := of[row[i]]; known && first != row[j] {
			follows = false
		} else if !known {
			of[row[i]] = row[j]
		}
	}
	return len(of), follows
}

// bound tells whether a column has one value for each of another.
func bound(t *results.Table, column, to string) bool {
	i, j := slices.Index(t.Columns, column), slices.Index(t.Columns, to)
	of := map[string]string{}
	for _, row := range t.Rows {
		cell := results.CanonicalCell(row[j])
		if first, known := of[cell]; known && first != results.CanonicalCell(row[i]) {
			return false
		}
		of[cell] = results.CanonicalCell(row[i])
	}
	return true
}

// points parts the rows of a series by the points of the figure, as indices of
// rows: rows that differ only in their seed are one point. In further tables, which
// have several rows a point, such rows have the same x, too. The error says
// what the series mixes: variants that would make it jump at one x.
func (p *PlotConfig) points(t *results.Table) ([][]int, error) {
	x, err := t.Column(p.X)
	if err != nil {
		return nil, err
	}
	swept := t.SweptKeys()
	apart := p.X == results.SeedKey || slices.Contains(p.By, results.SeedKey)
	times := map[string]int{} // rows of a key and seed so far
	all := results.Grouped(results.Indices(len(t.Rows)), func(i int) string {
		row, key, seed := t.Rows[i], "", ""
		for j, name := range t.Columns {
			switch {
			case name == results.SeedKey && !apart:
				seed = row[j]
			case slices.Contains(swept, name):
				key += results.CanonicalCell(row[j]) + "\x00"
			}
		}
		if !t.OfResults() {
			key += results.CanonicalCell(row[x])
		}
		if !p.spread(t) {
			times[key+"\x01"+seed]++
			key += fmt.Sprint("\x01", times[key+"\x01"+seed])
		}
		return key
	})
	if p.categorical() {
		return all, nil // has a category for each
	}
	return all, p.mixed(t, all, x)
}

// mixed finds two points of a series at the same value of a swept x.
func (p *PlotConfig) mixed(t *results.Table, points [][]int, x int) error {
	swept := t.SweptKeys()
	if !t.OfResults() || !slices.ContainsFunc(swept, func(key string) bool {
		values, follows := follows(t, p.X, key)
		return key == p.X || values > 1 && follows
	}) {
		return nil
	}
	at := map[string][]string{}
	for _, rows := range points {
		row := t.Rows[rows[0]]
		other := at[results.CanonicalCell(row[x])]
		if other == nil {
			at[results.CanonicalCell(row[x])] = row
			continue
		}
		for j, name := range t.Columns {
			if slices.Contains(swept, name) && name != p.X && results.CanonicalCell(row[j]) != results.CanonicalCell(other[j]) {
				return fmt.Errorf("points of one series at %s = %s differ in %s: name it under by, or select one value under where", p.X, row[x], name)
			}
		}
	}
	return nil
}

// seriesName shows a cell in the legend: names as they are, numbers with what
// they count. The file may give both, the cell and its column, another name.
func (p *PlotConfig) seriesName(column, cell string) string {
	name := CellName(column, cell)
	if x := results.Number(cell); x == x && name == cell {
		name = p.nameOf(column, settingName(column)) + " " + name
	}
	return p.nameOf(cell, name)
}

// settingName is a column's name in words, without its table.
func settingName(column string) string {
	return strings.ReplaceAll(column[strings.LastIndexByte(column, '.')+1:], "_", " ")
}

// CellName is how a cell is written in figures.
func CellName(column, cell string) string {
	if name := knownCells[column+" "+cell]; name != "" {
		return name
	}
	if _, unit := splitLabel(AxisLabel(column)); unit == "B" {
		if x := results.Number(cell); x == x {
			return plot.Bytes(x)
		}
	}
	return cell
}
