package netmap

import (
	"bytes"
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"

	_ "github.com/weft-sim/weft/experiments/figure" // the date in PDF files
	"github.com/weft-sim/weft/sim/input"
)

// Formats are the forms in which networks can be drawn.
var Formats = []string{"svg", "png", "pdf"}

// Resolution of PNG, and the most points that one has along a side.
const (
	dpi        = 150
	mostPixels = 12000
)

// Render draws the picture as "svg", "png" or "pdf".
func (p *Picture) Render(format string) ([]byte, error) {
	var canvas vg.CanvasWriterTo
	w, h := vg.Length(p.Width), vg.Length(p.Height)
	switch format {
	case "svg":
		text := []byte(p.SVG() + "\n")
		size := fmt.Sprintf(`<svg width="%s" height="%s" `, num(p.Width), num(p.Height))
		return bytes.Replace(text, []byte("<svg "), []byte(size), 1), nil
	case "png":
		sharp := int(min(dpi, mostPixels/max(p.Width, p.Height)*72))
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(max(1, sharp)))}
	case "pdf":
		canvas = vgpdf.New(w, h)
	default:
		return nil, fmt.Errorf("unknown picture format %q: known are svg, png, pdf", format)
	}
	for _, shapes := range [][]shape{p.key, p.shapes} {
		for i := range shapes {
			p.paint(canvas, &shapes[i])
		}
	}
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// rgb reads #rrggbb.
func rgb(colour string) color.Color {
	var c color.NRGBA
	fmt.Sscanf(colour, "#%02x%02x%02x", &c.R, &c.G, &c.B)
	c.A = 0xff
	return c
}

// paint draws a shape; y of the canvas grows upwards.
func (p *Picture) paint(c vg.Canvas, s *shape) {
	at := func(x, y float64) vg.Point { return vg.Point{X: vg.Length(x), Y: vg.Length(p.Height - y)} }
	var path vg.Path
	switch s.form {
	case box:
		path.Move(at(s.x, s.y))
		path.Line(at(s.x+s.width, s.y))
		path.Line(at(s.x+s.width, s.y+s.height))
		path.Line(at(s.x, s.y+s.height))
		path.Close()
	case line:
		path.Move(at(s.x, s.y))
		path.Line(at(s.x2, s.y2))
	case disc:
		path.Move(at(s.x+s.width, s.y))
		path.Arc(at(s.x, s.y), vg.Length(s.width), 0, 2*math.Pi)
		path.Close()
	case words:
		p.write(c, s, at(s.x, s.y))
		return
	}
	if s.fill != "" && s.form != line {
		c.SetColor(rgb(s.fill))
		c.Fill(path)
	}
	if s.stroke != "" {
		c.SetColor(rgb(s.stroke))
		c.SetLineWidth(vg.Length(s.thickness))
		c.Stroke(path)
	}
}

// write draws text; what has a halo in SVG has a copy in white around it.
func (p *Picture) write(c vg.Canvas, s *shape, at vg.Point) {
	text := input.Printable(s.text)
	f := face(s.size)
	back := map[string]font.Length{"middle": -f.Width(text) / 2, "end": -f.Width(text)}[s.anchor]
	c.Push()
	c.Translate(at)
	c.Rotate(-s.angle * math.Pi / 180)
	if s.halo {
		c.SetColor(rgb(paper))
		for i := range 8 {
			angle := 2 * math.Pi * float64(i) / 8
			c.FillString(f, vg.Point{X: back + vg.Length(0.8*math.Cos(angle)), Y: vg.Length(0.8 * math.Sin(angle))}, text)
		}
	}
	c.SetColor(rgb(s.fill))
	c.FillString(f, vg.Point{X: back}, text)
	c.Pop()
}
