package figure

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

func newLegend() *plot.Legend {
	l := plot.NewLegend()
	l.TextStyle.Font = textFont(9)
	l.ThumbnailWidth = 26
	l.Padding = 3
	l.Left = true
	l.Top = true
	return &l
}

// legendGap is the space around the legend.
const legendGap = 6

// place draws the plot with its legend in a corner that the data leave free,
// or beside the axes if there is none. It returns the area between the axes.
func (f *Figure) place(p *plot.Plot, legend *plot.Legend, c draw.Canvas) draw.Canvas {
	box := legend.Rectangle(c).Size()
	if box.X <= 0 || f.unnamed() {
		p.Draw(c)
		return p.DataCanvas(c)
	}
	data := p.DataCanvas(c)
	obstacles := f.obstacles(data, p)
	size := vg.Point{X: box.X + legendGap, Y: box.Y + legendGap}
	for _, corner := range []struct{ right, top bool }{{false, true}, {true, true}, {true, false}, {false, false}} {
		r := vg.Rectangle{Min: data.Min, Max: data.Min.Add(vg.Point{X: size.X + legendGap, Y: size.Y + legendGap})}
		if corner.right {
			r.Min.X, r.Max.X = data.Max.X-size.X-legendGap, data.Max.X
		}
		if corner.top {
			r.Min.Y, r.Max.Y = data.Max.Y-size.Y-legendGap, data.Max.Y
		}
		if size.X+legendGap > 0.6*data.Size().X || size.Y+legendGap > 0.7*data.Size().Y || f.hit(r, obstacles) {
			continue
		}
		p.Draw(c)
		inner := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
			Min: r.Min.Add(vg.Point{X: legendGap, Y: legendGap}),
			Max: r.Max.Sub(vg.Point{X: legendGap, Y: legendGap}),
		}}
		c.FillPolygon(color.White, rectangle(inner.Rectangle, 2))
		legend.Draw(inner)
		return data
	}
	left := draw.Crop(c, 0, -size.X-legendGap, 0, 0)
	p.Draw(left)
	data = p.DataCanvas(left)
	legend.Draw(draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
		Min: vg.Point{X: c.Max.X - size.X, Y: c.Min.Y},
		Max: vg.Point{X: c.Max.X, Y: data.Max.Y},
	}})
	return data
}

// unnamed tells whether no series has a name.
func (f *Figure) unnamed() bool {
	for _, s := range f.Series {
		if s.Name != "" {
			return false
		}
	}
	return true
}

func rectangle(r vg.Rectangle, margin vg.Length) []vg.Point {
	return []vg.Point{
		{X: r.Min.X - margin, Y: r.Min.Y - margin}, {X: r.Max.X + margin, Y: r.Min.Y - margin},
		{X: r.Max.X + margin, Y: r.Max.Y + margin}, {X: r.Min.X - margin, Y: r.Max.Y + margin},
	}
}

// obstacles samples what the series draw, densely enough that nothing as large
// as a marker falls between.
func (f *Figure) obstacles(c draw.Canvas, p *plot.Plot) []vg.Point {
	trX, trY := p.Transforms(&c)
	var all []vg.Point
	for _, s := range f.Series {
		var last vg.Point
		first := true
		for i := range s.X {
			if !f.visible(s.X[i], s.Y[i]) {
				continue
			}
			at := vg.Point{X: trX(s.X[i]), Y: trY(s.Y[i])}
			switch {
			case f.Style != Line:
				for y := c.Min.Y; y <= min(at.Y, c.Max.Y); y += 4 {
					all = append(all, vg.Point{X: at.X, Y: y})
				}
				all = append(all, at)
			case first:
				all = append(all, at)
			default:
				all = append(all, between(last, at)...)
			}
			last, first = at, false
		}
	}
	return all
}

// between samples a line, both ends included.
func between(a, b vg.Point) []vg.Point {
	const samples = 64
	points := make([]vg.Point, samples+1)
	for i := range points {
		points[i] = a.Add(b.Sub(a).Scale(vg.Length(i) / samples))
	}
	return points
}

// hit tells whether a marker at one of the points would touch r. Bars are
// wider than their middle.
func (f *Figure) hit(r vg.Rectangle, points []vg.Point) bool {
	margin := vg.Length(markerRadius + 1)
	for _, at := range points {
		wide := margin
		if f.Style != Line {
			wide = 12
		}
		if at.X > r.Min.X-wide && at.X < r.Max.X+wide && at.Y > r.Min.Y-margin && at.Y < r.Max.Y+margin {
			return true
		}
	}
	return false
}
