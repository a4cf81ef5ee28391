package figures

import (
	"fmt"
	"math"
	"slices"

	"github.com/weft-sim/weft/experiments/plot"
	"github.com/weft-sim/weft/experiments/results"
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
		if p.Relative == "speedup" {
			return capital(noun + ": speed-up")
		}
		of := "the baseline"
		for key, cell := range p.Baseline {
			if len(p.Baseline) == 1 {
				of = p.nameOf(cell, seriesName(key, cell))
			}
		}
		return capital(noun + " over that of " + of)
	}
	return label
}

// aggregate is what a figure shows of the values of several seeds, and the half-width
// of its interval: that of the run where there is one value.
func (p *PlotConfig) aggregate(values []float64, interval float64) (y, half float64) {
	if len(values) == 0 {
		return math.NaN(), math.NaN()
	}
	half = interval
	switch p.Aggregate {
	case "median":
		y = quantile(values, 0.5)
	case "smallest":
		y = slices.Min(values)
	case "largest":
		y = slices.Max(values)
	case "sum":
		for _, v := range values {
			y += v
		}
	default:
		var r stats.Running
		for _, v := range values {
			r.Add(v)
		}
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

// inBins parts the rows of a series by the equal parts of the range of x in the whole
// table, each its mean in the figure.
func (p *PlotConfig) inBins(whole, t *results.Table) ([][]int, error) {
	all, err := whole.Numbers(p.X)
	if err != nil {
		return nil, err
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, x := range all {
		if !math.IsNaN(x) {
			low, high = min(low, x), max(high, x)
		}
	}
	xs, err := t.Numbers(p.X)
	if err != nil {
		return nil, err
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

// quantile of some values, between two of them in proportion (Hyndman and Fan 1996,
// definition 7); not a number without values.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	at := q * float64(len(sorted)-1)
	i := min(int(at), max(0, len(sorted)-2))
	if len(sorted) == 1 {
		return sorted[0]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// fiveNumbers are what a box shows of some values: extremes, quartiles and median.
func fiveNumbers(values []float64) [5]float64 {
	var five [5]float64
	for i := range five {
		five[i] = quantile(values, float64(i)/4)
	}
	return five
}

// base is the values that others are related to.
type base struct {
	plot  *PlotConfig
	table *results.Table
	rows  map[string][]int // by what a row has in common with its baseline
	keys  []string         // that tell
}

// baseline finds the rows of the baseline; nil without one.
func (p *PlotConfig) baseline(t *results.Table) (*base, error) {
	if len(p.Baseline) == 0 {
		return nil, nil
	}
	some, err := t.Where(p.Baseline)
	if err != nil {
		return nil, fmt.Errorf("baseline: %w", err)
	}
	if len(some.Rows) == 0 {
		return nil, fmt.Errorf("baseline: %w", t.Unmet(p.Baseline))
	}
	b := &base{plot: p, table: some, rows: map[string][]int{}}
	for _, key := range append(t.SweptKeys(), p.X) {
		if _, fixed := p.Baseline[key]; !fixed && key != results.SeedKey && !slices.Contains(b.keys, key) {
			b.keys = append(b.keys, key)
		}
	}
	for i, row := range some.Rows {
		b.rows[b.key(some, row)] = append(b.rows[b.key(some, row)], i)
	}
	return b, nil
}

func (b *base) key(t *results.Table, row []string) string {
	key := ""
	for _, name := range b.keys {
		key += results.CanonicalCell(row[slices.Index(t.Columns, name)]) + "\x00"
	}
	return key
}

// relate divides a series by the baseline, or the baseline by it, where both have a
// value; intervals are those of the series alone, in proportion.
func (b *base) relate(s *plot.Series, t *results.Table, points [][]int, y string) error {
	values, err := b.table.Values(y)
	if err != nil {
		return err
	}
	for i, rows := range points {
		var of []float64
		for _, j := range b.rows[b.key(t, t.Rows[rows[0]])] {
			if !math.IsNaN(values[j]) {
				of = append(of, values[j])
			}
		}
		reference, _ := b.plot.aggregate(of, math.NaN())
		ratio := s.Y[i] / reference
		if b.plot.Relative == "speedup" {
			s.HalfWidth[i] *= reference / (s.Y[i] * s.Y[i])
			ratio = reference / s.Y[i]
		} else {
			s.HalfWidth[i] /= reference
		}
		s.Y[i] = ratio
	}
	return nil
}
