package plot

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/weft-sim/weft/sim/simtest"
)

// panelled is two samples as panels: one with saturated points, one without.
func panelled() *Figure {
	f := &Figure{
		Title: "Two patterns", XLabel: "Offered load (flits per terminal and cycle)", YLabel: "Mean latency (ns)", Style: Line, LegendTitle: "routing",
		Width: 7, Height: 3.2, FontSize: 8,
	}
	for i, name := range []string{"uniform", "worst-case"} {
		panel := &Figure{Title: name, Style: Line, Series: []Series{latency("min", 12, 0.97-0.4*float64(i)), latency("val", 20, 0.51)}}
		if i == 1 {
			panel.Series = panel.Series[:1]
		}
		f.Panels = append(f.Panels, panel)
	}
	f.Series = f.Panels[0].Series
	return f
}

// recordPage draws a figure of any kind onto a tape.
func recordPage(f *Figure) (*layout, *tape) {
	p, t := f.own().page(), &tape{}
	p.draw(draw.Canvas{Canvas: t, Rectangle: vg.Rectangle{Max: p.size}})
	return p, t
}

// TestPanels: all panels have the same ranges and the same size of their axes, one
// legend and one pair of labels; nothing lies outside, and no text over another.
func TestPanels(t *testing.T) {
	p, tape := recordPage(panelled())
	texts := tape.texts(t, "panels", p.size)
	for text, times := range map[string]int{
		"Two patterns": 1, "uniform": 1, "worst-case": 1, "min": 1, "val": 1, "routing": 1, "hollow: saturated": 1,
		"Offered load (flits per terminal and cycle)": 1, "Mean latency (ns)": 1, "0.4": 2,
	} {
		simtest.Equal(t, texts[text], times, "times %q:", text)
	}
	parts := p.panels
	simtest.FatalIf(t, len(parts) != 2, "%d panels", len(parts))
	simtest.Alike(t, "panels", parts[0].data.Size(), parts[1].data.Size(), parts[0].plot.Y.Max, parts[1].plot.Y.Max, parts[0].plot.X.Min, parts[1].plot.X.Min)
	// One series keeps its look in all panels, one the same ceiling.
	a, b := parts[0].figure.ceiling(), parts[1].figure.ceiling()
	simtest.ErrorIf(t, a != b || math.IsInf(a, 0), "ceilings %v and %v", a, b)
	empty := panelled()
	empty.Panels[1].Series = nil
	simtest.Must(empty.Render("svg"))(t)
	page := simtest.Must(panelled().Render(Page))(t)
	for text, want := range map[string]int{`data-series="min"`: 2, `data-series="val"`: 1, `data-entry="min"`: 1} {
		simtest.Equal(t, strings.Count(string(page), text), want, "times %s:", text)
	}
}

// TestHeat: a cell for every value, dark for high ones, with its number; the scale beside it.
func TestHeat(t *testing.T) {
	f := &Figure{Title: "Latency", XLabel: "Load", YLabel: "Routing", Style: Heat, Field: &Field{
		Columns: []string{"0.1", "0.2", "0.3"}, Rows: []string{"min", "val"}, Label: "Latency (ns)", Log: true,
		Values: [][]float64{{10, 20, 1000}, {900, math.NaN(), 0}}, States: [][]State{{0, 0, Saturated}, {0, Saturated, 0}},
	}}
	p, tape := recordPage(f)
	texts := tape.texts(t, "heat", p.size)
	filled := map[string]int{}
	data := p.data
	for _, m := range tape.marks {
		simtest.ErrorIf(t, m.text == "*" && m.ink != color.NRGBA{A: 0xff}, "a star on white is of %v", m.ink)
		if m.filled && within(grown(data, 0.01), m.box()) {
			filled[fmt.Sprintf("%02x%02x%02x", m.ink.R, m.ink.G, m.ink.B)]++
		}
	}
	// Four values: NaN and, on a logarithmic scale, 0 have no colour. 1000 is the
	// darkest, 10 the palest.
	simtest.ErrorIf(t, len(filled) != 4 || filled["440154"] != 1 || filled["b5de2b"] != 1, "cells %v", filled)
	for _, text := range []string{"10", "20", "1,000*", "900", "*", "0", "min", "val", "0.3", "100", "Latency (ns)"} {
		simtest.ErrorIf(t, texts[text] == 0, "no %q in the picture", text)
	}
	page, err := f.Render(Page)
	simtest.ErrorIf(t, err != nil || !strings.Contains(string(page), `data-tip="0.3&#10;min&#10;1000"`), "no value under the pointer (%v)", err)
	f.Field.Values = [][]float64{{math.NaN(), 0, 0}, {0, 0, 0}}
	simtest.Refuse(f.Render("svg"))(t, "")
}

// TestSizes: the picture has the size that was asked for, plus what the legend adds
// to its height, and the numbers along the axes the size of their font; PDF embeds it.
func TestSizes(t *testing.T) {
	for _, c := range []struct{ width, height, font float64 }{{3.4, 2.4, 7}, {7, 3.2, 8}, {11, 6.2, 17}, {0, 0, 0}} {
		f := samples()["two"]
		f.Width, f.Height, f.FontSize = c.width, c.height, c.font
		text := simtest.Must(f.Render("svg"))(t)
		found := regexp.MustCompile(`<svg width="([0-9.]+)pt" height="([0-9.]+)pt"`).FindSubmatch(text)
		simtest.FatalIf(t, found == nil, "%.200s", text)
		width, height, font := c.width, c.height, c.font
		if width == 0 {
			width, height, font = 6.2, 4, 9
		}
		w, h := simtest.Must(strconv.ParseFloat(string(found[1]), 64))(t), simtest.Must(strconv.ParseFloat(string(found[2]), 64))(t)
		simtest.Near(t, w, 72*width, 0.1, "%v inches: points", width)
		simtest.ErrorIf(t, h < 72*height-0.1 || h > 72*height*1.5, "%v inches: %v points high", height, h)
		simtest.Near(t, 9*f.scale(), font, 1e-9, "points of a font:")
		pdf, err := f.Render("pdf")
		simtest.ErrorIf(t, err != nil || !bytes.Contains(pdf, []byte("/FontFile2")), "pdf: no embedded font (%v)", err)
	}
}

// TestGivenRanges: axes end where they are told to, and curves are cut there; above
// the end of the vertical one, saturated points stand in their strip.
func TestGivenRanges(t *testing.T) {
	f := samples()["two"]
	f.XRange, f.YRange = []float64{0.2, 0.6}, []float64{10, 40}
	x, y := f.ranges()
	simtest.ErrorIf(t, x != (span{0.2, 0.6}) || y.min != 10 || f.ceiling() != 40 || y.max <= 40, "axes %v, %v, ceiling %v", x, y, f.ceiling())
	f = samples()["logs"]
	f.YRange = []float64{1, 1e6}
	_, y = f.ranges()
	simtest.Equal(t, y, span{1, 1e6}, "logarithmic axis")
}

// TestMarks: a bound is a line across the axes, a knee an area; the legend explains
// each once, in gray where several series have one.
func TestMarks(t *testing.T) {
	f := samples()["marked"]
	l, recorded := record(f)
	lines, areas := 0, 0
	for _, m := range recorded.marks {
		b := m.box()
		if m.text != "" || math.Abs(float64(b.Size().Y-l.data.Size().Y)) > 0.01 || b.Size().X > l.data.Size().X/2 {
			continue
		}
		if m.filled {
			areas++
		} else if b.Size().X < 0.01 && m.ink == palette[1] {
			lines++
		}
	}
	simtest.ErrorIf(t, lines != 1 || areas != 1, "%d bounds and %d knees", lines, areas)
	entries := f.markEntries()
	ink := func(e entry) color.NRGBA {
		t := &tape{}
		e.sample(draw.Canvas{Canvas: t, Rectangle: rectangle(0, 0, 20, 10)})
		return t.marks[0].ink
	}
	knee := palette[1] // hue 2, as a band
	knee.A = 0x28
	simtest.ErrorIf(t, len(entries) != 2 || entries[1].name != "bound" || ink(entries[1]) != (&Mark{}).color() || ink(entries[0]) != knee,
		"legend %+v", entries)
}

// TestBarsAtTicks: the bars of a category have their middle at its tick, whichever series have one
// there, and one width; numbers from elsewhere stand at the middle of the bar that they are about.
func TestBarsAtTicks(t *testing.T) {
	for _, style := range []Style{Bar, Box} {
		f := &Figure{Style: style, Categories: []string{"a", "b", "c"}, Series: []Series{
			{Name: "x", X: []float64{0, 1}, Y: []float64{1, 2}}, {Name: "y", X: []float64{0}, Y: []float64{3}}, {Name: "z", X: []float64{2, 0}, Y: []float64{4, 5}},
		}}
		for i := range f.Series {
			for _, y := range f.Series[i].Y {
				if style == Box {
					f.Series[i].Quantiles = append(f.Series[i].Quantiles, [5]float64{y, y, y, y, y})
				}
			}
		}
		l, _ := record(f)
		canvas := draw.Canvas{Rectangle: l.data}
		trX, _ := l.plot.Transforms(&canvas)
		from, to := map[float64]vg.Length{}, map[float64]vg.Length{}
		for i := range f.Series {
			for j, s := range f.drawing(i).shapes(l.plot, canvas) {
				if !s.area {
					continue
				}
				x := f.Series[i].X[j%len(f.Series[i].X)]
				if style == Bar {
					x = f.Series[i].X[j/2] // a whisker and an area each
				}
				if _, known := from[x]; !known {
					from[x], to[x] = s.a.X, s.b.X
				}
				from[x], to[x] = min(from[x], s.a.X), max(to[x], s.b.X)
			}
		}
		for x := range f.Categories {
			at := float64(x)
			middle := (from[at] + to[at]) / 2
			simtest.ErrorIf(t, math.Abs(float64(middle-trX(at))) > 0.01,
				"%s: the bars of category %d have their middle at %v, the tick is at %v", style, x, middle, trX(at))
		}
		// The middle of y is the middle of category 0; x is a bar, 0.8/3, to its left.
		y, x, z := f.besides("y", 0), f.besides("x", 0), f.besides("z", 2)
		simtest.ErrorIf(t, style == Bar && (y != 0 || math.Abs(x+groupWidth/3) > 1e-9 || math.Abs(z) > 1e-9), "references stand at %v, %v, %v", y, x, z)
	}
}

// TestBarsTellStates: a bar is filled, half filled, hatched or hollow by its state, which the legend
// explains; a place without a bar says why.
func TestBarsTellStates(t *testing.T) {
	nan := math.NaN()
	for _, logarithmic := range []bool{false, true} {
		f := &Figure{Style: Bar, LogY: logarithmic, Categories: []string{"a", "b", "c", "d", "e", "f", "g", "h"}, Series: []Series{{
			Name: "x", X: []float64{0, 1, 2, 3, 4, 5, 6, 7}, Y: []float64{3, 3, 3, 3, nan, nan, 0, 0},
			States: []State{Steady, Undecided, Refused, Saturated, Saturated, Steady, Refused, Steady},
		}}}
		l, tape := record(f)
		texts := tape.texts(t, "bars", l.size)
		for _, want := range []string{"half filled: undecided", "hatched: some refused", "hollow: saturated", "saturated", "no value", "refused"} {
			simtest.ErrorIf(t, texts[want] != 1, "logarithmic %v: %d times %q", logarithmic, texts[want], want)
		}
		if logarithmic {
			simtest.Equal(t, texts["0"], 1, "times 0, which has no place on the axis:")
			continue
		}
		trX, trY := l.plot.Transforms(&draw.Canvas{Rectangle: l.data})
		width := (trX(1) - trX(0)) * groupWidth
		for i, want := range []vg.Length{width, width / 2, 0, 0} { // what is filled
			var got vg.Length
			strokes := 0
			for _, m := range tape.marks {
				b := m.box()
				if m.text != "" || b.Min.X < trX(float64(i))-width/2-0.01 || b.Max.X > trX(float64(i))+width/2+0.01 || b.Max.Y > trY(3)+0.01 {
					continue
				}
				if m.filled {
					got = max(got, b.Size().X)
				} else if len(m.points) == 2 && b.Size().X > 0 && b.Size().Y > 0 {
					strokes++
				}
			}
			simtest.ErrorIf(t, math.Abs(float64(got-want)) > 0.01 || (strokes > 0) != (i == 2), "bar %d: %v of %v filled, %d strokes", i, got, width, strokes)
		}
	}
}

// TestShortAxes: as narrow as on a phone, panels with strips have labels that lie over no other, and
// titles of axes in one size or two lines.
func TestShortAxes(t *testing.T) {
	f := panelled()
	f.Width, f.Height, f.FontSize, f.PanelColumns = 3.4, 0, 7, 1
	f.YLabel = "Accepted load (flits per terminal and cycle) of all"
	p, tape := recordPage(f)
	tape.texts(t, "narrow panels", p.size)
	for _, logarithmic := range []bool{false, true} {
		f := &Figure{Style: Line, LogY: logarithmic, Width: 3.4, Height: 1.3, XLabel: "Offered load (flits per terminal and cycle)", YLabel: "Accepted load (flits per terminal and cycle)",
			Series: []Series{latency("min", 12, 0.63), latency("val", 20, 0.41), latency("ugal", 33, 0.5)}}
		f.Series[0].Y[1] = 130
		l, tape := record(f)
		tape.texts(t, "short", l.size)
	}
	l, _ := record(&Figure{Style: Line, Width: 3.4, Height: 2.4, FontSize: 7, XLabel: "Offered load (flits per terminal and cycle)", YLabel: "Accepted load (flits per terminal and cycle)", Series: []Series{latency("min", 12, 0.63)}})
	x, y := l.labels.x, l.labels.y
	simtest.ErrorIf(t, y.style.Font.Size < 8.5 || x.style.Font.Size < 8.5 || strings.Count(y.text, "\n") != 1,
		"%q of %v points, %q of %v", x.text, x.style.Font.Size, y.text, y.style.Font.Size)
}

// TestPanelsHeight: the height that is asked for is the picture's, with two rows of
// panels as with one.
func TestPanelsHeight(t *testing.T) {
	for _, n := range []int{2, 6} {
		f := &Figure{Title: "t", XLabel: "x", YLabel: "y", Height: 5, PanelColumns: 3}
		for range n {
			f.Panels = append(f.Panels, &Figure{Series: []Series{{Name: "a", X: []float64{0, 1}, Y: []float64{1, 2}}}})
		}
		simtest.Near(t, float64(f.panels().size.Y), 5*72, 1, "%d panels: points high", n)
	}
}

// TestPanelsShowAllThatIsSteady: one panel has a saturated point, and a strip; what is steady in
// the other, at three times the latency, lies below it.
func TestPanelsShowAllThatIsSteady(t *testing.T) {
	one := &Figure{Style: Line, Series: []Series{{Name: "a", X: []float64{0.1, 0.2, 0.3}, Y: []float64{10, 11, 500}, States: []State{Steady, Steady, Saturated}}}}
	other := &Figure{Style: Line, Series: []Series{{Name: "a", X: []float64{0.1, 0.2, 0.3}, Y: []float64{10, 15, 33}}}}
	f := &Figure{Style: Line, Panels: []*Figure{one, other}}
	f.panels()
	for _, panel := range f.Panels {
		top := panel.ceiling()
		simtest.ErrorIf(t, top < 33 || top > 50, "the axis ends at %v", top)
	}
}

// TestTimeline: 1 % of the time at work and then 10,000 spans of which each tenth is another
// part: the row has as many boxes as there are points of three quarters at most, of the part
// that is most of them, and they fill it.
func TestTimeline(t *testing.T) {
	row := TimelineRow{Label: "rank 0", Spans: []TimelineSpan{{Part: 0, From: 0, To: 1, Title: "work"}}}
	for i := range 10_000 {
		part := 2
		if i%10 == 0 {
			part = 1
		}
		row.Spans = append(row.Spans, TimelineSpan{Part: part, From: 1 + 0.0099*float64(i), To: 1 + 0.0099*float64(i+1)})
	}
	l := &Timeline{Parts: []string{"work", "seldom", "often", "never"}, Colours: Scale{{A: 1}, {A: 2}, {A: 3}, {A: 4}}, Unit: "us", Rows: []TimelineRow{row, {Label: "rank 1"}}}
	var from, to vg.Length
	boxes := map[int]int{}
	l.spans(row.Spans, func(time float64) vg.Length { return vg.Length(6 * time) }, func(part int, a, b vg.Length, title string) {
		simtest.ErrorIf(t, a < to-1e-9 || a > to+1e-9, "a box from %v on, behind one that ends at %v", a, to)
		from, to = a, b
		boxes[part]++
	})
	simtest.ErrorIf(t, boxes[0] != 1 || boxes[1] != 0 || boxes[2] > 800 || boxes[2] < 600 || to < 599.9 || from > to,
		"boxes %v, the last from %v to %v", boxes, from, to)
	l.Path = []PathStep{{0, 0, 0, 1, "in a row"}, {0, 1, 1, 50, "to another"}}
	for _, width := range []vg.Length{340, 900} {
		d := l.Draw(width)
		svg := simtest.Must(d.Render("svg"))(t)
		for _, want := range []string{"<title>work</title>", "<title>to another</title>", "mostly often", ">often<", ">rank 1<", ">0 us<"} {
			simtest.ErrorIf(t, !bytes.Contains(svg, []byte(want)), "%v wide: no %s", width, want)
		}
		simtest.ErrorIf(t, bytes.Contains(svg, []byte("never")), "the legend has a part that no row has")
		for _, x := range regexp.MustCompile(`d="M([0-9.]+),`).FindAllSubmatch(svg, -1) {
			at, err := strconv.ParseFloat(string(x[1]), 64)
			simtest.ErrorIf(t, err != nil || vg.Length(at) > width, "%v wide: something at %s", width, x[1])
		}
	}
	simtest.Equal(t, (&Timeline{}).Draw(340).Size.X, 340, "width of an empty timeline:")
}
