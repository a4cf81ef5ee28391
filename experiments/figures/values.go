package figures

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments/plot"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/stats"
)

// labelOf labels an axis of columns; arithmetic stands as it is.
func (p *PlotConfig) labelOf(columns []string) string {
	if len(columns) == 1 && results.IsFormula(columns[0]) {
		return columns[0]
	}
	label := commonLabel(columns)
	if len(p.Baseline) > 0 {
		noun := quantity(columns[0])
		switch p.Relative {
		case "speedup":
			return capital(noun + ": speed-up")
		case "difference":
			return label
		case "gain":
			return capital(noun + ": gain (%)")
		}
		of := "the baseline"
		for key, cell := range p.Baseline {
			if len(p.Baseline) == 1 {
				of = p.seriesName(key, cell)
			}
		}
		return capital(noun + " over that of " + of)
	}
	return label
}

// aggregate is a figure's value for several seeds, with the half-width of its interval; of a single
// value, the run's own.
func (p *PlotConfig) aggregate(values []float64, interval float64) (y, half float64) {
	if len(values) == 0 {
		return math.NaN(), math.NaN()
	}
	half = interval
	switch p.Aggregate {
	case "median":
		y = stats.Quantile(values, 0.5)
	case "smallest":
		y = slices.Min(values)
	case "largest":
		y = slices.Max(values)
	case "sum":
		for _, v := range values {
			y += v
		}
	default:
		r := stats.Of(values)
		y = r.Mean()
		if r.N() > 1 {
			half = r.HalfWidth(0.95)
		}
	}
	if p.Intervals == "none" || len(values) > 1 && p.Aggregate != "mean" && p.Aggregate != "" {
		half = math.NaN()
	}
	return y, half
}

// inBins parts a series' rows by equal parts of the whole table's range of x; figures show means.
func (p *PlotConfig) inBins(whole, t *results.Table) ([][]int, error) {
	all, err := whole.Numbers(p.X)
	xs, err2 := t.Numbers(p.X)
	if err := cmp.Or(err, err2); err != nil {
		return nil, err
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, x := range all {
		if !math.IsNaN(x) {
			low, high = min(low, x), max(high, x)
		}
	}
	parts := make([][]int, p.Bins)
	for i, x := range xs {
		if math.IsNaN(x) {
			continue
		}
		part := 0
		if high > low {
			part = min(p.Bins-1, int(float64(p.Bins)*(x-low)/(high-low)))
		}
		parts[part] = append(parts[part], i)
	}
	return slices.DeleteFunc(parts, func(rows []int) bool { return len(rows) == 0 }), nil
}

// base is the values that others are related to.
type base struct {
	plot  *PlotConfig
	table *results.Table
	rows  map[string][]int // by what a row has in common with its baseline
	keys  []int            // columns that tell
}

// baseline finds the baseline's rows in a whole table. The baseline fixes some keys, where fixes
// others that it names. nil: none. Error: no row is the baseline's.
func (p *PlotConfig) baseline(t *results.Table) (*base, error) {
	if len(p.Baseline) == 0 {
		return nil, nil
	}
	where := maps.Clone(p.Baseline)
	for key, cell := range p.Where {
		if _, fixed := where[key]; !fixed {
			where[key] = cell
		}
	}
	some, err := t.Where(where)
	if err != nil {
		return nil, fmt.Errorf("baseline: %w", err)
	}
	if len(some.Rows) == 0 {
		return nil, nothing{fmt.Errorf("baseline: %w", t.Unmet(where))}
	}
	b := &base{plot: p, table: some, rows: map[string][]int{}}
	for i, key := range t.Columns {
		if _, fixed := p.Baseline[key]; !fixed && key != results.SeedKey && (key == p.X || slices.Contains(t.SweptKeys(), key)) {
			b.keys = append(b.keys, i)
		}
	}
	for i, row := range some.Rows {
		key := results.KeyOf(row, b.keys...)
		b.rows[key] = append(b.rows[key], i)
	}
	return b, nil
}

// relate divides a series by the baseline, or the other way, or subtracts it, where both have a
// value, and scales the series' intervals.
func (b *base) relate(s *plot.Series, t *results.Table, points [][]int, y string) error {
	values, err := b.table.Values(y)
	if err != nil {
		return err
	}
	for i, rows := range points {
		reference, _ := b.plot.aggregate(valuesOn(b.table, b.rows[results.KeyOf(t.Rows[rows[0]], b.keys...)], values), math.NaN())
		switch own := s.Y[i]; b.plot.Relative {
		case "speedup":
			s.Y[i] = reference / own
			s.HalfWidth[i] *= reference / (own * own)
		case "difference":
			s.Y[i] = own - reference
		case "gain":
			s.Y[i] = 100 * (own/reference - 1)
			s.HalfWidth[i] *= 100 / reference
		default:
			s.Y[i] = own / reference
			s.HalfWidth[i] /= reference
		}
	}
	return nil
}

// stateNames are the names of states in figures' data.
var stateNames = map[plot.State]string{plot.Steady: "steady", plot.Undecided: "undecided", plot.Refused: "some refused", plot.Saturated: "saturated"}

// cellOf writes a number; empty where there is none.
func cellOf(x float64) string { return results.FormatCell(stats.Finite(x)) }

// data is the numbers that a figure shows: a row for each point.
func (p *PlotConfig) data(f *plot.Figure) *results.Table {
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
			row := lists.Map(cells, func(cell func(d *datum) string) string { return cell(&datum{s, panel, i, elsewhere}) })
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
