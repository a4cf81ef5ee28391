package figure

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// steps draws a series as the outline of a histogram: each bin from its lower
// edge to its upper one, nothing between bins. The area is filled from zero; on
// a logarithmic axis, which has none, only the outline is drawn.
type steps struct {
	figure *Figure
	series *Series
	look   appearance
}

// box is bin i; on a logarithmic axis the part of the axis below it, too.
func (h *steps) box(p *plot.Plot, c draw.Canvas, i int) vg.Rectangle {
	trX, trY := p.Transforms(&c)
	s := h.series
	left, right := min(max(s.X[i], p.X.Min), p.X.Max), min(s.XEnd[i], p.X.Max)
	return vg.Rectangle{
		Min: vg.Point{X: trX(left), Y: trY(max(p.Y.Min, 0))},
		Max: vg.Point{X: trX(right), Y: trY(max(p.Y.Min, min(s.Y[i], p.Y.Max)))},
	}
}

// shapes is what the histogram covers.
func (h *steps) shapes(p *plot.Plot, c draw.Canvas) []shape {
	var all []shape
	for i := range h.series.X {
		if h.figure.visible(h.series, i) {
			box := h.box(p, c, i)
			all = append(all, shape{a: box.Min, b: box.Max, area: true, margin: 1})
		}
	}
	return all
}

// runs parts the bins into those that follow each other without a gap.
func (h *steps) runs() [][]int {
	var all [][]int
	last := -1
	for i := range h.series.X {
		if !h.figure.visible(h.series, i) {
			continue
		}
		if last < 0 || h.series.X[i] != h.series.XEnd[last] {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], i)
		last = i
	}
	return all
}

// Plot implements plot.Plotter.
func (h *steps) Plot(c draw.Canvas, p *plot.Plot) {
	defer tag(c, "data-series", h.series.Name)()
	style := draw.LineStyle{Color: h.look.color, Width: 1, Dashes: h.look.dashes}
	alpha := uint8(0x30)
	if len(h.figure.Series) == 1 {
		alpha, style.Dashes = 0x90, nil
	}
	for _, run := range h.runs() {
		var top []vg.Point
		foot := vg.Length(0)
		for _, i := range run {
			box := h.box(p, c, i)
			foot = box.Min.Y
			top = append(top, vg.Point{X: box.Min.X, Y: box.Max.Y}, box.Max)
		}
		h.tips(c, p, run)
		if h.figure.LogY {
			c.StrokeLines(style, top)
			continue
		}
		outline := append([]vg.Point{{X: top[0].X, Y: foot}}, top...)
		outline = append(outline, vg.Point{X: top[len(top)-1].X, Y: foot})
		c.FillPolygon(h.look.pale(alpha), outline)
		c.StrokeLines(style, outline)
	}
}

// Thumbnail implements plot.Thumbnailer.
func (h *steps) Thumbnail(c *draw.Canvas) {
	if !h.figure.LogY {
		swatch(c, h.look)
		return
	}
	y := c.Center().Y
	c.StrokeLine2(draw.LineStyle{Color: h.look.color, Width: 1, Dashes: h.look.dashes}, c.Min.X, y, c.Max.X, y)
}

// tips lays an area without colour over each bin of a run, for what it says.
func (h *steps) tips(c draw.Canvas, p *plot.Plot, run []int) {
	if svgOf(c) == nil {
		return
	}
	for _, i := range run {
		end := h.figure.tip(c, h.series, i)
		c.FillPolygon(color.Transparent, corners(h.box(p, c, i)))
		end()
	}
}
