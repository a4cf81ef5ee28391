// Package plot draws all that weft draws: figures for papers and reports ([Figure]),
// networks ([Network]), bars of parts ([StackedBars]) and whatever else is areas, lines and
// words ([Drawing]), on one canvas, as SVG, PNG or PDF. The same data give the same bytes.
package plot

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/weft-sim/weft/sim/lists"
)

// Style is how values are drawn.
type Style string

// Styles.
const (
	Line      Style = "line"      // markers joined by lines
	Bar       Style = "bar"       // groups of bars over categories
	Histogram Style = "histogram" // steps over bins from X to XEnd
	Scatter   Style = "scatter"   // markers alone
	Curve     Style = "curve"     // lines alone, for very many points
	Box       Style = "box"       // boxes of quantiles over categories
	Heat      Style = "heat"      // a field of colours
)

// State is what is known of whether the network kept up at a point.
type State int

// States, from the best to the worst.
const (
	Steady    State = iota // filled markers and bars
	Undecided              // half-filled ones
	Refused                // hatched ones: some of what was asked for is not in the value
	Saturated              // hollow ones
)

// Figure is one pair of axes with its series.
type Figure struct {
	Title, XLabel, YLabel string
	Style                 Style
	LogX, LogY            bool
	YMax                  float64   // end of the vertical axis; 0: found from the data
	XRange, YRange        []float64 // both ends of an axis; nil: found from the data
	Nines                 bool      // the horizontal axis is of percentiles: x = -log10 of the share beyond
	Whiskers              bool      // intervals of lines as bars, not as bands
	Marks                 []Mark    // drawn behind the series
	Categories            []string  // of bars: X of a series is an index into it
	LegendTitle           string    // what all names in the legend have in common
	Series                []Series
	References            []Reference
	Failed                int // points that are none of a series, as there is nothing of them

	// Size of the picture in inches, without what long titles or legends add in height, and of the
	// axes' numbers in points; 0: 6.2 x 4, and 9.
	Width, Height, FontSize float64

	// Panels are pairs of axes with the same ranges, each below its title; the figure then has no
	// series, and its labels and legend hold for all panels.
	Panels       []*Figure
	PanelColumns int // 0: found

	Field *Field // of a heat map

	room    *vg.Point // of a panel, in place of the size
	bare    bool      // a panel: without legend
	fixed   *[2]span  // ranges of all panels
	highest *float64  // ceiling of all panels
	shared  []float64 // places of all panels
	slots   *slots    // of bars and boxes; nil: not found yet
}

// Series is a set of points that belong together. Slices are equally long, or nil for XEnd, States
// and HalfWidth. Points with a coordinate that is no number are left out.
type Series struct {
	Name      string
	X, Y      []float64
	XEnd      []float64 // of a histogram: upper edges of the bins
	HalfWidth []float64 // of the confidence interval of Y
	States    []State   // of the points; nil: all steady
	// Look and Hue choose marker with dashes, and colour, from 1; 0: by the series' place.
	Look, Hue int
	Tint      float64      // with Hue < 0: place on the scale of colours, from 0 to 1
	Quantiles [][5]float64 // of a box: lower whisker, quartiles, upper whisker; of a bar: the spread of what it is the mean of
}

// Sizes where none is given; all other sizes are in proportion to the font.
const (
	width    = 6.2 * vg.Inch
	height   = 4.0 * vg.Inch
	fontSize = 9
	dpi      = 200 // of PNG
)

// scale is how many times larger than usual everything is drawn.
func (f *Figure) scale() float64 {
	if f.FontSize > 0 {
		return f.FontSize / fontSize
	}
	return 1
}

// size is the size of the picture before it is scaled.
func (f *Figure) size() vg.Point {
	if f.room != nil {
		return *f.room
	}
	size := vg.Point{X: width, Y: height}
	if f.Width > 0 {
		size.X = vg.Length(f.Width) * vg.Inch
	}
	if f.Height > 0 {
		size.Y = vg.Length(f.Height) * vg.Inch
	}
	return size.Scale(vg.Length(1 / f.scale()))
}

// Page is the format of [Figure.Render] for pages with scripts: SVG in which series, their legend
// entries and points are groups with attributes data-series, data-entry and data-tip.
const Page = "page"

// Render draws the figure as "svg", "png", "pdf" or [Page].
func (f *Figure) Render(format string) ([]byte, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	l, k := f.own().page(), f.scale()
	canvas, err := newCanvas(format, l.size.Scale(vg.Length(k)), dpi)
	if err != nil {
		return nil, err
	}
	if s, ok := canvas.(*svgCanvas); ok {
		s.bare = format != Page
	}
	c := draw.New(canvas)
	if k != 1 {
		c.Scale(k, k)
		c.Rectangle = vg.Rectangle{Max: l.size}
	}
	l.draw(c)
	return written(canvas)
}

// own is a copy of the figure whose panels and references layouts may mark.
func (f *Figure) own() *Figure {
	p := *f
	p.References, p.Panels = slices.Clone(f.References), slices.Clone(f.Panels)
	for i, panel := range p.Panels {
		p.Panels[i] = panel.own()
	}
	if f.Field != nil {
		p.Categories = f.Field.Columns
	}
	return &p
}

// ErrNothing is the error of figures without a point to draw.
var ErrNothing = errors.New("no point to draw")

// Check finds out whether there is anything to draw; the error says why not, and is [ErrNothing].
func (f *Figure) Check() error {
	if f.Field != nil {
		if low, high := f.Field.limits(); low > high {
			return fmt.Errorf("%w: no row has a number", ErrNothing)
		}
		return nil
	}
	for _, panel := range f.Panels {
		if err := panel.Check(); err == nil {
			return nil // one is enough
		}
	}
	saturated, numbers := false, false
	for s, i := range f.points {
		if f.visible(s, i) {
			return nil
		}
		saturated = saturated || s.saturated(i) && !math.IsNaN(s.X[i]) && math.IsNaN(s.Y[i])
		numbers = numbers || !math.IsNaN(s.X[i]) && !math.IsNaN(s.Y[i])
	}
	switch {
	case numbers && !f.LogX && !f.LogY:
		return fmt.Errorf("%w: an axis shows numbers between -%v and %v", ErrNothing, furthest, furthest)
	case numbers:
		return fmt.Errorf("%w: a logarithmic axis shows positive numbers only", ErrNothing)
	case saturated:
		return fmt.Errorf("%w: those that are saturated have no value", ErrNothing)
	}
	return fmt.Errorf("%w: no row has a number in both columns", ErrNothing)
}

// points are all points of the series, also those that cannot be drawn.
func (f *Figure) points(yield func(s *Series, i int) bool) {
	for k := range f.Series {
		for i := range f.Series[k].X {
			if !yield(&f.Series[k], i) {
				return
			}
		}
	}
}

// visible tells whether point i of a series can be drawn on the axes.
func (f *Figure) visible(s *Series, i int) bool {
	x, y := s.X[i], s.Y[i]
	if f.Style == Histogram {
		x = s.XEnd[i] // the first bin may begin at 0
	}
	return f.onAxis(x) && Fits(y, f.LogY)
}

// shown are the points of a series that can be drawn on the axes.
func (f *Figure) shown(s *Series) (all []int) {
	return lists.Places(len(s.X), func(i int) bool { return f.visible(s, i) })
}

// onAxis tells whether the horizontal axis can show x.
func (f *Figure) onAxis(x float64) bool { return Fits(x, f.LogX && !f.categorical()) }

// furthest bounds the numbers of an axis, whose range and ratios must be numbers, too.
const furthest = 1e150

// Fits tells whether an axis can show a number.
func Fits(x float64, log bool) bool { return math.Abs(x) < furthest && !(log && x < 1/furthest) }

// interval is the half-width of the confidence interval of point i; 0 if there is none.
func (s *Series) interval(i int) float64 {
	if i >= len(s.HalfWidth) || !(s.HalfWidth[i] > 0) || !Fits(s.HalfWidth[i], false) {
		return 0
	}
	return s.HalfWidth[i]
}

func (s *Series) state(i int) State {
	if i >= len(s.States) {
		return Steady
	}
	return s.States[i]
}

func (s *Series) saturated(i int) bool { return s.state(i) == Saturated }

// tip tags what is drawn of point i with what it is, a line each.
func (f *Figure) tip(c draw.Canvas, s *Series, i int) (end func()) {
	x := short(s.X[i])
	switch {
	case f.categorical():
		x = f.Categories[int(s.X[i])]
	case f.Nines:
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
	case Refused:
		lines = append(lines, "some refused")
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
	return rounded(x, 5)
}

// rounded writes a number with some digits: those before the point as they are, however many.
func rounded(x float64, digits int) string {
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64)
	size := math.Abs(y)
	if err != nil || size >= 1e15 || size < 1e-4 && size > 0 {
		return strconv.FormatFloat(x, 'g', digits, 64)
	}
	return strconv.FormatFloat(y, 'f', -1, 64)
}
