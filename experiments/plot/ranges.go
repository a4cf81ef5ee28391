package plot

import "math"

// span is the range of an axis.
type span struct{ min, max float64 }

func (s *span) include(x float64) { s.min, s.max = min(s.min, x), max(s.max, x) }

// ranges finds the ranges of the axes: all points with the confidence intervals
// of those that kept up, from zero where the data come near it. A strip for
// saturated points comes on top.
func (f *Figure) ranges() (x, y span) {
	if f.fixed != nil {
		return f.fixed[0], f.fixed[1]
	}
	x, y = f.found()
	if f.XRange != nil {
		x = span{f.XRange[0], f.XRange[1]}
	}
	if f.YRange != nil {
		y.min = f.YRange[0]
		if math.IsInf(f.ceiling(), 0) {
			y.max = f.YRange[1]
		}
	}
	return x, y
}

// found are the ranges that show all.
func (f *Figure) found() (x, y span) {
	if f.Field != nil {
		return f.Field.ranges()
	}
	x, y = span{math.Inf(1), math.Inf(-1)}, span{math.Inf(1), math.Inf(-1)}
	ceiling := f.ceiling()
	for i := range f.Series {
		s := &f.Series[i]
		for j := range s.X {
			if f.lost(s, j) && !math.IsInf(ceiling, 0) {
				x.include(s.X[j])
			}
			if !f.visible(s, j) {
				continue
			}
			if !(f.LogX && s.X[j] <= 0) {
				x.include(s.X[j])
			}
			if f.Style == Histogram {
				x.include(s.XEnd[j])
			}
			y.include(min(s.Y[j], ceiling))
			if s.Quantiles != nil {
				y.include(s.Quantiles[j][0])
				y.include(s.Quantiles[j][4])
			}
		}
	}
	f.includeReferences(&x, &y)
	y = f.withIntervals(y)
	switch {
	case f.categorical():
		x = span{-0.5, float64(len(f.Categories)) - 0.5}
	case f.Style == Histogram && x.max > x.min:
	default:
		x = widen(x, f.LogX)
	}
	const alike = 0.02 // values all but the same: an axis of their range would make them look apart
	if !f.LogY && (f.Style == Bar || f.Style == Histogram || y.min > 0 && y.max-y.min < alike*y.max) {
		y.include(0)
	}
	y = widen(y, f.LogY)
	switch {
	case !math.IsInf(ceiling, 0):
		y.max = ceiling
		if !f.LogY {
			share := f.strip(len(f.levels()))
			y.max += (y.max - y.min) * share / (1 - share)
		}
	case f.YMax > 0 && f.YMax > y.min:
		y.max = f.YMax
	}
	return x, y
}

// withIntervals extends a range to the confidence intervals: those of bars
// whole, bands by at most half of what the points take, so that one wide
// interval does not squash all else.
func (f *Figure) withIntervals(y span) span {
	wider, slack := y, (y.max-y.min)/2
	if f.Style == Bar || f.Whiskers || slack == 0 {
		slack = math.Inf(1)
	}
	for i := range f.Series {
		s := &f.Series[i]
		for j := range s.X {
			h := s.interval(j)
			if h == 0 || !f.visible(s, j) || s.saturated(j) {
				continue
			}
			wider.max = max(wider.max, min(s.Y[j]+h, y.max+slack))
			if low := max(s.Y[j]-h, y.min-slack); low >= 0 && !f.LogY || low > 0 || y.min < 0 {
				wider.min = min(wider.min, low)
			}
		}
	}
	return wider
}

// widen rounds a range outwards by a margin, and to zero if that is near.
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
	if s.max != 0 {
		s.max += 0.05 * extent
	}
	return s
}
