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
type labels struct {
	style text.Style
	x, y  string
}

const labelGap = 4

// takeLabels moves the labels out of p.
func takeLabels(p *plot.Plot) labels {
	l := labels{style: p.X.Label.TextStyle, x: p.X.Label.Text, y: p.Y.Label.Text}
	l.style.Font = textFont(10)
	p.X.Label.Text, p.Y.Label.Text = "", ""
	return l
}

// size is the room that a label takes across its axis.
func (l labels) size(label string) vg.Length {
	if label == "" {
		return 0
	}
	return l.style.Height(label) + l.style.FontExtents().Descent + labelGap
}

// inside is what the labels leave of a canvas.
func (l labels) inside(c draw.Canvas) draw.Canvas {
	return draw.Crop(c, l.size(l.y), 0, l.size(l.x), 0)
}

// draw writes the labels along the edges of c, each in the middle of its axis;
// data is the area between the axes.
func (l labels) draw(c, data draw.Canvas) {
	descent := l.style.FontExtents().Descent
	if l.x != "" {
		c.FillText(l.style, vg.Point{X: data.Center().X, Y: c.Min.Y + descent}, l.x)
	}
	if l.y != "" {
		style := l.style
		style.Rotation = math.Pi / 2
		c.FillText(style, vg.Point{X: c.Min.X + style.Height(l.y) - descent, Y: data.Center().Y}, l.y)
	}
}
