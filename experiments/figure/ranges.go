package figure

import (
	"math"
	"slices"
)

// span is the range of an axis.
type span struct{ min, max float64 }

// ranges finds the ranges of the axes: from zero where the data come near it,
// and without the tail of saturated points, whose latency grows with the
// length of the run and would squash the curve.
func (f *Figure) ranges() (x, y span) {
	x, y = span{math.Inf(1), math.Inf(-1)}, span{math.Inf(1), math.Inf(-1)}
	top := f.top()
	for _, s := range f.Series {
		for i := range s.X {
			if !f.visible(s.X[i], s.Y[i]) {
				continue
			}
			right := s.X[i]
			if f.Style == Histogram {
				right += binWidth(s.X, i)
			}
			x = span{min(x.min, s.X[i]), max(x.max, right)}
			y = span{min(y.min, s.Y[i]), max(y.max, min(s.Y[i], top))}
		}
	}
	switch {
	case f.Style == Bar:
		x = span{-0.5, float64(len(f.Categories)) - 0.5}
	case f.Style != Histogram:
		x = widen(x, f.LogX)
	}
	y = widen(y, f.LogY)
	if f.Style != Line && !f.LogY {
		y.min = min(y.min, 0)
	}
	if f.YMax > 0 && f.YMax > y.min {
		y.max = f.YMax
	}
	return x, y
}

// widen rounds a range outwards: to powers of ten on logarithmic axes if it
// spans any, otherwise by a margin, and to zero if that is near.
func widen(s span, log bool) span {
	if log {
		if s.max/s.min < 1.001 {
			return span{s.min / 2, s.max * 2}
		}
		margin := math.Pow(s.max/s.min, 0.04)
		return span{s.min / margin, s.max * margin}
	}
	if s.min >= 0 && s.min <= 0.5*s.max {
		s.min = 0
	}
	extent := s.max - s.min
	if extent == 0 {
		extent = max(math.Abs(s.max), 1)
	}
	if s.min != 0 {
		s.min -= 0.05 * extent
	}
	s.max += 0.05 * extent
	return s
}

// steepness is how far above the flat part of a curve the vertical axis ends,
// in multiples of it, where there are saturated points.
const steepness = 6

// top is the largest value worth showing: with saturated points, what the
// points that keep up reach, but not far above the flat part of the curves.
func (f *Figure) top() float64 {
	if f.YMax > 0 {
		return f.YMax
	}
	kept, flat, highest := math.Inf(-1), math.Inf(-1), math.Inf(-1)
	for _, s := range f.Series {
		least := math.Inf(1)
		for i := range s.X {
			if !f.visible(s.X[i], s.Y[i]) {
				continue
			}
			least = min(least, s.Y[i])
			if s.saturated(i) {
				highest = max(highest, s.Y[i])
			} else {
				kept = max(kept, s.Y[i])
			}
		}
		if !math.IsInf(least, 0) && slices.ContainsFunc(s.Saturated, func(b bool) bool { return !b }) {
			flat = max(flat, least)
		}
	}
	if highest <= 2*kept || math.IsInf(highest, 0) || math.IsInf(flat, 0) || f.LogY {
		return math.Inf(1)
	}
	return max(min(kept*1.3, steepness*flat), flat*2)
}

func (s *Series) saturated(i int) bool { return i < len(s.Saturated) && s.Saturated[i] }

// binWidth is the width of bin i of a histogram: to the next lower edge, the
// last as wide as the one before.
func binWidth(edges []float64, i int) float64 {
	switch {
	case i+1 < len(edges):
		return edges[i+1] - edges[i]
	case i > 0:
		return edges[i] - edges[i-1]
	}
	return 1
}
