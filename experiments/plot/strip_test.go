package plot

import (
	"cmp"
	"fmt"
	"image"
	"image/color"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/weft-sim/weft/sim/simtest"
)

// TestStrip: the strip of saturated points is labelled, the axis is broken at its foot,
// and no line of a series leads into it, on either kind of axis.
func TestStrip(t *testing.T) {
	for _, logarithmic := range []bool{false, true} {
		testStrip(t, &Figure{
			Title: "t", XLabel: "x", YLabel: "y", Style: Line, LogY: logarithmic,
			Series: []Series{latency("min", 12, 0.63), latency("val", 20, 0.41)},
		})
	}
}

func testStrip(t *testing.T, f *Figure) {
	l, tape := record(f)
	canvas := draw.Canvas{Rectangle: l.data}
	strip := f.roof().area(canvas, l.plot)
	simtest.FatalIf(t, strip.Size().Y < 20, "no strip: %v", strip)
	label, breaks := 0, 0
	for _, m := range tape.marks {
		box := m.box()
		switch {
		case m.text == "saturated":
			label++
			simtest.ErrorIf(t, !within(grown(strip, 0.5), box), "the label lies at %v, the strip at %v", box, strip)
			for _, other := range tape.marks {
				simtest.ErrorIf(t, other.ofSeries() && overlap(box, other.box()), "the label lies over %v", other.box())
			}
		case m.text == "" && !m.filled && m.ink == color.NRGBA{A: 0xff} && len(m.points) == 2 && box.Size().X > 0 && box.Size().Y > 0 && math.Abs(float64(box.Min.Y-strip.Min.Y)) < 4:
			breaks++
		case m.ofSeries() && !m.filled && box.Size().X > 10 && box.Max.Y > strip.Min.Y && box.Min.Y < l.data.Max.Y && !overlap(box, l.box):
			t.Errorf("a line leads into the strip: %v", box)
		}
	}
	simtest.ErrorIf(t, label != 1 || breaks != 4, "%d labels and %d strokes of breaks, want 1, and 2 at each side", label, breaks)
}

// TestIntervalsEndBelowTheStrip: a band, or bars, of intervals wider than the axis end at the foot of the
// strip, on either kind of axis.
func TestIntervalsEndBelowTheStrip(t *testing.T) {
	for _, logarithmic := range []bool{false, true} {
		for _, bars := range []bool{false, true} {
			f := &Figure{Style: Line, LogY: logarithmic, Whiskers: bars, Series: []Series{
				{X: []float64{0.2, 0.4, 0.6}, Y: []float64{20, 30, math.NaN()}, HalfWidth: []float64{5, 500, 0}, States: []State{Steady, Steady, Saturated}},
			}}
			l, tape := record(f)
			strip, drawn := f.roof().area(draw.Canvas{Rectangle: l.data}, l.plot), 0
			for _, m := range tape.marks {
				box := m.box()
				if band := m.filled && m.ink.A == 0x40; !band && !(bars && m.ofSeries() && box.Size().X == 0) {
					continue
				}
				if drawn++; box.Max.Y > strip.Min.Y+0.5 {
					t.Errorf("logarithmic %v, bars %v: an interval up to %v, the strip begins at %v", logarithmic, bars, box.Max.Y, strip.Min.Y)
				}
			}
			simtest.ErrorIf(t, drawn == 0 || strip.Size().Y < 20, "logarithmic %v, bars %v: no interval is drawn", logarithmic, bars)
		}
	}
}

// TestStripsAreAlike: the strip takes the same share of a linear and of a logarithmic axis and
// shows the same points at the same places: of a series whose points are all saturated and have no
// value each, as of the other. Zero, which a logarithmic axis has not, is no value there either.
func TestStripsAreAlike(t *testing.T) {
	nan := math.NaN()
	var strips [2]vg.Rectangle
	var hollow [2]int
	for i, logarithmic := range []bool{false, true} {
		f := &Figure{Style: Line, LogY: logarithmic, Series: []Series{
			{Name: "a", X: []float64{0.2, 0.4}, Y: []float64{20, nan}, States: []State{Steady, Saturated}},
			{Name: "b", X: []float64{0.2, 0.4}, Y: []float64{nan, nan}, States: []State{Saturated, Saturated}},
		}}
		if logarithmic {
			f.Series[1].Y[0] = 0
		}
		l, tape := record(f)
		strips[i] = f.roof().area(draw.Canvas{Rectangle: l.data}, l.plot)
		for _, m := range tape.marks {
			if m.filled && m.ink.R == 0xff && m.ink.B == 0xff && within(strips[i], m.box()) {
				hollow[i]++
			}
		}
		names := newLegend(f).entries
		simtest.ErrorIf(t, len(names) != 3, "logarithmic %v: %d entries in the legend, want a, b and hollow", logarithmic, len(names))
		// The panel of b alone has the ceiling of the other.
		panels := &Figure{Style: Line, Panels: []*Figure{
			{Style: Line, LogY: logarithmic, Series: f.Series[:1]}, {Style: Line, LogY: logarithmic, Series: f.Series[1:]},
		}}
		panels.panels()
		a, b := panels.Panels[0].ceiling(), panels.Panels[1].ceiling()
		simtest.ErrorIf(t, a != b || math.IsInf(b, 0), "logarithmic %v: ceilings of panels %v and %v", logarithmic, a, b)
	}
	simtest.ErrorIf(t, hollow != [2]int{3, 3} || math.Abs(float64(strips[0].Size().Y-strips[1].Size().Y)) > 0.01 || strips[0].Size().Y < 20,
		"%v hollow markers in strips of %v", hollow, strips)
}

// TestPanelsLegendStates: the legend explains hollow and half-filled markers, whichever panel
// has them.
func TestPanelsLegendStates(t *testing.T) {
	f := panelled()
	slices.Reverse(f.Panels)
	f.Panels[0].Series = []Series{{Name: "min", X: []float64{0.1, 0.2}, Y: []float64{10, 11}}}
	f.Panels[1].Series[0].States[1] = Undecided
	f.Series = f.Panels[0].Series
	p, tape := recordPage(f)
	texts := tape.texts(t, "panels", p.size)
	simtest.ErrorIf(t, texts["half filled: undecided"] != 1 || texts["hollow: saturated"] != 1, "the legend of %v", texts)
	// On a logarithmic axis 0 and -1 have no place; -2 is in the strip, and NaN has no value.
	f.Panels[0].LogY, f.Panels[1].LogY, f.Panels[0].Series[0].X = true, true, []float64{0.1, 0.2, 0.3, 0.4, 0.5}
	f.Panels[0].Series[0].Y, f.Panels[0].Series[0].States = []float64{0, 10, -1, -2, math.NaN()}, []State{0, 0, 0, Saturated, 0}
	_, tape = recordPage(f)
	simtest.Equal(t, tape.texts(t, "panels", p.size)["points off the axes: 2"], 1, "entries of points that are not drawn:")
	// Curves without markers have no strip for points without a value.
	hidden := &Figure{Style: Curve, Series: []Series{{Name: "min", X: []float64{0.1, 0.2}, Y: []float64{10, math.NaN()}, States: []State{Steady, Saturated}}}}
	l := newLegend(hidden)
	simtest.ErrorIf(t, len(l.entries) != 1 || l.entries[0].name != "min", "the legend explains what is not drawn: %v", l.entries)
}

// TestMarkLabels: labels of bounds lie between the axes, over no marker, line, legend or
// other label, upright or not.
func TestMarkLabels(t *testing.T) {
	for _, vertical := range []bool{true, false} {
		f := &Figure{Title: "t", XLabel: "Offered load", YLabel: "Mean latency (ns)", Style: Line, Series: []Series{latency("min", 12, 2), latency("val", 20, 2)}}
		for i, x := range []float64{0.005, 0.3, 0.31, 0.95} {
			if !vertical {
				x *= 25
			}
			f.Marks = append(f.Marks, Mark{Name: "bound", Label: "bound " + string(rune('a'+i)), Vertical: vertical, From: x, To: x, Hue: i})
		}
		l, tape := record(f)
		var labels []vg.Rectangle
		for _, m := range tape.marks {
			if len(m.text) == 7 && m.text[:6] == "bound " {
				labels = append(labels, grown(m.box(), -1))
			}
		}
		simtest.FatalIf(t, len(labels) != 4, "%d labels", len(labels))
		for i, box := range labels {
			simtest.ErrorIf(t, !within(l.data, box) || overlap(box, l.box),
				"vertical %v: label %d lies at %v, the axes at %v, the legend at %v", vertical, i, box, l.data, l.box)
			for j, other := range labels {
				simtest.ErrorIf(t, i != j && overlap(box, other), "vertical %v: labels %d and %d overlap", vertical, i, j)
			}
			for _, m := range tape.marks {
				simtest.ErrorIf(t, m.ofSeries() && m.covers(box), "vertical %v: label %d lies over a series at %v", vertical, i, m.box())
			}
		}
	}
}

// TestReferencesShowAll: numbers of a paper for two series, at the point where both series have
// a marker. The arms of the crosses leave the marker free and do not cover one another, and the legend
// names each.
func TestReferencesShowAll(t *testing.T) {
	f := &Figure{Title: "t", XLabel: "x", YLabel: "y", Style: Line}
	for _, name := range []string{"rc", "xrc"} {
		f.Series = append(f.Series, Series{Name: name, X: []float64{1, 2, 3}, Y: []float64{1, 2, 3}})
		f.References = append(f.References, Reference{Name: "paper", Bar: name, X: []float64{2}, Y: []float64{2}, Apart: true})
	}
	f.tellReferences()
	l, tape := record(f)
	trX, trY := l.plot.Transforms(&draw.Canvas{Rectangle: l.data})
	x, y := float64(trX(2)), float64(trY(2))
	directions, texts := map[string]int{}, map[string]int{}
	for _, m := range tape.marks {
		texts[m.text]++
		if m.text != "" || m.ink != referenceColor || len(m.points) != 2 {
			continue
		}
		from, to := m.points[0], m.points[1]
		near, far := math.Hypot(float64(from.X)-x, float64(from.Y)-y), math.Hypot(float64(to.X)-x, float64(to.Y)-y)
		if far > 20 {
			continue // in the legend
		}
		simtest.ErrorIf(t, near < markerRadius || far < near, "an arm from %v to %v covers the marker at %v, %v", from, to, x, y)
		directions[fmt.Sprintf("%.0f", math.Atan2(float64(to.Y)-y, float64(to.X)-x)*180/math.Pi)]++
	}
	simtest.ErrorIf(t, len(directions) != 8, "arms in directions %v, want eight", directions)
	for _, name := range []string{"paper, rc", "paper, xrc"} {
		simtest.ErrorIf(t, texts[name] != 1, "%q stands %d times in the picture", name, texts[name])
	}
	// Bars tell by their place.
	f.Style, f.Categories = Bar, []string{"a", "b", "c", "d"}
	f.tellReferences()
	all := f.referenceEntries()
	simtest.ErrorIf(t, len(all) != 1 || all[0].name != "paper", "entries of a bar chart: %v", all)
}

// TestNamesBeginAtTheAxis: in an SVG picture the viewer's font may be wider than the one that
// was measured. Upright names begin at the axis, so that they do not run into it, and fonts with letters
// as wide are named.
func TestNamesBeginAtTheAxis(t *testing.T) {
	f := &Figure{Style: Bar, Series: []Series{{Name: "s"}}}
	for i := range 12 {
		f.Categories = append(f.Categories, fmt.Sprint("a switch with a long name, port ", i))
		f.Series[0].X, f.Series[0].Y = append(f.Series[0].X, float64(i)), append(f.Series[0].Y, 1)
	}
	l, tape := record(f)
	style := l.plot.X.Tick.Label
	simtest.ErrorIf(t, style.Rotation >= 0 || style.XAlign != text.XLeft, "names are turned by %v and aligned by %v", style.Rotation, style.XAlign)
	// Small letters, half as high as the font, have their middle at the tick.
	trX, _ := l.plot.Transforms(&draw.Canvas{Rectangle: l.data})
	names := 0
	for _, m := range tape.marks {
		if !strings.HasPrefix(m.text, "a switch") {
			continue
		}
		at := trX(float64(names))
		names++
		style := l.plot.X.Tick.Label
		line := m.box().Min.X + style.FontExtents().Descent
		middle := line + style.Font.Size/4
		simtest.ErrorIf(t, math.Abs(float64(middle-at)) > 0.6, "the letters of a name have their middle at %v, its tick is at %v", middle, at)
	}
	simtest.ErrorIf(t, names != len(f.Categories), "%d names", names)
	svg := simtest.Must(f.Render("svg"))(t)
	if n := strings.Count(string(svg), "font-family"); n == 0 || strings.Count(string(svg), ",Arial,Helvetica,sans-serif;") != n {
		t.Error("fonts to take in the place of Liberation Sans are not named")
	}
	n, all := strings.Count(string(svg), `lengthAdjust="spacingAndGlyphs"`), strings.Count(string(svg), "<text ")
	simtest.ErrorIf(t, n != all, "%d of %d texts have their length", n, all)
	// A digit of Liberation Sans is as wide as Arial's, 1139 of 2048 em: ten at 10 points 55.6.
	got, want := measured("<text x=\"1\"\n\tstyle=\"font-size:10px\">0000000000</text>"), ` textLength="55.6`
	simtest.ErrorIf(t, !strings.Contains(got, want), "%s, want %s", got, want)
}

// tape is a canvas that keeps what is drawn on it, in the order of drawing and
// in points of the picture, so that tests can ask where things are.
type tape struct {
	state
	saved []state
	marks []mark
}

type state struct {
	at    vg.Point
	angle float64
	ink   color.NRGBA
	width vg.Length
}

// mark is a text, a stroke or a filled area.
type mark struct {
	text   string     // empty: a path
	points []vg.Point // of the path, or the corners of the text's box
	filled bool
	ink    color.NRGBA
	width  vg.Length
}

// record draws a figure onto a tape.
func record(f *Figure) (*layout, *tape) {
	l, t := f.layout(), &tape{}
	l.draw(draw.Canvas{Canvas: t, Rectangle: vg.Rectangle{Max: l.size}})
	return l, t
}

func (t *tape) place(p vg.Point) vg.Point {
	sin, cos := math.Sincos(t.angle)
	return t.at.Add(vg.Point{X: p.X*vg.Length(cos) - p.Y*vg.Length(sin), Y: p.X*vg.Length(sin) + p.Y*vg.Length(cos)})
}

func (t *tape) Push()                 { t.saved = append(t.saved, t.state) }
func (t *tape) Pop()                  { t.state, t.saved = t.saved[len(t.saved)-1], t.saved[:len(t.saved)-1] }
func (t *tape) Rotate(angle float64)  { t.angle += angle }
func (t *tape) Translate(by vg.Point) { t.at = t.place(by) }
func (t *tape) Scale(x, y float64)    { panic("not used") }
func (t *tape) SetColor(c color.Color) {
	t.ink = color.NRGBAModel.Convert(cmp.Or(c, color.Color(color.Black))).(color.NRGBA)
}
func (t *tape) SetLineWidth(w vg.Length)            { t.width = w }
func (t *tape) SetLineDash([]vg.Length, vg.Length)  {}
func (t *tape) DrawImage(vg.Rectangle, image.Image) { panic("not used") }

func (t *tape) path(p vg.Path, filled bool) {
	m := mark{filled: filled, width: t.width, ink: t.ink}
	for _, c := range p {
		switch c.Type {
		case vg.MoveComp, vg.LineComp:
			m.points = append(m.points, t.place(c.Pos))
		case vg.ArcComp:
			for _, d := range []vg.Point{{X: c.Radius}, {Y: c.Radius}, {X: -c.Radius}, {Y: -c.Radius}} {
				m.points = append(m.points, t.place(c.Pos.Add(d)))
			}
		}
	}
	t.marks = append(t.marks, m)
}

func (t *tape) Stroke(p vg.Path) {
	if t.width > 0 {
		t.path(p, false)
	}
}

func (t *tape) Fill(p vg.Path) { t.path(p, true) }

func (t *tape) FillString(face font.Face, at vg.Point, s string) {
	m := mark{text: s, ink: t.ink}
	w, e := face.Width(s), face.Extents()
	for _, corner := range []vg.Point{{Y: -e.Descent}, {X: w, Y: -e.Descent}, {X: w, Y: e.Ascent}, {Y: e.Ascent}} {
		m.points = append(m.points, t.place(at.Add(corner)))
	}
	t.marks = append(t.marks, m)
}

// texts counts the texts of a picture, and checks that all marks lie on it and no text over another.
func (t *tape) texts(test *testing.T, name string, size vg.Point) map[string]int {
	test.Helper()
	all := map[string]int{}
	var boxes []vg.Rectangle
	for _, m := range t.marks {
		inside := within(grown(vg.Rectangle{Max: size}, 0.01), m.box())
		simtest.ErrorIf(test, !inside, "%s: %q of %v is at %v, the picture is %v", name, m.text, m.ink, m.box(), size)
		if m.text == "" {
			continue
		}
		all[m.text]++
		box := grown(m.box(), -1) // lines of a text touch
		simtest.ErrorIf(test, slices.ContainsFunc(boxes, func(other vg.Rectangle) bool { return overlap(box, other) }),
			"%s: %q lies over another text", name, m.text)
		boxes = append(boxes, box)
	}
	return all
}

// box is the smallest upright rectangle around a mark.
func (m mark) box() vg.Rectangle {
	r := vg.Rectangle{Min: m.points[0], Max: m.points[0]}
	for _, p := range m.points {
		r.Min = vg.Point{X: min(r.Min.X, p.X), Y: min(r.Min.Y, p.Y)}
		r.Max = vg.Point{X: max(r.Max.X, p.X), Y: max(r.Max.Y, p.Y)}
	}
	return r
}

// ofSeries tells whether a path is in the colours of the series. The frame and
// the intervals of bars are black lines of another width than curves.
func (m mark) ofSeries() bool {
	solid := m.ink
	solid.A = 0xff
	black := solid == color.NRGBA{A: 0xff}
	return m.text == "" && slices.Contains(palette, solid) && !(black && !m.filled && m.width < 1)
}

// covers tells whether anything of a mark lies in r: an area by its corners and
// r's corners, lines by their course.
func (m mark) covers(r vg.Rectangle) bool {
	for i, p := range m.points {
		if crosses(r, m.points[max(0, i-1)], p) {
			return true
		}
	}
	if !m.filled {
		return false
	}
	inside := false // is a corner of r inside the polygon: an odd number of edges to its left
	at := r.Min
	for i, a := range m.points {
		b := m.points[(i+1)%len(m.points)]
		if (a.Y > at.Y) != (b.Y > at.Y) && at.X < a.X+(b.X-a.X)*(at.Y-a.Y)/(b.Y-a.Y) {
			inside = !inside
		}
	}
	return inside || crosses(r, m.points[len(m.points)-1], m.points[0])
}

func overlap(a, b vg.Rectangle) bool {
	return a.Min.X < b.Max.X && b.Min.X < a.Max.X && a.Min.Y < b.Max.Y && b.Min.Y < a.Max.Y
}

func within(outer, inner vg.Rectangle) bool {
	return inner.Min.X >= outer.Min.X && inner.Min.Y >= outer.Min.Y && inner.Max.X <= outer.Max.X && inner.Max.Y <= outer.Max.Y
}
