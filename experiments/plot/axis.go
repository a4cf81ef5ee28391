package plot

import (
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// ticks puts labels at multiples of 1, 2 or 5 times a power of ten, five to
// nine of them, and small ticks between.
type ticks struct{ unit string }

// Ticks implements plot.Ticker.
func (t ticks) Ticks(least, most float64) []plot.Tick {
	step := math.Pow(10, math.Floor(math.Log10((most-least)/4)))
	minor := 5
	for _, s := range []struct{ times, minor int }{{5, 5}, {2, 4}, {1, 5}} {
		if (most-least)/(step*float64(s.times)) >= 4 {
			step, minor = step*float64(s.times), s.minor
			break
		}
	}
	decimals := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	label := numberLabel(math.Max(math.Abs(least), math.Abs(most)), step, t.unit)
	var all []plot.Tick
	small := step / float64(minor)
	for i := math.Ceil(least/small-1e-9) + 0; i*small <= most+1e-9*small; i++ {
		tick := plot.Tick{Value: i * small}
		if int64(i)%int64(minor) == 0 {
			tick.Label = label(i*small, decimals)
		}
		all = append(all, tick)
	}
	return all
}

// manyDigits tells whether the numbers of an axis from least to most in size are
// too long to be written with all their digits.
func manyDigits(most, least float64, unit string) bool {
	return most >= 1e7 || least < 1e-4 || unit == "s" && most < 0.05
}

// numberLabel chooses how the numbers of an axis are written: with all their
// digits, or with the prefixes of SI and the unit where those would be many.
func numberLabel(most, least float64, unit string) func(x float64, decimals int) string {
	switch {
	case unit == "" && most < 1 && manyDigits(most, least, unit):
		return func(x float64, _ int) string {
			if rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 6, 64), 64); err == nil && x != 0 {
				return strconv.FormatFloat(rounded, 'e', -1, 64)
			}
			return "0"
		}
	case manyDigits(most, least, unit):
		return func(x float64, _ int) string { return prefixed(x, unit) }
	}
	return func(x float64, decimals int) string { return thousands(strconv.FormatFloat(x, 'f', decimals, 64)) }
}

// unitOf finds the unit at the end of an axis label, of those that take prefixes
// of SI, and the label without it.
func unitOf(label string) (unit, bare string) {
	for _, unit := range []string{"s", "B"} {
		if bare, ok := strings.CutSuffix(label, " ("+unit+")"); ok {
			return unit, bare
		}
	}
	return "", label
}

// hasUnits tells whether the labels of an axis carry its unit.
func hasUnits(a *plot.Axis, unit string) bool {
	carries := func(t plot.Tick) bool { return strings.HasSuffix(t.Label, unit) }
	return unit != "" && slices.ContainsFunc(a.Tick.Marker.Ticks(a.Min, a.Max), carries)
}

// axes sets the ranges, scales and ticks.
func (f *Figure) axes(p *plot.Plot) {
	x, y := f.ranges()
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = x.min, x.max, y.min, y.max
	for _, a := range []struct {
		*plot.Axis
		log bool
	}{{&p.X, f.LogX && !f.categorical()}, {&p.Y, f.LogY}} {
		unit, bare := unitOf(a.Label.Text)
		a.Tick.Marker = ticker(unit, a.log)
		if a.log {
			a.Scale = plot.LogScale{}
		}
		if a.Axis == &p.Y && f.Field == nil {
			a.Tick.Marker = below{a.Tick.Marker, f.ceiling(), a.log, f.axisHeight(), a.Tick.Label.Height("0")}
		}
		if a.Axis == &p.X && f.XTicks != nil {
			a.Tick.Marker = fixedTicks(f.XTicks)
		}
		if values := f.powers(); a.Axis == &p.X && values != nil {
			a.Tick.Marker = valueTicks{a.Tick.Marker, values, unit, a.log, a.Tick.Label, labelRoom(f.size()).X}
		}
		if hasUnits(a.Axis, unit) {
			a.Label.Text = bare
		}
	}
	if f.categorical() {
		p.X.Tick.Marker = categories(f.Categories)
		p.X.Tick.LineStyle.Color = color.Transparent // the names keep their distance
	}
	if f.Field != nil {
		names := make(categories, len(f.Field.Rows))
		for i, name := range f.Field.Rows {
			names[i] = elide(p.Y.Tick.Label, name, labelRoom(f.size()).X/4)
		}
		p.Y.Tick.Marker = names
	}
}

// places are the values along the horizontal axis at which lines and markers stand, in order.
func (f *Figure) places() (all []float64) {
	for i := range f.Series {
		for _, x := range f.Series[i].X {
			if f.stripped() && f.onAxis(x) {
				all = append(all, x)
			}
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

// valueTicks are at values that are powers, where a logarithmic axis has room for them or
// for each second, third and so on, and a linear one for all; elsewhere as of another axis.
type valueTicks struct {
	plot.Ticker
	values []float64
	unit   string
	log    bool
	style  text.Style
	room   vg.Length
}

// Ticks implements plot.Ticker.
func (v valueTicks) Ticks(least, most float64) []plot.Tick {
	label, place := numberLabel(most, v.values[0], v.unit), func(x float64) float64 { return (x - least) / (most - least) }
	if v.log {
		place = func(x float64) float64 { return math.Log(x/least) / math.Log(most/least) }
	}
	var all []plot.Tick
	add := func(x float64, labelled bool) {
		if x < least*(1-1e-9) || x > most*(1+1e-9) {
			return
		}
		tick := plot.Tick{Value: x}
		switch {
		case labelled && v.unit == "B":
			tick.Label = Bytes(x)
		case labelled:
			tick.Label = label(x, -1)
		}
		all = append(all, tick)
	}
	fits := func() bool {
		end := math.Inf(-1)
		for _, t := range all {
			if t.Label == "" {
				continue
			}
			const gap = 5
			half := float64((v.style.Width(t.Label) + gap) / 2 / v.room)
			if at := place(t.Value); at-half < end {
				return false
			} else {
				end = at + half
			}
		}
		return true
	}
	if !v.log {
		if least <= 0 {
			add(0, true)
		}
		for _, x := range v.values {
			add(x, true)
		}
		if fits() {
			return all
		}
		return v.Ticker.Ticks(least, most)
	}
	for every := 1; every <= len(v.values); every++ {
		all = nil
		for i, x := range v.values {
			add(x, i%every == 0)
		}
		if fits() {
			break
		}
	}
	return all
}

// categorical tells whether the horizontal axis has categories.
func (f *Figure) categorical() bool { return f.Style == Bar || f.Style == Box || f.Style == Heat }

// fixedTicks are given.
type fixedTicks []Tick

// Ticks implements plot.Ticker.
func (t fixedTicks) Ticks(least, most float64) []plot.Tick {
	var all []plot.Tick
	for _, one := range t {
		if one.Value >= least && one.Value <= most {
			all = append(all, plot.Tick{Value: one.Value, Label: one.Label})
		}
	}
	return all
}

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

// below leaves out the ticks above a limit, from where on the axis is none, and labels that
// would lie over each other: all but each second, fifth and so on.
type below struct {
	plot.Ticker
	limit          float64
	log            bool
	length, height vg.Length // of the axis, about, and of a label
}

// Ticks implements plot.Ticker.
func (b below) Ticks(least, most float64) []plot.Tick {
	all := b.Ticker.Ticks(least, min(most, b.limit))
	place := func(x float64) float64 { return (x - least) / (most - least) }
	if b.log {
		place = func(x float64) float64 { return math.Log(x/least) / math.Log(most/least) }
	}
	var labelled []int
	first := 0 // of those that stay, a multiple of what is between them
	for i, t := range all {
		if t.Label != "" {
			labelled = append(labelled, i)
		}
	}
	if len(labelled) < 3 {
		return all
	}
	room := place(all[labelled[len(labelled)-1]].Value) - place(all[labelled[0]].Value)
	each := float64(b.length) * room / float64(len(labelled)-1)
	every := 1
	for _, k := range []int{1, 2, 5, 10} {
		if every = k; each*float64(k) >= float64(b.height) {
			break
		}
	}
	if step := all[labelled[1]].Value - all[labelled[0]].Value; !b.log {
		first = -int(math.Round(all[labelled[0]].Value/step)) % every
	}
	for j, i := range labelled {
		if (j-first)%every != 0 {
			all[i].Label = ""
		}
	}
	return all
}

// upright turns the names of categories that do not fit side by side, and
// returns the height that they take beyond one line. Of more than there is room
// for, some have no name.
func (f *Figure) upright(p *plot.Plot) vg.Length {
	if !f.categorical() || len(f.Categories) == 0 {
		return 0
	}
	style := &p.X.Tick.Label
	slot := labelRoom(f.size()).X / vg.Length(len(f.Categories))
	flat, widest := style.Height("x"), vg.Length(0)
	for _, name := range f.Categories {
		widest = max(widest, style.Width(name))
	}
	if widest <= slot-6 {
		return 0
	}
	const most, smallest = 130, 6 // points
	style.Font.Size = min(style.Font.Size, max(smallest, slot))
	style.Rotation, style.XAlign, style.YAlign = -math.Pi/2, text.XLeft, text.YCenter // from the axis on: letters that are wider in another font do not run into it
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

// prefixed writes a number with a prefix of SI and its unit: 20 MB, 5 µs.
func prefixed(x float64, unit string) string {
	prefixes := []string{"f", "p", "n", "µ", "m", "", "k", "M", "G", "T", "P"}
	const one = 5
	if x == 0 {
		return "0"
	}
	group := int(math.Floor(math.Log10(math.Abs(x))/3 + 1e-9))
	group = min(max(group, -one), len(prefixes)-1-one)
	number := strconv.FormatFloat(x/math.Pow(1000, float64(group)), 'g', 6, 64)
	return strings.TrimSpace(number + " " + prefixes[one+group] + unit)
}

// thousands separates groups of three digits by commas.
func thousands(number string) string {
	sign := ""
	if strings.HasPrefix(number, "-") {
		sign, number = "-", number[1:]
	}
	whole, fraction, has := strings.Cut(number, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if has {
		whole += "." + fraction
	}
	return sign + whole
}

// logTicks labels the powers of ten, and 2 and 5 times them, or more, where there are
// few powers.
type logTicks struct{ unit string }

// Ticks implements plot.Ticker.
func (t logTicks) Ticks(least, most float64) []plot.Tick {
	decades := math.Log10(most / least)
	label := numberLabel(most, least, t.unit)
	for _, digits := range []string{"1", "125", "1235", "123456789"} {
		if digits == "1" && decades < 2 || digits == "125" && decades < 0.5 {
			continue
		}
		var all []plot.Tick
		labels := 0
		for e := math.Floor(math.Log10(least)); e <= math.Ceil(math.Log10(most)); e++ {
			for digit := 1; digit < 10; digit++ {
				value := float64(digit) * math.Pow(10, e)
				if value < least*(1-1e-9) || value > most*(1+1e-9) {
					continue
				}
				tick := plot.Tick{Value: value}
				if strings.Contains(digits, strconv.Itoa(digit)) {
					tick.Label = label(value, max(0, -int(e)))
					labels++
				}
				all = append(all, tick)
			}
		}
		const enough = 3
		if labels >= enough || len(digits) == 9 {
			return all
		}
	}
	panic("not reached")
}

// categories labels the integers from 0.
type categories []string

// Ticks implements plot.Ticker.
func (c categories) Ticks(float64, float64) []plot.Tick {
	all := make([]plot.Tick, len(c))
	for i, name := range c {
		all[i] = plot.Tick{Value: float64(i), Label: name}
	}
	return all
}

var gray = color.Gray{Y: 0xdd}

// grid draws a pale line at every labelled tick.
type grid struct{}

// Plot implements plot.Plotter.
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

// frame draws the border of the axes, over the data.
type frame struct{}

// Plot implements plot.Plotter.
func (frame) Plot(c draw.Canvas, _ *plot.Plot) {
	corners := []vg.Point{c.Min, {X: c.Max.X, Y: c.Min.Y}, c.Max, {X: c.Min.X, Y: c.Max.Y}, c.Min}
	c.StrokeLines(draw.LineStyle{Color: color.Black, Width: 0.8}, corners)
}

// Bytes writes a number of bytes with the prefix of IEC 80000-13 that leaves a
// small number: 64 B, 1 KiB.
func Bytes(x float64) string {
	prefixes := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	if x == 0 {
		return "0"
	}
	i := 0
	for math.Abs(x) >= 1024 && i+1 < len(prefixes) {
		x /= 1024
		i++
	}
	return strconv.FormatFloat(x, 'g', 4, 64) + " " + prefixes[i]
}

// byteTicks puts labels at multiples of a power of two, five to nine of them.
type byteTicks struct{}

// Ticks implements plot.Ticker.
func (byteTicks) Ticks(least, most float64) []plot.Tick {
	step := math.Exp2(math.Floor(math.Log2((most - least) / 4)))
	var all []plot.Tick
	for i := math.Ceil(2*least/step - 1e-9); i*step/2 <= most*(1+1e-9); i++ {
		tick := plot.Tick{Value: i * step / 2}
		if math.Mod(i, 2) == 0 {
			tick.Label = Bytes(tick.Value)
		}
		all = append(all, tick)
	}
	return all
}

// logByteTicks labels powers of two, at most nine of them, at equal distances.
type logByteTicks struct{}

// Ticks implements plot.Ticker.
func (logByteTicks) Ticks(least, most float64) []plot.Tick {
	first, last := math.Ceil(math.Log2(least)-1e-9), math.Floor(math.Log2(most)+1e-9)
	if last-first < 2 {
		return byteTicks{}.Ticks(least, most)
	}
	every := 1.0
	for math.Floor(last/every)-math.Ceil(first/every) >= 9 {
		every++
	}
	var all []plot.Tick
	for e := first; e <= last; e++ {
		tick := plot.Tick{Value: math.Exp2(e)}
		if math.Mod(e, every) == 0 {
			tick.Label = Bytes(tick.Value)
		}
		all = append(all, tick)
	}
	return all
}

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
	if f.YMax > 0 && f.YMax > y.min {
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
