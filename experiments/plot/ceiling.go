package plot

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A latency beyond saturation says how long the run was and nothing else. Where
// such values would squash the curves, the axis ends at a ceiling above all that
// kept up, and the saturated points of each series stand on a line of their own
// in a strip above it, at their loads. The strip says so, the axis is broken below
// it, and no line leads there: heights in it are not latencies.

// ceiling is where the axis ends and the strip begins; infinite where saturated
// points are drawn at their values.
func (f *Figure) ceiling() float64 {
	if f.highest != nil {
		return *f.highest
	}
	if f.LogY || f.Style != Line && f.Style != Scatter {
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

// highestKept is that value; minus infinity without any.
func (f *Figure) highestKept() float64 {
	kept := f.highestReference()
	for i := range f.Series {
		s := &f.Series[i]
		for j := range s.X {
			if f.visible(s, j) && !s.saturated(j) {
				kept = max(kept, s.Y[j])
			}
		}
	}
	return kept
}

// lost tells whether point j is saturated and has no value: of the packets that
// were measured none arrived.
func (f *Figure) lost(s *Series, j int) bool {
	return s.saturated(j) && math.IsNaN(s.Y[j]) && f.onAxis(s.X[j])
}

// levels lists the series with saturated points, which have a line in the
// strip each.
func (f *Figure) levels() []int {
	var all []int
	for i := range f.Series {
		s := &f.Series[i]
		for j := range s.X {
			if s.saturated(j) && (f.visible(s, j) || f.lost(s, j)) {
				all = append(all, i)
				break
			}
		}
	}
	return all
}

// Rows of the strip, in points: of its label, and of each series.
const (
	stripLabel = 10.0
	stripRow   = 8.0
)

// strip is the share of the axis that the strip takes, with so many series.
func (f *Figure) strip(levels int) float64 {
	return min(0.35, (stripLabel+stripRow*float64(levels)+2)/f.axisHeight())
}

// axisHeight is about how long the vertical axis is, in points.
func (f *Figure) axisHeight() float64 { return max(60, float64(f.size().Y)-60) }

// row is the place of the strip's line of so many behind the first, from 0 at the
// ceiling to 1 at the top.
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

// Plot implements plot.Plotter.
func (r roof) Plot(c draw.Canvas, p *plot.Plot) {
	area := r.area(c, p)
	if area.Min.Y == area.Max.Y {
		return
	}
	c.FillPolygon(color.Gray{Y: 0xf2}, corners(area))
	c.StrokeLine2(draw.LineStyle{Color: color.Gray{Y: 0x99}, Width: 0.5}, c.Min.X, area.Min.Y, c.Max.X, area.Min.Y)
}

// mark is the strip as far as its label is concerned: a line along its top.
func (r roof) mark(area vg.Rectangle) (*Mark, vg.Rectangle) {
	return &Mark{Label: "saturated"}, vg.Rectangle{Min: vg.Point{X: area.Min.X, Y: area.Max.Y}, Max: area.Max}
}

// broken draws the break of the vertical axis at the foot of the strip, over the
// frame.
type broken struct{ roof }

// Plot implements plot.Plotter.
func (b broken) Plot(c draw.Canvas, p *plot.Plot) {
	area := b.area(c, p)
	if area.Min.Y == area.Max.Y {
		return
	}
	const wide, steep, gap = 3.5, 1.8, 2.6
	for _, x := range []vg.Length{c.Min.X, c.Max.X} {
		low, high := vg.Point{X: x, Y: area.Min.Y - gap/2}, vg.Point{X: x, Y: area.Min.Y + gap/2}
		side := func(at vg.Point) (left, right vg.Point) {
			return vg.Point{X: at.X - wide, Y: at.Y - steep}, vg.Point{X: at.X + wide, Y: at.Y + steep}
		}
		a, b := side(low)
		d, e := side(high)
		c.FillPolygon(color.White, []vg.Point{a, b, e, d})
		style := draw.LineStyle{Color: color.Black, Width: 0.8}
		c.StrokeLine2(style, a.X, a.Y, b.X, b.Y)
		c.StrokeLine2(style, d.X, d.Y, e.X, e.Y)
	}
}
