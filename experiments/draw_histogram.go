package experiments

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments/figure"
)

// histogram makes the series of a table of bins: x is the column of their lower
// edges, y that of their counts. What is drawn is a density, the share of all
// counts by width, so that bins of unequal width and series of unequal size
// compare. Rows with the same bin, as seeds give, count together.
func (p *PlotConfig) histogram(f *figure.Figure, t *Table) error {
	upper := strings.Replace(p.X, "_from_", "_to_", 1)
	if upper == p.X || !slices.Contains(t.Columns, upper) {
		return fmt.Errorf("style histogram needs bins: want x to be the column of their lower edges, such as latency_from_ns, beside that of the upper ones, such as latency_to_ns")
	}
	counts := slices.Clone(p.Y)
	if len(counts) == 0 {
		if i, err := t.Column(upper); err == nil && i+1 < len(t.Columns) {
			counts = []string{t.Columns[i+1]}
		}
	}
	if len(counts) != 1 {
		return fmt.Errorf("style histogram shows one column of counts, not %d", len(counts))
	}
	if f.YLabel == "" {
		f.YLabel = densityLabel(counts[0], p.X)
	}
	if p.XLabel == "" {
		f.XLabel = AxisLabel(strings.Replace(p.X, "_from_", "_", 1))
	}
	groups, err := p.groups(t)
	if err != nil {
		return err
	}
	f.LegendTitle = nameGroups(groups, len(p.By) > 0, true)
	for _, g := range groups {
		s, err := density(g.rows, p.X, upper, counts[0])
		if err != nil {
			return err
		}
		s.Name = g.name
		f.Series = append(f.Series, s)
	}
	return nil
}

// density sums counts by bin and divides them by their total and the width.
func density(t *Table, from, to, counts string) (figure.Series, error) {
	var s figure.Series
	lower, err := t.Numbers(from)
	upper, err2 := t.Numbers(to)
	n, err3 := t.Numbers(counts)
	if err := errors.Join(err, err2, err3); err != nil {
		return s, err
	}
	place := map[[2]float64]int{}
	total := 0.0
	for i := range n {
		if math.IsNaN(n[i]) || !(upper[i] > lower[i]) {
			continue
		}
		bin := [2]float64{lower[i], upper[i]}
		at, known := place[bin]
		if !known {
			at = len(s.X)
			place[bin] = at
			s.X, s.XEnd, s.Y = append(s.X, lower[i]), append(s.XEnd, upper[i]), append(s.Y, 0)
		}
		s.Y[at] += n[i]
		total += n[i]
	}
	for i := range s.Y {
		s.Y[i] /= total * (s.XEnd[i] - s.X[i])
	}
	sortSeries(&s)
	return s, nil
}
