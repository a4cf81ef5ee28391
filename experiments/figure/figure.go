package figure

import (
	"bytes"
	"fmt"
	"math"
	"time"

	"codeberg.org/go-pdf/fpdf"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Style is how values are drawn.
type Style string

// Styles.
const (
	Line      Style = "line"      // markers joined by lines
	Bar       Style = "bar"       // groups of bars over categories
	Histogram Style = "histogram" // steps over bins; x is the lower edge of each
)

// Figure is one pair of axes with its series.
type Figure struct {
	Title, XLabel, YLabel string
	Style                 Style
	LogX, LogY            bool
	YMax                  float64  // end of the vertical axis; 0: found from the data
	Categories            []string // of bars: X of a series is an index into it
	Series                []Series
}

// Series is a set of points that belong together. All slices but Saturated and
// HalfWidth, which may be nil, are of equal length. Points with a coordinate
// that is not a number are left out.
type Series struct {
	Name      string
	X, Y      []float64
	HalfWidth []float64 // of the confidence interval of Y
	Saturated []bool    // points to be marked: the network did not keep up
}

// Size of the picture.
const (
	width  = 6.2 * vg.Inch
	height = 4.0 * vg.Inch
	dpi    = 200 // of PNG
)

// epoch is the date in PDF files, which would otherwise differ from run to
// run.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func init() {
	fpdf.SetDefaultCreationDate(epoch)
	fpdf.SetDefaultModificationDate(epoch)
	fpdf.SetDefaultCatalogSort(true)
}

// Render draws the figure as "svg", "png" or "pdf".
func (f *Figure) Render(format string) ([]byte, error) {
	var canvas vg.CanvasWriterTo
	switch format {
	case "svg":
		canvas = vgsvg.New(width, height)
	case "png":
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dpi))}
	case "pdf":
		canvas = vgpdf.New(width, height)
	default:
		return nil, fmt.Errorf("unknown picture format %q: known are svg, png, pdf", format)
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	f.printable().draw(draw.New(canvas))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// check finds out whether there is anything to draw.
func (f *Figure) check() error {
	for _, s := range f.Series {
		for i := range s.X {
			if f.visible(s.X[i], s.Y[i]) {
				return nil
			}
		}
	}
	if f.LogX || f.LogY {
		return fmt.Errorf("no point to draw: a logarithmic axis shows positive numbers only")
	}
	return fmt.Errorf("no point to draw: no row has a number in both columns")
}

// visible tells whether a point can be drawn on the axes.
func (f *Figure) visible(x, y float64) bool {
	finite := !math.IsNaN(x) && !math.IsInf(x, 0) && !math.IsNaN(y) && !math.IsInf(y, 0)
	return finite && !(f.LogX && x <= 0) && !(f.LogY && y <= 0)
}

// textFont is the face of all text.
func textFont(size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

func (f *Figure) draw(c draw.Canvas) {
	c.SetColor(plotter.DefaultLineStyle.Color)
	p := plot.New()
	p.Title.Text = f.Title
	p.Title.TextStyle.Font = textFont(11.5)
	p.Title.Padding = 8
	for w := p.Title.TextStyle.Width(f.Title); w > width-20 && p.Title.TextStyle.Font.Size > 6; w = p.Title.TextStyle.Width(f.Title) {
		p.Title.TextStyle.Font.Size -= 0.5
	}
	p.X.Label.Text, p.Y.Label.Text = f.XLabel, f.YLabel
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Tick.Label.Font = textFont(9)
		axis.Padding = 0
		axis.LineStyle.Width = 0 // the frame draws it
		axis.Tick.LineStyle.Width = 0.6
		axis.Tick.Length = 4
	}
	f.axes(p)
	legend := newLegend()
	p.Add(grid{})
	for i := range f.Series {
		l := look(i)
		var drawn interface {
			plot.Plotter
			plot.Thumbnailer
		}
		switch f.Style {
		case Bar:
			drawn = &bars{series: &f.Series[i], look: l, index: i, groups: len(f.Series)}
		case Histogram:
			drawn = &steps{series: &f.Series[i], look: l, alone: len(f.Series) == 1}
		default:
			drawn = &curve{figure: f, series: &f.Series[i], look: l}
		}
		p.Add(drawn)
		if f.Series[i].Name != "" {
			legend.Add(f.Series[i].Name, drawn)
		}
	}
	if f.Style == Line && f.anySaturated() {
		legend.Add("hollow: saturated", hollow{})
	}
	p.Add(frame{})
	c = draw.Crop(c, 8, -12, 6, -8)
	l := takeLabels(p)
	l.draw(c, f.place(p, legend, l.inside(c)))
}

// axes sets the ranges, scales and ticks.
func (f *Figure) axes(p *plot.Plot) {
	x, y := f.ranges()
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = x.min, x.max, y.min, y.max
	for _, a := range []struct {
		*plot.Axis
		log bool
	}{{&p.X, f.LogX}, {&p.Y, f.LogY}} {
		unit, bare := unitOf(a.Label.Text)
		a.Tick.Marker = ticks{unit}
		if a.log {
			a.Scale, a.Tick.Marker = plot.LogScale{}, logTicks{unit}
		}
		if hasUnits(a.Axis, unit) {
			a.Label.Text = bare
		}
	}
	if f.Style == Bar {
		p.X.Tick.Marker = categories(f.Categories)
		p.X.Tick.LineStyle.Width = 0
	}
}
