package plot

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg/draw"
)

// TestReferencesShowAll: numbers of a paper for two series, at the point where both series have
// a marker. The arms of the crosses leave the marker free and do not cover one another, and the legend
// names each.
func TestReferencesShowAll(t *testing.T) {
	f := &Figure{Title: "t", XLabel: "x", YLabel: "y", Style: Line}
	for _, name := range []string{"rc", "xrc"} {
		f.Series = append(f.Series, Series{Name: name, X: []float64{1, 2, 3}, Y: []float64{1, 2, 3}})
		f.References = append(f.References, Reference{Name: "paper", Bar: name, X: []float64{2}, Y: []float64{2}, Apart: true})
	}
	f.tellReferences()
	l, tape := record(f)
	trX, trY := l.plot.Transforms(&draw.Canvas{Rectangle: l.data})
	x, y := float64(trX(2)), float64(trY(2))
	directions, texts := map[string]int{}, map[string]int{}
	for _, m := range tape.marks {
		texts[m.text]++
		if m.text != "" || m.ink != referenceColor || len(m.points) != 2 {
			continue
		}
		from, to := m.points[0], m.points[1]
		near, far := math.Hypot(float64(from.X)-x, float64(from.Y)-y), math.Hypot(float64(to.X)-x, float64(to.Y)-y)
		if far > 20 {
			continue // in the legend
		}
		if near < markerRadius || far < near {
			t.Errorf("an arm from %v to %v covers the marker at %v, %v", from, to, x, y)
		}
		directions[fmt.Sprintf("%.0f", math.Atan2(float64(to.Y)-y, float64(to.X)-x)*180/math.Pi)]++
	}
	if len(directions) != 8 {
		t.Errorf("arms in directions %v, want eight", directions)
	}
	for _, name := range []string{"paper, rc", "paper, xrc"} {
		if texts[name] != 1 {
			t.Errorf("%q stands %d times in the picture", name, texts[name])
		}
	}
	// Bars tell by their place.
	f.Style, f.Categories = Bar, []string{"a", "b", "c", "d"}
	f.tellReferences()
	if all := f.referenceEntries(); len(all) != 1 || all[0].name != "paper" {
		t.Errorf("entries of a bar chart: %v", all)
	}
}

// TestNamesBeginAtTheAxis: in an SVG picture the viewer's font may be wider than the one that
// was measured. Upright names begin at the axis, so that they do not run into it, and fonts with letters
// as wide are named.
func TestNamesBeginAtTheAxis(t *testing.T) {
	f := &Figure{Style: Bar, Series: []Series{{Name: "s"}}}
	for i := range 12 {
		f.Categories = append(f.Categories, fmt.Sprint("a switch with a long name, port ", i))
		f.Series[0].X, f.Series[0].Y = append(f.Series[0].X, float64(i)), append(f.Series[0].Y, 1)
	}
	l, _ := record(f)
	if style := l.plot.X.Tick.Label; style.Rotation >= 0 || style.XAlign != text.XLeft {
		t.Errorf("names are turned by %v and aligned by %v", style.Rotation, style.XAlign)
	}
	svg, err := f.Render("svg")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(svg), "font-family"); n == 0 || strings.Count(string(svg), ",Arial,Helvetica,sans-serif;") != n {
		t.Error("fonts to take in the place of Liberation Sans are not named")
	}
}
