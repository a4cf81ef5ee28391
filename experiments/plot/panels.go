package plot

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// panelPage is a figure of several pairs of axes with the same ranges, below one
// title, with labels and legend in common.
type panelPage struct {
	size   vg.Point
	title  label
	labels labels
	parts  []*layout
	at     []vg.Point // lower left corners of the parts
	legend *legend
	box    vg.Rectangle // of the legend
	inner  vg.Rectangle // of the parts
}

const panelGap = 6

func (g *panelPage) extent() vg.Point { return g.size }

// panels finds a place for everything.
func (f *Figure) panels() *panelPage {
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
	g := &panelPage{size: f.size()}
	p := plot.New()
	style := p.Title.TextStyle
	style.Font = textFont(titleSize)
	g.title.text, g.title.style = fit(style, f.Title, g.size.X-lowerMargin.X-upperMargin.X, 2)
	p.X.Label.Text, p.Y.Label.Text = f.XLabel, f.YLabel
	g.labels = takeLabels(p, vg.Point{X: g.size.X, Y: g.size.Y * vg.Length(max(1, rows))})
	g.legend = newLegend(f)
	left, right := lowerMargin.X+g.labels.y.size(), g.size.X-upperMargin.X/2
	one := vg.Point{X: (right - left - panelGap*vg.Length(columns-1)) / vg.Length(columns)}
	one.Y = max(0.8*one.X, 100)
	if columns == 1 {
		one.Y = max(0.45*one.X, 100)
	}
	if f.Height > 0 { // what the user asked for, less title, labels and legend
		one.Y = max((g.size.Y-lowerMargin.Y-upperMargin.Y-g.labels.x.size()-g.title.size())/vg.Length(rows), 100)
	}
	foot := lowerMargin.Y + g.labels.x.size()
	if g.legend != nil {
		room := g.size.X - lowerMargin.X - upperMargin.X
		g.legend.fitInto(room)
		g.legend.columns = g.legend.columnsIn(room)
		box := g.legend.size(g.legend.columns)
		start := (g.size.X - box.X) / 2
		g.box = vg.Rectangle{Min: vg.Point{X: start, Y: lowerMargin.Y}, Max: vg.Point{X: start + box.X, Y: lowerMargin.Y + box.Y}}
		foot += box.Y + legendGap
	}
	f.share(one)
	g.inner = vg.Rectangle{Min: vg.Point{X: left, Y: foot}, Max: vg.Point{X: right, Y: foot}}
	heights := make([]vg.Length, rows)
	for i, panel := range f.Panels {
		l := panel.layout()
		g.parts = append(g.parts, l)
		heights[i/columns] = max(heights[i/columns], l.size.Y)
	}
	for _, h := range heights {
		g.inner.Max.Y += h
	}
	top := g.inner.Max.Y
	for i, l := range g.parts {
		if i > 0 && i%columns == 0 {
			top -= heights[i/columns-1]
		}
		g.at = append(g.at, vg.Point{X: left + vg.Length(i%columns)*(one.X+panelGap), Y: top - l.size.Y})
	}
	g.size.Y = g.inner.Max.Y + g.title.size() + upperMargin.Y
	return g
}

// share gives the panels their room, and one pair of ranges.
func (f *Figure) share(room vg.Point) {
	x, y := span{math.Inf(1), math.Inf(-1)}, span{math.Inf(1), math.Inf(-1)}
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
	for _, panel := range f.Panels {
		if panel.check() != nil {
			continue
		}
		if capped {
			panel.highest = &highest
		}
		px, py := panel.ranges()
		x, y = span{min(x.min, px.min), max(x.max, px.max)}, span{min(y.min, py.min), max(y.max, py.max)}
	}
	for _, panel := range f.Panels {
		panel.fixed = &[2]span{x, y}
	}
}

func (g *panelPage) draw(c draw.Canvas) {
	if g.title.text != "" {
		c.FillText(g.title.style, vg.Point{X: g.size.X / 2, Y: g.size.Y - upperMargin.Y}, g.title.text)
	}
	for i, l := range g.parts {
		c.Push()
		c.Translate(g.at[i])
		l.draw(draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{Max: l.size}})
		c.Pop()
	}
	frame := g.inner
	frame.Min = frame.Min.Sub(vg.Point{X: g.labels.y.size(), Y: g.labels.x.size()})
	g.labels.draw(draw.Canvas{Canvas: c.Canvas, Rectangle: frame}, draw.Canvas{Canvas: c.Canvas, Rectangle: g.inner})
	if g.legend != nil {
		g.legend.draw(draw.Canvas{Canvas: c.Canvas, Rectangle: g.box})
	}
}
