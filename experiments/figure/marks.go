package figure

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Mark is something that is known of an axis: a bound, drawn as a line across, or a
// range, drawn as a band.
type Mark struct {
	Name     string  // in the legend; marks of one name have one entry
	Label    string  // along the line; empty: none
	Vertical bool    // a value of the horizontal axis
	From, To float64 // equal for a line
	Hue      int     // colour of the palette, from 1; 0: gray
}

func (m *Mark) color() color.NRGBA {
	if m.Hue > 0 {
		return palette[(m.Hue-1)%len(palette)]
	}
	return color.NRGBA{0x55, 0x55, 0x55, 0xff}
}

// markDashes tell bounds from series.
var markDashes = []vg.Length{1, 2}

func (m *Mark) line() draw.LineStyle {
	return draw.LineStyle{Color: m.color(), Width: 1.1, Dashes: markDashes}
}

// Plot implements plot.Plotter.
func (m *Mark) Plot(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	area := c.Rectangle
	if m.Vertical {
		area.Min.X, area.Max.X = max(c.Min.X, trX(m.From)), min(c.Max.X, trX(m.To))
	} else {
		area.Min.Y, area.Max.Y = max(c.Min.Y, trY(m.From)), min(c.Max.Y, trY(m.To))
	}
	if area.Min.X > area.Max.X || area.Min.Y > area.Max.Y {
		return // off the axes
	}
	if m.From != m.To {
		pale := m.color()
		pale.A = 0x28
		c.FillPolygon(pale, corners(area))
		return
	}
	c.StrokeLine2(m.line(), area.Min.X, area.Min.Y, area.Max.X, area.Max.Y)
	if m.Label == "" {
		return
	}
	style := plot.New().Legend.TextStyle
	style.Font, style.Color = textFont(smallestSize), m.color()
	style.XAlign, style.YAlign = text.XLeft, text.YBottom
	at := vg.Point{X: c.Min.X + 3, Y: area.Min.Y + 1.5}
	if m.Vertical {
		style.Rotation = 3.14159265358979 / 2
		at = vg.Point{X: area.Min.X - 1.5, Y: c.Min.Y + (c.Max.Y-c.Min.Y)/2}
	}
	c.FillText(style, at, m.Label)
}

// Thumbnail implements plot.Thumbnailer.
func (m *Mark) Thumbnail(c *draw.Canvas) {
	if m.From != m.To {
		pale := m.color()
		pale.A = 0x28
		c.FillPolygon(pale, corners(c.Rectangle))
		return
	}
	c.StrokeLine2(m.line(), c.Min.X, c.Center().Y, c.Max.X, c.Center().Y)
}

// markEntries explains the marks in the legend, each name once, in gray where several
// series have one.
func (f *Figure) markEntries() []entry {
	var all []entry
	at := map[string]int{}
	all2 := append([]Mark(nil), f.Marks...)
	for _, panel := range f.Panels {
		all2 = append(all2, panel.Marks...)
	}
	for i := range all2 {
		m := &all2[i]
		if m.Name == "" {
			continue
		}
		if j, known := at[m.Name]; known {
			gray := *all[j].sample.(*Mark)
			if gray.Hue != m.Hue {
				gray.Hue = 0
			}
			all[j].sample = &gray
			continue
		}
		at[m.Name] = len(all)
		all = append(all, entry{m.Name, m})
	}
	return all
}
