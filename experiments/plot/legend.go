package plot

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// legend is the names of the series beside samples of how they are drawn, in
// columns, below what all of them have in common.
type legend struct {
	title   string
	entries []entry
	columns int
	style   text.Style
}

type entry struct {
	name   string
	sample plot.Thumbnailer
	series string // that it is of; empty: of none
}

// Sizes in the legend and the space around it.
const (
	legendGap   = 6
	sampleWidth = 26
	sampleGap   = 4
	columnGap   = 12
	rowHeight   = 12.5
	legendInset = 3
)

// newLegend is the legend of a figure; nil if there is nothing to say.
func newLegend(f *Figure) *legend {
	if f.bare || f.Field != nil {
		return nil
	}
	l := &legend{title: f.LegendTitle, columns: 1, style: Words(9, text.XLeft, text.YCenter)}
	for i := range f.Series {
		if f.Series[i].Name != "" {
			l.entries = append(l.entries, entry{f.Series[i].Name, f.drawn(i), f.Series[i].Name})
		}
	}
	markers := f.Style == Line || f.Style == Scatter
	if markers && f.has(Undecided) {
		l.entries = append(l.entries, entry{"with a hole: undecided", marker{Undecided}, ""})
	}
	if markers && f.has(Saturated) {
		l.entries = append(l.entries, entry{"hollow: saturated", marker{Saturated}, ""})
	}
	if f.spreads() {
		l.entries = append(l.entries, entry{"mean, from least to largest", extent{}, ""})
	}
	l.entries = append(append(l.entries, f.referenceEntries()...), f.markEntries()...)
	if len(l.entries) == 0 && l.title == "" {
		return nil
	}
	return l
}

// columnWidth is that of the widest entry.
func (l *legend) columnWidth() vg.Length {
	widest := vg.Length(0)
	for _, e := range l.entries {
		widest = max(widest, sampleWidth+sampleGap+l.style.Width(e.name))
	}
	return widest
}

// rows is how many rows the legend has in so many columns, without its title.
func (l *legend) rows(columns int) int { return (len(l.entries) + columns - 1) / columns }

// size is what the legend takes in so many columns.
func (l *legend) size(columns int) vg.Point {
	rows := l.rows(columns)
	wide := l.columnWidth()*vg.Length(columns) + columnGap*vg.Length(columns-1)
	if l.title != "" {
		rows++
		wide = max(wide, l.style.Width(l.title))
	}
	return vg.Point{X: wide + 2*legendInset, Y: rowHeight*vg.Length(rows) + 2*legendInset}
}

// columnsIn is how many columns fit side by side.
func (l *legend) columnsIn(room vg.Length) int {
	n := int((room - 2*legendInset + columnGap) / (l.columnWidth() + columnGap))
	return max(1, min(n, len(l.entries)))
}

// fitInto shortens what is wider than the room.
func (l *legend) fitInto(room vg.Length) {
	room -= 2 * legendInset
	l.title = elide(l.style, l.title, room)
	for i := range l.entries {
		l.entries[i].name = elide(l.style, l.entries[i].name, room-sampleWidth-sampleGap)
	}
}

// draw fills c, column by column.
func (l *legend) draw(c draw.Canvas) {
	c.FillPolygon(color.White, corners(c.Rectangle))
	c.Rectangle = grown(c.Rectangle, -legendInset)
	top := c.Max.Y
	if l.title != "" {
		c.FillText(l.style, vg.Point{X: c.Min.X, Y: top - rowHeight/2}, l.title)
		top -= rowHeight
	}
	rows := l.rows(l.columns)
	for i, e := range l.entries {
		column, row := i/rows, i%rows
		left := c.Min.X + vg.Length(column)*(l.columnWidth()+columnGap)
		y := top - (vg.Length(row)+0.5)*rowHeight
		end := func() {}
		if e.series != "" {
			end = tag(c, "data-entry", e.series)
			if svgOf(c) != nil { // all of it can be pressed
				c.FillPolygon(color.Transparent, corners(vg.Rectangle{
					Min: vg.Point{X: left, Y: y - rowHeight/2},
					Max: vg.Point{X: left + l.columnWidth(), Y: y + rowHeight/2},
				}))
			}
		}
		e.sample.Thumbnail(&draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: left, Y: y - rowHeight/2 + 2},
			Max: vg.Point{X: left + sampleWidth, Y: y + rowHeight/2 - 2},
		}})
		c.FillText(l.style, vg.Point{X: left + sampleWidth + sampleGap, Y: y}, e.name)
		end()
	}
}
