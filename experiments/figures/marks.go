package figures

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/weft-sim/weft/experiments/plot"
	"github.com/weft-sim/weft/experiments/results"
)

// annotation is a mark of the series of a group.
type annotation struct {
	group int
	mark  plot.Mark
}

// annotations are what is known of the load axis: bounds and knees. A bound that
// variants of one panel share is drawn once, in gray.
func (p *PlotConfig) annotations(f *plot.Figure, groups []*group, source *PlotSource) ([]annotation, error) {
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
	var all []annotation
	drawn := map[place]int{}
	for i, g := range groups {
		found := g.rows.Knees()
		if len(found) != 1 {
			continue // several variants, or no sweep of the load
		}
		k := found[0]
		hue := 1 + i*max(1, perGroup(f, groups))
		if knees && !math.IsNaN(k.Steady) && !math.IsNaN(k.Not) {
			all = append(all, annotation{i, plot.Mark{Name: "knee", Vertical: true, From: k.Steady, To: k.Not, Hue: hue}})
		}
		if !bounds {
			continue
		}
		bound := source.Bound(k.Point)
		if bound <= 0 || bound >= 1 {
			continue // not known, or that of the terminals' own channels
		}
		at := place{p.panelOf(g), bound}
		if j, known := drawn[at]; known {
			all[j].mark.Hue = 0
			continue
		}
		drawn[at] = len(all)
		all = append(all, annotation{i, plot.Mark{
			Name: "bound of the channels", Label: "bound " + strconv.FormatFloat(bound, 'g', 4, 64),
			Vertical: !accepted, From: bound, To: bound, Hue: hue,
		}})
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

// colours gives series with the same value of colour_by the same colour: on a scale
// where the values are numbers.
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
	seen := map[string]int{} // series so far of a colour
	for i := range f.Series {
		s, cell := &f.Series[i], cells[i/each]
		if numeric && len(values) > 1 {
			s.Hue, s.Tint = -1, (results.Number(cell)-low)/(high-low)
		} else {
			s.Hue = 1 + slices.Index(values, cell)
		}
		seen[cell]++
		s.Look = seen[cell]
		if p.ColourBy != "" && len(values) == len(f.Series) {
			s.Look = i + 1 // the colour tells all: markers may help
		}
	}
}

// parts puts the series into their panels, and the marks to their series. It returns the
// panels by the cells that choose them.
func (p *PlotConfig) parts(f *plot.Figure, groups []*group, marks []annotation) map[string]*plot.Figure {
	each := perGroup(f, groups)
	if each == 0 {
		return nil
	}
	// In the colour of the series, where that is one of the palette.
	colored := func(m annotation, s *plot.Series) plot.Mark {
		if m.mark.Hue > 0 && s.Hue != 0 {
			m.mark.Hue = max(0, s.Hue)
		}
		return m.mark
	}
	if p.Panels == "" {
		for _, m := range marks {
			f.Marks = append(f.Marks, colored(m, &f.Series[m.group*each]))
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
			sub.Title = p.nameOf(cell, seriesName(p.Panels, cell))
			sub.XLabel, sub.YLabel, sub.LegendTitle, sub.Series, sub.Panels = "", "", "", nil, nil
			panel = &sub
			place[cell] = panel
			f.Panels = append(f.Panels, panel)
		}
		if looks[s.Name] == 0 {
			looks[s.Name] = len(looks) + 1
		}
		if s.Look == 0 {
			s.Look = looks[s.Name]
		}
		if s.Hue == 0 {
			s.Hue = looks[s.Name]
		}
		for _, m := range marks {
			if m.group*each == i {
				panel.Marks = append(panel.Marks, colored(m, &s))
			}
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
