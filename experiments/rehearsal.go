package experiments

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments/figures"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/param"
)

// PerformanceTable is what points took to compute, in its columns.
const PerformanceTable = "performance"

// PerformanceColumns are those behind the number of the point.
var PerformanceColumns = []string{"events", "flit_hops", "wall_seconds", "peak_memory_mib"}

// columnsOf lists the columns that a figure of a table may name; nil: the kind has no such
// table. Rows of further tables have the state of their points, and those of the performance
// all columns of the results.
func (f *File) columnsOf(table string) []string {
	all := f.ColumnNames()
	switch table {
	case figures.ResultsTable:
		return all
	case PerformanceTable:
		return append(slices.Clone(PerformanceColumns), all...)
	}
	t := f.kind.tables.Named(table)
	if t == nil {
		return nil
	}
	columns := slices.Clone(f.leadNames())
	for _, c := range t.Columns {
		columns = append(columns, c.Name)
	}
	if slices.Contains(all, results.StateColumn) {
		columns = results.AddNew(columns, results.StateColumn)
	}
	return columns
}

func (f *File) checkColumns(path func(key string) string, p *figures.PlotConfig) {
	columns := f.columnsOf(p.Table)
	one := func(key, name string) { f.checkColumn(path(key), name, p.Table, columns) }
	one("x", p.X)
	one("panels", p.Panels)
	one("colour_by", p.ColourBy)
	for _, by := range p.By {
		one("by", by)
	}
	for _, name := range results.SortedKeys(p.Where) {
		one("where."+name, name)
	}
	for _, name := range results.SortedKeys(p.Baseline) {
		one("baseline."+name, name)
	}
	for _, y := range p.Y {
		f.checkValues(path("y"), y, p, columns)
	}
	f.checkValues(path("z"), p.Z, p, columns)
	if !p.HasCategories() && f.ofWords(p.X, p.Table) {
		f.doc.Problem(path("x"), `= %q: holds words: want a column of numbers, or style = "bar"`, p.X)
	}
}

// checkValues checks a column whose values are drawn, or arithmetic over columns.
func (f *File) checkValues(key, name string, p *figures.PlotConfig, columns []string) {
	if results.IsFormula(name) && !slices.Contains(columns, name) {
		if _, _, err := results.ParseFormulaOver(name, columns); err != nil {
			f.doc.Problem(key, "= %q: %v", name, err)
		}
		return
	}
	f.checkColumn(key, name, p.Table, columns)
	if f.ofWords(name, p.Table) && !(p.Style == "heat" && name != p.Z) {
		f.doc.Problem(key, "= %q: holds words: want a column of numbers", name)
	}
}

// ofWords tells whether a column of the results never holds a number.
func (f *File) ofWords(name, table string) bool {
	return table == figures.ResultsTable && slices.ContainsFunc(f.kind.columns, func(c Column) bool { return c.Name == name && c.words })
}

func (f *File) checkColumn(key, name, table string, columns []string) {
	if name == "" || slices.Contains(columns, name) {
		return
	}
	of := "the results"
	if table != figures.ResultsTable {
		of = "table " + table
	}
	f.doc.Problem(key, "= %q: not a column of %s%s: there are %s", name, of, param.DidYouMean(name, columns), strings.Join(columns, ", "))
}

// rehearsed is what is wrong with a figure. Whatever hangs on results passes.
func (f *File) rehearsed(p *figures.PlotConfig) error {
	t := &results.Table{Columns: f.columnsOf(p.Table)}
	known := f.leadNames()
	for _, point := range f.Points {
		row, lead := make([]string, len(t.Columns)), f.Lead(point)
		load, ofLoad := f.valueAt(point, results.LoadKey)
		for i, name := range t.Columns {
			switch at := slices.Index(known, name); {
			case at >= 0 && at < len(lead):
				row[i] = lead[at]
			case name == "offered_load" && ofLoad:
				row[i] = load
			default:
				row[i] = strconv.Itoa(point.Index + 1)
			}
		}
		t.Rows = append(t.Rows, row)
		if ofLoad {
			known = results.AddNew(known, "offered_load")
		}
	}
	knows := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return name != "" && !slices.Contains(known, name) })
	}
	q := *p
	if !knows(results.SortedKeys(p.Where)...) || p.Style == "heat" && !knows(p.X, p.Y[0]) {
		return nil
	}
	if !knows(results.SortedKeys(p.Baseline)...) {
		q.Baseline = nil
	}
	if !knows(p.Panels) || p.HasCategories() && !knows(p.X) {
		q.References = nil
	}
	drawn, err := q.Figure(&figures.PlotSource{Table: t, Bound: func(int) float64 { return 0 }})
	if err == nil && p.Table == figures.ResultsTable {
		err = drawn.Check()
	}
	narrowed := f.Quick || len(f.Set) > 0 || f.refine != nil // the file as it is written may have more
	if err == nil && !narrowed && knows(p.By...) && knows(p.X) {
		return q.Unanswered(t, drawn)
	}
	if narrowed && errors.Is(err, figures.ErrNothing) {
		return nil
	}
	if errors.Is(err, figures.ErrNothing) && !p.HasCategories() && knows(p.X) && !slices.ContainsFunc(t.Rows, func(row []string) bool {
		x := results.Number(row[slices.Index(t.Columns, p.X)])
		return x == x
	}) {
		return fmt.Errorf(`x = %q has no number: want a column of numbers, or style = "bar"`, p.X)
	}
	return err
}
