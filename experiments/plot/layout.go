package plot

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// layout is where the parts of a figure stand, in points from the lower left corner of the picture.
// A figure of panels has layouts of them between its labels, in place of axes.
type layout struct {
	figure *Figure
	plot   *plot.Plot
	panels []*layout
	at     []vg.Point // lower left corners of the panels
	title  label
	labels labels
	legend *legend
	size   vg.Point     // of the picture
	frame  vg.Rectangle // axes, or panels, and their labels
	data   vg.Rectangle // between the axes, or the panels
	box    vg.Rectangle // legend; empty if there is none
}

// margins around everything: left and lower, right and upper.
var lowerMargin, upperMargin = vg.Point{X: 8, Y: 6}, vg.Point{X: 12, Y: 8}

// page finds a place for everything.
func (f *Figure) page() *layout {
	f.tellReferences()
	if len(f.Panels) > 0 {
		return f.panels()
	}
	return f.layout()
}

// titled is a layout without more than its title, and the style of that in one line.
func (f *Figure) titled() (l *layout, style text.Style) {
	l = &layout{figure: f, plot: plot.New(), legend: newLegend(f), size: f.size()}
	style = l.plot.Title.TextStyle
	style.Font = textFont(titleSize)
	if f.bare {
		style.Font = textFont(10)
	}
	l.title.text, l.title.style = fit(style, f.Title, l.size.X-lowerMargin.X-upperMargin.X, 2)
	l.plot.X.Label.Text, l.plot.Y.Label.Text = f.XLabel, f.YLabel
	return l, style
}

// layout finds a place for everything. The picture's height grows by a title's further lines,
// upright names of categories, and a legend below the axes.
func (f *Figure) layout() *layout {
	l, style := f.titled()
	p := l.plot
	l.size.Y += max(0, l.title.size()-label{f.Title, style}.size())
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Tick.Label.Font = textFont(9)
		axis.Padding = 0
		axis.LineStyle.Width = 0 // the frame draws it
		axis.Tick.LineStyle.Width = 0.6
		axis.Tick.Length = 4
	}
	f.axes(p)
	l.size.Y += f.upright(p)
	l.labels = takeLabels(p, f.size())
	if f.Field != nil {
		p.Add(f.Field)
	} else {
		p.Add(grid{}, f.roof())
	}
	for i := range f.Marks {
		p.Add(&f.Marks[i])
	}
	for i := range f.Series {
		p.Add(f.drawing(i))
	}
	for i := range f.References {
		p.Add(referenced{f, &f.References[i]})
	}
	p.Add(frame{f.roof()})
	l.place()
	return l
}

// drawing draws a series between the axes and its sample in the legend.
type drawing interface {
	plot.Plotter
	sample(c draw.Canvas)
	shapes(p *plot.Plot, c draw.Canvas) []shape
}

type drawn struct {
	figure *Figure
	series *Series
	look   appearance
	index  int // among the series
}

// drawing is how series i is drawn.
func (f *Figure) drawing(i int) drawing {
	d := drawn{f, &f.Series[i], f.look(i), i}
	switch {
	case f.Style == Bar && f.LogY:
		return &dots{bars{d}}
	case f.Style == Bar:
		return &bars{d}
	case f.Style == Histogram:
		return &steps{d}
	case f.Style == Box:
		return &boxes{bars{d}}
	}
	return newCurve(d)
}

// setFrame finds the area between the axes if they and their labels have r.
func (l *layout) setFrame(r vg.Rectangle) {
	l.frame = r
	l.data = l.plot.DataCanvas(l.labels.inside(draw.Canvas{Rectangle: r})).Rectangle
}

// place finds the legend's place: a corner free of data, or beside the axes if small, or below
// them.
func (l *layout) place() {
	all := vg.Rectangle{Min: lowerMargin, Max: l.size.Sub(upperMargin)}
	all.Max.Y -= l.title.size()
	if l.figure.Field != nil {
		all.Max.X -= barRoom
		l.setFrame(all)
		l.box = rectangle(l.data.Max.X+legendGap, l.data.Min.Y, l.data.Max.X+barRoom, l.data.Max.Y)
		return
	}
	l.setFrame(all)
	if l.legend == nil || l.inCorner() {
		return
	}
	box := l.legend.size(1)
	if beside := l.data.Max.Y - all.Min.Y; box.X <= 0.36*l.size.X && box.Y <= beside {
		l.setFrame(rectangle(all.Min.X, all.Min.Y, all.Max.X-box.X-legendGap, all.Max.Y))
		l.box = rectangle(all.Max.X-box.X, l.data.Max.Y-box.Y, all.Max.X, l.data.Max.Y)
		return
	}
	box = l.legend.fitInto(all.Max.X - all.Min.X)
	l.size.Y += box.Y + legendGap
	all.Max.Y += box.Y + legendGap
	l.setFrame(rectangle(all.Min.X, all.Min.Y+box.Y+legendGap, all.Max.X, all.Max.Y))
	left := max(all.Min.X, min((l.data.Min.X+l.data.Max.X-box.X)/2, all.Max.X-box.X))
	l.box = rectangle(left, all.Min.Y, left+box.X, all.Min.Y+box.Y)
}

// inCorner puts the legend into a corner between the axes that no series comes near, and no mark if
// possible.
func (l *layout) inCorner() bool {
	box := l.legend.size(1)
	free := l.data
	canvas := draw.Canvas{Rectangle: l.data}
	if ceiling := l.figure.ceiling(); !math.IsInf(ceiling, 0) {
		_, y := l.plot.Transforms(&canvas)
		free.Max.Y = y(ceiling)
	}
	free.Min = free.Min.Add(vg.Point{X: legendGap, Y: legendGap})
	free.Max = free.Max.Sub(vg.Point{X: legendGap, Y: legendGap})
	room := free.Size().Sub(box)
	if box.X > 0.6*l.data.Size().X || box.Y > 0.7*l.data.Size().Y || room.X < 0 || room.Y < 0 {
		return false
	}
	shapes := l.figure.shapes(l.plot, canvas)
	for _, avoided := range [][]shape{append(l.figure.marked(l.plot, canvas), shapes...), shapes} { // marks go across: most corners have one
		for _, corner := range []vg.Point{{X: 0, Y: 1}, {X: 1, Y: 1}, {X: 1, Y: 0}, {X: 0, Y: 0}} { // parts of the room
			at := free.Min.Add(vg.Point{X: corner.X * room.X, Y: corner.Y * room.Y})
			r := vg.Rectangle{Min: at, Max: at.Add(box)}
			if !hit(grown(r, 3), avoided) {
				l.box = r
				return true
			}
		}
	}
	return false
}

func (l *layout) draw(c draw.Canvas) {
	if l.title.text != "" {
		c.FillText(l.title.style, vg.Point{X: l.size.X / 2, Y: l.size.Y - upperMargin.Y}, l.title.text)
	}
	for i, panel := range l.panels {
		c.Push()
		c.Translate(l.at[i])
		panel.draw(c)
		c.Pop()
	}
	c.Rectangle = l.frame
	if l.panels == nil {
		l.plot.Draw(l.labels.inside(c))
	}
	l.labels.draw(c, draw.Canvas{Canvas: c.Canvas, Rectangle: l.data})
	if l.panels == nil {
		for _, label := range l.labelled() {
			c.FillText(label.style, label.at, label.text)
		}
	}
	if l.figure.Field != nil {
		l.figure.Field.drawScale(draw.Canvas{Canvas: c.Canvas, Rectangle: l.box})
	}
	if l.legend != nil {
		l.legend.draw(draw.Canvas{Canvas: c.Canvas, Rectangle: l.box})
	}
}

// shape is a part of a series' drawing: a line from a to b, or the area between these corners, a to
// the left.
type shape struct {
	a, b   vg.Point
	area   bool
	margin vg.Length // of what is drawn around it
}

// shapes lists everything that the series draw between the axes.
func (f *Figure) shapes(p *plot.Plot, c draw.Canvas) []shape {
	var all []shape
	for i := range f.Series {
		all = append(all, f.drawing(i).shapes(p, c)...)
	}
	for i := range f.References {
		all = append(all, referenced{f, &f.References[i]}.shapes(p, c)...)
	}
	return all
}

// hit tells whether any shape comes into r.
func hit(r vg.Rectangle, shapes []shape) bool {
	return slices.ContainsFunc(shapes, func(s shape) bool {
		g := grown(r, s.margin)
		if !s.area {
			return crosses(g, s.a, s.b)
		}
		return s.a.X < g.Max.X && s.b.X > g.Min.X && min(s.a.Y, s.b.Y) < g.Max.Y && max(s.a.Y, s.b.Y) > g.Min.Y
	})
}

// crosses tells whether a line meets a rectangle (Liang and Barsky, 1984): its part between each
// pair of opposite sides.
func crosses(r vg.Rectangle, a, b vg.Point) bool {
	from, to := 0.0, 1.0
	within := func(start, end, low, high vg.Length) bool {
		d := float64(end - start)
		enter, leave := float64(low-start), float64(high-start)
		if d == 0 {
			return enter <= 0 && leave >= 0
		}
		if d < 0 {
			enter, leave = leave, enter
		}
		from, to = max(from, enter/d), min(to, leave/d)
		return from <= to
	}
	return within(a.X, b.X, r.Min.X, r.Max.X) && within(a.Y, b.Y, r.Min.Y, r.Max.Y)
}

func grown(r vg.Rectangle, margin vg.Length) vg.Rectangle {
	return rectangle(r.Min.X-margin, r.Min.Y-margin, r.Max.X+margin, r.Max.Y+margin)
}

func rectangle(left, bottom, right, top vg.Length) vg.Rectangle {
	return vg.Rectangle{Min: vg.Point{X: left, Y: bottom}, Max: vg.Point{X: right, Y: top}}
}

func corners(r vg.Rectangle) []vg.Point {
	return []vg.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}}
}

const panelGap = 6

// panels finds places for pairs of axes of the same ranges, with title, labels and legend in
// common.
func (f *Figure) panels() *layout {
	n := len(f.Panels)
	columns := f.PanelColumns
	if columns <= 0 {
		columns = min(n, 3)
		if n == 4 {
			columns = 2
		}
	}
	columns = min(columns, n)
	rows := (n + columns - 1) / columns
	g, _ := f.titled()
	g.labels = takeLabels(g.plot, vg.Point{X: g.size.X, Y: g.size.Y * vg.Length(rows)})
	left, right := lowerMargin.X+g.labels.y.size(), g.size.X-upperMargin.X/2
	one := vg.Point{X: (right - left - panelGap*vg.Length(columns-1)) / vg.Length(columns)}
	one.Y = max(0.8*one.X, 100)
	if columns == 1 {
		const enough = 180 // for a strip and what is below it
		one.Y = max(0.45*one.X, min(enough, one.Y))
	}
	if f.Height > 0 { // what the user asked for, less title, labels and legend
		one.Y = max((g.size.Y-lowerMargin.Y-upperMargin.Y-g.labels.x.size()-g.title.size())/vg.Length(rows), 100)
	}
	foot := lowerMargin.Y + g.labels.x.size()
	if g.legend != nil {
		box := g.legend.fitInto(g.size.X - lowerMargin.X - upperMargin.X)
		start := (g.size.X - box.X) / 2
		g.box = rectangle(start, lowerMargin.Y, start+box.X, lowerMargin.Y+box.Y)
		foot += box.Y + legendGap
	}
	f.share(one)
	g.data = rectangle(left, foot, right, foot)
	heights := make([]vg.Length, rows)
	for i, panel := range f.Panels {
		l := panel.layout()
		g.panels = append(g.panels, l)
		heights[i/columns] = max(heights[i/columns], l.size.Y)
	}
	for _, h := range heights {
		g.data.Max.Y += h
	}
	top := g.data.Max.Y
	for i, l := range g.panels {
		if i > 0 && i%columns == 0 {
			top -= heights[i/columns-1]
		}
		g.at = append(g.at, vg.Point{X: left + vg.Length(i%columns)*(one.X+panelGap), Y: top - l.size.Y})
	}
	g.frame = g.data
	g.frame.Min = g.data.Min.Sub(vg.Point{X: g.labels.y.size(), Y: g.labels.x.size()})
	g.size.Y = g.data.Max.Y + g.title.size() + upperMargin.Y
	return g
}

// share gives the panels their room, and one pair of ranges.
func (f *Figure) share(room vg.Point) {
	x, y := nowhere, nowhere
	highest, capped := math.Inf(-1), false
	for _, panel := range f.Panels {
		panel.bare, panel.room = true, &room
		if top := panel.ceiling(); !math.IsInf(top, 0) {
			highest, capped = max(highest, top), true
		}
	}
	for _, panel := range f.Panels { // also those that need no ceiling of their own
		if panel.YMax == 0 && panel.YRange == nil {
			highest = max(highest, headroom*panel.highestKept())
		}
	}
	if highest > 0 { // also for panels whose points are all lost
		capped = capped || slices.ContainsFunc(f.Panels, func(panel *Figure) bool { return panel.lostLoads() != nil })
	}
	places := f.places()
	for _, panel := range f.Panels {
		panel.shared = places
		if capped {
			panel.highest = &highest
			for _, at := range panel.lostLoads() {
				x.include(at)
			}
		}
		if panel.Check() != nil {
			continue
		}
		px, py := panel.ranges()
		x, y = span{min(x.min, px.min), max(x.max, px.max)}, span{min(y.min, py.min), max(y.max, py.max)}
	}
	for _, panel := range f.Panels {
		panel.fixed = &[2]span{x, y}
	}
}
