package plot

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Timeline is what some rows do from time 0 on, in areas of colours from left to right, and a
// path over them.
type Timeline struct {
	Parts   []string // what is done
	Colours Scale    // len = len(Parts)
	Unit    string   // of time
	Rows    []TimelineRow
	Path    []PathStep
}

// TimelineRow is a row, whose spans are in order and do not overlap.
type TimelineRow struct {
	Label string
	Spans []TimelineSpan
}

// TimelineSpan is a part from one time to another.
type TimelineSpan struct {
	Part     int
	From, To float64
	Title    string // what viewers of SVG show on hover
}

// PathStep is a line of a path, in a row or from one to another.
type PathStep struct {
	FromRow, ToRow int
	From, To       float64
	Title          string
}

// leastSpan is the width of what is drawn by itself; of what is narrower, neighbours
// together have the colour of the longest.
const leastSpan = 0.75

// Draw draws the timeline: the last span ends at the right.
func (t *Timeline) Draw(width vg.Length) *Drawing {
	const left, right, axis, gap, key = 4, 12, 26, 6, 16 // margins; below the rows; beside labels; a line of the legend
	small := Words(9, text.XLeft, text.YCenter)
	end, labels := 0.0, vg.Length(0)
	for _, r := range t.Rows {
		labels = max(labels, small.Width(elide(small, r.Label, width/4)))
		if n := len(r.Spans); n > 0 {
			end = max(end, r.Spans[n-1].To)
		}
	}
	pitch := vg.Length(min(16, max(8, 480/float64(max(1, len(t.Rows))))))
	columns := max(1, int(width/90))
	used := t.used()
	legend := 6 + key*vg.Length((len(used)+columns-1)/columns)
	d := &Drawing{Size: vg.Point{X: width, Y: legend + pitch*vg.Length(len(t.Rows)) + axis}}
	for i, part := range used {
		at := vg.Point{X: left + width*vg.Length(i%columns)/vg.Length(columns), Y: d.Size.Y - 4 - key*vg.Length(i/columns)}
		d.Box(vg.Rectangle{Min: at.Sub(vg.Point{Y: 10}), Max: at.Add(vg.Point{X: 10})}, t.Colours[part], draw.LineStyle{}, "")
		d.Text(at.Add(vg.Point{X: 14, Y: -5}), small, t.Parts[part])
	}
	begin := left + labels + gap
	x := func(time float64) vg.Length { return begin + (width-right-begin)*vg.Length(time/cmp.Or(end, 1)) }
	y := func(row int) vg.Length { return d.Size.Y - legend - pitch*(vg.Length(row)+0.5) } // its middle
	for i, r := range t.Rows {
		d.Text(vg.Point{X: left, Y: y(i)}, small, elide(small, r.Label, width/4))
		t.spans(r.Spans, x, func(part int, from, to vg.Length, title string) {
			d.Box(vg.Rectangle{Min: vg.Point{X: from, Y: y(i) - 0.35*pitch}, Max: vg.Point{X: to, Y: y(i) + 0.35*pitch}}, t.Colours[part], draw.LineStyle{}, title)
		})
	}
	line := draw.LineStyle{Color: color.NRGBA{A: 0xff}, Width: 1.2}
	for _, s := range t.Path {
		d.Line(vg.Point{X: x(s.From), Y: y(s.FromRow)}, vg.Point{X: x(s.To), Y: y(s.ToRow)}, line, s.Title)
	}
	bottom := d.Size.Y - legend - pitch*vg.Length(len(t.Rows)) - 3
	d.Line(vg.Point{X: begin, Y: bottom}, vg.Point{X: x(end), Y: bottom}, draw.LineStyle{Color: color.NRGBA{A: 0xff}, Width: 0.5}, "")
	for _, tick := range (plot.DefaultTicks{}).Ticks(0, cmp.Or(end, 1)) {
		if tick.IsMinor() {
			continue
		}
		at := vg.Point{X: x(tick.Value), Y: bottom - 3}
		d.Line(vg.Point{X: at.X, Y: bottom}, at, draw.LineStyle{Color: color.NRGBA{A: 0xff}, Width: 0.5}, "")
		label := tick.Label
		if tick.Value == 0 {
			label += " " + t.Unit
		}
		d.Text(at.Sub(vg.Point{Y: 1}), Words(9, text.XCenter, text.YTop), label)
	}
	return d
}

// used are the parts that some row has.
func (t *Timeline) used() (used []int) {
	has := make([]bool, len(t.Parts))
	for _, r := range t.Rows {
		for _, s := range r.Spans {
			has[s.Part] = true
		}
	}
	for part := range has {
		if has[part] {
			used = append(used, part)
		}
	}
	return used
}

// spans draws the spans of a row, the narrow ones together.
func (t *Timeline) spans(all []TimelineSpan, x func(float64) vg.Length, box func(part int, from, to vg.Length, title string)) {
	times := make([]float64, len(t.Parts)) // of what is kept back
	from, kept := math.NaN(), 0
	flush := func(to float64) {
		longest := 0
		for part := range times {
			if times[part] > times[longest] {
				longest = part
			}
		}
		if kept > 0 {
			box(longest, x(from), x(to), fmt.Sprintf("%d spans, mostly %s", kept, t.Parts[longest]))
		}
		clear(times)
		kept = 0
	}
	for _, s := range all {
		if x(s.To)-x(s.From) >= leastSpan {
			flush(s.From)
			box(s.Part, x(s.From), x(s.To), s.Title)
			continue
		}
		if kept == 0 {
			from = s.From
		}
		times[s.Part] += s.To - s.From
		if kept++; x(s.To)-x(from) >= leastSpan {
			flush(s.To)
		}
	}
	if n := len(all); n > 0 {
		flush(all[n-1].To)
	}
}

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
