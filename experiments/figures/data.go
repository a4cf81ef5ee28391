package figures

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments/plot"
	"github.com/weft-sim/weft/experiments/results"
)

// data writes the numbers that a figure shows as CSV: a row for each point.
func (p *PlotConfig) data(f *plot.Figure) ([]byte, error) {
	t := p.dataTable(f)
	var b bytes.Buffer
	err := t.Write(&b)
	return b.Bytes(), err
}

// stateNames are those of the states in figures' data.
var stateNames = map[plot.State]string{plot.Steady: "steady", plot.Undecided: "undecided", plot.Saturated: "saturated"}

// cellOf writes a number; empty where there is none.
func cellOf(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return ""
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

func (p *PlotConfig) dataTable(f *plot.Figure) *results.Table {
	if f.Field != nil {
		t := &results.Table{Columns: []string{p.X, p.Y[0], p.Z, results.StateColumn}}
		for j, row := range f.Field.Values {
			for i, v := range row {
				t.Rows = append(t.Rows, []string{f.Field.Columns[i], f.Field.Rows[j], cellOf(v), stateNames[f.Field.States[j][i]]})
			}
		}
		return t
	}
	value, x := "value", p.X
	if len(p.Y) == 1 && len(p.Baseline) == 0 && f.Style != plot.Histogram && f.Style != plot.Curve && f.Style != plot.Box {
		value = p.Y[0]
	}
	if p.Style == "percentile" {
		x = "percentile"
	}
	t := &results.Table{}
	var cells []func(d *datum) string
	column := func(name string, there bool, cell func(d *datum) string) {
		if there {
			t.Columns, cells = append(t.Columns, name), append(cells, cell)
		}
	}
	has := func(is func(s *plot.Series) bool) bool {
		return slices.ContainsFunc(f.Series, func(s plot.Series) bool { return is(&s) })
	}
	boxes := has(func(s *plot.Series) bool { return s.Quantiles != nil })
	column(p.Panels, p.Panels != "", func(d *datum) string { return d.panel.Title })
	column("series", true, func(d *datum) string { return d.Name })
	column(x, true, p.xOf)
	column("to", has(func(s *plot.Series) bool { return s.XEnd != nil }), func(d *datum) string { return cellOf(at(d.XEnd, d.i, math.NaN())) })
	column(value, true, func(d *datum) string { return cellOf(d.Y[d.i]) })
	column("ci95", has(func(s *plot.Series) bool { return s.HalfWidth != nil }), func(d *datum) string { return cellOf(at(d.HalfWidth, d.i, math.NaN())) })
	column(results.StateColumn, has(func(s *plot.Series) bool { return s.States != nil }), func(d *datum) string {
		if d.elsewhere {
			return ""
		}
		return stateNames[at(d.States, d.i, plot.Steady)]
	})
	for j, name := range []string{"low", "quartile1", "median", "quartile3", "high"} {
		column(name, boxes, func(d *datum) string { return cellOf(at(d.Quantiles, d.i, noBox)[j]) })
	}
	add := func(panel *plot.Figure, s plot.Series, elsewhere bool) {
		for i := range s.X {
			var row []string
			for _, cell := range cells {
				row = append(row, cell(&datum{s, panel, i, elsewhere}))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	panels := f.Panels
	if panels == nil {
		panels = []*plot.Figure{f}
	}
	for _, panel := range panels {
		for _, s := range panel.Series {
			add(panel, s, false)
		}
		for _, r := range panel.References {
			add(panel, plot.Series{Name: strings.TrimSuffix(r.Name+", "+r.Bar, ", "), X: r.X, Y: r.Y}, true)
		}
	}
	return t
}

// datum is a point of a series, or of a reference, which has no more than a name, x and y.
type datum struct {
	plot.Series
	panel     *plot.Figure
	i         int
	elsewhere bool
}

// xOf is where a point is: a category, a percentile or a number.
func (p *PlotConfig) xOf(d *datum) string {
	x := d.X[d.i]
	switch {
	case d.panel.Categories != nil:
		return d.panel.Categories[int(x)]
	case p.Style == "percentile" && !d.elsewhere:
		x = 100 * (1 - math.Pow(10, -x))
	}
	return cellOf(x)
}

var noBox = [5]float64{math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN()}

// at is an element of a list, or what stands for it in one that is shorter.
func at[T any](list []T, i int, otherwise T) T {
	if i < len(list) {
		return list[i]
	}
	return otherwise
}
