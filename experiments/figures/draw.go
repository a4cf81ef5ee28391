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
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/stats"
)

// ErrNothing is the error of figures without a point to draw.
var ErrNothing = plot.ErrNothing

// PlotSource is what figures are drawn from.
type PlotSource struct {
	Table    *results.Table
	Failures *results.Table // swept cells of the points that failed; nil: of none
	// Bound is the highest load that a point's channels can carry, by index; 0: unknown. nil: of no
	// point; figures that ask for it are refused.
	Bound func(point int) float64
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

// Draw draws a table as "svg", "png", "pdf" or [plot.Page], or writes the figure's numbers as
// "csv".
func (p *PlotConfig) Draw(source *PlotSource, format string) ([]byte, error) {
	f, err := p.Figure(source)
	if err != nil {
		return nil, err
	}
	if format == CSVFormat {
		return p.data(f).Encode(CSVFormat)
	}
	return f.Render(format)
}

// Figure selects the columns of a table that a plot shows.
func (p *PlotConfig) Figure(source *PlotSource) (*plot.Figure, error) {
	t, err := source.Table.Where(p.Where)
	if err == nil && len(t.Rows) == 0 && len(source.Table.Rows) > 0 {
		err = nothing{source.Table.Unmet(p.Where)}
	}
	if err != nil {
		return nil, err
	}
	f := &plot.Figure{
		Title: p.Title, XLabel: p.XLabel, YLabel: p.YLabel, Style: plot.Style(p.Style), LogX: p.LogX, LogY: p.LogY,
		YMax: p.YMax, XRange: p.XRange, YRange: p.YRange, Whiskers: p.Intervals == "bars", PanelColumns: p.PanelColumns,
	}
	if source.Failures != nil {
		where := maps.Clone(p.Where)
		maps.DeleteFunc(where, func(name, _ string) bool { return !slices.Contains(source.Failures.Columns, name) })
		failed, err := source.Failures.Where(where)
		if err != nil {
			return nil, err
		}
		f.Failed = len(failed.Rows)
	}
	named := sizes[p.Size] // zeros: the usual size
	f.Width, f.Height, f.FontSize = cmp.Or(p.Width, named[0]), cmp.Or(p.Height, named[1]), cmp.Or(p.FontSize, named[2])
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
	case f.Style == plot.Box && len(p.Y) == 0 && len(p.Percentiles) == 0 && !hasBins(t, p.X):
		err = fmt.Errorf("style box needs a column y, or bins: x may be the column of their lower edges, such as latency_from_ns, beside that of the upper ones, such as latency_to_ns")
	case f.Style == plot.Histogram, f.Style == "cdf", f.Style == "percentile", len(p.Percentiles) > 0, f.Style == plot.Box && hasBins(t, p.X):
		err = p.distribution(f, t, groups)
	default:
		err = p.curves(f, t, source.Table, groups)
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

func perGroup(f *plot.Figure, groups []*group) int {
	if len(groups) == 0 {
		return 0
	}
	return len(f.Series) / len(groups)
}

// curves makes the series of a table with a row for each point; whole has the baseline's rows.
func (p *PlotConfig) curves(f *plot.Figure, t, whole *results.Table, groups []*group) error {
	f.YLabel = cmp.Or(f.YLabel, p.labelOf(p.Y))
	category, err := p.categories(t, groups)
	if err != nil {
		return err
	}
	base, err := p.baseline(whole)
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
				for i, rows := range points { // x is the index of the category, in the order of first appearance
					name := category(g.rows.Rows[rows[0]])
					f.Categories = results.AddNew(f.Categories, name)
					s.X[i] = float64(slices.Index(f.Categories, name))
				}
			}
			f.Series = append(f.Series, s)
		}
	}
	return nil
}

// nothing is an error that is [ErrNothing] and says why.
type nothing struct{ error }

// Is implements what [errors.Is] asks for.
func (nothing) Is(target error) bool { return target == ErrNothing }

// categorical tells whether x has categories, which need be no numbers.
func (p *PlotConfig) categorical() bool {
	return p.Style == string(plot.Bar) || p.Style == string(plot.Box)
}

// HasCategories tells whether x may hold words.
func (p *PlotConfig) HasCategories() bool { return p.categorical() || p.Style == string(plot.Heat) }

// Unanswered names what a figure says of a table without an answer there: values of order, panels
// and series of references.
func (p *PlotConfig) Unanswered(t *results.Table, f *plot.Figure) error {
	groups, err := p.groups(t)
	if err != nil {
		return err
	}
	for _, value := range p.Order {
		if !slices.ContainsFunc(groups, func(g *group) bool {
			return slices.ContainsFunc(g.cells, func(cell string) bool { return results.SameCell(cell, value) })
		}) {
			return fmt.Errorf("order has %q, which is no value of %s", value, strings.Join(groups[0].by, ", "))
		}
	}
	isBar := func(name string) bool {
		return slices.ContainsFunc(f.Series, func(s plot.Series) bool { return s.Name == name })
	}
	for _, r := range p.References {
		switch {
		case r.Panel != "" && p.Panels != "" && !slices.ContainsFunc(groups, func(g *group) bool {
			cell := p.panelOf(g)
			return results.SameCell(cell, r.Panel) || p.seriesName(p.Panels, cell) == r.Panel
		}):
			return fmt.Errorf("reference %s has the panel %q: there is none", r.Target, r.Panel)
		case r.X != "" && r.Series != "" && p.Style == string(plot.Bar) && !isBar(r.Series):
			return fmt.Errorf("reference %s has the series %q: there is none", r.Target, r.Series)
		}
	}
	return nil
}

// series reads a series' points, sorted by x unless that has categories. Of several seeds a point
// is their aggregate, a mean with Student's 95 % interval.
func (p *PlotConfig) series(t *results.Table, points [][]int, y string) (plot.Series, error) {
	var s plot.Series
	xs, err := t.Numbers(p.X)
	ys, err2 := t.Values(y)
	intervals, err3 := t.HalfWidths(y)
	if err := cmp.Or(err, err2, err3); err != nil {
		return s, err
	}
	place := func(rows []int) (x float64) {
		return lists.Sum(rows, func(i int) float64 { return xs[i] / float64(len(rows)) })
	}
	if !p.categorical() {
		slices.SortStableFunc(points, func(a, b []int) int { return cmp.Compare(place(a), place(b)) })
	}
	for _, rows := range points {
		values := valuesOn(t, rows, ys)
		y, interval := p.aggregate(values, intervals[rows[0]])
		s.X, s.Y = append(s.X, place(rows)), append(s.Y, y)
		s.HalfWidth, s.States = append(s.HalfWidth, interval), append(s.States, verdictOn(t, rows))
		if p.Style == string(plot.Box) || p.spread(t) {
			s.Quantiles = append(s.Quantiles, [5]float64(lists.Make(5, func(i int) float64 { return stats.Quantile(values, float64(i)/4) })))
			s.HalfWidth[len(s.HalfWidth)-1] = math.NaN()
		}
	}
	if !slices.ContainsFunc(points, func(rows []int) bool { return len(rows) > 1 }) && p.Style != string(plot.Box) {
		s.Quantiles = nil // nothing is spread
	}
	return s, nil
}

// verdict is the state of row i as figures show it.
func verdict(t *results.Table, i int) plot.State {
	switch t.State(i) {
	case measure.Saturated:
		return plot.Saturated
	case measure.Undecided:
		return plot.Undecided
	}
	if results.Number(t.Cell(i, refusedColumn)) > 0 {
		return plot.Refused
	}
	return plot.Steady
}

// refusedColumn counts what a point was asked for and did not do, such as multicast groups without
// room: values look too good then.
const refusedColumn = "refused"

func verdictOn(t *results.Table, rows []int) (worst plot.State) {
	return lists.Most(0, rows, func(i int) plot.State { return verdict(t, i) })
}

// valuesOn are a point's rows' values that are numbers: none where a saturated row has none, as the
// other seeds' are not the point's.
func valuesOn(t *results.Table, rows []int, column []float64) (values []float64) {
	for _, i := range rows {
		switch {
		case !math.IsNaN(column[i]):
			values = append(values, column[i])
		case verdict(t, i) == plot.Saturated:
			return nil
		}
	}
	return values
}
