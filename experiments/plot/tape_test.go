package plot

import (
	"image"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

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
	ink   color.Color
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

func (t *tape) Push()                              { t.saved = append(t.saved, t.state) }
func (t *tape) Pop()                               { t.state, t.saved = t.saved[len(t.saved)-1], t.saved[:len(t.saved)-1] }
func (t *tape) Rotate(angle float64)               { t.angle += angle }
func (t *tape) Translate(by vg.Point)              { t.at = t.place(by) }
func (t *tape) Scale(x, y float64)                 { panic("not used") }
func (t *tape) SetColor(c color.Color)             { t.ink = c }
func (t *tape) SetLineWidth(w vg.Length)           { t.width = w }
func (t *tape) SetLineDash([]vg.Length, vg.Length) {}
func (t *tape) DrawImage(vg.Rectangle, image.Image) {
	panic("not used")
}

func (t *tape) path(p vg.Path, filled bool) {
	m := mark{filled: filled, width: t.width, ink: color.NRGBAModel.Convert(t.ink).(color.NRGBA)}
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
	m := mark{text: s}
	w, e := face.Width(s), face.Extents()
	for _, corner := range []vg.Point{{Y: -e.Descent}, {X: w, Y: -e.Descent}, {X: w, Y: e.Ascent}, {Y: e.Ascent}} {
		m.points = append(m.points, t.place(at.Add(corner)))
	}
	t.marks = append(t.marks, m)
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
// those of r, lines by their course.
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
