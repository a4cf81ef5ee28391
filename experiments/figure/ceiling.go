package figure

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"
)

// A latency beyond saturation says how long the run was and nothing else. Where
// such values would squash the curves, the axis ends at a ceiling above all that
// kept up, and the saturated points of each series stand on a line of their own
// in a strip above it, at their loads.

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
	kept, flat, highest := math.Inf(-1), math.Inf(-1), math.Inf(-1)
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
				kept = max(kept, s.Y[j])
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
	return max(1.1*kept, 2*flat)
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

// strip is the share of the axis that the strip takes, with so many lines.
func strip(levels int) float64 { return min(0.3, 0.04*float64(levels+1)) }

// roof draws the strip behind the saturated points.
type roof struct{ ceiling float64 }

func (f *Figure) roof() roof { return roof{f.ceiling()} }

// Plot implements plot.Plotter.
func (r roof) Plot(c draw.Canvas, p *plot.Plot) {
	if math.IsInf(r.ceiling, 0) {
		return
	}
	_, trY := p.Transforms(&c)
	area := c.Rectangle
	area.Min.Y = trY(r.ceiling)
	c.FillPolygon(color.Gray{Y: 0xf2}, corners(area))
	c.StrokeLine2(draw.LineStyle{Color: color.Gray{Y: 0x99}, Width: 0.5}, c.Min.X, area.Min.Y, c.Max.X, area.Min.Y)
}
