package plot

import (
	"fmt"
	"image/color"
	"math"
	"strings"
	"unicode/utf8"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/lists"
)

// appearance tells series apart by colour, marker and dashes at once, to survive printing in black
// and white.
type appearance struct {
	color  color.NRGBA
	marker int
	dashes []vg.Length
	small  bool // markers of very many
}

// palette is Okabe and Ito's (Color Universal Design, 2008), distinct with any form of colour
// blindness; its yellow, which fades on white, is left out.
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

// polygon is a regular one; without corners a circle.
type polygon struct {
	corners int
	turn    float64 // of the first corner from the top, in corners
	scale   float64 // to look as large as the others
}

var markers = []polygon{{0, 0, 1}, {4, 0.5, 1.2}, {3, 0, 1.3}, {4, 0, 1.2}, {3, 0.5, 1.3}, {6, 0, 1.1}}

func (f *Figure) look(i int) appearance {
	s := &f.Series[i]
	one := i
	if s.Look > 0 {
		one = s.Look - 1
	}
	// Colours, markers and dashes have coprime counts: combinations repeat late.
	a := appearance{color: palette[one%len(palette)], marker: one % len(markers), dashes: dashes[one%len(dashes)]}
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

// tints are a scale from dark to light that can be ordered with any form of colour blindness,
// without its palest end: viridis (van der Walt and Smith, 2015).
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

// mark draws the series' marker at a point: filled where the network kept up, hollow where not,
// half filled where undecided, with a stroke through it where some of what it should show is
// missing.
func (a appearance) mark(c draw.Canvas, at vg.Point, state State) {
	radius := markerRadius
	if a.small {
		radius = 0.55 * markerRadius
	}
	var path vg.Path // the outline
	if m := markers[a.marker]; m.corners > 0 {
		path = closed(m.around(at, radius))
	} else {
		path.Move(vg.Point{X: at.X + vg.Length(radius), Y: at.Y})
		path.Arc(at, vg.Length(radius), 0, 2*math.Pi)
		path.Close()
	}
	c.SetLineDash(nil, 0)
	c.SetColor(a.color)
	if state != Steady {
		c.SetColor(color.White)
	}
	c.Fill(path)
	c.SetColor(a.color)
	if state == Undecided {
		c.Fill(a.lowerHalf(at, radius))
	}
	c.SetLineWidth(1.1)
	c.Stroke(path)
	if state == Refused {
		half := vg.Length(0.6 * radius)
		var line vg.Path
		line.Move(at.Sub(vg.Point{X: half, Y: half}))
		line.Line(at.Add(vg.Point{X: half, Y: half}))
		c.Stroke(line)
	}
}

// lowerHalf is the part of the marker below the point.
func (a appearance) lowerHalf(at vg.Point, radius float64) (path vg.Path) {
	m := markers[a.marker]
	if m.corners == 0 {
		path.Move(vg.Point{X: at.X - vg.Length(radius), Y: at.Y})
		path.Arc(at, vg.Length(radius), math.Pi, math.Pi)
		path.Close()
		return path
	}
	var below []vg.Point
	around := m.around(at, radius)
	for i, to := range around {
		from := around[(i+len(around)-1)%len(around)]
		if (from.Y < at.Y) != (to.Y < at.Y) {
			below = append(below, vg.Point{X: from.X + (to.X-from.X)*(at.Y-from.Y)/(to.Y-from.Y), Y: at.Y})
		}
		if to.Y < at.Y {
			below = append(below, to)
		}
	}
	return closed(below)
}

// around are the corners of a marker.
func (m polygon) around(at vg.Point, radius float64) []vg.Point {
	return lists.Make(m.corners, func(i int) vg.Point {
		sin, cos := math.Sincos(math.Pi/2 + 2*math.Pi*(float64(i)+m.turn)/float64(m.corners))
		return at.Add(vg.Point{X: vg.Length(radius * m.scale * cos), Y: vg.Length(radius * m.scale * sin)})
	})
}

func closed(corners []vg.Point) (path vg.Path) {
	for i, corner := range corners {
		if i == 0 {
			path.Move(corner)
		} else {
			path.Line(corner)
		}
	}
	path.Close()
	return path
}

// legend is the series' names beside samples, in columns, below what all have in common.
type legend struct {
	title   string
	entries []entry
	columns int
	style   text.Style
}

type entry struct {
	name   string
	sample func(c draw.Canvas)
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
	markers := f.stripped()
	for i := range f.Series {
		name := f.Series[i].Name
		if name != "" && (!markers || f.draws(func(s *Series, _ int) bool { return s.Name == name })) {
			l.entries = append(l.entries, entry{name, f.drawing(i).sample, name})
		}
	}
	for _, one := range []struct {
		state State
		words string
	}{{Undecided, "half filled: undecided"}, {Refused, "hatched: some refused"}, {Saturated, "hollow: saturated"}} {
		sample := func(c draw.Canvas) { ofStates.fill(c, c.Rectangle, one.state) }
		if markers || f.LogY {
			sample = func(c draw.Canvas) { ofStates.mark(c, c.Center(), one.state) }
		}
		if (markers || f.Style == Bar) && f.draws(func(s *Series, i int) bool { return s.state(i) == one.state }) {
			l.entries = append(l.entries, entry{one.words, sample, ""})
		}
	}
	if f.spreads() {
		sample := func(c draw.Canvas) { whisker(c, color.Black, c.Center().X, c.Min.Y, c.Max.Y) }
		l.entries = append(l.entries, entry{"mean, from least to largest", sample, ""})
	}
	for _, left := range []struct {
		words string
		n     int
	}{{"points off the axes: %d", f.offAxes()}, {"points that failed: %d", f.Failed}} {
		if left.n > 0 {
			l.entries = append(l.entries, entry{fmt.Sprintf(left.words, left.n), func(draw.Canvas) {}, ""})
		}
	}
	l.entries = append(append(l.entries, f.referenceEntries()...), f.markEntries()...)
	if len(l.entries) == 0 && l.title == "" {
		return nil
	}
	return l
}

// columnWidth is the width of the widest entry.
func (l *legend) columnWidth() vg.Length {
	return lists.Most(0, l.entries, func(e entry) vg.Length { return sampleWidth + sampleGap + l.style.Width(e.name) })
}

// rows is how many rows the legend has in so many columns, without its title.
func (l *legend) rows(columns int) int { return (len(l.entries) + columns - 1) / columns }

func (l *legend) size(columns int) vg.Point {
	rows := l.rows(columns)
	wide := l.columnWidth()*vg.Length(columns) + columnGap*vg.Length(columns-1)
	if l.title != "" {
		rows++
		wide = max(wide, l.style.Width(l.title))
	}
	return vg.Point{X: wide + 2*legendInset, Y: rowHeight*vg.Length(rows) + 2*legendInset}
}

// fitInto shortens what is wider than the room, and puts as many columns side by side as fit.
func (l *legend) fitInto(room vg.Length) (size vg.Point) {
	room -= 2 * legendInset
	l.title = elide(l.style, l.title, room)
	for i := range l.entries {
		l.entries[i].name = elide(l.style, l.entries[i].name, room-sampleWidth-sampleGap)
	}
	l.columns = max(1, min(int((room+columnGap)/(l.columnWidth()+columnGap)), len(l.entries)))
	return l.size(l.columns)
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
				c.FillPolygon(color.Transparent, corners(rectangle(left, y-rowHeight/2, left+l.columnWidth(), y+rowHeight/2)))
			}
		}
		e.sample(draw.Canvas{Canvas: c.Canvas, Rectangle: rectangle(left, y-rowHeight/2+2, left+sampleWidth, y+rowHeight/2-2)})
		c.FillText(l.style, vg.Point{X: left + sampleWidth + sampleGap, Y: y}, e.name)
		end()
	}
}

// printable measures and draws texts as they may stand in a picture: names come from other
// programs' files, and no viewer opens an SVG file with control characters.
type printable struct{ text.Handler }

func (p printable) Lines(words string) []string { return p.Handler.Lines(input.Printable(words)) }

func (p printable) Draw(c vg.Canvas, words string, style text.Style, at vg.Point) {
	p.Handler.Draw(c, input.Printable(words), style, at)
}

func init() { plot.DefaultTextHandler = printable{plot.DefaultTextHandler} }

const (
	titleSize    = 11.5
	smallestSize = 7 // of text that has to shrink
)

// fit breaks a text into lines no wider than room, and makes it smaller for the lines wanted.
func fit(style text.Style, s string, room vg.Length, lines int) (string, text.Style) {
	for {
		broken := wrap(style, s, room)
		if strings.Count(broken, "\n") < lines || style.Font.Size-0.5 < smallestSize {
			return broken, style
		}
		style.Font.Size -= 0.5
	}
}

// wrap breaks a text between words, or within words wider than room.
func wrap(style text.Style, s string, room vg.Length) string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(s) {
		if joined := strings.TrimSpace(line + " " + word); style.Width(joined) <= room {
			line = joined
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		for style.Width(word) > room {
			head := strings.TrimSuffix(elide(style, word, room), ellipsis)
			if head == "" {
				break // not even a letter
			}
			lines = append(lines, head)
			word = string([]rune(word)[utf8.RuneCountInString(head):])
		}
		line = word
	}
	return strings.Join(append(lines, line), "\n")
}

const ellipsis = "…"

// elide cuts the end off a text that is wider than room.
func elide(style text.Style, s string, room vg.Length) string {
	if style.Width(s) <= room {
		return s
	}
	letters := []rune(s)
	for len(letters) > 0 && style.Width(string(letters)+ellipsis) > room {
		letters = letters[:len(letters)-1]
	}
	return string(letters) + ellipsis
}

// labels are the axes' labels, kept from gonum's plot: on a logarithmic axis it takes a label's
// place for the value halfway between the ends, far from the middle, and leaves room there.
type labels struct{ x, y label }

type label struct {
	text  string // in lines
	style text.Style
}

const labelGap = 4

// labelRoom is the room for a picture's axis labels, whatever ticks and title take.
func labelRoom(size vg.Point) vg.Point { return size.Sub(vg.Point{X: 70, Y: 85}) }

// takeLabels moves the labels out of p.
func takeLabels(p *plot.Plot, size vg.Point) labels {
	room := labelRoom(size)
	style := p.X.Label.TextStyle
	style.Font = textFont(10)
	var l labels
	l.x.text, l.x.style = fitLabel(style, p.X.Label.Text, room.X)
	l.y.text, l.y.style = fitLabel(style, p.Y.Label.Text, room.Y)
	p.X.Label.Text, p.Y.Label.Text = "", ""
	return l
}

// fitLabel fits an axis' label into a line, or two before it is much smaller than the other axis'.
func fitLabel(style text.Style, s string, room vg.Length) (string, text.Style) {
	const least = 8.5
	if line, smaller := fit(style, s, room, 1); smaller.Font.Size >= least && !strings.Contains(line, "\n") {
		return line, smaller
	}
	return fit(style, s, room, 2)
}

// size is the room that a label takes across its axis.
func (l label) size() vg.Length {
	if l.text == "" {
		return 0
	}
	return l.style.Height(l.text) + l.style.FontExtents().Descent + labelGap
}

func (l labels) inside(c draw.Canvas) draw.Canvas { return draw.Crop(c, l.y.size(), 0, l.x.size(), 0) }

// draw writes the labels along c's edges, in the middle of their axes if there is room; data is the
// area between the axes.
func (l labels) draw(c, data draw.Canvas) {
	if l.x.text != "" {
		descent := l.x.style.FontExtents().Descent
		half := l.x.style.Width(l.x.text) / 2
		c.FillText(l.x.style, vg.Point{X: max(c.Min.X+half, min(data.Center().X, c.Max.X-half)), Y: c.Min.Y + descent}, l.x.text)
	}
	if l.y.text != "" {
		style, half := l.y.style, l.y.style.Width(l.y.text)/2
		descent := style.FontExtents().Descent
		style.Rotation = math.Pi / 2
		c.FillText(style, vg.Point{X: c.Min.X + style.Height(l.y.text) - descent, Y: max(c.Min.Y+half, min(data.Center().Y, c.Max.Y-half))}, l.y.text)
	}
}
