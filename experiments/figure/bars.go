package figure

import (
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// bars draws a series as one bar in each category; the series of a figure
// stand side by side.
type bars struct {
	figure *Figure
	series *Series
	look   appearance
	index  int // among the series
}

// groupWidth is the share of a category that its bars take together.
const groupWidth = 0.8

// box is bar i.
func (b *bars) box(p *plot.Plot, c draw.Canvas, i int) vg.Rectangle {
	trX, trY := p.Transforms(&c)
	one := groupWidth / float64(len(b.figure.Series))
	left := b.series.X[i] - groupWidth/2 + one*float64(b.index)
	y := b.series.Y[i]
	return vg.Rectangle{
		Min: vg.Point{X: trX(left), Y: trY(max(p.Y.Min, min(0, y)))},
		Max: vg.Point{X: trX(left + one), Y: trY(min(max(0, y), p.Y.Max))},
	}
}

// whisker is the interval of bar i, or the spread behind it, as a line upwards.
func (b *bars) whisker(p *plot.Plot, c draw.Canvas, i int) (low, high vg.Point) {
	trX, trY := p.Transforms(&c)
	one := groupWidth / float64(len(b.figure.Series))
	x := trX(b.series.X[i] - groupWidth/2 + one*(float64(b.index)+0.5))
	y, h := b.series.Y[i], b.series.interval(i)
	if b.series.Quantiles != nil {
		q := b.series.Quantiles[i]
		return vg.Point{X: x, Y: trY(max(q[0], p.Y.Min))}, vg.Point{X: x, Y: trY(max(q[4], p.Y.Min))}
	}
	return vg.Point{X: x, Y: trY(max(y-h, p.Y.Min))}, vg.Point{X: x, Y: trY(y + h)}
}

// shapes is what the bars, or the dots in their place, cover.
func (b *bars) shapes(p *plot.Plot, c draw.Canvas) []shape {
	var all []shape
	for i := range b.series.X {
		if !b.figure.visible(b.series, i) {
			continue
		}
		low, high := b.whisker(p, c, i)
		all = append(all, shape{a: low, b: high, margin: markerRadius + 1})
		if !b.figure.LogY {
			box := b.box(p, c, i)
			all = append(all, shape{a: box.Min, b: box.Max, area: true})
		}
	}
	return all
}

// Plot implements plot.Plotter.
func (b *bars) Plot(c draw.Canvas, p *plot.Plot) {
	defer tag(c, "data-series", b.series.Name)()
	for i := range b.series.X {
		if !b.figure.visible(b.series, i) {
			continue
		}
		end := b.figure.tip(c, b.series, i)
		box := corners(b.box(p, c, i))
		c.FillPolygon(b.look.pale(0xd0), box)
		c.StrokeLines(draw.LineStyle{Color: b.look.color, Width: 0.8}, append(box, box[0]))
		if b.series.interval(i) > 0 || b.series.Quantiles != nil {
			low, high := b.whisker(p, c, i)
			whisker(c, color.Black, low.X, low.Y, high.Y)
		}
		end()
	}
}

// Thumbnail implements plot.Thumbnailer.
func (b *bars) Thumbnail(c *draw.Canvas) { swatch(c, b.look) }

// swatch is the sample of a filled series in the legend.
func swatch(c *draw.Canvas, l appearance) {
	box := corners(c.Rectangle)
	c.FillPolygon(l.pale(0xd0), box)
	c.StrokeLines(draw.LineStyle{Color: l.color, Width: 0.8}, append(box, box[0]))
}

// spreads tells whether bars are means of values whose spread is drawn.
func (f *Figure) spreads() bool {
	return f.Style == Bar && (slices.ContainsFunc(f.Series, func(s Series) bool { return s.Quantiles != nil }) ||
		slices.ContainsFunc(f.Panels, (*Figure).spreads))
}

// extent is the sample of a spread in the legend.
type extent struct{}

// Thumbnail implements plot.Thumbnailer.
func (extent) Thumbnail(c *draw.Canvas) {
	whisker(*c, color.Black, c.Center().X, c.Min.Y, c.Max.Y)
}

// dots stand for bars on a logarithmic axis, which has no zero for them to
// begin at: the length of a bar from anywhere else says nothing.
type dots struct{ bars }

// Plot implements plot.Plotter.
func (d *dots) Plot(c draw.Canvas, p *plot.Plot) {
	defer tag(c, "data-series", d.series.Name)()
	_, trY := p.Transforms(&c)
	for i := range d.series.X {
		if !d.figure.visible(d.series, i) {
			continue
		}
		low, high := d.whisker(p, c, i)
		if d.series.interval(i) > 0 || d.series.Quantiles != nil {
			whisker(c, d.look.color, low.X, low.Y, high.Y)
		}
		if at := (vg.Point{X: low.X, Y: trY(d.series.Y[i])}); c.Contains(at) {
			end := d.figure.tip(c, d.series, i)
			d.look.mark(c, at, Steady)
			end()
		}
	}
}

// Thumbnail implements plot.Thumbnailer.
func (d *dots) Thumbnail(c *draw.Canvas) { d.look.mark(*c, c.Center(), Steady) }
