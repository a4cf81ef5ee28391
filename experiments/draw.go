package experiments

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments/figure"
	"github.com/weft-sim/weft/sim"
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
		return &sim.ParamError{Key: "y_max", Value: p.YMax, Want: "a number"}
	}
	return sim.Validate((*config)(p))
}

// Picture draws a table as "svg", "png" or "pdf".
func (p *PlotConfig) Picture(t *Table, format string) ([]byte, error) {
	f, err := p.figure(t)
	if err != nil {
		return nil, err
	}
	return f.Render(format)
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
	if f.YLabel == "" {
		f.YLabel = commonLabel(p.Y)
	}
	groups, err := p.groups(t)
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		for _, y := range p.Y {
			s, err := p.series(g.rows, y)
			if err != nil {
				return nil, err
			}
			s.Name = g.name
			if len(p.Y) > 1 {
				s.Name = strings.TrimPrefix(g.name+", "+quantity(y), ", ")
			}
			if f.Style == figure.Bar {
				if err := categorise(f, &s, g.rows, p.X); err != nil {
					return nil, err
				}
			}
			f.Series = append(f.Series, s)
		}
	}
	return f, nil
}

// group is the rows of one combination of the By columns.
type group struct {
	name string
	rows *Table
}

// groups divides the rows by the By columns, in the order of first appearance.
func (p *PlotConfig) groups(t *Table) ([]*group, error) {
	by := p.By
	if len(by) == 0 {
		by = p.defaultBy(t)
	}
	var columns []int
	for _, name := range by {
		i, err := t.Column(name)
		if err != nil {
			return nil, err
		}
		columns = append(columns, i)
	}
	byName := map[string]*group{}
	var all []*group
	for _, row := range t.Rows {
		var parts []string
		for j, i := range columns {
			parts = append(parts, seriesName(by[j], row[i]))
		}
		name := strings.Join(parts, ", ")
		g := byName[name]
		if g == nil {
			g = &group{name, &Table{Columns: t.Columns}}
			byName[name] = g
			all = append(all, g)
		}
		g.rows.Rows = append(g.rows.Rows, row)
	}
	return all, nil
}

// defaultBy finds the swept keys that tell series apart: those with several
// values, but not x, nor what x follows (the load that is swept behind the
// offered load on the axis). If x is a metric that follows none of them, the
// longest axis of the sweep runs along the series.
func (p *PlotConfig) defaultBy(t *Table) []string {
	x := slices.Index(t.Columns, p.X)
	if x < 0 {
		return nil // the caller reports it
	}
	var by []string
	longest, most, along := -1, 1, slices.Contains(p.swept, p.X)
	for _, key := range p.swept {
		column := slices.Index(t.Columns, key)
		if column < 0 || key == p.X {
			continue
		}
		xs := map[string]map[string]bool{} // values of x for each value of the key
		follows := true
		for _, row := range t.Rows {
			if xs[row[column]] == nil {
				xs[row[column]] = map[string]bool{}
			}
			xs[row[column]][row[x]] = true
			follows = follows && len(xs[row[column]]) == 1
		}
		switch {
		case len(xs) < 2:
		case follows:
			along = true
		default:
			by = append(by, key)
			if len(xs) > most {
				longest, most = len(by)-1, len(xs)
			}
		}
	}
	if !along && longest >= 0 && p.Table == resultsTable {
		by = slices.Delete(by, longest, longest+1)
	}
	return by
}

// seriesName shows a cell in the legend: names as they are, numbers with what
// they count.
func seriesName(column, cell string) string {
	if name := knownCells[column+" "+cell]; name != "" {
		return name
	}
	if x := number(cell); x == x {
		return strings.ReplaceAll(column[strings.LastIndexByte(column, '.')+1:], "_", " ") + " " + cell
	}
	return cell
}

// series reads the points of one series, in the order of x.
func (p *PlotConfig) series(t *Table, y string) (figure.Series, error) {
	var s figure.Series
	var err error
	if s.X, err = t.Numbers(p.X); err != nil {
		return s, err
	}
	if s.Y, err = t.Numbers(y); err != nil {
		return s, err
	}
	if ci := t.intervalColumn(y); ci != "" {
		if s.HalfWidth, err = t.Numbers(ci); err != nil {
			return s, err
		}
	}
	if i := slices.Index(t.Columns, "saturated"); i >= 0 {
		for _, row := range t.Rows {
			s.Saturated = append(s.Saturated, row[i] == "true")
		}
	}
	if p.Style != string(figure.Bar) {
		sortSeries(&s)
	}
	return s, nil
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
	permute(s.Y, order)
	permute(s.HalfWidth, order)
	permute(s.Saturated, order)
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

// categorise replaces x by the index of its cell among the categories, in the
// order of first appearance.
func categorise(f *figure.Figure, s *figure.Series, t *Table, x string) error {
	column, err := t.Column(x)
	if err != nil {
		return err
	}
	for i, row := range t.Rows {
		at := slices.Index(f.Categories, row[column])
		if at < 0 {
			at = len(f.Categories)
			f.Categories = append(f.Categories, row[column])
		}
		s.X[i] = float64(at)
	}
	return nil
}
