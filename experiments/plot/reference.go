package plot

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Reference is numbers from elsewhere, such as a paper's, beside the series': points, several
// joined by thin lines.
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
			all = append(all, vg.Point{X: trX(r.of.X[i] + r.figure.besides(r.of.Bar, r.of.X[i])), Y: trY(r.of.Y[i])})
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

// besides is how far the middle of a series' bar is from the middle of its category.
func (f *Figure) besides(name string, category float64) float64 {
	if name == "" || f.Style != Bar {
		return 0
	}
	s := f.barSlots()
	i := slices.IndexFunc(s.of[category], func(i int) bool { return f.Series[i].Name == name })
	if i < 0 {
		return 0
	}
	return s.left(category, s.of[category][i]) + s.width/2 - category
}

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

// cross is the marker of references, with a white edge over what is below: arms around a marker,
// which stays visible. The next reference's is turned by an eighth.
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

func (r referenced) sample(c draw.Canvas) { cross(c, c.Center(), r.of.turn) }

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

// tellReferences gives references legend entries, and crosses in turn: one a name, unless it is of
// several series and no bars tell them apart.
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
			all = append(all, entry{r.entry, referenced{panel, r}.sample, ""})
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
		case !m.Vertical && Fits(m.From, f.LogY):
			y.include(m.From)
		}
	}
}

// Mark is what is known of an axis: a bound, a line across, or a range, a band.
type Mark struct {
	Name     string  // in the legend; marks of one name have one entry
	Label    string  // along the line; empty: none
	Vertical bool    // a value of the horizontal axis
	From, To float64 // equal for a line
	Hue      int     // colour of the palette, from 1; 0: gray; or ReferenceHue
}

func (m *Mark) color() color.NRGBA {
	switch {
	case m.Hue > 0:
		return palette[(m.Hue-1)%len(palette)]
	case m.Hue == ReferenceHue:
		return referenceColor
	}
	return color.NRGBA{0x55, 0x55, 0x55, 0xff}
}

// markDashes tell bounds from series.
var markDashes = []vg.Length{1, 2}

// area is what a mark covers between the axes: nothing where it lies beyond them.
func (m *Mark) area(c draw.Canvas, p *plot.Plot) (area vg.Rectangle, ok bool) {
	trX, trY := p.Transforms(&c)
	area = c.Rectangle
	if m.Vertical {
		area.Min.X, area.Max.X = max(c.Min.X, trX(m.From)), min(c.Max.X, trX(m.To))
	} else {
		area.Min.Y, area.Max.Y = max(c.Min.Y, trY(m.From)), min(c.Max.Y, trY(m.To))
	}
	return area, area.Min.X <= area.Max.X && area.Min.Y <= area.Max.Y
}

// Plot implements plot.Plotter.
func (m *Mark) Plot(c draw.Canvas, p *plot.Plot) {
	if area, ok := m.area(c, p); ok {
		m.fill(c, area, area)
	}
}

// fill draws the band of a mark, or its line from corner to corner.
func (m *Mark) fill(c draw.Canvas, band, line vg.Rectangle) {
	if m.From != m.To {
		pale := m.color()
		pale.A = 0x28
		c.FillPolygon(pale, corners(band))
		return
	}
	c.StrokeLine2(draw.LineStyle{Color: m.color(), Width: 1.1, Dashes: markDashes}, line.Min.X, line.Min.Y, line.Max.X, line.Max.Y)
}

// caption is a text between the axes, beside the line that it names.
type caption struct {
	text  string
	style text.Style
	at    vg.Point
	box   vg.Rectangle
}

// marked is what the marks cover between the axes.
func (f *Figure) marked(p *plot.Plot, c draw.Canvas) (covered []shape) {
	for i := range f.Marks {
		if area, ok := f.Marks[i].area(c, p); ok {
			covered = append(covered, shape{a: area.Min, b: area.Max, area: f.Marks[i].From != f.Marks[i].To})
		}
	}
	return covered
}

// labelled finds the marks' labels places: along their lines, on either side, where no series,
// legend, line or label is; else where the fewest are.
func (l *layout) labelled() (all []caption) {
	f, c := l.figure, draw.Canvas{Rectangle: l.data}
	taken := append(f.shapes(l.plot, c), f.marked(l.plot, c)...)
	if l.legend != nil {
		taken = append(taken, shape{a: l.box.Min, b: l.box.Max, area: true})
	}
	if strip := f.roof().area(c, l.plot); strip.Min.Y < strip.Max.Y {
		top := rectangle(strip.Min.X, strip.Max.Y, strip.Max.X, strip.Max.Y)
		all = append(all, (&Mark{Label: "saturated"}).beside(l.data, top, taken))
		taken = append(taken, shape{a: strip.Min, b: strip.Max, area: true})
	}
	for i := range f.Marks {
		m := &f.Marks[i]
		area, ok := m.area(c, l.plot)
		if m.Label == "" || !ok {
			continue
		}
		w := m.beside(l.data, area, taken)
		taken = append(taken, shape{a: w.box.Min, b: w.box.Max, area: true})
		all = append(all, w)
	}
	return all
}

// beside is the label of a mark in the best of its places in an area.
func (m *Mark) beside(data, line vg.Rectangle, taken []shape) caption {
	w := caption{text: m.Label, style: Words(smallestSize, text.XLeft, text.YBottom)}
	w.style.Color = m.color()
	long, high := w.style.Width(m.Label)+2, w.style.Height(m.Label)+1
	const gap, steps = 1.5, 24
	size, along := vg.Point{X: long, Y: high}, vg.Point{X: max(0, data.Size().X-long-2*gap)}
	if m.Vertical {
		w.style.Rotation = math.Pi / 2
		size, along = vg.Point{X: high, Y: long}, vg.Point{Y: max(0, data.Size().Y-long-2*gap)}
	}
	least := math.MaxInt
	for step := range steps + 1 {
		for _, side := range []bool{false, true} {
			from := data.Min.Add(vg.Point{X: gap, Y: gap}).Add(along.Scale(vg.Length(step) / steps))
			switch {
			case m.Vertical && side:
				from.X = line.Max.X + gap
			case m.Vertical:
				from.X = line.Min.X - gap - high
			case side:
				from.Y = line.Min.Y - gap - high
			default:
				from.Y = line.Max.Y + gap
			}
			box := vg.Rectangle{Min: from, Max: from.Add(size)}
			hits := 0
			for i := range taken {
				if hit(box, taken[i:i+1]) {
					hits++
				}
			}
			if box.Min.X < data.Min.X || box.Min.Y < data.Min.Y || box.Max.X > data.Max.X || box.Max.Y > data.Max.Y {
				hits += len(taken) + 1 // over the axes
			}
			if hits < least {
				least, w.box, w.at = hits, box, box.Min
				if m.Vertical {
					w.at.X = box.Max.X
				}
			}
		}
	}
	return w
}

func (m *Mark) sample(c draw.Canvas) {
	y := c.Center().Y
	m.fill(c, c.Rectangle, rectangle(c.Min.X, y, c.Max.X, y))
}

// markEntries explains the marks in the legend, each name once, gray if several series have it.
func (f *Figure) markEntries() []entry {
	named := map[string]bool{} // by points already
	for _, e := range f.referenceEntries() {
		named[e.name] = true
	}
	var all []entry
	first := map[string]*Mark{}
	marks := slices.Clone(f.Marks)
	for _, panel := range f.Panels {
		marks = append(marks, panel.Marks...)
	}
	for i := range marks {
		m := &marks[i]
		if m.Name == "" || m.Hue == ReferenceHue && named[m.Name] {
			continue
		}
		switch one := first[m.Name]; {
		case one == nil:
			first[m.Name] = m
			all = append(all, entry{m.Name, m.sample, ""})
		case one.Hue != m.Hue:
			one.Hue = 0
		}
	}
	return all
}
