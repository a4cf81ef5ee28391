package plot

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"image/color"
	"io"
	"math"
	"slices"
	"strconv"
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

// Timeline is what rows do from time 0 on, in coloured areas from left to right, with a path over
// them.
type Timeline struct {
	Parts   []string // what is done
	Colours Scale    // len = len(Parts)
	Unit    string   // of time
	Rows    []TimelineRow
	Path    []PathStep
}

// TimelineRow is a row, whose spans are in order and do not overlap.
type TimelineRow struct {
	Label string
	Spans []TimelineSpan
}

// TimelineSpan is a part from one time to another.
type TimelineSpan struct {
	Part     int
	From, To float64
	Title    string // what viewers of SVG show on hover
}

// PathStep is a line of a path, in a row or from one to another.
type PathStep struct {
	FromRow, ToRow int
	From, To       float64
	Title          string
}

// leastSpan is the least width drawn by itself; narrower neighbours share the colour of the
// longest.
const leastSpan = 0.75

// Draw draws the timeline: the last span ends at the right.
func (t *Timeline) Draw(width vg.Length) *Drawing {
	const left, right, axis, gap, key = 4, 12, 26, 6, 16 // margins; below the rows; beside labels; a line of the legend
	small := Words(9, text.XLeft, text.YCenter)
	end, labels := 0.0, vg.Length(0)
	var used []int // parts that some row has
	for _, r := range t.Rows {
		labels = max(labels, small.Width(elide(small, r.Label, width/4)))
		for _, s := range r.Spans {
			used = append(used, s.Part)
		}
		if n := len(r.Spans); n > 0 {
			end = max(end, r.Spans[n-1].To)
		}
	}
	pitch := vg.Length(min(16, max(8, 480/float64(max(1, len(t.Rows))))))
	columns := max(1, int(width/90))
	slices.Sort(used)
	used = slices.Compact(used)
	legend := 6 + key*vg.Length((len(used)+columns-1)/columns)
	d := &Drawing{Size: vg.Point{X: width, Y: legend + pitch*vg.Length(len(t.Rows)) + axis}}
	for i, part := range used {
		at := vg.Point{X: left + width*vg.Length(i%columns)/vg.Length(columns), Y: d.Size.Y - 4 - key*vg.Length(i/columns)}
		d.Box(vg.Rectangle{Min: at.Sub(vg.Point{Y: 10}), Max: at.Add(vg.Point{X: 10})}, t.Colours[part], draw.LineStyle{}, "")
		d.Text(at.Add(vg.Point{X: 14, Y: -5}), small, t.Parts[part])
	}
	begin := left + labels + gap
	x := func(time float64) vg.Length { return begin + (width-right-begin)*vg.Length(time/cmp.Or(end, 1)) }
	y := func(row int) vg.Length { return d.Size.Y - legend - pitch*(vg.Length(row)+0.5) } // its middle
	for i, r := range t.Rows {
		d.Text(vg.Point{X: left, Y: y(i)}, small, elide(small, r.Label, width/4))
		t.spans(r.Spans, x, func(part int, from, to vg.Length, title string) {
			d.Box(rectangle(from, y(i)-0.35*pitch, to, y(i)+0.35*pitch), t.Colours[part], draw.LineStyle{}, title)
		})
	}
	line := draw.LineStyle{Color: color.NRGBA{A: 0xff}, Width: 1.2}
	for _, s := range t.Path {
		d.Line(vg.Point{X: x(s.From), Y: y(s.FromRow)}, vg.Point{X: x(s.To), Y: y(s.ToRow)}, line, s.Title)
	}
	bottom := d.Size.Y - legend - pitch*vg.Length(len(t.Rows)) - 3
	d.Line(vg.Point{X: begin, Y: bottom}, vg.Point{X: x(end), Y: bottom}, draw.LineStyle{Color: color.NRGBA{A: 0xff}, Width: 0.5}, "")
	for _, tick := range (ticks{}).Ticks(0, cmp.Or(end, 1)) {
		if tick.IsMinor() {
			continue
		}
		at := vg.Point{X: x(tick.Value), Y: bottom - 3}
		d.Line(vg.Point{X: at.X, Y: bottom}, at, draw.LineStyle{Color: color.NRGBA{A: 0xff}, Width: 0.5}, "")
		label := tick.Label
		if tick.Value == 0 {
			label += " " + t.Unit
		}
		d.Text(at.Sub(vg.Point{Y: 1}), Words(9, text.XCenter, text.YTop), label)
	}
	return d
}

// spans draws the spans of a row, the narrow ones together.
func (t *Timeline) spans(all []TimelineSpan, x func(float64) vg.Length, box func(part int, from, to vg.Length, title string)) {
	times := make([]float64, len(t.Parts)) // of what is kept back
	from, kept := math.NaN(), 0
	flush := func(to float64) {
		if kept > 0 {
			longest := slices.Index(times, slices.Max(times))
			box(longest, x(from), x(to), fmt.Sprintf("%d spans, mostly %s", kept, t.Parts[longest]))
		}
		clear(times)
		kept = 0
	}
	for _, s := range all {
		if x(s.To)-x(s.From) >= leastSpan {
			flush(s.From)
			box(s.Part, x(s.From), x(s.To), s.Title)
			continue
		}
		if kept == 0 {
			from = s.From
		}
		times[s.Part] += s.To - s.From
		if kept++; x(s.To)-x(from) >= leastSpan {
			flush(s.To)
		}
	}
	if n := len(all); n > 0 {
		flush(all[n-1].To)
	}
}

// StackedBars are bars from left to right, each of parts and below its label.
type StackedBars struct {
	Parts   []string // their names
	Colours Scale    // len = len(Parts)
	Unit    string
	Bars    []StackedBar
}

// StackedBar is one of [StackedBars].
type StackedBar struct {
	Label     string
	Parts     []float64
	Total     float64 // written at its end
	Saturated bool    // may dwarf the others: is shrunk to the width then, and says so
}

// Draw draws the bars: the longest of those that are not saturated fills the width.
func (s *StackedBars) Draw(width vg.Length) *Drawing {
	const (
		line, thickness, row, gap = 14, 12, 18, 8
		left, room                = 4, 70 // margin; for the number behind a bar
	)
	columns := 4
	if width < 500 {
		columns = 2
	}
	top, all := 0.0, 0.0
	for _, b := range s.Bars {
		all = max(all, b.Total)
		if !b.Saturated {
			top = max(top, b.Total)
		}
	}
	top = cmp.Or(top, all)
	style := Words(11, text.XLeft, text.YBottom)
	legend := vg.Length(8 + row*((len(s.Parts)+columns-1)/columns))
	d, labels := &Drawing{Size: vg.Point{X: width, Y: legend}}, make([][]string, len(s.Bars))
	for i, b := range s.Bars {
		label := b.Label // another font may be wider
		if b.Total > top {
			label += " (saturated: the bar is not to scale)"
		}
		labels[i] = strings.Split(wrap(style, label, (width-2*left)/1.2), "\n")
		d.Size.Y += line*vg.Length(len(labels[i])) + thickness + gap
	}
	box := func(part int, x, y, wide, high vg.Length, title string) {
		d.Box(rectangle(x, y-high, x+wide, y), s.Colours[part], draw.LineStyle{}, title)
	}
	for i, name := range s.Parts {
		x, y := left+width*vg.Length(i%columns)/vg.Length(columns), d.Size.Y-4-vg.Length(row*(i/columns))
		box(i, x, y, 10, 10, "")
		d.Text(vg.Point{X: x + 15, Y: y - 9}, style, name)
	}
	y := d.Size.Y - legend
	for i, b := range s.Bars {
		for _, words := range labels[i] {
			d.Text(vg.Point{X: left, Y: y - 10}, style, words)
			y -= line
		}
		x, unit := vg.Length(left), (width-left-room)/vg.Length(max(top, b.Total))
		for part, value := range b.Parts {
			if value > 0 {
				wide := vg.Length(value) * unit
				box(part, x, y, wide, thickness, fmt.Sprintf("%s: %s %s", s.Parts[part], rounded(value, 4), s.Unit))
				x += wide
			}
		}
		d.Text(vg.Point{X: x + 5, Y: y - thickness + 2}, style, rounded(b.Total, 4)+" "+s.Unit)
		y -= thickness + gap
	}
	return d
}

// Drawing is a picture of areas, lines and words, later ones over earlier ones, for all that is no
// figure with axes. Lengths are in points, y grows upwards from the lower left corner. Viewers of
// SVG show titles (empty: none) on hover.
type Drawing struct {
	Size     vg.Point
	elements []func(c draw.Canvas)
}

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
	d.add("", func(c draw.Canvas) { c.FillText(style, at, words) })
}

// Label is [Drawing.Text] with a white edge, to be read on any colour; pointers reach what is below
// it.
func (d *Drawing) Label(at vg.Point, style text.Style, words string) {
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
		return withFont{vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(size.X, size.Y), vgimg.UseDPI(dpi))}}, nil
	case "pdf":
		return withFont{vgpdf.New(size.X, size.Y)}, nil
	}
	return nil, fmt.Errorf("unknown picture format %q: known are svg, png, pdf", format)
}

// withFont draws texts with the figures' own font, and a box for letters that it lacks, of which
// there would be nothing to see.
type withFont struct{ vg.CanvasWriterTo }

func (c withFont) FillString(face font.Face, at vg.Point, words string) {
	c.CanvasWriterTo.FillString(face, at, strings.Map(func(r rune) rune {
		if glyph, err := face.Face.GlyphIndex(nil, r); err != nil || glyph == 0 {
			return '□'
		}
		return r
	}, words))
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

// svgOf is the SVG on which a canvas draws, if it takes groups; nil without one.
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

// writtenText is a text as vgsvg writes it: what comes before its style, its size, and its words.
var writtenText = input.Pattern(`(<text [^>]*)(\n\tstyle="[^"]*font-size:([0-9.]+)px">)([^<]+)</text>`)

// measured gives a text the length that it was measured to have, whatever the font of the viewer.
func measured(element string) string {
	m := writtenText().FindStringSubmatch(element)
	size, err := strconv.ParseFloat(m[3], 64)
	if err != nil {
		panic("plot: " + err.Error())
	}
	width := Words(vg.Length(size), text.XLeft, text.YBottom).Width(html.UnescapeString(m[4]))
	return fmt.Sprintf(`%s textLength="%.5g" lengthAdjust="spacingAndGlyphs"%s%s</text>`, m[1], width.Points(), m[2], m[4])
}

// WriteTo implements io.WriterTo. For viewers of SVG that lack the font, it writes how long texts
// are, and fonts with letters as wide.
func (s *svgCanvas) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	if _, err := s.Canvas.WriteTo(&b); err != nil {
		return 0, err
	}
	const family = "font-family:Liberation Sans"
	sized := writtenText().ReplaceAllStringFunc(b.String(), measured)
	parts := strings.Split(strings.ReplaceAll(sized, family+";", family+",Arimo,Arial,Helvetica,sans-serif;"), emptyGroup)
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
