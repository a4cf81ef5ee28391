package plot

import (
	"cmp"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/weft-sim/weft/sim/lists"
)

// axes sets the ranges, scales and ticks.
func (f *Figure) axes(p *plot.Plot) {
	x, y := f.ranges()
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = x.min, x.max, y.min, y.max
	for _, a := range []struct {
		*plot.Axis
		log bool
	}{{&p.X, f.LogX && !f.categorical()}, {&p.Y, f.LogY}} {
		unit, bare := unitOf(a.Label.Text)
		space := labelSpace{a.Tick.Label, labelRoom(f.size()).X}
		a.Tick.Marker = ticker(unit, a.log)
		if a.log {
			a.Scale = plot.LogScale{}
		}
		if a.Axis == &p.Y && f.Field == nil {
			a.Tick.Marker = below{a.Tick.Marker, f.ceiling(), a.log, f.axisHeight(), a.Tick.Label.Height("0")}
		}
		if a.Axis == &p.X && f.Nines {
			a.Tick.Marker = nines{}
		}
		if values := f.powers(); a.Axis == &p.X && values != nil {
			a.Tick.Marker = valueTicks{a.Tick.Marker, values, unit, a.log, space}
		}
		if a.Axis == &p.X {
			a.Tick.Marker = uncrowded{a.Tick.Marker, space, a.log}
		}
		if unit != "" && slices.ContainsFunc(a.Tick.Marker.Ticks(a.Min, a.Max), func(t plot.Tick) bool { return strings.HasSuffix(t.Label, unit) }) {
			a.Label.Text = bare
		}
	}
	if f.categorical() {
		p.X.Tick.Marker = categories(f.Categories)
		p.X.Tick.LineStyle.Color = color.Transparent // the names keep their distance
	}
	if f.Field != nil {
		room := labelRoom(f.size()).X / 4
		p.Y.Tick.Marker = categories(lists.Map(f.Field.Rows, func(name string) string { return elide(p.Y.Tick.Label, name, room) }))
	}
}

// places are the values along the horizontal axis at which lines and markers stand, in order.
func (f *Figure) places() (all []float64) {
	for s, i := range f.points {
		if f.stripped() && f.onAxis(s.X[i]) {
			all = append(all, s.X[i])
		}
	}
	for _, panel := range f.Panels {
		all = append(all, panel.places()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// powers are the places, if they are several powers of two or of ten; nil otherwise.
func (f *Figure) powers() []float64 {
	all := f.shared
	if all == nil {
		all = f.places()
	}
	const several = 3
	if len(all) < several || all[0] <= 0 {
		return nil
	}
	for _, log := range []func(float64) float64{math.Log2, math.Log10} {
		if !slices.ContainsFunc(all, func(x float64) bool { return math.Abs(log(x)-math.Round(log(x))) > 1e-9 }) {
			return all
		}
	}
	return nil
}

// categorical tells whether the horizontal axis has categories.
func (f *Figure) categorical() bool { return f.Style == Bar || f.Style == Box || f.Style == Heat }

// ticker chooses the ticks of an axis.
func ticker(unit string, log bool) plot.Ticker {
	switch {
	case unit == "B" && log:
		return logByteTicks{}
	case unit == "B":
		return byteTicks{}
	case log:
		return logTicks{unit}
	}
	return ticks{unit}
}

// upright turns names of categories that do not fit side by side, and returns their height beyond
// one line. Without room for all, some have no name.
func (f *Figure) upright(p *plot.Plot) vg.Length {
	if !f.categorical() || len(f.Categories) == 0 {
		return 0
	}
	style := &p.X.Tick.Label
	slot := labelRoom(f.size()).X / vg.Length(len(f.Categories))
	flat := style.Height("x")
	widest := lists.Most(0, f.Categories, func(name string) vg.Length { return style.Width(name) })
	if widest <= slot-6 {
		return 0
	}
	const most, smallest = 130, 6 // points
	style.Font.Size = min(style.Font.Size, max(smallest, slot))
	const middle = -0.35                                                        // of letters without what hangs below the line, which half a line is not
	style.Rotation, style.XAlign, style.YAlign = -math.Pi/2, text.XLeft, middle // from the axis on: letters that are wider in another font do not run into it
	every := int(math.Ceil(float64(smallest / slot)))
	names := make(categories, len(f.Categories))
	widest = 0
	for i, name := range f.Categories {
		if i%max(1, every) == 0 {
			names[i] = elide(*style, name, most)
			widest = max(widest, style.Width(names[i]))
		}
	}
	p.X.Tick.Marker = names
	return 1.15*widest - flat // another font may be wider
}

var gray = color.Gray{Y: 0xdd}

// grid draws a pale line at every labelled tick.
type grid struct{}

func (grid) Plot(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	style := draw.LineStyle{Color: gray, Width: 0.5}
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		if y := trY(t.Value); !t.IsMinor() && c.ContainsY(y) {
			c.StrokeLine2(style, c.Min.X, y, c.Max.X, y)
		}
	}
	if _, bars := p.X.Tick.Marker.(categories); bars {
		return
	}
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		if x := trX(t.Value); !t.IsMinor() && c.ContainsX(x) {
			c.StrokeLine2(style, x, c.Min.Y, x, c.Max.Y)
		}
	}
}

// frame draws the border of the axes, over the data, broken at the foot of the strip.
type frame struct{ roof }

func (f frame) Plot(c draw.Canvas, p *plot.Plot) {
	style := draw.LineStyle{Color: color.Black, Width: 0.8}
	c.StrokeLines(style, append(corners(c.Rectangle), c.Min))
	area := f.area(c, p)
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
		c.StrokeLine2(style, a.X, a.Y, b.X, b.Y)
		c.StrokeLine2(style, d.X, d.Y, e.X, e.Y)
	}
}

// span is the range of an axis.
type span struct{ min, max float64 }

var nowhere = span{math.Inf(1), math.Inf(-1)}

func (s *span) include(x float64) { s.min, s.max = min(s.min, x), max(s.max, x) }

// ranges finds the axes' ranges: all points, with the confidence intervals of those that kept up,
// from zero if the data come near it. A strip for saturated points comes on top.
func (f *Figure) ranges() (x, y span) {
	if f.fixed != nil {
		return f.fixed[0], f.fixed[1]
	}
	x, y = f.found()
	if f.XRange != nil {
		x = span{f.XRange[0], f.XRange[1]}
	}
	if f.YRange != nil {
		y = span{f.YRange[0], f.YRange[1]}
	}
	if ceiling := f.ceiling(); !math.IsInf(ceiling, 0) && f.Field == nil {
		share := f.strip(len(f.levels()))
		y.max = ceiling
		if times := share / (1 - share); f.LogY {
			y.max *= math.Pow(y.max/y.min, times)
		} else {
			y.max += (y.max - y.min) * times
		}
	}
	return x, y
}

// found are the ranges that show all.
func (f *Figure) found() (x, y span) {
	if f.Field != nil {
		return span{-0.5, float64(len(f.Field.Columns)) - 0.5}, span{-0.5, float64(len(f.Field.Rows)) - 0.5}
	}
	x, y = nowhere, nowhere
	ceiling := f.ceiling()
	for s, i := range f.points {
		if f.lost(s, i) && !math.IsInf(ceiling, 0) {
			x.include(s.X[i])
		}
		if !f.visible(s, i) {
			continue
		}
		if !(f.LogX && s.X[i] <= 0) {
			x.include(s.X[i])
		}
		if f.Style == Histogram {
			x.include(s.XEnd[i])
		}
		y.include(min(s.Y[i], ceiling))
		if s.Quantiles != nil {
			y.include(s.Quantiles[i][0])
			y.include(s.Quantiles[i][4])
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
	if f.YMax > 0 && f.YMax > y.min {
		y.max = f.YMax
	}
	return x, y
}

// withIntervals extends a range to the confidence intervals, whole for bars; by at most half of the
// points' range for bands: a wide interval must not squash all else.
func (f *Figure) withIntervals(y span) span {
	wider, slack := y, (y.max-y.min)/2
	if f.Style == Bar || f.Whiskers || slack == 0 {
		slack = math.Inf(1)
	}
	for s, i := range f.points {
		h := s.interval(i)
		if h == 0 || !f.visible(s, i) || s.saturated(i) {
			continue
		}
		wider.max = max(wider.max, min(s.Y[i]+h, y.max+slack))
		if low := max(s.Y[i]-h, y.min-slack); low >= 0 && !f.LogY || low > 0 || y.min < 0 {
			wider.min = min(wider.min, low)
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
	extent := cmp.Or(s.max-s.min, max(math.Abs(s.max), 1))
	if s.min != 0 {
		s.min -= 0.05 * extent
	}
	if s.max != 0 {
		s.max += 0.05 * extent
	}
	return s
}
