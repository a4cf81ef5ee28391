package figure

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// bars draws a series as one bar in each category; the series of a figure
// stand side by side.
type bars struct {
	series        *Series
	look          appearance
	index, groups int
}

// groupWidth is the share of a category that its bars take together.
const groupWidth = 0.8

// Plot implements plot.Plotter.
func (b *bars) Plot(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	s := b.series
	one := groupWidth / float64(b.groups)
	for i := range s.X {
		if s.Y[i] != s.Y[i] {
			continue
		}
		left := s.X[i] - groupWidth/2 + one*float64(b.index)
		x0, x1 := trX(left), trX(left+one)
		y0, y1 := trY(max(p.Y.Min, 0)), trY(min(s.Y[i], p.Y.Max))
		box := []vg.Point{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}}
		c.FillPolygon(b.look.pale(0xd0), box)
		c.StrokeLines(draw.LineStyle{Color: b.look.color, Width: 0.8}, append(box, box[0]))
		if i < len(s.HalfWidth) && s.HalfWidth[i] > 0 {
			middle := (x0 + x1) / 2
			style := draw.LineStyle{Color: color.Black, Width: 0.8}
			low, high := trY(max(s.Y[i]-s.HalfWidth[i], p.Y.Min)), trY(min(s.Y[i]+s.HalfWidth[i], p.Y.Max))
			c.StrokeLine2(style, middle, low, middle, high)
			for _, end := range []vg.Length{low, high} {
				c.StrokeLine2(style, middle-2, end, middle+2, end)
			}
		}
	}
}

// Thumbnail implements plot.Thumbnailer.
func (b *bars) Thumbnail(c *draw.Canvas) { swatch(c, b.look) }

// swatch is the sample of a filled series in the legend.
func swatch(c *draw.Canvas, l appearance) {
	box := []vg.Point{c.Min, {X: c.Max.X, Y: c.Min.Y}, c.Max, {X: c.Min.X, Y: c.Max.Y}}
	c.FillPolygon(l.pale(0xd0), box)
	c.StrokeLines(draw.LineStyle{Color: l.color, Width: 0.8}, append(box, box[0]))
}

// steps draws a series as the outline of a histogram, filled if it is the only
// one.
type steps struct {
	series *Series
	look   appearance
	alone  bool
}

// Plot implements plot.Plotter.
func (h *steps) Plot(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	s := h.series
	if len(s.X) == 0 {
		return
	}
	floor := trY(max(p.Y.Min, 0))
	if p.Y.Min > 0 {
		floor = trY(p.Y.Min)
	}
	outline := []vg.Point{{X: trX(s.X[0]), Y: floor}}
	for i := range s.X {
		y := floor
		if s.Y[i] > p.Y.Min {
			y = trY(s.Y[i])
		}
		outline = append(outline, vg.Point{X: trX(s.X[i]), Y: y}, vg.Point{X: trX(s.X[i] + binWidth(s.X, i)), Y: y})
	}
	outline = append(outline, vg.Point{X: outline[len(outline)-1].X, Y: floor})
	alpha := uint8(0x30)
	if h.alone {
		alpha = 0x90
	}
	c.FillPolygon(h.look.pale(alpha), c.ClipPolygonXY(outline))
	for _, line := range c.ClipLinesXY(outline) {
		c.StrokeLines(draw.LineStyle{Color: h.look.color, Width: 1}, line)
	}
}

// Thumbnail implements plot.Thumbnailer.
func (h *steps) Thumbnail(c *draw.Canvas) { swatch(c, h.look) }
