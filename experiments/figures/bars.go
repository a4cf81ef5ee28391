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

// spread tells whether a bar is the mean of all its place's rows, such as one role's channels, and
// shows their range.
func (p *PlotConfig) spread(t *results.Table) bool { return p.categorical() && !t.OfResults() }

// variant is a category: rows that differ only in what tells series apart, and in their seeds.
type variant struct {
	name   string
	cells  []string // of columns
	series []int    // that have it
}

// categories names a row's category: by its x and, where a series has several variants with that,
// by the first swept keys that tell these apart, so that a series' bars do not share a place.
func (p *PlotConfig) categories(t *results.Table, groups []*group) (func(row []string) string, error) {
	x, err := t.Column(p.X)
	if err != nil || len(groups) == 0 {
		return nil, err
	}
	var columns []int
	for _, name := range t.SweptKeys() {
		if name != p.X && name != results.SeedKey && !slices.Contains(groups[0].by, name) {
			columns = append(columns, slices.Index(t.Columns, name))
		}
	}
	keyOf := func(row []string) string { return strings.Join(append(results.Pick(row, columns), row[x]), "\x00") }
	var all []*variant
	byKey := map[string]*variant{}
	for i, g := range groups {
		for _, row := range g.rows.Rows {
			v := byKey[keyOf(row)]
			if v == nil {
				v = &variant{name: p.nameOf(row[x], CellName(p.X, row[x])), cells: results.Pick(row, columns)}
				byKey[keyOf(row)] = v
				all = append(all, v)
			}
			v.series = results.AddNew(v.series, i)
		}
	}
	p.tellApart(results.Pick(t.Columns, columns), all)
	return func(row []string) string { return byKey[keyOf(row)].name }, nil
}

// tellApart lengthens the names of variants of one series that share one, until none do.
func (p *PlotConfig) tellApart(columns []string, all []*variant) {
	for _, list := range results.Grouped(all, func(v *variant) string { return v.name }) {
		for j, column := range columns {
			if !tells(list, j) {
				continue
			}
			for _, v := range list {
				v.name += ", " + p.seriesName(column, v.cells[j])
			}
			p.tellApart(columns, list)
			break
		}
	}
}

// tells finds two variants of one series that differ in column j.
func tells(list []*variant, j int) bool {
	first := map[int]string{} // cell by series
	for _, v := range list {
		for _, i := range v.series {
			if cell, known := first[i]; known && cell != v.cells[j] {
				return true
			}
			first[i] = v.cells[j]
		}
	}
	return false
}

// ownCategories leaves a panel with the categories that it has something in, in their order.
func (p *PlotConfig) ownCategories(f *plot.Figure) {
	if !p.categorical() {
		return
	}
	used := slices.Concat(lists.Map(f.Series, func(s plot.Series) []float64 { return s.X })...)
	slices.Sort(used)
	used = slices.Compact(used)
	all := f.Categories
	f.Categories = lists.Map(used, func(x float64) string { return all[int(x)] })
	for i := range f.Series {
		s := &f.Series[i]
		s.X = slices.Clone(s.X)
		for j, x := range s.X {
			s.X[j] = float64(slices.Index(used, x))
		}
	}
}

// heat makes a field of colours of column z over the values of x and y.
func (p *PlotConfig) heat(f *plot.Figure, t *results.Table) error {
	if len(p.Y) != 1 || p.Z == "" {
		return errors.New("style heat needs one column y, and a column z, which the colours show")
	}
	if p.Panels != "" {
		return errors.New("style heat has no panels: select one value under where")
	}
	f.YLabel = cmp.Or(f.YLabel, p.labelOf(p.Y))
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
	field := &plot.Field{Label: cmp.Or(p.ZLabel, p.labelOf([]string{p.Z})), Log: p.LogY, Range: p.YRange}
	field.Columns = lists.Map(columns, func(c string) string { return p.nameOf(c, CellName(p.X, c)) })
	field.Rows = lists.Map(rows, func(c string) string { return p.nameOf(c, CellName(p.Y[0], c)) })
	points := 1.0
	if point := slices.Index(t.Columns, "point"); point >= 0 && p.Aggregate == "sum" {
		points = float64(len(axisValues(t, point)))
	}
	cells := make([][]int, len(columns)*len(rows)) // rows of the table
	states := make([]plot.State, len(cells))
	for i, row := range t.Rows {
		at := slices.Index(rows, row[y])*len(columns) + slices.Index(columns, row[x])
		cells[at] = append(cells[at], i)
		if name := differsIn(t, t.Rows[cells[at][0]], row, x, y); name != "" {
			return fmt.Errorf("rows at %s = %s and %s = %s differ in %s: select one value under where", p.X, row[x], p.Y[0], row[y], name)
		}
		values[i] /= points
		states[at] = max(states[at], verdict(t, i))
	}
	for j := range rows {
		var line []float64
		for i := range columns {
			v, _ := p.aggregate(valuesOn(t, cells[j*len(columns)+i], values), math.NaN())
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

// axisValues lists the values of a column: numbers in their order, others as they come.
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
		if leads(t, i, x) && strings.HasSuffix(t.Columns[x], "load") {
			continue
		}
		if key != results.SeedKey && i != x && i != y && results.CanonicalCell(a[i]) != results.CanonicalCell(b[i]) {
			return key
		}
	}
	return ""
}

// annotations are the known of the load axis, by group: bounds and knees. A bound that a panel's
// variants share is drawn once, in gray.
func (p *PlotConfig) annotations(f *plot.Figure, groups []*group, source *PlotSource) ([][]*plot.Mark, error) {
	if len(p.Annotate) == 0 {
		return nil, nil
	}
	accepted := len(p.Y) == 1 && p.Y[0] == "accepted_load"
	if p.X != "offered_load" && p.X != results.LoadKey {
		return nil, fmt.Errorf("annotate is for figures over the load: want x = \"offered_load\" or %q, not %q", results.LoadKey, p.X)
	}
	bounds, knees := slices.Contains(p.Annotate, "bound"), slices.Contains(p.Annotate, "knee")
	if bounds && source.Bound == nil {
		return nil, errors.New("annotate bound needs the result folder, whose settings say what the network is: name the results.csv in it")
	}
	type place struct {
		panel string
		bound float64
	}
	all := make([][]*plot.Mark, len(groups))
	drawn := map[place]*plot.Mark{}
	for i, g := range groups {
		found := g.rows.Knees()
		if len(found) != 1 {
			continue // several variants, or no sweep of the load
		}
		k := found[0]
		hue := 1 + i*max(1, perGroup(f, groups))
		if knees && !math.IsNaN(k.Steady) && !math.IsNaN(k.Not) {
			all[i] = append(all[i], &plot.Mark{Name: "knee", Vertical: true, From: k.Steady, To: k.Not, Hue: hue})
		}
		if !bounds {
			continue
		}
		bound := source.Bound(k.Point)
		if bound <= 0 || bound >= 1 {
			continue // not known, or a terminal's own channel
		}
		at := place{p.panelOf(g), bound}
		if drawn[at] != nil {
			drawn[at].Hue = 0
			continue
		}
		drawn[at] = &plot.Mark{
			Name: "bound of the channels", Label: "bound " + strconv.FormatFloat(bound, 'g', 4, 64),
			Vertical: !accepted, From: bound, To: bound, Hue: hue,
		}
		all[i] = append(all[i], drawn[at])
	}
	return all, nil
}

// panelOf is the value that chooses the panel of a group; empty without panels.
func (p *PlotConfig) panelOf(g *group) string {
	if at := slices.Index(g.by, p.Panels); at >= 0 {
		return g.cells[at]
	}
	return ""
}

// colours gives series of equal colour_by values equal colours, on a scale if they are numbers.
func (p *PlotConfig) colours(f *plot.Figure, groups []*group) {
	each := perGroup(f, groups)
	if p.ColourBy == "" || each == 0 {
		return
	}
	var values []string
	cells := make([]string, len(groups))
	for i, g := range groups {
		at := slices.Index(g.rows.Columns, p.ColourBy)
		if at < 0 || len(g.rows.Rows) == 0 {
			return
		}
		cells[i] = g.rows.Rows[0][at]
		values = results.AddNew(values, cells[i])
	}
	low, high, numeric := math.Inf(1), math.Inf(-1), true
	for _, v := range values {
		x := results.Number(v)
		numeric = numeric && x == x
		low, high = min(low, x), max(high, x)
	}
	var all []string
	of := map[string][]string{} // names of a colour, the same in all panels
	for i := range f.Series {
		cell, name := cells[i/each], f.Series[i].Name
		of[cell], all = results.AddNew(of[cell], name), results.AddNew(all, name)
	}
	for i := range f.Series {
		s, cell := &f.Series[i], cells[i/each]
		if numeric && len(values) > 1 {
			s.Hue, s.Tint = -1, (results.Number(cell)-low)/(high-low)
		} else {
			s.Hue = 1 + slices.Index(values, cell)
		}
		names := of[cell]
		if len(values) == len(all) {
			names = all // the colour tells all: markers may help
		}
		s.Look = 1 + slices.Index(names, s.Name)
	}
}

// parts puts series into panels, and marks to series. It returns the panels by the cells that
// choose them.
func (p *PlotConfig) parts(f *plot.Figure, groups []*group, marks [][]*plot.Mark) map[string]*plot.Figure {
	each := perGroup(f, groups)
	if each == 0 {
		return nil
	}
	// The marks of a group are in the colour of its first series, where that is one of the palette.
	mark := func(panel *plot.Figure, group int, s *plot.Series) {
		for _, m := range marks[group] {
			if m.Hue > 0 && s.Hue != 0 {
				m.Hue = max(0, s.Hue)
			}
			panel.Marks = append(panel.Marks, *m)
		}
	}
	if p.Panels == "" {
		for i := range marks {
			mark(f, i, &f.Series[i*each])
		}
		return nil
	}
	looks := map[string]int{}
	place := map[string]*plot.Figure{}
	for i := range f.Series {
		s := f.Series[i]
		cell := p.panelOf(groups[i/each])
		panel := place[cell]
		if panel == nil {
			sub := *f
			sub.Title = p.seriesName(p.Panels, cell)
			sub.XLabel, sub.YLabel, sub.LegendTitle, sub.Series, sub.Panels = "", "", "", nil, nil
			panel = &sub
			place[cell] = panel
			f.Panels = append(f.Panels, panel)
		}
		looks[s.Name] = cmp.Or(looks[s.Name], len(looks)+1)
		s.Look = cmp.Or(s.Look, looks[s.Name])
		s.Hue = cmp.Or(s.Hue, looks[s.Name])
		if marks != nil && i%each == 0 {
			mark(panel, i/each, &s)
		}
		panel.Series = append(panel.Series, s)
	}
	// The legend names each series once.
	var all []plot.Series
	for i := range f.Panels {
		for _, s := range f.Panels[i].Series {
			if !slices.ContainsFunc(all, func(other plot.Series) bool { return other.Name == s.Name }) {
				all = append(all, s)
			}
		}
	}
	f.Series = all
	for _, panel := range f.Panels {
		p.ownCategories(panel)
	}
	return place
}
