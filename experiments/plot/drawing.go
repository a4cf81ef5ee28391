package plot

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"io"
	"math"
	"strings"
	"time"

	"codeberg.org/go-pdf/fpdf"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/weft-sim/weft/sim/input"
)

// Drawing is a picture of areas, lines and words, later ones over earlier ones: what is no
// figure with axes is drawn as one. Lengths are in points, y grows upwards from the lower left
// corner. A title is what viewers of SVG show on hover; empty: none.
type Drawing struct {
	Size     vg.Point
	elements []func(c draw.Canvas)
}

// add draws an element in a group with its title.
func (d *Drawing) add(title string, element func(c draw.Canvas)) {
	if title == "" {
		d.elements = append(d.elements, element)
		return
	}
	d.elements = append(d.elements, func(c draw.Canvas) {
		defer group(c, "<g><title>"+escaped(title)+"</title>")()
		element(c)
	})
}

// Box adds a rectangle; an edge of no width is not drawn.
func (d *Drawing) Box(r vg.Rectangle, fill color.Color, edge draw.LineStyle, title string) {
	d.add(title, func(c draw.Canvas) {
		outline := corners(r)
		c.FillPolygon(fill, outline)
		if edge.Width > 0 {
			c.StrokeLines(edge, append(outline, outline[0]))
		}
	})
}

// Line adds a line.
func (d *Drawing) Line(a, b vg.Point, style draw.LineStyle, title string) {
	d.add(title, func(c draw.Canvas) { c.StrokeLine2(style, a.X, a.Y, b.X, b.Y) })
}

// Disc adds a filled circle.
func (d *Drawing) Disc(center vg.Point, radius vg.Length, fill color.Color) {
	d.add("", func(c draw.Canvas) {
		var path vg.Path
		path.Move(vg.Point{X: center.X + radius, Y: center.Y})
		path.Arc(center, radius, 0, 2*math.Pi)
		path.Close()
		c.SetColor(fill)
		c.Fill(path)
	})
}

// Text adds a line of words in a style of [Words].
func (d *Drawing) Text(at vg.Point, style text.Style, words string) {
	words = input.Printable(words)
	d.add("", func(c draw.Canvas) { c.FillText(style, at, words) })
}

// Label is [Drawing.Text] with a white edge, to be read on any colour; what lies below it
// can be pointed at.
func (d *Drawing) Label(at vg.Point, style text.Style, words string) {
	words = input.Printable(words)
	d.add("", func(c draw.Canvas) {
		if svgOf(c) != nil {
			defer group(c, `<g stroke="#ffffff" stroke-width="2" stroke-opacity="0.8" paint-order="stroke" pointer-events="none">`)()
		} else {
			edge := style
			edge.Color = color.White
			for i := range 8 {
				sin, cos := math.Sincos(math.Pi / 4 * float64(i))
				c.FillText(edge, at.Add(vg.Point{X: vg.Length(0.8 * cos), Y: vg.Length(0.8 * sin)}), words)
			}
		}
		c.FillText(style, at, words)
	})
}

// Words is the style of black text: its size in points and which part of it is put at a place.
func Words(size vg.Length, x text.XAlignment, y text.YAlignment) text.Style {
	return text.Style{Font: textFont(size), XAlign: x, YAlign: y, Handler: plot.DefaultTextHandler}
}

// textFont is the face of all text.
func textFont(size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

// Render draws the picture as "svg", with the titles, "png" or "pdf".
func (d *Drawing) Render(format string) ([]byte, error) {
	const dpi, most = 150, 6000 // pixels along a side
	canvas, err := newCanvas(format, d.Size, max(1, min(dpi, int(most*72/max(d.Size.X, d.Size.Y)))))
	if err != nil {
		return nil, err
	}
	c := draw.New(canvas)
	for _, element := range d.elements {
		element(c)
	}
	return written(canvas)
}

// epoch is the date in PDF files, which would otherwise differ from run to run.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func init() {
	fpdf.SetDefaultCreationDate(epoch)
	fpdf.SetDefaultModificationDate(epoch)
	fpdf.SetDefaultCatalogSort(true)
}

// newCanvas is what pictures of all kinds are drawn on.
func newCanvas(format string, size vg.Point, dpi int) (vg.CanvasWriterTo, error) {
	switch format {
	case "svg", Page:
		return &svgCanvas{Canvas: vgsvg.New(size.X, size.Y)}, nil
	case "png":
		return vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(size.X, size.Y), vgimg.UseDPI(dpi))}, nil
	case "pdf":
		return vgpdf.New(size.X, size.Y), nil
	}
	return nil, fmt.Errorf("unknown picture format %q: known are svg, png, pdf", format)
}

// written is the file of what has been drawn.
func written(canvas vg.CanvasWriterTo) ([]byte, error) {
	var b bytes.Buffer
	_, err := canvas.WriteTo(&b)
	return b.Bytes(), err
}

// svgCanvas is a canvas with groups, for titles and for pages with scripts.
type svgCanvas struct {
	*vgsvg.Canvas
	bare   bool     // without groups
	groups []string // the opening tags
}

// emptyGroup is what vgsvg opens for a translation by nothing, which nobody else asks for.
const emptyGroup = `<g transform="translate(0, 0)">`

// group opens a group on canvases that have them; end closes it.
func group(c vg.Canvas, opening string) (end func()) {
	s := svgOf(c)
	if s == nil {
		return func() {}
	}
	s.groups = append(s.groups, opening)
	s.Push()
	s.Translate(vg.Point{})
	return s.Pop
}

// tag opens a group with an attribute.
func tag(c draw.Canvas, attribute, value string) (end func()) {
	return group(c, fmt.Sprintf(`<g %s="%s">`, attribute, strings.ReplaceAll(escaped(value), "\n", "&#10;")))
}

// escaped writes text for XML; names come from files of other programs.
func escaped(words string) string { return html.EscapeString(input.Printable(words)) }

// svgOf is the canvas with groups below those that gonum lays over each other; nil for others.
func svgOf(c vg.Canvas) *svgCanvas {
	switch below := c.(type) {
	case *svgCanvas:
		if !below.bare {
			return below
		}
	case draw.Canvas:
		return svgOf(below.Canvas)
	}
	return nil
}

// WriteTo implements io.WriterTo. It names, for viewers of SVG without the font that texts were
// measured in, others with letters as wide: the names of categories would run into the axes.
func (s *svgCanvas) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	if _, err := s.Canvas.WriteTo(&b); err != nil {
		return 0, err
	}
	const family = "font-family:Liberation Sans"
	parts := strings.Split(strings.ReplaceAll(b.String(), family+";", family+",Arimo,Arial,Helvetica,sans-serif;"), emptyGroup)
	if len(parts) != len(s.groups)+1 {
		panic(fmt.Sprintf("plot: %d groups, %d were opened", len(parts)-1, len(s.groups)))
	}
	var all strings.Builder
	for i, part := range parts {
		if i > 0 {
			all.WriteString(s.groups[i-1])
		}
		all.WriteString(part)
	}
	n, err := io.WriteString(w, all.String())
	return int64(n), err
}
