package netmap

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/sim/input"
)

// Picture is a drawing of simple shapes. Lengths are in points, y grows downwards.
type Picture struct {
	Width, Height float64
	Label         string    // for readers that do not see it
	Loads         []float64 // of the boxes and lines that show one, in the order in which they are drawn

	top    float64 // load at the hot end of the scale
	plain  bool    // neither names nor scale
	key    []shape // scale or legend
	shapes []shape
}

// form is what a shape is.
type form int

const (
	box form = iota
	line
	disc
	words
)

// shape is one element of a picture.
type shape struct {
	form                form
	x, y, width, height float64 // of a box: its upper left corner; of a line: from x, y to x2, y2; of a disc: center, and width is the radius
	x2, y2              float64
	thickness           float64 // of a line or an outline
	fill, stroke        string  // #rrggbb; empty: none
	title               string  // on hover
	text, anchor        string  // anchor: start, middle or end
	size, angle         float64 // of text: points, degrees clockwise
	halo                bool    // around text, so that it can be read on any colour
	loaded              bool
}

func (p *Picture) add(s shape) { p.shapes = append(p.shapes, s) }

// load adds a box or a line that shows a load.
func (p *Picture) load(s shape, name string, load float64) {
	colour := p.colour(load)
	if s.form == line {
		s.stroke = colour
	} else {
		s.fill = colour
	}
	s.loaded = true
	if !p.plain {
		s.title = fmt.Sprintf("%s: %.3f", name, load)
	}
	p.Loads = append(p.Loads, load)
	p.add(s)
}

// num prints a coordinate.
func num(x float64) string { return strconv.FormatFloat(math.Round(x*10)/10, 'f', -1, 64) }

// escape writes text for XML; names come from files of other programs.
var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;")

// SVG is the picture as an svg element. Elements that show a load are in its only
// group, in the order of Loads.
func (p *Picture) SVG() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg role="img" aria-label="%s" viewBox="0 0 %s %s" xmlns="http://www.w3.org/2000/svg" font-family="Liberation Sans, Arial, Helvetica, sans-serif">`+"\n",
		escape.Replace(input.Printable(p.Label)), num(p.Width), num(p.Height))
	for i := range p.key {
		p.key[i].svg(&b)
	}
	if !p.plain {
		b.WriteString("<g>\n")
	}
	for i := range p.shapes {
		p.shapes[i].svg(&b)
	}
	if !p.plain {
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>")
	return b.String()
}

func (s *shape) svg(b *strings.Builder) {
	title := ""
	if s.title != "" {
		title = "<title>" + escape.Replace(input.Printable(s.title)) + "</title>"
	}
	paint := ""
	if s.form != words {
		paint = attribute("fill", s.fill, s.form != line) + attribute("stroke", s.stroke, false)
		if s.stroke != "" {
			paint += fmt.Sprintf(` stroke-width="%s"`, num(s.thickness))
		}
	}
	switch s.form {
	case box:
		fmt.Fprintf(b, `<rect x="%s" y="%s" width="%s" height="%s"%s>%s</rect>`, num(s.x), num(s.y), num(s.width), num(s.height), paint, title)
	case line:
		fmt.Fprintf(b, `<line x1="%s" y1="%s" x2="%s" y2="%s"%s>%s</line>`, num(s.x), num(s.y), num(s.x2), num(s.y2), paint, title)
	case disc:
		fmt.Fprintf(b, `<circle cx="%s" cy="%s" r="%s"%s>%s</circle>`, num(s.x), num(s.y), num(s.width), paint, title)
	case words:
		turn := ""
		if s.angle != 0 {
			turn = fmt.Sprintf(` transform="rotate(%s %s %s)"`, num(s.angle), num(s.x), num(s.y))
		}
		if s.halo {
			turn += ` stroke="#ffffff" stroke-width="2" stroke-opacity="0.8" paint-order="stroke" pointer-events="none"`
		}
		fmt.Fprintf(b, `<text x="%s" y="%s" font-size="%s" text-anchor="%s" fill="%s"%s>%s</text>`,
			num(s.x), num(s.y), num(s.size), s.anchor, s.fill, turn, escape.Replace(input.Printable(s.text)))
	}
	b.WriteByte('\n')
}

// attribute writes a colour; none where it would be black otherwise.
func attribute(name, colour string, needed bool) string {
	switch {
	case colour != "":
		return fmt.Sprintf(` %s="%s"`, name, colour)
	case needed:
		return fmt.Sprintf(` %s="none"`, name)
	}
	return ""
}

// text adds words: anchor is start, middle or end.
func (p *Picture) text(x, y, size float64, anchor, text string) {
	p.add(shape{form: words, x: x, y: y, size: size, anchor: anchor, text: text, fill: ink})
}

// shift moves everything that has been added.
func (p *Picture) shift(dx, dy float64) {
	for i := range p.shapes {
		s := &p.shapes[i]
		s.x, s.x2, s.y, s.y2 = s.x+dx, s.x2+dx, s.y+dy, s.y2+dy
	}
}
