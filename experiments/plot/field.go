package plot

import (
	"fmt"
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Field is the values of a heat map: a cell for every pair of categories.
type Field struct {
	Columns, Rows []string
	Values        [][]float64 // by row, from the bottom; not a number where there is none
	States        [][]State   // nil: all steady
	Label         string      // of the values
	Log           bool        // scale of colours
	Range         []float64   // of the scale; nil: found
}

// limits are the ends of the scale.
func (f *Field) limits() (low, high float64) {
	if f.Range != nil {
		return f.Range[0], f.Range[1]
	}
	low, high = math.Inf(1), math.Inf(-1)
	for _, row := range f.Values {
		for _, v := range row {
			if Fits(v, f.Log) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	return low, high
}

// color of a value; from pale to dark, to survive printing in black and white.
func (f *Field) color(v float64) color.NRGBA {
	low, high := f.limits()
	at := 0.5
	switch {
	case high > low && f.Log:
		at = math.Log(v/low) / math.Log(high/low)
	case high > low:
		at = (v - low) / (high - low)
	}
	return tints.At(1 - at)
}

// Plot implements plot.Plotter: it draws the cells.
func (f *Field) Plot(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	style := Words(8, text.XCenter, text.YCenter)
	for j, row := range f.Values {
		for i, v := range row {
			x, y := float64(i), float64(j)
			r := rectangle(trX(x-0.5), trY(y-0.5), trX(x+0.5), trY(y+0.5))
			words := ""
			style.Color = color.Black
			if !Fits(v, f.Log) {
				c.StrokeLine2(draw.LineStyle{Color: gray, Width: 0.5}, r.Min.X, r.Min.Y, r.Max.X, r.Max.Y)
			} else {
				ink := f.color(v)
				end := tag(c, "data-tip", f.Columns[i]+"\n"+f.Rows[j]+"\n"+short(v))
				c.FillPolygon(ink, corners(r))
				end()
				if 0.3*float64(ink.R)+0.6*float64(ink.G)+0.1*float64(ink.B) <= 140 {
					style.Color = color.White
				}
			}
			if !math.IsNaN(v) {
				words = f.words(v)
			}
			if f.States != nil && f.States[j][i] == Saturated {
				words += "*"
			}
			style.Font = textFont(8)
			for style.Font.Size > 5 && style.Width(words) > r.Size().X-2 {
				style.Font.Size -= 0.5
			}
			if style.Width(words) <= r.Size().X-2 && style.Font.Size <= r.Size().Y {
				c.FillText(style, vg.Point{X: (r.Min.X + r.Max.X) / 2, Y: (r.Min.Y + r.Max.Y) / 2}, words)
			}
		}
	}
}

// words are a value with three digits; in a field of large ones with a prefix of SI.
func (f *Field) words(v float64) string {
	size := math.Abs(v)
	switch _, most := f.limits(); {
	case most >= 1e6 && size >= 1:
		number, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
		if err == nil {
			return prefixed(number, "", fewDigits)
		}
	case size >= 100:
		return thousands(fmt.Sprintf("%.0f", v))
	}
	return rounded(v, 3)
}

// Widths of the scale that is the legend.
const (
	barWidth = 12
	barRoom  = 64 // with its numbers
)

func (f *Field) drawScale(c draw.Canvas) {
	low, high := f.limits()
	p := plot.New()
	p.Y.Min, p.Y.Max = low, high
	if low == high {
		p.Y.Min, p.Y.Max = low-0.5, high+0.5
	}
	p.Y.Tick.Marker = ticker("", f.Log)
	if f.Log {
		p.Y.Scale = plot.LogScale{}
	}
	_, trY := p.Transforms(&c)
	const steps = 64
	height := (c.Max.Y - c.Min.Y) / steps
	for i := range steps {
		at := (float64(i) + 0.5) / steps
		y := c.Min.Y + height*vg.Length(i)
		c.FillPolygon(tints.At(1-at), corners(rectangle(c.Min.X, y, c.Min.X+barWidth, y+height+0.2)))
	}
	style := Words(8, text.XLeft, text.YCenter)
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		if t.Label != "" {
			y := trY(t.Value)
			c.StrokeLine2(draw.LineStyle{Color: color.Black, Width: 0.5}, c.Min.X+barWidth, y, c.Min.X+barWidth+3, y)
			c.FillText(style, vg.Point{X: c.Min.X + barWidth + 5, Y: y}, t.Label)
		}
	}
	style = Words(9, text.XCenter, text.YTop)
	style.Rotation = math.Pi / 2
	c.FillText(style, vg.Point{X: c.Max.X - 11, Y: c.Center().Y}, elide(style, f.Label, c.Max.Y-c.Min.Y))
}
