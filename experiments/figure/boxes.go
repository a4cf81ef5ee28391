package figure

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// boxes draws a series as a box in each category: from the lower to the upper
// quartile, with the median as a line across and whiskers beyond.
type boxes struct{ bars }

// places of the quantiles of box i on the canvas, from left to right and upwards.
func (b *boxes) places(p *plot.Plot, c draw.Canvas, i int) (left, right vg.Length, at [5]vg.Length) {
	trX, trY := p.Transforms(&c)
	one := groupWidth / float64(len(b.figure.Series))
	x := b.series.X[i] - groupWidth/2 + one*float64(b.index)
	for j, q := range b.series.Quantiles[i] {
		at[j] = trY(min(max(q, p.Y.Min), p.Y.Max))
	}
	return trX(x + 0.12*one), trX(x + 0.88*one), at
}

// shapes is what the boxes cover.
func (b *boxes) shapes(p *plot.Plot, c draw.Canvas) []shape {
	var all []shape
	for i := range b.series.X {
		if b.figure.visible(b.series, i) {
			left, right, at := b.places(p, c, i)
			all = append(all, shape{a: vg.Point{X: left, Y: at[0]}, b: vg.Point{X: right, Y: at[4]}, area: true, margin: 1})
		}
	}
	return all
}

// Plot implements plot.Plotter.
func (b *boxes) Plot(c draw.Canvas, p *plot.Plot) {
	defer tag(c, "data-series", b.series.Name)()
	for i := range b.series.X {
		if !b.figure.visible(b.series, i) {
			continue
		}
		end := b.figure.tip(c, b.series, i)
		left, right, at := b.places(p, c, i)
		middle := (left + right) / 2
		style := draw.LineStyle{Color: b.look.color, Width: 1}
		box := corners(vg.Rectangle{Min: vg.Point{X: left, Y: at[1]}, Max: vg.Point{X: right, Y: at[3]}})
		c.StrokeLine2(style, middle, at[0], middle, at[1])
		c.StrokeLine2(style, middle, at[3], middle, at[4])
		half := min(4, (right-left)/4)
		c.StrokeLine2(style, middle-half, at[0], middle+half, at[0])
		c.StrokeLine2(style, middle-half, at[4], middle+half, at[4])
		c.FillPolygon(b.look.pale(0x60), box)
		c.StrokeLines(style, append(box, box[0]))
		c.StrokeLine2(draw.LineStyle{Color: color.Black, Width: 1.4}, left, at[2], right, at[2])
		end()
	}
}
