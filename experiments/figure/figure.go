package figure

import (
	"bytes"
	"fmt"
	"math"
	"time"

	"codeberg.org/go-pdf/fpdf"
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
	Histogram Style = "histogram" // steps over bins from X to XEnd
)

// State is what is known of whether the network kept up at a point.
type State int

// States, from the best to the worst.
const (
	Steady    State = iota // filled markers
	Undecided              // markers with a hole
	Saturated              // hollow markers
)

// Figure is one pair of axes with its series.
type Figure struct {
	Title, XLabel, YLabel string
	Style                 Style
	LogX, LogY            bool
	YMax                  float64  // end of the vertical axis; 0: found from the data
	Categories            []string // of bars: X of a series is an index into it
	LegendTitle           string   // what all names in the legend have in common
	Series                []Series
}

// Series is a set of points that belong together. All slices but XEnd, States
// and HalfWidth, which may be nil, are of equal length. Points with a
// coordinate that is not a number are left out.
type Series struct {
	Name      string
	X, Y      []float64
	XEnd      []float64 // of a histogram: upper edges of the bins
	HalfWidth []float64 // of the confidence interval of Y
	States    []State   // of the points; nil: all steady
}

// Size of the picture, before what a long title or legend adds to its height.
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
	if err := f.check(); err != nil {
		return nil, err
	}
	l := f.printable().layout()
	var canvas vg.CanvasWriterTo
	switch format {
	case "svg":
		canvas = vgsvg.New(l.size.X, l.size.Y)
	case "png":
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(l.size.X, l.size.Y), vgimg.UseDPI(dpi))}
	case "pdf":
		canvas = vgpdf.New(l.size.X, l.size.Y)
	default:
		return nil, fmt.Errorf("unknown picture format %q: known are svg, png, pdf", format)
	}
	l.draw(draw.New(canvas))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// check finds out whether there is anything to draw.
func (f *Figure) check() error {
	for i := range f.Series {
		for j := range f.Series[i].X {
			if f.visible(&f.Series[i], j) {
				return nil
			}
		}
	}
	if f.LogX || f.LogY {
		return fmt.Errorf("no point to draw: a logarithmic axis shows positive numbers only")
	}
	return fmt.Errorf("no point to draw: no row has a number in both columns")
}

// visible tells whether point i of a series can be drawn on the axes.
func (f *Figure) visible(s *Series, i int) bool {
	x, y := s.X[i], s.Y[i]
	if f.Style == Histogram {
		x = s.XEnd[i] // the first bin may begin at 0
	}
	return f.onAxis(x) && !math.IsNaN(y) && !math.IsInf(y, 0) && !(f.LogY && y <= 0)
}

// onAxis tells whether the horizontal axis can show x.
func (f *Figure) onAxis(x float64) bool {
	return !math.IsNaN(x) && !math.IsInf(x, 0) && !(f.LogX && f.Style != Bar && x <= 0)
}

// interval is the half-width of the confidence interval of point i; 0 if there
// is none.
func (s *Series) interval(i int) float64 {
	if i >= len(s.HalfWidth) || !(s.HalfWidth[i] > 0) || math.IsInf(s.HalfWidth[i], 0) {
		return 0
	}
	return s.HalfWidth[i]
}

// state is that of point i.
func (s *Series) state(i int) State {
	if i >= len(s.States) {
		return Steady
	}
	return s.States[i]
}

func (s *Series) saturated(i int) bool { return s.state(i) == Saturated }
