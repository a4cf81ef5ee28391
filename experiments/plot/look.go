package plot

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// appearance tells one series from the others by colour, marker and dashes at
// once, so that it survives black and white printing.
type appearance struct {
	color  color.NRGBA
	marker int
	dashes []vg.Length
	small  bool // markers of very many
}

// palette is that of Okabe and Ito (Color Universal Design, 2008), which
// people with any form of colour blindness can tell apart; its yellow is left
// out because it fades on white.
var palette = []color.NRGBA{
	{0x00, 0x72, 0xb2, 0xff}, // blue
	{0xd5, 0x5e, 0x00, 0xff}, // vermilion
	{0x00, 0x9e, 0x73, 0xff}, // bluish green
	{0xcc, 0x79, 0xa7, 0xff}, // reddish purple
	{0xe6, 0x9f, 0x00, 0xff}, // orange
	{0x56, 0xb4, 0xe9, 0xff}, // sky blue
	{0x00, 0x00, 0x00, 0xff}, // black
}

var dashes = [][]vg.Length{nil, {6, 2.5}, {2, 2}, {7, 2, 2, 2}, {9, 3, 3, 3, 3, 3}}

// markers are regular polygons: corners, and the turn of the first from the
// top in corners. No corners is a circle.
var markers = []struct {
	corners int
	turn    float64
	scale   float64 // to look as large as the others
}{{0, 0, 1}, {4, 0.5, 1.2}, {3, 0, 1.3}, {4, 0, 1.2}, {3, 0.5, 1.3}, {6, 0, 1.1}}

// look is the appearance of series i. Colours, markers and dashes have
// pairwise coprime counts, so that combinations repeat late.
func look(i int) appearance {
	return appearance{color: palette[i%len(palette)], marker: i % len(markers), dashes: dashes[i%len(dashes)]}
}

// look is the appearance of series i of a figure.
func (f *Figure) look(i int) appearance {
	s := &f.Series[i]
	one := i
	if s.Look > 0 {
		one = s.Look - 1
	}
	a := look(one)
	switch {
	case s.Hue > 0:
		a.color = palette[(s.Hue-1)%len(palette)]
	case s.Hue < 0:
		a.color = tints.At(s.Tint)
	}
	const many = 500
	a.small = f.Style == Scatter && len(s.X) > many
	return a
}

// Scale is colours for values between two ends.
type Scale []color.NRGBA

// At is the colour at a place of the scale, from 0 to 1.
func (s Scale) At(place float64) color.NRGBA {
	x := min(max(place, 0), 1) * float64(len(s)-1)
	i := min(int(x), len(s)-2)
	a, b, part := s[i], s[i+1], x-float64(i)
	mix := func(a, b uint8) uint8 { return uint8(math.Round(float64(a) + part*(float64(b)-float64(a)))) }
	return color.NRGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 0xff}
}

// tints are a scale from dark to light that people with any form of colour blindness
// can order, without its palest end: viridis (van der Walt and Smith, 2015).
var tints = Scale{
	{0x44, 0x01, 0x54, 0xff}, {0x3b, 0x52, 0x8b, 0xff}, {0x21, 0x91, 0x8c, 0xff}, {0x5e, 0xc9, 0x62, 0xff}, {0xb5, 0xde, 0x2b, 0xff},
}

func (a appearance) line() draw.LineStyle {
	return draw.LineStyle{Color: a.color, Width: 1.4, Dashes: a.dashes}
}

// pale is the colour of areas behind lines.
func (a appearance) pale(alpha uint8) color.NRGBA {
	c := a.color
	c.A = alpha
	return c
}

const markerRadius = 2.7 // points

// mark draws the series' marker at a point: filled where the network kept up,
// hollow where it did not, with a hole where that is not decided.
func (a appearance) mark(c draw.Canvas, at vg.Point, state State) {
	radius := markerRadius
	if a.small {
		radius = 0.55 * markerRadius
	}
	path := a.outline(at, radius)
	c.SetLineDash(nil, 0)
	c.SetColor(a.color)
	if state == Saturated {
		c.SetColor(color.White)
	}
	c.Fill(path)
	c.SetColor(a.color)
	c.SetLineWidth(1.1)
	c.Stroke(path)
	if state == Undecided {
		c.SetColor(color.White)
		c.Fill(a.outline(at, 0.45*radius))
	}
}

func (a appearance) outline(at vg.Point, radius float64) vg.Path {
	m := markers[a.marker]
	radius *= m.scale
	var path vg.Path
	if m.corners == 0 {
		path.Move(vg.Point{X: at.X + vg.Length(radius), Y: at.Y})
		path.Arc(at, vg.Length(radius), 0, 2*math.Pi)
		path.Close()
		return path
	}
	for i := range m.corners {
		angle := math.Pi/2 + 2*math.Pi*(float64(i)+m.turn)/float64(m.corners)
		corner := vg.Point{X: at.X + vg.Length(radius*math.Cos(angle)), Y: at.Y + vg.Length(radius*math.Sin(angle))}
		if i == 0 {
			path.Move(corner)
		} else {
			path.Line(corner)
		}
	}
	path.Close()
	return path
}

// legend is the names of the series beside samples of how they are drawn, in
// columns, below what all of them have in common.
type legend struct {
	title   string
	entries []entry
	columns int
	style   text.Style
}

type entry struct {
	name   string
	sample plot.Thumbnailer
	series string // that it is of; empty: of none
}

// Sizes in the legend and the space around it.
const (
	legendGap   = 6
	sampleWidth = 26
	sampleGap   = 4
	columnGap   = 12
	rowHeight   = 12.5
	legendInset = 3
)

// newLegend is the legend of a figure; nil if there is nothing to say.
func newLegend(f *Figure) *legend {
	if f.bare || f.Field != nil {
		return nil
	}
	l := &legend{title: f.LegendTitle, columns: 1, style: Words(9, text.XLeft, text.YCenter)}
	for i := range f.Series {
		if f.Series[i].Name != "" {
			l.entries = append(l.entries, entry{f.Series[i].Name, f.drawn(i), f.Series[i].Name})
		}
	}
	markers := f.Style == Line || f.Style == Scatter
	if markers && f.has(Undecided) {
		l.entries = append(l.entries, entry{"with a hole: undecided", marker{Undecided}, ""})
	}
	if markers && f.has(Saturated) {
		l.entries = append(l.entries, entry{"hollow: saturated", marker{Saturated}, ""})
	}
	if f.spreads() {
		l.entries = append(l.entries, entry{"mean, from least to largest", extent{}, ""})
	}
	l.entries = append(append(l.entries, f.referenceEntries()...), f.markEntries()...)
	if len(l.entries) == 0 && l.title == "" {
		return nil
	}
	return l
}

// columnWidth is that of the widest entry.
func (l *legend) columnWidth() vg.Length {
	widest := vg.Length(0)
	for _, e := range l.entries {
		widest = max(widest, sampleWidth+sampleGap+l.style.Width(e.name))
	}
	return widest
}

// rows is how many rows the legend has in so many columns, without its title.
func (l *legend) rows(columns int) int { return (len(l.entries) + columns - 1) / columns }

// size is what the legend takes in so many columns.
func (l *legend) size(columns int) vg.Point {
	rows := l.rows(columns)
	wide := l.columnWidth()*vg.Length(columns) + columnGap*vg.Length(columns-1)
	if l.title != "" {
		rows++
		wide = max(wide, l.style.Width(l.title))
	}
	return vg.Point{X: wide + 2*legendInset, Y: rowHeight*vg.Length(rows) + 2*legendInset}
}

// columnsIn is how many columns fit side by side.
func (l *legend) columnsIn(room vg.Length) int {
	n := int((room - 2*legendInset + columnGap) / (l.columnWidth() + columnGap))
	return max(1, min(n, len(l.entries)))
}

// fitInto shortens what is wider than the room.
func (l *legend) fitInto(room vg.Length) {
	room -= 2 * legendInset
	l.title = elide(l.style, l.title, room)
	for i := range l.entries {
		l.entries[i].name = elide(l.style, l.entries[i].name, room-sampleWidth-sampleGap)
	}
}

// draw fills c, column by column.
func (l *legend) draw(c draw.Canvas) {
	c.FillPolygon(color.White, corners(c.Rectangle))
	c.Rectangle = grown(c.Rectangle, -legendInset)
	top := c.Max.Y
	if l.title != "" {
		c.FillText(l.style, vg.Point{X: c.Min.X, Y: top - rowHeight/2}, l.title)
		top -= rowHeight
	}
	rows := l.rows(l.columns)
	for i, e := range l.entries {
		column, row := i/rows, i%rows
		left := c.Min.X + vg.Length(column)*(l.columnWidth()+columnGap)
		y := top - (vg.Length(row)+0.5)*rowHeight
		end := func() {}
		if e.series != "" {
			end = tag(c, "data-entry", e.series)
			if svgOf(c) != nil { // all of it can be pressed
				c.FillPolygon(color.Transparent, corners(vg.Rectangle{
					Min: vg.Point{X: left, Y: y - rowHeight/2},
					Max: vg.Point{X: left + l.columnWidth(), Y: y + rowHeight/2},
				}))
			}
		}
		e.sample.Thumbnail(&draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: left, Y: y - rowHeight/2 + 2},
			Max: vg.Point{X: left + sampleWidth, Y: y + rowHeight/2 - 2},
		}})
		c.FillText(l.style, vg.Point{X: left + sampleWidth + sampleGap, Y: y}, e.name)
		end()
	}
}
