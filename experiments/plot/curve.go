package plot

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// curve draws a series as markers joined by lines over its confidence band.
type curve struct {
	figure  *Figure
	series  *Series
	look    appearance
	ceiling float64 // of the axis
	level   float64 // of the line for saturated points, as a part of the strip above the ceiling
}

func (f *Figure) newCurve(i int) *curve {
	k := &curve{figure: f, series: &f.Series[i], look: f.look(i), ceiling: f.ceiling()}
	levels := f.levels()
	k.level = row(len(levels)-1-slices.Index(levels, i), len(levels))
	return k
}

// shown is where point i is drawn on the vertical axis, which ends at top.
func (k *curve) shown(i int, top float64) float64 {
	s := k.series
	switch {
	case math.IsInf(k.ceiling, 0):
		return s.Y[i]
	case s.saturated(i):
		return k.ceiling + (top-k.ceiling)*k.level
	case s.Y[i] > k.ceiling:
		return top + s.Y[i] // beyond y_max: off the axis, not in the strip
	}
	return s.Y[i]
}

// Plot implements plot.Plotter.
func (k *curve) Plot(c draw.Canvas, p *plot.Plot) {
	defer tag(c, "data-series", k.series.Name)()
	upper, lower := k.band(c, p)
	if len(upper) > 1 && !k.figure.Whiskers && k.figure.Style != Scatter {
		area := slices.Clone(upper)
		for _, at := range slices.Backward(lower) {
			area = append(area, at)
		}
		c.FillPolygon(k.look.pale(0x40), c.ClipPolygonXY(area))
	} else {
		for i := range upper {
			whisker(c, k.look.color, upper[i].X, lower[i].Y, upper[i].Y)
		}
	}
	points, states, which := k.points(c, p)
	if k.figure.Style != Scatter {
		for _, line := range c.ClipLinesXY(k.runs(points, states)...) {
			c.StrokeLines(k.look.line(), line)
		}
	}
	if k.figure.Style == Curve {
		return
	}
	for i, at := range points {
		if c.Contains(at) {
			end := k.figure.tip(c, k.series, which[i])
			k.look.mark(c, at, states[i])
			end()
		}
	}
}

// runs are the points that lines join: all, or those that follow each other below
// the strip.
func (k *curve) runs(points []vg.Point, states []State) (all [][]vg.Point) {
	if math.IsInf(k.ceiling, 0) {
		return [][]vg.Point{points}
	}
	var run []vg.Point
	for i, at := range points {
		if states[i] == Saturated {
			all, run = append(all, run), nil
			continue
		}
		run = append(run, at)
	}
	return append(all, run)
}

// points are the visible points on the canvas, and which of the series they are.
func (k *curve) points(c draw.Canvas, p *plot.Plot) (points []vg.Point, states []State, which []int) {
	trX, trY := p.Transforms(&c)
	s := k.series
	for i := range s.X {
		if k.figure.visible(s, i) || k.figure.lost(s, i) && !math.IsInf(k.ceiling, 0) {
			points = append(points, vg.Point{X: trX(s.X[i]), Y: trY(k.shown(i, p.Y.Max))})
			states, which = append(states, s.state(i)), append(which, i)
		}
	}
	return points, states, which
}

// band is the confidence intervals of the points that kept up.
func (k *curve) band(c draw.Canvas, p *plot.Plot) (upper, lower []vg.Point) {
	trX, trY := p.Transforms(&c)
	s := k.series
	for i := range s.X {
		h := s.interval(i)
		if h == 0 || !k.figure.visible(s, i) || s.saturated(i) {
			continue
		}
		least := max(s.Y[i]-h, p.Y.Min) // below a logarithmic axis there is nothing
		upper = append(upper, vg.Point{X: trX(s.X[i]), Y: trY(s.Y[i] + h)})
		lower = append(lower, vg.Point{X: trX(s.X[i]), Y: trY(least)})
	}
	return upper, lower
}

// shapes is what the curve covers.
func (k *curve) shapes(p *plot.Plot, c draw.Canvas) []shape {
	var all []shape
	points, states, _ := k.points(c, p)
	for _, at := range points {
		all = append(all, shape{a: at, b: at, margin: markerRadius + 1})
	}
	if k.figure.Style != Scatter {
		for _, run := range k.runs(points, states) {
			for i := 1; i < len(run); i++ {
				all = append(all, shape{a: run[i-1], b: run[i], margin: 1})
			}
		}
	}
	upper, lower := k.band(c, p)
	const slices = 16 // between two points
	for i := range upper {
		from := max(0, i-1)
		all = append(all, shape{a: upper[from], b: upper[i]}, shape{a: lower[from], b: lower[i]})
		for j := range slices + 1 {
			part := vg.Length(j) / slices
			between := func(a, b vg.Point) vg.Point { return a.Add(b.Sub(a).Scale(part)) }
			all = append(all, shape{a: between(lower[from], lower[i]), b: between(upper[from], upper[i]), margin: 1})
		}
	}
	return all
}

// whisker draws a confidence interval as a line with ends, those that lie
// between the axes.
func whisker(c draw.Canvas, ink color.Color, x, low, high vg.Length) {
	style := draw.LineStyle{Color: ink, Width: 0.8}
	if from, to := max(low, c.Min.Y), min(high, c.Max.Y); from <= to {
		c.StrokeLine2(style, x, from, x, to)
	}
	for _, end := range []vg.Length{low, high} {
		if c.ContainsY(end) {
			c.StrokeLine2(style, x-2, end, x+2, end)
		}
	}
}

// Thumbnail implements plot.Thumbnailer.
func (k *curve) Thumbnail(c *draw.Canvas) {
	if y := c.Center().Y; k.figure.Style != Scatter {
		c.StrokeLine2(k.look.line(), c.Min.X, y, c.Max.X, y)
	}
	if k.figure.Style != Curve {
		k.look.mark(*c, c.Center(), Steady)
	}
}

// has tells whether a point is in a state, in the figure or in a panel.
func (f *Figure) has(state State) bool {
	return slices.ContainsFunc(f.Series, func(s Series) bool { return slices.Contains(s.States, state) }) ||
		slices.ContainsFunc(f.Panels, func(panel *Figure) bool { return panel.has(state) })
}

// marker explains the markers of a state in the legend.
type marker struct{ state State }

// Thumbnail implements plot.Thumbnailer.
func (m marker) Thumbnail(c *draw.Canvas) {
	appearance{color: color.NRGBA{0x55, 0x55, 0x55, 0xff}}.mark(*c, c.Center(), m.state)
}
