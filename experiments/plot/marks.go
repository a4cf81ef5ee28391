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

// Mark is something that is known of an axis: a bound, drawn as a line across, or a
// range, drawn as a band.
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

func (m *Mark) line() draw.LineStyle {
	return draw.LineStyle{Color: m.color(), Width: 1.1, Dashes: markDashes}
}

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
	c.StrokeLine2(m.line(), line.Min.X, line.Min.Y, line.Max.X, line.Max.Y)
}

// caption is a text between the axes, beside the line that it names.
type caption struct {
	text  string
	style text.Style
	at    vg.Point
	box   vg.Rectangle
}

// labelled finds a place for the label of each mark: along its line, on either side,
// where no series, legend, line or other label is; else where the fewest are.
func (l *layout) labelled() (all []caption) {
	f, c := l.figure, draw.Canvas{Rectangle: l.data}
	taken := f.shapes(l.plot, c)
	if l.legend != nil {
		taken = append(taken, shape{a: l.box.Min, b: l.box.Max, area: true})
	}
	lines := make([]vg.Rectangle, len(f.Marks))
	for i := range f.Marks {
		if area, ok := f.Marks[i].area(c, l.plot); ok {
			lines[i] = area
			taken = append(taken, shape{a: area.Min, b: area.Max, area: f.Marks[i].From != f.Marks[i].To})
		}
	}
	if strip := f.roof().area(c, l.plot); strip.Min.Y < strip.Max.Y {
		m, line := f.roof().mark(strip)
		all = append(all, m.beside(l.data, line, taken))
		taken = append(taken, shape{a: strip.Min, b: strip.Max, area: true})
	}
	for i := range f.Marks {
		m := &f.Marks[i]
		if m.Label == "" || lines[i] == (vg.Rectangle{}) {
			continue
		}
		w := m.beside(l.data, lines[i], taken)
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

func (w *caption) draw(c draw.Canvas) { c.FillText(w.style, w.at, w.text) }

// Thumbnail implements plot.Thumbnailer.
func (m *Mark) Thumbnail(c *draw.Canvas) {
	y := c.Center().Y
	m.fill(*c, c.Rectangle, vg.Rectangle{Min: vg.Point{X: c.Min.X, Y: y}, Max: vg.Point{X: c.Max.X, Y: y}})
}

// markEntries explains the marks in the legend, each name once, in gray where several
// series have one.
func (f *Figure) markEntries() []entry {
	named := map[string]bool{} // by points already
	for _, e := range f.referenceEntries() {
		named[e.name] = true
	}
	var all []entry
	at := map[string]int{}
	marks := slices.Clone(f.Marks)
	for _, panel := range f.Panels {
		marks = append(marks, panel.Marks...)
	}
	for i := range marks {
		m := &marks[i]
		if m.Name == "" || m.Hue == ReferenceHue && named[m.Name] {
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
		all = append(all, entry{m.Name, m, ""})
	}
	return all
}
