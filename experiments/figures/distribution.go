package figures

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments/plot"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/lists"
)

// bin is a part of a distribution.
type bin struct{ from, to, count float64 }

// distribution makes the series of a table of bins: x is the column of lower edges, y of counts.
// Rows with one bin, as of several seeds, count together.
func (p *PlotConfig) distribution(f *plot.Figure, t *results.Table, groups []*group) error {
	lower := p.X
	if len(p.Percentiles) > 0 || p.Style == string(plot.Box) && !hasBins(t, p.X) {
		lower = ""
		if at := slices.IndexFunc(t.Columns, func(name string) bool { return hasBins(t, name) }); at >= 0 {
			lower = t.Columns[at]
		}
	}
	upper := strings.Replace(lower, "_from_", "_to_", 1)
	if upper == lower || !slices.Contains(t.Columns, upper) {
		return fmt.Errorf("style %s needs bins: want x to be the column of their lower edges, such as latency_from_ns, beside that of the upper ones, such as latency_to_ns", p.Style)
	}
	counts := slices.Clone(p.Y)
	if i := slices.Index(t.Columns, upper); len(counts) == 0 && i+1 < len(t.Columns) {
		counts = []string{t.Columns[i+1]}
	}
	if len(counts) != 1 {
		return fmt.Errorf("style %s shows one column of counts, not %d", p.Style, len(counts))
	}
	if p.Style == string(plot.Box) && p.Panels != "" {
		return errors.New("style box of bins has no panels: select one value under where")
	}
	quantityLabel := AxisLabel(strings.Replace(lower, "_from_", "_", 1))
	if len(p.Percentiles) > 0 {
		return p.percentilesOver(f, groups, lower, upper, counts[0], quantityLabel)
	}
	f.XLabel = cmp.Or(p.XLabel, quantityLabel)
	for i, g := range groups {
		bins, err := binsOf(g.rows, lower, upper, counts[0])
		if err != nil {
			return err
		}
		var s plot.Series
		switch p.Style {
		case "cdf":
			f.YLabel = cmp.Or(p.YLabel, "Share of "+quantity(counts[0]))
			f.Style = plot.Curve
			s = cumulative(bins)
		case "percentile":
			f.XLabel = cmp.Or(p.XLabel, "Percentile of "+quantity(counts[0]))
			f.YLabel = cmp.Or(p.YLabel, quantityLabel)
			f.Style, f.Nines = plot.Curve, true
			s = tail(bins)
		case string(plot.Box):
			f.XLabel = cmp.Or(p.XLabel, f.LegendTitle)
			f.YLabel = cmp.Or(p.YLabel, quantityLabel)
			s = boxOf(bins, len(f.Categories))
			f.Categories = append(f.Categories, g.name)
			if s.X != nil && behind(g.rows) {
				f.Categories[i] += " *"
			}
			if i > 0 { // one series of all boxes
				all := &f.Series[0]
				all.X, all.Y, all.Quantiles = append(all.X, s.X...), append(all.Y, s.Y...), append(all.Quantiles, s.Quantiles...)
				continue
			}
			f.Series = append(f.Series, s)
			continue
		default:
			_, _, unit := splitColumn(lower)
			f.YLabel = cmp.Or(p.YLabel, "Share of "+quantity(counts[0])+" per "+cmp.Or(unit, "unit"))
			all := total(bins) // by it and by width, so that bins and series of unequal size compare
			for _, b := range bins {
				s.X, s.XEnd, s.Y = append(s.X, b.from), append(s.XEnd, b.to), append(s.Y, b.count/(all*(b.to-b.from)))
			}
		}
		s.Name = g.name
		if behind(g.rows) {
			s.Name = strings.TrimPrefix(s.Name+", saturated", ", ")
		}
		f.Series = append(f.Series, s)
	}
	if p.Style == string(plot.Box) {
		f.LegendTitle = ""
	}
	return nil
}

// behind tells whether rows' points are saturated: distributions then grow with the run.
func behind(t *results.Table) bool {
	return verdictOn(t, results.Indices(len(t.Rows))) == plot.Saturated
}

// hasBins tells whether a column holds the lower edges of bins.
func hasBins(t *results.Table, x string) bool {
	upper := strings.Replace(x, "_from_", "_to_", 1)
	return upper != x && slices.Contains(t.Columns, upper)
}

// binsOf sums counts by bin, in the order of the edges.
func binsOf(t *results.Table, from, to, counts string) ([]bin, error) {
	lower, err := t.Numbers(from)
	upper, err2 := t.Numbers(to)
	n, err3 := t.Numbers(counts)
	if err := errors.Join(err, err2, err3); err != nil {
		return nil, err
	}
	whole := slices.DeleteFunc(results.Indices(len(n)), func(i int) bool { return math.IsNaN(n[i]) || !(upper[i] > lower[i]) })
	var bins []bin
	for _, rows := range results.Grouped(whole, func(i int) bin { return bin{lower[i], upper[i], 0} }) {
		b := bin{lower[rows[0]], upper[rows[0]], 0}
		for _, i := range rows {
			b.count += n[i]
		}
		bins = append(bins, b)
	}
	slices.SortStableFunc(bins, func(a, b bin) int { return cmp.Compare(a.from, b.from) })
	return bins, nil
}

func total(bins []bin) float64 { return lists.Sum(bins, func(b bin) float64 { return b.count }) }

// tail is the quantiles, on an axis with equal lengths for every nine: x = -log10 of the share
// beyond, to the last packet.
func tail(bins []bin) (s plot.Series) {
	all, sum := total(bins), 0.0
	for i, b := range bins {
		if i == 0 {
			s.X, s.Y = append(s.X, 0), append(s.Y, b.from)
		}
		sum += b.count
		beyond := (all - sum) / all
		if beyond <= 0 {
			beyond = 1 / all
		}
		if x := -math.Log10(beyond); b.count > 0 && x > s.X[len(s.X)-1] {
			s.X, s.Y = append(s.X, x), append(s.Y, b.to)
		}
	}
	return s
}

// quantileOf is where a share of all counts is reached, within a bin in proportion.
func quantileOf(bins []bin, q float64) float64 {
	wanted, sum := q*total(bins), 0.0
	for _, b := range bins {
		if b.count > 0 && sum+b.count >= wanted*(1-1e-12) {
			return b.from + (b.to-b.from)*min(1, max(0, (wanted-sum)/b.count))
		}
		sum += b.count
	}
	return math.NaN()
}

// boxOf is a box of quartiles with whiskers at 1 % and 99 %.
func boxOf(bins []bin, category int) (s plot.Series) {
	if total(bins) == 0 {
		return s
	}
	var five [5]float64
	for i, q := range []float64{0.01, 0.25, 0.5, 0.75, 0.99} {
		five[i] = quantileOf(bins, q)
	}
	return plot.Series{X: []float64{float64(category)}, Y: []float64{five[2]}, Quantiles: [][5]float64{five}}
}

// percentilesOver shows percentiles of distributions over a swept key.
func (p *PlotConfig) percentilesOver(f *plot.Figure, groups []*group, lower, upper, counts, label string) error {
	f.YLabel = cmp.Or(f.YLabel, label)
	for _, g := range groups {
		x, err := g.rows.Column(p.X)
		if err != nil {
			return err
		}
		place := func(rows [][]string) float64 { return results.Number(results.CanonicalCell(rows[0][x])) }
		parts := results.Grouped(g.rows.Rows, func(row []string) string { return results.CanonicalCell(row[x]) })
		slices.SortStableFunc(parts, func(a, b [][]string) int { return cmp.Compare(place(a), place(b)) })
		for _, percent := range p.Percentiles {
			s := plot.Series{Name: strings.TrimPrefix(g.name+", "+strconv.FormatFloat(percent, 'g', -1, 64)+" %", ", ")}
			for _, rows := range parts {
				t := &results.Table{Columns: g.rows.Columns, Rows: rows}
				bins, err := binsOf(t, lower, upper, counts)
				if err != nil {
					return err
				}
				state := verdictOn(t, results.Indices(len(rows)))
				value := quantileOf(bins, percent/100)
				if state == plot.Saturated || total(bins)*(1-percent/100) < 1 && percent < 100 {
					value = math.NaN() // not all packets arrived, or too few to tell
				}
				s.X, s.Y, s.States = append(s.X, place(rows)), append(s.Y, value), append(s.States, state)
			}
			f.Series = append(f.Series, s)
		}
	}
	return nil
}

// cumulative is the share of all counts up to each edge.
func cumulative(bins []bin) (s plot.Series) {
	all, sum := total(bins), 0.0
	for i, b := range bins {
		if i == 0 || b.from != bins[i-1].to {
			s.X, s.Y = append(s.X, b.from), append(s.Y, sum/all)
		}
		sum += b.count
		s.X, s.Y = append(s.X, b.to), append(s.Y, sum/all)
	}
	return s
}
