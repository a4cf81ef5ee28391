package plot

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Reference is numbers from elsewhere, such as those of a paper, beside those of the
// series: points, joined by thin lines where there are several.
type Reference struct {
	Name  string // in the legend
	X, Y  []float64
	Bar   string // series of a bar chart beside whose bars the points stand; empty: in the middle of the category
	Apart bool   // points that no line joins
	entry string // in the legend: references of one have one
	turn  int    // of the crosses: 0 as in x, 1 as in +
}

// ReferenceHue is the hue of references and of marks that are one: of no series.
const ReferenceHue = -1

var referenceColor = color.NRGBA{0xc0, 0x00, 0x3c, 0xff}

// referenced draws a reference over the series.
type referenced struct {
	figure *Figure
	of     *Reference
}

// points are the visible points on the canvas, and which of the reference they are.
func (r referenced) points(c draw.Canvas, p *plot.Plot) (all []vg.Point, which []int) {
	trX, trY := p.Transforms(&c)
	for i := range r.of.X {
		if r.figure.visible(&Series{X: r.of.X, Y: r.of.Y, XEnd: r.of.X}, i) {
			all = append(all, vg.Point{X: trX(r.of.X[i] + r.figure.besides(r.of.Bar)), Y: trY(r.of.Y[i])})
			which = append(which, i)
		}
	}
	return all, which
}

// name says which numbers they are.
func (r referenced) name() string {
	if r.of.Bar == "" {
		return r.of.Name
	}
	return r.of.Name + ", " + r.of.Bar
}

// besides is how far the middle of a series' bars is from that of their category.
func (f *Figure) besides(name string) float64 {
	if name == "" || f.Style != Bar {
		return 0
	}
	for i := range f.Series {
		if f.Series[i].Name == name {
			return groupWidth * ((float64(i)+0.5)/float64(len(f.Series)) - 0.5)
		}
	}
	return 0
}

// Plot implements plot.Plotter.
func (r referenced) Plot(c draw.Canvas, p *plot.Plot) {
	points, which := r.points(c, p)
	if len(points) > 1 && !r.of.Apart && !r.figure.categorical() {
		for _, line := range c.ClipLinesXY(points) {
			c.StrokeLines(draw.LineStyle{Color: referenceColor, Width: 0.8}, line)
		}
	}
	for i, at := range points {
		if c.Contains(at) {
			end := r.figure.tip(c, &Series{Name: r.name(), X: r.of.X, Y: r.of.Y}, which[i])
			cross(c, at, r.of.turn)
			end()
		}
	}
}

// cross is the marker of references, with a white edge over what is below it: arms around a
// marker that stays visible between them. Turned by an eighth it is that of the next reference,
// whose arms pass between.
func cross(c draw.Canvas, at vg.Point, turn int) {
	const inner, outer = markerRadius + 0.6, markerRadius + 3.3
	for _, style := range []draw.LineStyle{{Color: color.White, Width: 3}, {Color: referenceColor, Width: 1.6}} {
		for arm := range 4 {
			sin, cos := math.Sincos(math.Pi / 4 * float64(2*arm+1+turn))
			x, y := vg.Length(cos), vg.Length(sin)
			c.StrokeLine2(style, at.X+inner*x, at.Y+inner*y, at.X+outer*x, at.Y+outer*y)
		}
	}
}

// Thumbnail implements plot.Thumbnailer.
func (r referenced) Thumbnail(c *draw.Canvas) { cross(*c, c.Center(), r.of.turn) }

// shapes is what a reference covers.
func (r referenced) shapes(p *plot.Plot, c draw.Canvas) (all []shape) {
	points, _ := r.points(c, p)
	for i, at := range points {
		from := at
		if i > 0 && !r.of.Apart && !r.figure.categorical() {
			from = points[i-1]
		}
		all = append(all, shape{a: from, b: at, margin: 5})
	}
	return all
}

// tellReferences gives references their entries in the legend, and crosses in turn. Those of one
// name have one, unless they are of several series and no bars tell them apart.
func (f *Figure) tellReferences() {
	series, turns := map[string]string{}, map[string]int{}
	several := map[string]bool{}
	f.eachReference(func(_ *Figure, r *Reference) {
		if first, known := series[r.Name]; known && first != r.Bar {
			several[r.Name] = true
		}
		series[r.Name] = r.Bar
	})
	f.eachReference(func(panel *Figure, r *Reference) {
		r.entry = r.Name
		if several[r.Name] && !panel.categorical() {
			r.entry = referenced{panel, r}.name()
		}
		if _, known := turns[r.entry]; !known {
			turns[r.entry] = len(turns) % 2
		}
		r.turn = turns[r.entry]
	})
}

// eachReference visits the references of the figure and of its panels.
func (f *Figure) eachReference(visit func(panel *Figure, r *Reference)) {
	for _, panel := range append([]*Figure{f}, f.Panels...) {
		for i := range panel.References {
			visit(panel, &panel.References[i])
		}
	}
}

// referenceEntries explains the references in the legend.
func (f *Figure) referenceEntries() (all []entry) {
	named := map[string]bool{}
	f.eachReference(func(panel *Figure, r *Reference) {
		if r.entry != "" && !named[r.entry] {
			named[r.entry] = true
			all = append(all, entry{r.entry, referenced{panel, r}, ""})
		}
	})
	return all
}

// includeReferences widens ranges to the references, points and lines.
func (f *Figure) includeReferences(x, y *span) {
	for _, r := range f.References {
		for i := range r.X {
			if f.visible(&Series{X: r.X, Y: r.Y, XEnd: r.X}, i) {
				if !(f.LogX && r.X[i] <= 0) {
					x.include(r.X[i])
				}
				y.include(r.Y[i])
			}
		}
	}
	for _, m := range f.Marks {
		switch {
		case m.Hue != ReferenceHue:
		case m.Vertical && f.onAxis(m.From):
			x.include(m.From)
		case !m.Vertical && !(f.LogY && m.From <= 0):
			y.include(m.From)
		}
	}
}

// highestReference is the largest value of the references; minus infinity without any.
func (f *Figure) highestReference() float64 {
	x, y := span{math.Inf(1), math.Inf(-1)}, span{math.Inf(1), math.Inf(-1)}
	f.includeReferences(&x, &y)
	return y.max
}
