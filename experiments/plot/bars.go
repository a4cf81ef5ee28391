package plot

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/weft-sim/weft/sim/lists"
)

// bars draws a series as a bar in each category, side by side with others, centred at the tick.
type bars struct{ drawn }

// groupWidth is the share of a category that the most bars of one take together.
const groupWidth = 0.8

// slots are the series in each category, in their order, and the width of one bar.
type slots struct {
	of    map[float64][]int
	width float64
}

// barSlots finds the slots of a figure, once.
func (f *Figure) barSlots() *slots {
	if f.slots != nil {
		return f.slots
	}
	f.slots = &slots{of: map[float64][]int{}}
	most := 1
	for i := range f.Series {
		for _, x := range f.Series[i].X {
			if all := f.slots.of[x]; len(all) == 0 || all[len(all)-1] != i {
				f.slots.of[x] = append(all, i)
			}
			most = max(most, len(f.slots.of[x]))
		}
	}
	f.slots.width = groupWidth / float64(most)
	return f.slots
}

// left is where the bar of a series in a category begins.
func (s *slots) left(category float64, series int) float64 {
	all := s.of[category]
	return category + s.width*(float64(slices.Index(all, series))-float64(len(all))/2)
}

func (b *bars) box(p *plot.Plot, c draw.Canvas, i int) vg.Rectangle {
	trX, trY := p.Transforms(&c)
	s := b.figure.barSlots()
	left := s.left(b.series.X[i], b.index)
	y := b.series.Y[i]
	return rectangle(trX(left), trY(max(p.Y.Min, min(0, y))), trX(left+s.width), trY(min(max(0, y), p.Y.Max)))
}

// whisker is the interval of bar i, or the spread behind it, as a line upwards.
func (b *bars) whisker(p *plot.Plot, c draw.Canvas, i int) (low, high vg.Point) {
	trX, trY := p.Transforms(&c)
	s := b.figure.barSlots()
	x := trX(s.left(b.series.X[i], b.index) + s.width/2)
	y, h := b.series.Y[i], b.series.interval(i)
	if b.series.Quantiles != nil {
		q := b.series.Quantiles[i]
		return vg.Point{X: x, Y: trY(max(q[0], p.Y.Min))}, vg.Point{X: x, Y: trY(max(q[4], p.Y.Min))}
	}
	return vg.Point{X: x, Y: trY(max(y-h, p.Y.Min))}, vg.Point{X: x, Y: trY(y + h)}
}

// absent says why there is no bar i, upright in its place; empty where there is one.
func (b *bars) absent(i int) string {
	switch state := b.series.state(i); {
	case state == Refused && !(b.series.Y[i] > 0):
		return "refused"
	case b.figure.visible(b.series, i):
		return ""
	case state == Saturated:
		return "saturated"
	}
	return short(b.series.Y[i])
}

// words are what places without a bar say, where there is room for it.
func (b *bars) words(p *plot.Plot, c draw.Canvas) (all []caption) {
	const most, least = 7, 3.5 // points
	trX, _ := p.Transforms(&c)
	s := b.figure.barSlots()
	for i, x := range b.series.X {
		left, word := s.left(x, b.index), b.absent(i)
		style := Words(min(most, trX(left+s.width)-trX(left)), text.XLeft, text.YCenter)
		style.Color, style.Rotation = b.look.color, math.Pi/2
		if word != "" && style.Font.Size >= least {
			all = append(all, caption{text: word, style: style, at: vg.Point{X: trX(left + s.width/2), Y: c.Min.Y + 2}})
		}
	}
	return all
}

// shapes is what the bars, the dots in their place, or words cover.
func (b *bars) shapes(p *plot.Plot, c draw.Canvas) []shape {
	var all []shape
	for _, i := range b.figure.shown(b.series) {
		low, high := b.whisker(p, c, i)
		all = append(all, shape{a: low, b: high, margin: markerRadius + 1})
		if !b.figure.LogY {
			box := b.box(p, c, i)
			all = append(all, shape{a: box.Min, b: box.Max, area: true})
		}
	}
	for _, w := range b.words(p, c) {
		all = append(all, shape{a: w.at, b: w.at.Add(vg.Point{Y: w.style.Width(w.text)}), margin: w.style.Font.Size / 2})
	}
	return all
}

func (b *bars) Plot(c draw.Canvas, p *plot.Plot) {
	defer tag(c, "data-series", b.series.Name)()
	for _, i := range b.figure.shown(b.series) {
		end := b.figure.tip(c, b.series, i)
		b.look.fill(c, b.box(p, c, i), b.series.state(i))
		if b.series.interval(i) > 0 || b.series.Quantiles != nil {
			low, high := b.whisker(p, c, i)
			whisker(c, color.Black, low.X, low.Y, high.Y)
		}
		end()
	}
	for _, w := range b.words(p, c) {
		c.FillText(w.style, w.at, w.text)
	}
}

func (b *bars) sample(c draw.Canvas) { b.look.fill(c, c.Rectangle, Steady) }

// fill draws a series' bar: filled where the network kept up, hollow where not, half filled where
// undecided, hatched where some of what it should show is missing.
func (a appearance) fill(c draw.Canvas, bar vg.Rectangle, state State) {
	box, filled := corners(bar), bar
	edge := draw.LineStyle{Color: a.color, Width: 0.8}
	switch state {
	case Undecided:
		filled.Max.X = (bar.Min.X + bar.Max.X) / 2
	case Saturated, Refused:
		filled.Max.X = bar.Min.X
	}
	c.FillPolygon(a.pale(0xd0), corners(filled))
	if state == Refused {
		const apart = 5
		high := bar.Size().Y
		for x := bar.Min.X - high; x < bar.Max.X; x += apart { // from the foot at x to the top at x+high
			from, to := max(x, bar.Min.X), min(x+high, bar.Max.X)
			c.StrokeLine2(edge, from, bar.Min.Y+from-x, to, bar.Min.Y+to-x)
		}
	}
	c.StrokeLines(edge, append(box, box[0]))
}

// spreads tells whether bars are means of values whose spread is drawn.
func (f *Figure) spreads() bool {
	return f.Style == Bar && (slices.ContainsFunc(f.Series, func(s Series) bool { return s.Quantiles != nil }) ||
		slices.ContainsFunc(f.Panels, (*Figure).spreads))
}

// dots stand for bars on a logarithmic axis, which has no zero to begin at: the length from
// anywhere else says nothing.
type dots struct{ bars }

func (d *dots) Plot(c draw.Canvas, p *plot.Plot) {
	defer tag(c, "data-series", d.series.Name)()
	_, trY := p.Transforms(&c)
	for _, i := range d.figure.shown(d.series) {
		low, high := d.whisker(p, c, i)
		if d.series.interval(i) > 0 || d.series.Quantiles != nil {
			whisker(c, d.look.color, low.X, low.Y, high.Y)
		}
		if at := (vg.Point{X: low.X, Y: trY(d.series.Y[i])}); c.Contains(at) {
			end := d.figure.tip(c, d.series, i)
			d.look.mark(c, at, d.series.state(i))
			end()
		}
	}
	for _, w := range d.words(p, c) {
		c.FillText(w.style, w.at, w.text)
	}
}

func (d *dots) sample(c draw.Canvas) { d.look.mark(c, c.Center(), Steady) }

// boxes draws a series as a box in each category: quartiles, a line across at the median, and
// whiskers beyond.
type boxes struct{ bars }

// places of the quantiles of box i on the canvas, from left to right and upwards.
func (b *boxes) places(p *plot.Plot, c draw.Canvas, i int) (left, right vg.Length, at [5]vg.Length) {
	trX, trY := p.Transforms(&c)
	slots := b.figure.barSlots()
	one, x := slots.width, slots.left(b.series.X[i], b.index)
	for j, q := range b.series.Quantiles[i] {
		at[j] = trY(min(max(q, p.Y.Min), p.Y.Max))
	}
	return trX(x + 0.12*one), trX(x + 0.88*one), at
}

func (b *boxes) shapes(p *plot.Plot, c draw.Canvas) []shape {
	return lists.Map(b.figure.shown(b.series), func(i int) shape {
		left, right, at := b.places(p, c, i)
		return shape{a: vg.Point{X: left, Y: at[0]}, b: vg.Point{X: right, Y: at[4]}, area: true, margin: 1}
	})
}

func (b *boxes) Plot(c draw.Canvas, p *plot.Plot) {
	defer tag(c, "data-series", b.series.Name)()
	for _, i := range b.figure.shown(b.series) {
		end := b.figure.tip(c, b.series, i)
		left, right, at := b.places(p, c, i)
		middle := (left + right) / 2
		style := draw.LineStyle{Color: b.look.color, Width: 1}
		box := corners(rectangle(left, at[1], right, at[3]))
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

// steps draws a series as a histogram's outline: each bin between its edges, nothing between bins.
// The area is filled from zero; a logarithmic axis, without zero, has only the outline.
type steps struct{ drawn }

// box is bin i; on a logarithmic axis the part of the axis below it, too.
func (h *steps) box(p *plot.Plot, c draw.Canvas, i int) vg.Rectangle {
	trX, trY := p.Transforms(&c)
	s := h.series
	left, right := min(max(s.X[i], p.X.Min), p.X.Max), min(s.XEnd[i], p.X.Max)
	return rectangle(trX(left), trY(max(p.Y.Min, 0)), trX(right), trY(max(p.Y.Min, min(s.Y[i], p.Y.Max))))
}

// shapes is what the histogram covers.
func (h *steps) shapes(p *plot.Plot, c draw.Canvas) []shape {
	return lists.Map(h.figure.shown(h.series), func(i int) shape {
		box := h.box(p, c, i)
		return shape{a: box.Min, b: box.Max, area: true, margin: 1}
	})
}

// runs parts the bins into those that follow each other without a gap.
func (h *steps) runs() [][]int {
	var all [][]int
	last := -1
	for _, i := range h.figure.shown(h.series) {
		if last < 0 || h.series.X[i] != h.series.XEnd[last] {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], i)
		last = i
	}
	return all
}

func (h *steps) Plot(c draw.Canvas, p *plot.Plot) {
	defer tag(c, "data-series", h.series.Name)()
	style := draw.LineStyle{Color: h.look.color, Width: 1, Dashes: h.look.dashes}
	alpha := uint8(0x30)
	if len(h.figure.Series) == 1 {
		alpha, style.Dashes = 0x90, nil
	}
	for _, run := range h.runs() {
		var top []vg.Point
		foot := vg.Length(0)
		for _, i := range run {
			box := h.box(p, c, i)
			foot = box.Min.Y
			top = append(top, vg.Point{X: box.Min.X, Y: box.Max.Y}, box.Max)
		}
		for _, i := range run { // areas without colour, for what they say
			if svgOf(c) != nil {
				end := h.figure.tip(c, h.series, i)
				c.FillPolygon(color.Transparent, corners(h.box(p, c, i)))
				end()
			}
		}
		if h.figure.LogY {
			c.StrokeLines(style, top)
			continue
		}
		outline := append([]vg.Point{{X: top[0].X, Y: foot}}, top...)
		outline = append(outline, vg.Point{X: top[len(top)-1].X, Y: foot})
		c.FillPolygon(h.look.pale(alpha), outline)
		c.StrokeLines(style, outline)
	}
}

func (h *steps) sample(c draw.Canvas) {
	if !h.figure.LogY {
		h.look.fill(c, c.Rectangle, Steady)
		return
	}
	y := c.Center().Y
	c.StrokeLine2(draw.LineStyle{Color: h.look.color, Width: 1, Dashes: h.look.dashes}, c.Min.X, y, c.Max.X, y)
}
