package figure

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// labels are the labels of the axes, which gonum's plot does not get to see:
// on a logarithmic axis it takes the label's place for the value halfway
// between the ends, far from the middle, and leaves the room that the label
// would need there.
type labels struct{ x, y label }

type label struct {
	text  string // in lines
	style text.Style
}

const labelGap = 4

// labelRoom is the room for the labels along the axes of a picture, whatever the
// ticks and the title take.
func labelRoom(size vg.Point) vg.Point { return size.Sub(vg.Point{X: 70, Y: 85}) }

// takeLabels moves the labels out of p.
func takeLabels(p *plot.Plot, size vg.Point) labels {
	room := labelRoom(size)
	style := p.X.Label.TextStyle
	style.Font = textFont(10)
	var l labels
	l.x.text, l.x.style = fit(style, p.X.Label.Text, room.X, 1)
	l.y.text, l.y.style = fit(style, p.Y.Label.Text, room.Y, 1)
	p.X.Label.Text, p.Y.Label.Text = "", ""
	return l
}

// size is the room that a label takes across its axis.
func (l label) size() vg.Length {
	if l.text == "" {
		return 0
	}
	return l.style.Height(l.text) + l.style.FontExtents().Descent + labelGap
}

// inside is what the labels leave of a canvas.
func (l labels) inside(c draw.Canvas) draw.Canvas {
	return draw.Crop(c, l.y.size(), 0, l.x.size(), 0)
}

// draw writes the labels along the edges of c, each in the middle of its axis;
// data is the area between the axes.
func (l labels) draw(c, data draw.Canvas) {
	if l.x.text != "" {
		descent := l.x.style.FontExtents().Descent
		c.FillText(l.x.style, vg.Point{X: data.Center().X, Y: c.Min.Y + descent}, l.x.text)
	}
	if l.y.text != "" {
		style := l.y.style
		descent := style.FontExtents().Descent
		style.Rotation = math.Pi / 2
		c.FillText(style, vg.Point{X: c.Min.X + style.Height(l.y.text) - descent, Y: data.Center().Y}, l.y.text)
	}
}
