package figures

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments/plot"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/lists"
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

// sortGroups sorts the groups as the file says; those that it does not name follow in order.
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

// nameGroups names the groups for the legend and returns its title. What all groups share is in the
// title; if they differ in one column, the title says which, and they are called by their values,
// if one column is shown. Of columns that are found, not given, names have as many as needed.
// Panels have their own titles.
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
	} else if len(p.By) == 0 { // of keys swept in lockstep, the first
		cells := &results.Table{Columns: by, Rows: lists.Map(groups, func(g *group) []string { return g.cells })}
		different = cells.Needed(different)
	}
	parts := lists.Map(shared, func(j int) string { return p.seriesName(by[j], groups[0].cells[j]) })
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
		names := lists.Map(different, func(j int) string { return p.seriesName(by[j], g.cells[j]) })
		g.name = strings.Join(names, ", ")
	}
	return strings.Join(parts, ", ")
}

// defaultBy finds the swept keys that tell series apart: those with several values, but not x, nor
// what x follows (the load behind the offered load on the axis), nor what follows x (the ranks
// swept with the dimensions on the axis), nor the seed. If x is a metric that follows none of them,
// the sweep's longest axis runs along the series.
func (p *PlotConfig) defaultBy(t *results.Table) []string {
	x := slices.Index(t.Columns, p.X)
	if x < 0 {
		return nil // the caller reports it
	}
	var by []string
	swept := t.SweptKeys()
	axis := x // or what is swept behind it
	for _, key := range swept {
		if i := slices.Index(t.Columns, key); t.Follows(x, i) && t.Follows(i, x) {
			axis = i
		}
	}
	longest, most, along := -1, 1, slices.Contains(swept, p.X)
	for _, key := range swept {
		switch i := slices.Index(t.Columns, key); {
		case key == p.X || key == results.SeedKey || t.Follows(i):
		case leads(t, i, x) || slices.Contains(swept, t.Columns[axis]) && t.Follows(i, axis):
			along = true
		default:
			by = append(by, key)
			if values := len(axisValues(t, i)); values > most {
				longest, most = len(by)-1, values
			}
		}
	}
	if !along && longest >= 0 && t.OfResults() {
		by = slices.Delete(by, longest, longest+1)
	}
	return by
}

// leads tells whether a column x varies, and has one value for each of a key's.
func leads(t *results.Table, key, x int) bool { return !t.Follows(x) && t.Follows(x, key) }

// points parts the rows of a series by the points of the figure, as indices: rows that differ only
// in their seed are a point. In further tables, with several rows a point, x must be equal, too.
// The error names variants that a series mixes, so that it would jump at one x.
func (p *PlotConfig) points(t *results.Table) ([][]int, error) {
	x, err := t.Column(p.X)
	if err != nil {
		return nil, err
	}
	swept := t.SweptKeys()
	apart := p.X == results.SeedKey || slices.Contains(p.By, results.SeedKey)
	var alike []int // columns in which the rows of a point agree
	for j, name := range t.Columns {
		if slices.Contains(swept, name) && (apart || name != results.SeedKey) || j == x && !t.OfResults() {
			alike = append(alike, j)
		}
	}
	times := map[string]int{} // rows of a key and seed so far
	all := results.Grouped(results.Indices(len(t.Rows)), func(i int) string {
		key := results.KeyOf(t.Rows[i], alike...)
		if !p.spread(t) {
			one := key + t.Cell(i, results.SeedKey)
			times[one]++
			key += fmt.Sprint(times[one])
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
		return key == p.X || leads(t, slices.Index(t.Columns, key), x)
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

// seriesName is a cell in the legend: names as they are, numbers with what they count, unless the
// file renames the cell or its column.
func (p *PlotConfig) seriesName(column, cell string) string {
	name := CellName(column, cell)
	if x := results.Number(cell); x == x && name == cell {
		name = p.nameOf(column, settingName(column)) + " " + name
	}
	return p.nameOf(cell, name)
}

// Selection names the rows that the figure shows, to be put behind a title: ": load 0.3, uniform";
// empty for all.
func (p *PlotConfig) Selection() string {
	var names []string
	for _, column := range slices.Sorted(maps.Keys(p.Where)) {
		names = append(names, p.seriesName(column, p.Where[column]))
	}
	if len(names) == 0 {
		return ""
	}
	return ": " + strings.Join(names, ", ")
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
	if x := results.Number(cell); x == x {
		if _, unit := splitLabel(AxisLabel(column)); unit == "B" {
			return plot.Bytes(x)
		}
	}
	return cell
}
