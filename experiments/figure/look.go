package figure

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// appearance tells one series from the others by colour, marker and dashes at
// once, so that it survives black and white printing.
type appearance struct {
	color  color.NRGBA
	marker int
	dashes []vg.Length
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
	return appearance{palette[i%len(palette)], i % len(markers), dashes[i%len(dashes)]}
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
	path := a.outline(at, markerRadius)
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
		c.Fill(a.outline(at, 0.45*markerRadius))
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
