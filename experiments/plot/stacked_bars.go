package plot

import (
	"fmt"
	"strings"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// StackedBars are bars from left to right, each of parts and below its label.
type StackedBars struct {
	Parts   []string // their names
	Colours Scale    // len = len(Parts)
	Unit    string
	Bars    []StackedBar
}

// StackedBar is one of [StackedBars].
type StackedBar struct {
	Label     string
	Parts     []float64
	Total     float64 // written at its end
	Saturated bool    // may dwarf the others: is shrunk to the width then, and says so
}

// Draw draws the bars: the longest of those that are not saturated fills the width.
func (s *StackedBars) Draw(width vg.Length) *Drawing {
	const (
		line, thickness, row, gap = 14, 12, 18, 8
		left, room                = 4, 70 // margin; for the number behind a bar
	)
	columns := 4
	if width < 500 {
		columns = 2
	}
	top, all := 0.0, 0.0
	for _, b := range s.Bars {
		all = max(all, b.Total)
		if !b.Saturated {
			top = max(top, b.Total)
		}
	}
	if top == 0 {
		top = all
	}
	style := Words(11, text.XLeft, text.YBottom)
	legend := vg.Length(8 + row*((len(s.Parts)+columns-1)/columns))
	d, labels := &Drawing{Size: vg.Point{X: width, Y: legend}}, make([][]string, len(s.Bars))
	for i, b := range s.Bars {
		label := b.Label // another font may be wider
		if b.Total > top {
			label += " (saturated: the bar is not to scale)"
		}
		labels[i] = strings.Split(wrap(style, label, (width-2*left)/1.2), "\n")
		d.Size.Y += line*vg.Length(len(labels[i])) + thickness + gap
	}
	box := func(part int, x, y, wide, high vg.Length, title string) {
		d.Box(vg.Rectangle{Min: vg.Point{X: x, Y: y - high}, Max: vg.Point{X: x + wide, Y: y}}, s.Colours[part], draw.LineStyle{}, title)
	}
	for i, name := range s.Parts {
		x, y := left+width*vg.Length(i%columns)/vg.Length(columns), d.Size.Y-4-vg.Length(row*(i/columns))
		box(i, x, y, 10, 10, "")
		d.Text(vg.Point{X: x + 15, Y: y - 9}, style, name)
	}
	y := d.Size.Y - legend
	for i, b := range s.Bars {
		for _, words := range labels[i] {
			d.Text(vg.Point{X: left, Y: y - 10}, style, words)
			y -= line
		}
		x, unit := vg.Length(left), (width-left-room)/vg.Length(max(top, b.Total))
		for part, value := range b.Parts {
			if value > 0 {
				wide := vg.Length(value) * unit
				box(part, x, y, wide, thickness, fmt.Sprintf("%s: %.4g %s", s.Parts[part], value, s.Unit))
				x += wide
			}
		}
		d.Text(vg.Point{X: x + 5, Y: y - thickness + 2}, style, fmt.Sprintf("%.4g %s", b.Total, s.Unit))
		y -= thickness + gap
	}
	return d
}
