package figures

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments/plot"
	"github.com/weft-sim/weft/experiments/results"
)

// heat makes a field of colours of column z over the values of x and y.
func (p *PlotConfig) heat(f *plot.Figure, t *results.Table) error {
	if len(p.Y) != 1 || p.Z == "" {
		return errors.New("style heat needs one column y, and a column z, which the colours show")
	}
	if p.Panels != "" {
		return errors.New("style heat has no panels: select one value under where")
	}
	if f.YLabel == "" {
		f.YLabel = p.labelOf(p.Y)
	}
	x, err := t.Column(p.X)
	y, err2 := t.Column(p.Y[0])
	values, err3 := t.Values(p.Z)
	if err := errors.Join(err, err2, err3); err != nil {
		return err
	}
	columns, rows := axisValues(t, x), axisValues(t, y)
	if x := results.Number(columns[0]); x != x { // categories that both axes have stand in one order
		place := func(c string) int { return slices.Index(append(slices.Clone(rows), c), c) }
		slices.SortStableFunc(columns, func(a, b string) int { return place(a) - place(b) })
	}
	const most = 400
	if len(columns) > most || len(rows) > most {
		return fmt.Errorf("style heat shows at most %d values of x and y, not %d and %d", most, len(columns), len(rows))
	}
	field := &plot.Field{Label: p.labelOf([]string{p.Z}), Log: p.LogY, Range: p.YRange}
	for _, c := range columns {
		field.Columns = append(field.Columns, p.nameOf(c, CellName(p.X, c)))
	}
	for _, c := range rows {
		field.Rows = append(field.Rows, p.nameOf(c, CellName(p.Y[0], c)))
	}
	points := 1.0
	if point := slices.Index(t.Columns, "point"); point >= 0 && p.Aggregate == "sum" {
		points = float64(len(axisValues(t, point)))
	}
	cells := make([][]float64, len(columns)*len(rows))
	states := make([]plot.State, len(cells))
	other := map[int][]string{}
	for i, row := range t.Rows {
		at := slices.Index(rows, row[y])*len(columns) + slices.Index(columns, row[x])
		if first := other[at]; first == nil {
			other[at] = row
		} else if name := differsIn(t, first, row, x, y); name != "" {
			return fmt.Errorf("rows at %s = %s and %s = %s differ in %s: select one value under where", p.X, row[x], p.Y[0], row[y], name)
		}
		if !math.IsNaN(values[i]) {
			cells[at] = append(cells[at], values[i]/points)
		}
		states[at] = max(states[at], verdict(t, i))
	}
	for j := range rows {
		var line []float64
		for i := range columns {
			v, _ := p.aggregate(cells[j*len(columns)+i], math.NaN())
			line = append(line, v)
		}
		field.Values = append(field.Values, line)
		field.States = append(field.States, states[j*len(columns):(j+1)*len(columns)])
	}
	if slices.Contains(states, plot.Saturated) {
		field.Label += " (*: saturated)"
	}
	f.Field, f.LogX, f.LogY, f.XRange, f.YRange, f.YMax = field, false, false, nil, nil, 0
	return nil
}

// axisValues lists the values of a column: numbers in their order, others as they
// come.
func axisValues(t *results.Table, column int) []string {
	var values []string
	for _, row := range t.Rows {
		values = results.AddNew(values, row[column])
	}
	if !slices.ContainsFunc(values, func(v string) bool { return math.IsNaN(results.Number(v)) }) {
		slices.SortStableFunc(values, func(a, b string) int { return cmp.Compare(results.Number(a), results.Number(b)) })
	}
	return values
}

// differsIn names a swept key other than the columns x and y in which rows differ.
func differsIn(t *results.Table, a, b []string, x, y int) string {
	for _, key := range t.SweptKeys() {
		i := slices.Index(t.Columns, key)
		if _, follows := follows(t, t.Columns[x], key); follows && strings.HasSuffix(t.Columns[x], "load") {
			continue
		}
		if key != results.SeedKey && i != x && i != y && results.CanonicalCell(a[i]) != results.CanonicalCell(b[i]) {
			return key
		}
	}
	return ""
}
