package plot

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/weft-sim/weft/sim/lists"
)

// curve draws a series as markers joined by lines over its confidence band.
type curve struct {
	drawn
	ceiling float64 // of the axis
	level   float64 // of the line for saturated points, as a part of the strip above the ceiling
}

func newCurve(d drawn) *curve {
	levels := d.figure.levels()
	return &curve{d, d.figure.ceiling(), row(len(levels)-1-slices.Index(levels, d.index), len(levels))}
}

// shown is where point i is drawn on the vertical axis, which ends at top.
func (k *curve) shown(i int, top float64) float64 {
	s := k.series
	switch {
	case math.IsInf(k.ceiling, 0):
		return s.Y[i]
	case s.saturated(i) && k.figure.LogY:
		return k.ceiling * math.Pow(top/k.ceiling, k.level)
	case s.saturated(i):
		return k.ceiling + (top-k.ceiling)*k.level
	case s.Y[i] > k.ceiling:
		return top + s.Y[i] // beyond y_max: off the axis, not in the strip
	}
	return s.Y[i]
}

func (k *curve) Plot(c draw.Canvas, p *plot.Plot) {
	defer tag(c, "data-series", k.series.Name)()
	upper, lower := k.band(c, p)
	under := c // the strip, in which heights are no values
	under.Max.Y = roof{k.ceiling}.area(c, p).Min.Y
	if len(upper) > 1 && !k.figure.Whiskers && k.figure.Style != Scatter {
		area := slices.Clone(upper)
		for _, at := range slices.Backward(lower) {
			area = append(area, at)
		}
		c.FillPolygon(k.look.pale(0x40), under.ClipPolygonXY(area))
	} else {
		for i := range upper {
			whisker(under, k.look.color, upper[i].X, lower[i].Y, upper[i].Y)
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

// runs are the points that lines join: all, or those that follow each other below the strip.
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

// whisker draws a confidence interval as a line with ends, those that lie between the axes.
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

func (k *curve) sample(c draw.Canvas) {
	if y := c.Center().Y; k.figure.Style != Scatter {
		c.StrokeLine2(k.look.line(), c.Min.X, y, c.Max.X, y)
	}
	if k.figure.Style != Curve {
		k.look.mark(c, c.Center(), Steady)
	}
}

// draws tells whether a point for which match holds is drawn, in the figure or in a panel.
func (f *Figure) draws(match func(s *Series, i int) bool) bool {
	strip := !math.IsInf(f.ceiling(), 0)
	for s, i := range f.points {
		if match(s, i) && (f.visible(s, i) || f.lost(s, i) && strip) {
			return true
		}
	}
	return slices.ContainsFunc(f.Panels, func(panel *Figure) bool { return panel.draws(match) })
}

// offAxes counts the points with markers that are not drawn though they have a value, such as 0 on a
// logarithmic axis.
func (f *Figure) offAxes() (n int) {
	if len(f.Panels) > 0 {
		return lists.Sum(f.Panels, (*Figure).offAxes)
	}
	for s, i := range f.points {
		if f.stripped() && !math.IsNaN(s.X[i]) && !math.IsNaN(s.Y[i]) && !f.visible(s, i) && !f.lost(s, i) {
			n++
		}
	}
	return n
}

// ofStates is how states are explained in the legend.
var ofStates = appearance{color: color.NRGBA{0x55, 0x55, 0x55, 0xff}}

// A latency beyond saturation says how long the run was and nothing else. Where such values would
// squash the curves, the axis ends at a ceiling above all that kept up, and the saturated points of
// each series stand on a line of their own in a strip above it, at their loads. The strip says so,
// the axis is broken below it, and no line leads there: heights in it are not latencies.

// ceiling is where the axis ends and the strip begins; infinite if saturated points have their
// values.
func (f *Figure) ceiling() float64 {
	if f.highest != nil {
		return *f.highest
	}
	if !f.stripped() {
		return math.Inf(1)
	}
	limit := f.YMax
	if f.YRange != nil {
		limit = f.YRange[1]
	}
	kept, flat, highest := f.highestKept(), math.Inf(-1), math.Inf(-1)
	for i := range f.Series {
		s := &f.Series[i]
		least := math.Inf(1)
		for j := range s.X {
			switch {
			case f.lost(s, j):
				highest = math.Inf(1)
			case !f.visible(s, j):
			case s.saturated(j):
				highest = max(highest, s.Y[j])
			default:
				least = min(least, s.Y[j])
			}
		}
		if !math.IsInf(least, 0) {
			flat = max(flat, least)
		}
	}
	switch {
	case limit > 0 && highest > limit:
		return limit
	case limit > 0 || highest <= 2*kept || kept <= 0: // also without any
		return math.Inf(1)
	}
	// Room to see the curves rise.
	return max(headroom*kept, 2*flat)
}

// headroom is where the ceiling is at least, over the highest value that is no saturated point's.
const headroom = 1.1

// highestKept is the highest value that is no saturated point's; minus infinity without any.
func (f *Figure) highestKept() float64 {
	x, y := nowhere, nowhere
	f.includeReferences(&x, &y)
	for s, i := range f.points {
		if f.visible(s, i) && !s.saturated(i) {
			y.include(s.Y[i])
		}
	}
	return y.max
}

// lost tells whether point j is saturated without a value for the axis: no measured packet arrived.
func (f *Figure) lost(s *Series, j int) bool {
	return s.saturated(j) && (math.IsNaN(s.Y[j]) || f.LogY && !Fits(s.Y[j], true)) && f.onAxis(s.X[j])
}

// lostLoads are the lost points' places along the horizontal axis, if the figure may have a strip.
func (f *Figure) lostLoads() (all []float64) {
	for s, i := range f.points {
		if f.stripped() && f.lost(s, i) {
			all = append(all, s.X[i])
		}
	}
	return all
}

// stripped tells whether saturated points of the style may stand in a strip.
func (f *Figure) stripped() bool { return f.Style == Line || f.Style == Scatter }

// levels lists the series with saturated points, which have a line in the strip each.
func (f *Figure) levels() []int {
	return lists.Places(len(f.Series), func(i int) bool {
		s := &f.Series[i]
		for j := range s.X {
			if s.saturated(j) && (f.visible(s, j) || f.lost(s, j)) {
				return true
			}
		}
		return false
	})
}

// Rows of the strip, in points: of its label, and of each series.
const (
	stripLabel = 10.0
	stripRow   = 8.0
)

// strip is the share of the axis that the strip takes, with so many series.
func (f *Figure) strip(levels int) float64 {
	return min(0.35, (stripLabel+stripRow*float64(levels)+2)/float64(f.axisHeight()))
}

// axisHeight is about how long the vertical axis is, in points.
func (f *Figure) axisHeight() vg.Length { return max(60, f.size().Y-60) }

// row is the place of the strip's line i, from 0 at the ceiling to 1 at the top.
func row(i, levels int) float64 {
	return stripRow * (float64(i) + 0.6) / (stripLabel + stripRow*float64(levels) + 2)
}

// roof draws the strip behind the saturated points.
type roof struct{ ceiling float64 }

func (f *Figure) roof() roof { return roof{f.ceiling()} }

// area is the strip; empty where there is none.
func (r roof) area(c draw.Canvas, p *plot.Plot) vg.Rectangle {
	area := c.Rectangle
	area.Min.Y = area.Max.Y
	if !math.IsInf(r.ceiling, 0) {
		_, trY := p.Transforms(&c)
		area.Min.Y = trY(r.ceiling)
	}
	return area
}

func (r roof) Plot(c draw.Canvas, p *plot.Plot) {
	area := r.area(c, p)
	if area.Min.Y == area.Max.Y {
		return
	}
	c.FillPolygon(color.Gray{Y: 0xf2}, corners(area))
	c.StrokeLine2(draw.LineStyle{Color: color.Gray{Y: 0x99}, Width: 0.5}, c.Min.X, area.Min.Y, c.Max.X, area.Min.Y)
}
