package figure

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// shape is a part of what a series draws: a line from a to b, or the area of a
// rectangle with these corners, a to the left.
type shape struct {
	a, b   vg.Point
	area   bool
	margin vg.Length // of what is drawn around it
}

// shapes lists everything that the series draw between the axes.
func (f *Figure) shapes(p *plot.Plot, c draw.Canvas) []shape {
	var all []shape
	for i := range f.Series {
		all = append(all, f.drawn(i).shapes(p, c)...)
	}
	for i := range f.References {
		all = append(all, referenced{f, &f.References[i]}.shapes(p, c)...)
	}
	return all
}

// hit tells whether any shape comes into r.
func hit(r vg.Rectangle, shapes []shape) bool {
	for _, s := range shapes {
		g := grown(r, s.margin)
		if s.area {
			if s.a.X < g.Max.X && s.b.X > g.Min.X && min(s.a.Y, s.b.Y) < g.Max.Y && max(s.a.Y, s.b.Y) > g.Min.Y {
				return true
			}
		} else if crosses(g, s.a, s.b) {
			return true
		}
	}
	return false
}

// crosses tells whether a line meets a rectangle (Liang and Barsky, 1984): which
// part of it lies between each pair of opposite sides.
func crosses(r vg.Rectangle, a, b vg.Point) bool {
	from, to := 0.0, 1.0
	within := func(start, end, low, high vg.Length) bool {
		d := float64(end - start)
		enter, leave := float64(low-start), float64(high-start)
		if d == 0 {
			return enter <= 0 && leave >= 0
		}
		if d < 0 {
			enter, leave = leave, enter
		}
		from, to = max(from, enter/d), min(to, leave/d)
		return from <= to
	}
	return within(a.X, b.X, r.Min.X, r.Max.X) && within(a.Y, b.Y, r.Min.Y, r.Max.Y)
}

// grown is r with a margin around it.
func grown(r vg.Rectangle, margin vg.Length) vg.Rectangle {
	return vg.Rectangle{
		Min: vg.Point{X: r.Min.X - margin, Y: r.Min.Y - margin},
		Max: vg.Point{X: r.Max.X + margin, Y: r.Max.Y + margin},
	}
}

// corners are those of a rectangle.
func corners(r vg.Rectangle) []vg.Point {
	return []vg.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}}
}
