package figure

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
	figure *Figure
	series *Series
	look   appearance
}

// Plot implements plot.Plotter.
func (k *curve) Plot(c draw.Canvas, p *plot.Plot) {
	k.band(c, p)
	points, saturated := k.points(c, p)
	for _, line := range c.ClipLinesXY(points) {
		c.StrokeLines(k.look.line(), line)
	}
	for i, at := range points {
		switch {
		case c.Contains(at):
			k.look.mark(c, at, saturated[i])
		case at.Y > c.Max.Y && saturated[i] && i > 0 && (c.Contains(points[i-1]) || !saturated[i-1]):
			// The first saturated point beyond the top: on the edge, at
			// its own load.
			k.look.mark(c, vg.Point{X: at.X, Y: c.Max.Y}, true)
		}
	}
}

// points are the visible points on the canvas.
func (k *curve) points(c draw.Canvas, p *plot.Plot) (points []vg.Point, saturated []bool) {
	trX, trY := p.Transforms(&c)
	s := k.series
	for i := range s.X {
		if k.figure.visible(s.X[i], s.Y[i]) {
			points = append(points, vg.Point{X: trX(s.X[i]), Y: trY(s.Y[i])})
			saturated = append(saturated, s.saturated(i))
		}
	}
	return points, saturated
}

// band fills the area of the confidence intervals.
func (k *curve) band(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	s := k.series
	var upper, lower []vg.Point
	for i := range s.HalfWidth {
		if h := s.HalfWidth[i]; k.figure.visible(s.X[i], s.Y[i]) && !math.IsNaN(h) && !math.IsInf(h, 0) && !s.saturated(i) {
			least := s.Y[i] - h
			if p.Y.Min > least {
				least = p.Y.Min // below a logarithmic axis there is nothing
			}
			upper = append(upper, vg.Point{X: trX(s.X[i]), Y: trY(s.Y[i] + h)})
			lower = append(lower, vg.Point{X: trX(s.X[i]), Y: trY(least)})
		}
	}
	if len(upper) < 2 {
		return
	}
	for i := len(lower) - 1; i >= 0; i-- {
		upper = append(upper, lower[i])
	}
	c.FillPolygon(k.look.pale(0x40), c.ClipPolygonXY(upper))
}

// Thumbnail implements plot.Thumbnailer.
func (k *curve) Thumbnail(c *draw.Canvas) {
	y := c.Center().Y
	c.StrokeLine2(k.look.line(), c.Min.X, y, c.Max.X, y)
	k.look.mark(*c, c.Center(), false)
}

// anySaturated tells whether a point is marked.
func (f *Figure) anySaturated() bool {
	return slices.ContainsFunc(f.Series, func(s Series) bool { return slices.Contains(s.Saturated, true) })
}

// hollow explains the hollow markers in the legend.
type hollow struct{}

// Thumbnail implements plot.Thumbnailer.
func (hollow) Thumbnail(c *draw.Canvas) {
	appearance{color: color.NRGBA{0x55, 0x55, 0x55, 0xff}}.mark(*c, c.Center(), true)
}
