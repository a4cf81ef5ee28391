package plot

import (
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/weft-sim/weft/sim/input"
)

// printable is the figure with all its texts as they may stand in a picture: names
// come from files of other programs, and a control character makes an SVG file that
// nothing opens.
func (f *Figure) printable() *Figure {
	p := *f
	p.Categories, p.Marks, p.Panels, p.Series, p.References = slices.Clone(f.Categories), slices.Clone(f.Marks), slices.Clone(f.Panels), slices.Clone(f.Series), slices.Clone(f.References)
	texts := []*string{&p.Title, &p.XLabel, &p.YLabel, &p.LegendTitle}
	each := func(list []string) {
		for i := range list {
			texts = append(texts, &list[i])
		}
	}
	if f.Field != nil {
		field := *f.Field
		field.Columns, field.Rows = slices.Clone(field.Columns), slices.Clone(field.Rows)
		p.Field, p.Categories, texts = &field, field.Columns, append(texts, &field.Label)
		each(field.Rows)
	}
	each(p.Categories)
	for i := range p.Marks {
		texts = append(texts, &p.Marks[i].Name, &p.Marks[i].Label)
	}
	for i := range p.References {
		texts = append(texts, &p.References[i].Name, &p.References[i].Bar)
	}
	for i := range p.Series {
		texts = append(texts, &p.Series[i].Name)
	}
	for _, t := range texts {
		*t = input.Printable(*t)
	}
	for i := range p.Panels {
		p.Panels[i] = p.Panels[i].printable()
	}
	return &p
}

const (
	titleSize    = 11.5
	smallestSize = 7 // of text that has to shrink
)

// fit breaks a text into lines no wider than room, and makes it smaller where it
// takes more lines than are wanted.
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
			word = word[len(head):]
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
