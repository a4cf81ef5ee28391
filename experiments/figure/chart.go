package figure

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// Chart is a figure for a page that draws it itself: the same numbers, ranges left
// to the page.
type Chart struct {
	Style      Style         `json:"style"`
	X          string        `json:"x"` // labels
	Y          string        `json:"y"`
	LogX       bool          `json:"logX,omitempty"`
	LogY       bool          `json:"logY,omitempty"`
	YMax       float64       `json:"yMax,omitempty"`
	Ceiling    float64       `json:"ceiling,omitempty"` // where the strip of saturated points begins; 0: there is none
	Categories []string      `json:"categories,omitempty"`
	Legend     string        `json:"legend,omitempty"`
	Series     []ChartSeries `json:"series"`
	Marks      []ChartMark   `json:"marks,omitempty"`
	XTicks     []Tick        `json:"xTicks,omitempty"`
	XRange     []float64     `json:"xRange,omitempty"`
	YRange     []float64     `json:"yRange,omitempty"`
	Title      string        `json:"title,omitempty"`  // of a panel
	Panels     []*Chart      `json:"panels,omitempty"` // in place of all else
}

// ChartMark is a [Mark] of a chart.
type ChartMark struct {
	Name     string  `json:"name"`
	Label    string  `json:"label,omitempty"`
	Vertical bool    `json:"vertical"`
	From     float64 `json:"from"`
	To       float64 `json:"to"`
	Colour   int     `json:"colour"` // -1: gray
}

// ChartSeries is a series of a [Chart]; what is not a number is null.
type ChartSeries struct {
	Name   string  `json:"name"`
	Colour int     `json:"colour"` // of the palette, from 0; -1: Tint
	Tint   string  `json:"tint,omitempty"`
	Marker int     `json:"marker"` // as in the figure, from 0
	Dashes []int   `json:"dashes,omitempty"`
	X      numbers `json:"x"`
	XEnd   numbers `json:"xEnd,omitempty"`
	Y      numbers `json:"y"`
	Half   numbers `json:"half,omitempty"`  // of the confidence interval
	States []State `json:"state,omitempty"` // 1: undecided, 2: saturated; absent: all steady
}

// numbers are written with null for what is not a number.
type numbers []float64

// MarshalJSON implements [json.Marshaler].
func (n numbers) MarshalJSON() ([]byte, error) {
	list := make([]any, len(n))
	for i, x := range n {
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			list[i] = x
		}
	}
	return json.Marshal(list)
}

// Chart is the figure without its look; nil of a style that is shown as a picture.
func (f *Figure) Chart() *Chart {
	if f.Style == Box || f.Style == Heat {
		return nil
	}
	return f.printable().chart()
}

func (f *Figure) chart() *Chart {
	if len(f.Panels) > 0 {
		all := &Chart{Series: []ChartSeries{}}
		f.share(f.size())
		for _, panel := range f.Panels {
			c := panel.chart()
			c.Title, c.Legend = panel.Title, f.LegendTitle
			c.X, c.Y = f.XLabel, f.YLabel
			x, y := panel.ranges()
			c.XRange, c.YRange = []float64{x.min, x.max}, []float64{y.min, min(y.max, panel.ceiling())}
			all.Panels = append(all.Panels, c)
		}
		return all
	}
	c := &Chart{
		Style: f.Style, X: f.XLabel, Y: f.YLabel, LogX: f.LogX, LogY: f.LogY, YMax: f.YMax,
		Categories: f.Categories, Legend: f.LegendTitle, XTicks: f.XTicks, XRange: f.XRange, YRange: f.YRange,
	}
	for _, m := range f.Marks {
		c.Marks = append(c.Marks, ChartMark{m.Name, m.Label, m.Vertical, m.From, m.To, m.Hue - 1})
	}
	if top := f.ceiling(); !math.IsInf(top, 0) {
		c.Ceiling = top
	}
	for i := range f.Series {
		s, l := &f.Series[i], f.look(i)
		one := ChartSeries{Name: s.Name, Colour: slices.Index(palette, l.color), Marker: l.marker, X: s.X, XEnd: s.XEnd, Y: s.Y, Half: s.HalfWidth}
		for _, d := range l.dashes {
			one.Dashes = append(one.Dashes, int(d+0.5))
		}
		if one.Colour < 0 {
			one.Tint = fmt.Sprintf("#%02x%02x%02x", l.color.R, l.color.G, l.color.B)
		}
		for j := range s.States {
			if s.States[j] != Steady {
				one.States = s.States
			}
		}
		c.Series = append(c.Series, one)
	}
	return c
}
