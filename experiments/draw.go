package experiments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments/plot"
	"github.com/weft-sim/weft/fabric/measure"
)

// PlotSource is what figures are drawn from.
type PlotSource struct {
	Table *Table
	// Bound is the highest load that the channels of a point can carry, by its
	// index; 0: not known. nil: figures that ask for it are refused.
	Bound func(point int) float64
}

// draw writes the figures of a file into its result folder and returns their
// names. Figures that cannot be drawn, such as those without a point, are left
// out, with an error at the end, which is [ErrInterrupted] if ctx ended first.
func (f *File) draw(ctx context.Context, results *Table, tables map[string]*Table, dir string) ([]string, error) {
	var written []string
	var left []error
	for i := range f.Plots {
		p := &f.Plots[i]
		source, err := f.plotSource(p, results, tables)
		if err != nil {
			left = append(left, fmt.Errorf("%s: plot %s: %w", f.Name, p.File, err))
			continue
		}
		for _, format := range p.Formats {
			picture, err := Interruptible(ctx, func() ([]byte, error) { return p.Draw(source, format) })
			if errors.Is(err, ErrInterrupted) {
				return written, err
			}
			if err != nil {
				left = append(left, fmt.Errorf("%s: plot %s: %w", f.Name, p.File, err))
				break
			}
			name := plotFile(p.File, format)
			if err := writeInside(dir, name, picture); err != nil {
				left = append(left, err)
				break
			}
			written = append(written, name)
		}
	}
	return written, errors.Join(left...)
}

// plotSource finds the table of a figure: rows of further tables have the state of
// their points, and those of the performance all columns of the results.
func (f *File) plotSource(p *PlotConfig, results *Table, tables map[string]*Table) (*PlotSource, error) {
	table := results
	if p.Table != resultsTable {
		if table = tables[p.Table]; table == nil {
			return nil, fmt.Errorf("the run has no table %q: nothing in the file asks for it", p.Table)
		}
		columns := []string{stateColumn}
		if p.Table == performanceTable {
			columns = results.Columns
		}
		table = table.joined(results, columns)
	}
	return &PlotSource{Table: table, Bound: func(point int) float64 {
		for _, p := range f.Points {
			if p.Index == point {
				return f.LoadBound(p)
			}
		}
		return 0
	}}, nil
}

// PlotSource is what a figure of the folder's file is drawn from.
func (f *Folder) PlotSource(p *PlotConfig) (*PlotSource, error) {
	tables := f.Tables
	if p.Table == performanceTable {
		t, err := readFolderTable(f.Dir, performanceFile)
		if err != nil {
			return nil, err
		}
		tables = map[string]*Table{performanceTable: t}
	}
	return f.File.plotSource(p, f.Results, tables)
}

// performanceTable is what points took to compute.
const performanceTable = "performance"

// joined is the table with those of some columns of the results that it lacks, by
// the point.
func (t *Table) joined(results *Table, columns []string) *Table {
	at, of := slices.Index(t.Columns, "point"), slices.Index(results.Columns, "point")
	if at < 0 || of < 0 {
		return t
	}
	rows := map[string][]string{}
	for _, row := range results.Rows {
		rows[row[of]] = row
	}
	all := &Table{Columns: slices.Clone(t.Columns)}
	var from []int
	for _, name := range columns {
		if i := slices.Index(results.Columns, name); i >= 0 && !slices.Contains(t.Columns, name) {
			all.Columns, from = append(all.Columns, name), append(from, i)
		}
	}
	for _, row := range t.Rows {
		row = slices.Clone(row)
		for _, i := range from {
			cell := ""
			if result := rows[row[at]]; result != nil {
				cell = result[i]
			}
			row = append(row, cell)
		}
		all.Rows = append(all.Rows, row)
	}
	return all
}

// PagePictures draws a table for a page: as it is, and for the width of a telephone.
func (p *PlotConfig) PagePictures(source *PlotSource) (wide, narrow []byte, err error) {
	small := *p
	small.Size, small.Width, small.Height, small.FontSize = "one-column", 0, 0, 0
	if p.Panels != "" { // one below the other, as high as they need
		column := sizes[small.Size]
		small.Size, small.Width, small.FontSize, small.PanelColumns = "page", column[0], column[2], 1
	}
	if wide, err = p.Draw(source, plot.Page); err == nil {
		narrow, err = small.Draw(source, plot.Page)
	}
	return wide, narrow, err
}

// Picture is [PlotConfig.Draw] of a table of which nothing else is known.
func (p *PlotConfig) Picture(t *Table, format string) ([]byte, error) {
	return p.Draw(&PlotSource{Table: t}, format)
}

// Draw draws a table as "svg", "png", "pdf" or [plot.Page], or writes the numbers of the figure as
// "csv".
func (p *PlotConfig) Draw(source *PlotSource, format string) ([]byte, error) {
	f, err := p.figureOf(source)
	if err != nil {
		return nil, err
	}
	if format == csvFormat {
		return p.data(f)
	}
	return f.Render(format)
}

func (p *PlotConfig) figure(t *Table) (*plot.Figure, error) {
	return p.figureOf(&PlotSource{Table: t})
}

// figureOf selects the columns of a table that a plot shows.
func (p *PlotConfig) figureOf(source *PlotSource) (*plot.Figure, error) {
	t, err := source.Table.Where(p.Where)
	if err == nil && len(t.Rows) == 0 && len(source.Table.Rows) > 0 {
		err = source.Table.unmet(p.Where)
	}
	if err != nil {
		return nil, err
	}
	f := &plot.Figure{
		Title: p.Title, XLabel: p.XLabel, YLabel: p.YLabel, Style: plot.Style(p.Style), LogX: p.LogX, LogY: p.LogY,
		YMax: p.YMax, XRange: p.XRange, YRange: p.YRange, Whiskers: p.Intervals == "bars", PanelColumns: p.PanelColumns,
	}
	p.setSize(f)
	if f.XLabel == "" && f.Style != "percentile" {
		f.XLabel = AxisLabel(p.X)
	}
	if f.Style == plot.Heat {
		return f, p.heat(f, t)
	}
	groups, err := p.groups(t)
	if err != nil {
		return nil, err
	}
	title := p.nameGroups(groups)
	f.LegendTitle = title
	switch {
	case f.Style == plot.Histogram, f.Style == "cdf", f.Style == "percentile", len(p.Percentiles) > 0, f.Style == plot.Box && t.hasBins(p.X):
		err = p.distribution(f, t, groups)
	default:
		err = p.curves(f, t, groups)
	}
	if err != nil {
		return nil, err
	}
	marks, err := p.annotations(f, groups, source)
	if err != nil {
		return nil, err
	}
	p.colours(f, groups)
	return f, p.refer(f, p.parts(f, groups, marks))
}

// perGroup is how many series a group has.
func perGroup(f *plot.Figure, groups []*group) int {
	if len(groups) == 0 {
		return 0
	}
	return len(f.Series) / len(groups)
}

// curves makes the series of a table with a row for each point.
func (p *PlotConfig) curves(f *plot.Figure, t *Table, groups []*group) error {
	if f.YLabel == "" {
		f.YLabel = p.labelOf(p.Y)
	}
	category, err := p.categories(t, groups)
	if err != nil {
		return err
	}
	base, err := p.baseline(t)
	if err != nil {
		return err
	}
	for _, g := range groups {
		points, err := p.points(g.rows)
		if err != nil {
			return err
		}
		if p.Bins > 0 {
			points, err = p.inBins(t, g.rows)
		}
		if err != nil {
			return err
		}
		for _, y := range p.Y {
			s, err := p.series(g.rows, points, y)
			if err != nil {
				return err
			}
			if base != nil {
				if err := base.relate(&s, g.rows, points, y); err != nil {
					return err
				}
			}
			s.Name = g.name
			if len(p.Y) > 1 {
				s.Name = strings.TrimPrefix(g.name+", "+p.nameOf(y, quantity(y)), ", ")
			}
			if p.categorical() {
				categorise(f, &s, g.rows, points, category)
			} else {
				sortSeries(&s)
			}
			f.Series = append(f.Series, s)
		}
	}
	return nil
}

// categorical tells whether x has categories, which need be no numbers.
func (p *PlotConfig) categorical() bool {
	return p.Style == string(plot.Bar) || p.Style == string(plot.Box)
}

// series reads the points of one series. A point that several seeds have computed
// is what aggregate says of them, a mean with Student's 95 % interval.
func (p *PlotConfig) series(t *Table, points [][]int, y string) (plot.Series, error) {
	var s plot.Series
	xs, err := t.Numbers(p.X)
	if err != nil {
		return s, err
	}
	ys, err := t.values(y)
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
	for _, rows := range points {
		x, state := 0.0, plot.Steady
		var values []float64
		for _, i := range rows {
			x += xs[i] / float64(len(rows))
			if !math.IsNaN(ys[i]) {
				values = append(values, ys[i])
			}
			state = max(state, t.verdict(i))
		}
		y, interval := p.aggregate(values, intervals[rows[0]])
		s.X, s.Y = append(s.X, x), append(s.Y, y)
		s.HalfWidth, s.States = append(s.HalfWidth, interval), append(s.States, state)
		if p.Style == string(plot.Box) || p.spread(t) {
			s.Quantiles = append(s.Quantiles, fiveNumbers(values))
			s.HalfWidth[len(s.HalfWidth)-1] = math.NaN()
		}
	}
	if !slices.ContainsFunc(points, func(rows []int) bool { return len(rows) > 1 }) && p.Style != string(plot.Box) {
		s.Quantiles = nil // nothing is spread
	}
	return s, nil
}

// verdict is the state of row i as figures show it.
func (t *Table) verdict(i int) plot.State {
	switch t.State(i) {
	case measure.Saturated:
		return plot.Saturated
	case measure.Undecided:
		return plot.Undecided
	}
	return plot.Steady
}

// sortSeries orders the points by x; equal ones keep their order.
func sortSeries(s *plot.Series) {
	order := make([]int, len(s.X))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(s.X[i], s.X[j]) })
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
