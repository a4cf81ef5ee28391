package figure

import (
	"encoding/json"
	"math"
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
}

// ChartSeries is a series of a [Chart]; what is not a number is null.
type ChartSeries struct {
	Name   string  `json:"name"`
	Colour int     `json:"colour"` // of the palette, from 0
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

// Chart is the figure without its look.
func (f *Figure) Chart() *Chart {
	f = f.printable()
	c := &Chart{
		Style: f.Style, X: f.XLabel, Y: f.YLabel, LogX: f.LogX, LogY: f.LogY, YMax: f.YMax,
		Categories: f.Categories, Legend: f.LegendTitle,
	}
	if top := f.ceiling(); !math.IsInf(top, 0) {
		c.Ceiling = top
	}
	for i := range f.Series {
		s, l := &f.Series[i], look(i)
		one := ChartSeries{Name: s.Name, Colour: i % len(palette), Marker: l.marker, X: s.X, XEnd: s.XEnd, Y: s.Y, Half: s.HalfWidth}
		for _, d := range l.dashes {
			one.Dashes = append(one.Dashes, int(d+0.5))
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
