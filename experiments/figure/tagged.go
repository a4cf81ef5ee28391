package figure

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// tagged is an SVG canvas for pages with scripts: what is drawn between [tag] and its end
// is a group with an attribute of its own: data-series with the name of a series, in all
// panels; data-entry with that of its entry in the legend; data-tip with what a point is.
type tagged struct {
	*vgsvg.Canvas
	tags []string
}

// emptyGroup is what vgsvg opens for a translation by nothing, which nobody else asks for.
const emptyGroup = `<g transform="translate(0, 0)">`

// tag opens a group on canvases that have them, with an attribute; end closes it.
func tag(c draw.Canvas, attribute, value string) (end func()) {
	t := taggedOf(c)
	if t == nil {
		return func() {}
	}
	t.tags = append(t.tags, fmt.Sprintf(`%s="%s"`, attribute, strings.ReplaceAll(html.EscapeString(value), "\n", "&#10;")))
	t.Push()
	t.Translate(vg.Point{})
	return t.Pop
}

// taggedOf is the canvas below those that gonum lays over each other; nil for others.
func taggedOf(c vg.Canvas) *tagged {
	for {
		switch below := c.(type) {
		case *tagged:
			return below
		case draw.Canvas:
			c = below.Canvas
		default:
			return nil
		}
	}
}

// written is the picture with the attributes.
func (t *tagged) written() ([]byte, error) {
	var b bytes.Buffer
	if _, err := t.WriteTo(&b); err != nil {
		return nil, err
	}
	parts := strings.Split(b.String(), emptyGroup)
	if len(parts) != len(t.tags)+1 {
		panic(fmt.Sprintf("figure: %d groups for %d tags", len(parts)-1, len(t.tags)))
	}
	var all strings.Builder
	for i, part := range parts {
		if i > 0 {
			all.WriteString("<g " + t.tags[i-1] + ">")
		}
		all.WriteString(part)
	}
	return []byte(all.String()), nil
}

// tip tags what is drawn of point i with what it is, a line each.
func (f *Figure) tip(c draw.Canvas, s *Series, i int) (end func()) {
	x := short(s.X[i])
	switch {
	case f.categorical():
		x = f.Categories[int(s.X[i])]
	case f.XTicks != nil: // of nines
		x = short(100*(1-math.Pow(10, -s.X[i]))) + " %"
	case s.XEnd != nil:
		x += " to " + short(s.XEnd[i])
	}
	y := short(s.Y[i])
	if h := s.interval(i); h > 0 {
		y += " ± " + short(h)
	}
	if s.Quantiles != nil {
		y += ", from " + short(s.Quantiles[i][0]) + " to " + short(s.Quantiles[i][4])
	}
	var lines []string
	if s.Name != "" {
		lines = append(lines, s.Name)
	}
	lines = append(lines, x, y)
	switch s.state(i) {
	case Saturated:
		lines = append(lines, "saturated")
	case Undecided:
		lines = append(lines, "undecided")
	}
	return tag(c, "data-tip", strings.Join(lines, "\n"))
}

// short writes a number with five digits.
func short(x float64) string {
	if math.IsNaN(x) {
		return "no value"
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 5, 64), 64)
	if err != nil {
		return ""
	}
	return strconv.FormatFloat(rounded, 'g', -1, 64)
}
