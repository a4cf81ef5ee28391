package experiments

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments/figure"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/stats"
)

// draw writes the figures of a file into its result folder and returns their
// names. Figures that cannot be drawn, such as those without a point, are left
// out, with an error at the end, which is [ErrInterrupted] if ctx ended first.
func (f *File) draw(ctx context.Context, results *Table, tables map[string]*Table, dir string) ([]string, error) {
	var written []string
	var left []error
	for i := range f.Plots {
		p := &f.Plots[i]
		table := results
		if p.Table != resultsTable {
			table = tables[p.Table]
		}
		if table == nil {
			left = append(left, fmt.Errorf("%s: plot %s: the run has no table %q: nothing in the file asks for it", f.Name, p.File, p.Table))
			continue
		}
		for _, format := range p.Formats {
			picture, err := Interruptible(ctx, func() ([]byte, error) { return p.Picture(table, format) })
			if errors.Is(err, ErrInterrupted) {
				return written, err
			}
			if err != nil {
				left = append(left, fmt.Errorf("%s: plot %s: %w", f.Name, p.File, err))
				break
			}
			name := p.File + "." + format
			if err := writeInside(dir, name, picture); err != nil {
				left = append(left, err)
				break
			}
			written = append(written, name)
		}
	}
	return written, errors.Join(left...)
}

// Validate finds out what is wrong with the settings of a figure that no file
// was read for.
func (p *PlotConfig) Validate() error {
	type config PlotConfig // without this method
	if math.IsInf(p.YMax, 0) {
		return &param.ParamError{Key: "y_max", Value: p.YMax, Want: "a number"}
	}
	return param.Validate((*config)(p))
}

// Picture draws a table as "svg", "png" or "pdf".
func (p *PlotConfig) Picture(t *Table, format string) ([]byte, error) {
	f, err := p.figure(t)
	if err != nil {
		return nil, err
	}
	return f.Render(format)
}

// Chart is the figure for a page that draws it itself.
func (p *PlotConfig) Chart(t *Table) (*figure.Chart, error) {
	f, err := p.figure(t)
	if err != nil {
		return nil, err
	}
	return f.Chart(), nil
}

// figure selects the columns of a table that a plot shows.
func (p *PlotConfig) figure(t *Table) (*figure.Figure, error) {
	t, err := t.Where(p.Where)
	if err != nil {
		return nil, err
	}
	f := &figure.Figure{
		Title: p.Title, XLabel: p.XLabel, YLabel: p.YLabel,
		Style: figure.Style(p.Style), LogX: p.LogX, LogY: p.LogY, YMax: p.YMax,
	}
	if f.XLabel == "" {
		f.XLabel = AxisLabel(p.X)
	}
	if f.Style == figure.Histogram {
		return f, p.histogram(f, t)
	}
	if f.YLabel == "" {
		f.YLabel = commonLabel(p.Y)
	}
	groups, err := p.groups(t)
	if err != nil {
		return nil, err
	}
	f.LegendTitle = nameGroups(groups, len(p.By) > 0, len(p.Y) == 1)
	category, err := p.categories(t, groups)
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		points, err := p.points(g.rows)
		if err != nil {
			return nil, err
		}
		for _, y := range p.Y {
			s, err := p.series(g.rows, points, y)
			if err != nil {
				return nil, err
			}
			s.Name = g.name
			if len(p.Y) > 1 {
				s.Name = strings.TrimPrefix(g.name+", "+quantity(y), ", ")
			}
			if f.Style == figure.Bar {
				categorise(f, &s, g.rows, points, category)
			}
			f.Series = append(f.Series, s)
		}
	}
	return f, nil
}

// series reads the points of one series, in the order of x. A point that
// several seeds have computed is their mean, with Student's 95 % interval.
func (p *PlotConfig) series(t *Table, points [][]int, y string) (figure.Series, error) {
	var s figure.Series
	xs, err := t.Numbers(p.X)
	if err != nil {
		return s, err
	}
	ys, err := t.Numbers(y)
	if err != nil {
		return s, err
	}
	intervals := make([]float64, len(ys))
	for i := range intervals {
		intervals[i] = math.NaN()
	}
	if ci := t.intervalColumn(y); ci != "" {
		if intervals, err = t.Numbers(ci); err != nil {
			return s, err
		}
	}
	bars := p.Style == string(figure.Bar) // over categories, which need be no numbers
	for _, rows := range points {
		var x, y stats.Running
		verdict, interval := figure.Steady, intervals[rows[0]]
		for _, i := range rows {
			x.Add(xs[i])
			if !math.IsNaN(ys[i]) {
				y.Add(ys[i])
			}
			verdict = max(verdict, t.verdict(i))
		}
		mean := math.NaN()
		if y.N() > 0 {
			mean = y.Mean()
		}
		if y.N() > 1 {
			interval = y.HalfWidth(0.95)
		}
		s.X, s.Y = append(s.X, x.Mean()), append(s.Y, mean)
		s.HalfWidth, s.States = append(s.HalfWidth, interval), append(s.States, verdict)
	}
	if !bars {
		sortSeries(&s)
	}
	return s, nil
}

// verdict is the state of row i as figures show it.
func (t *Table) verdict(i int) figure.State {
	switch t.State(i) {
	case fabric.Saturated:
		return figure.Saturated
	case fabric.Undecided:
		return figure.Undecided
	}
	return figure.Steady
}

// sortSeries orders the points by x; equal ones keep their order.
func sortSeries(s *figure.Series) {
	order := make([]int, len(s.X))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		switch {
		case s.X[i] < s.X[j]:
			return -1
		case s.X[i] > s.X[j]:
			return 1
		}
		return 0
	})
	permute(s.X, order)
	permute(s.XEnd, order)
	permute(s.Y, order)
	permute(s.HalfWidth, order)
	permute(s.States, order)
}

func permute[T any](list []T, order []int) {
	if list == nil {
		return
	}
	old := slices.Clone(list)
	for i, from := range order {
		list[i] = old[from]
	}
}
