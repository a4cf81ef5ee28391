package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/weft-sim/weft/sim/simtest"
)

// TestNothingOutside: every text and every line of a figure is on the picture,
// and no text lies over another.
func TestNothingOutside(t *testing.T) {
	for name, f := range samples() {
		l, tape := record(f)
		tape.texts(t, name, l.size)
	}
}

// TestLegendClearOfData: what the legend draws, names and samples, lies over no
// line, marker, band or bar of any series.
func TestLegendClearOfData(t *testing.T) {
	for name, f := range samples() {
		l, tape := record(f)
		if l.legend == nil {
			continue
		}
		// The legend comes last, and begins with its white ground.
		start := len(tape.marks) - 1
		for tape.marks[start].text != "" || !tape.marks[start].filled || tape.marks[start].box() != l.box {
			start--
		}
		legend := tape.marks[start+1].box()
		for _, m := range tape.marks[start+1:] {
			b := m.box()
			legend.Min = vg.Point{X: min(legend.Min.X, b.Min.X), Y: min(legend.Min.Y, b.Min.Y)}
			legend.Max = vg.Point{X: max(legend.Max.X, b.Max.X), Y: max(legend.Max.Y, b.Max.Y)}
		}
		for _, s := range f.Series {
			simtest.ErrorIf(t, !slices.ContainsFunc(tape.marks[start:], func(m mark) bool { return m.text == s.Name }),
				"%s: %q is not in the legend", name, s.Name)
		}
		for _, m := range tape.marks[:start] {
			simtest.ErrorIf(t, m.ofSeries() && m.covers(legend), "%s: the legend at %v lies over data at %v", name, legend, m.box())
		}
	}
}

// TestNoValidPointIsCutOff: points that kept up are between the axes and below
// the strip for those that did not, with their intervals if they are bars.
func TestNoValidPointIsCutOff(t *testing.T) {
	for name, f := range samples() {
		x, y := f.ranges()
		for _, s := range f.Series {
			for i := range s.X {
				if !f.visible(&s, i) || s.saturated(i) {
					continue
				}
				off := s.Y[i] < y.min || s.Y[i] > min(y.max, f.ceiling()) || s.X[i] < x.min || s.X[i] > x.max
				simtest.ErrorIf(t, off, "%s: %s at %v, %v is off the axes %v, %v", name, s.Name, s.X[i], s.Y[i], x, y)
				simtest.ErrorIf(t, f.Style == Bar && s.Y[i]+s.interval(i) > y.max, "%s: the interval of %s at %v ends at %v, the axis at %v", name, s.Name, s.X[i], s.Y[i]+s.interval(i), y.max)
			}
		}
	}
}

// TestSaturatedPointsAreOneLine: where a figure has a strip, the saturated
// points of a series stand in it at one height and at their loads, and different
// series at different heights, all points with a marker.
func TestSaturatedPointsAreOneLine(t *testing.T) {
	logarithmic := samples()["loads"]
	logarithmic.LogY = true
	for name, f := range map[string]*Figure{
		"loads": samples()["loads"], "two": samples()["two"], "adaptive": samples()["adaptive"], "many": samples()["many"], "logarithmic": logarithmic,
	} {
		l, tape := record(f)
		canvas := draw.Canvas{Rectangle: l.data}
		trX, trY := l.plot.Transforms(&canvas)
		heights := map[vg.Length]bool{}
		for i := range f.Series {
			points, states, _ := newCurve(drawn{f, &f.Series[i], f.look(i), i}).points(canvas, l.plot)
			height := vg.Length(math.NaN())
			for j, at := range points {
				if states[j] != Saturated {
					continue
				}
				simtest.ErrorIf(t, at.X != trX(f.Series[i].X[j]) || at.Y <= trY(f.ceiling()) || at.Y >= l.data.Max.Y,
					"%s: saturated point %d of series %d at %v", name, j, i, at)
				simtest.ErrorIf(t, height == height && at.Y != height, "%s: saturated points of series %d at %v and %v", name, i, height, at.Y)
				height = at.Y
				if !slices.ContainsFunc(tape.marks, func(m mark) bool {
					b := m.box()
					return m.filled && m.ink.R == 0xff && m.ink.B == 0xff && b.Size().X < 4*markerRadius &&
						math.Abs(float64(b.Min.X+b.Max.X)/2-float64(at.X)) < 1 && math.Abs(float64(b.Min.Y+b.Max.Y)/2-float64(at.Y)) < 1.5
				}) {
					t.Errorf("%s: no hollow marker at saturated point %d of series %d", name, j, i)
				}
			}
			for j, state := range f.Series[i].States {
				x := trX(f.Series[i].X[j])
				simtest.ErrorIf(t, state == Saturated && !slices.ContainsFunc(points, func(at vg.Point) bool { return at.X == x }),
					"%s: saturated point %d of series %d is not drawn", name, j, i)
			}
			if height == height {
				simtest.ErrorIf(t, heights[height], "%s: two series share the line at %v", name, height)
				heights[height] = true
			}
		}
		simtest.ErrorIf(t, len(heights) == 0, "%s: no strip", name)
		for _, tick := range l.plot.Y.Tick.Marker.Ticks(l.plot.Y.Min, l.plot.Y.Max) {
			simtest.ErrorIf(t, tick.Value > f.ceiling(), "%s: a tick at %v, in the strip above %v", name, tick.Value, f.ceiling())
		}
	}
}

// TestMarkersTellStates: what is undecided has a white marker whose lower half is filled, what
// is saturated a white one, all else a filled one, of every shape. TestPanelsLegendStates is of
// the legend.
func TestMarkersTellStates(t *testing.T) {
	for shape := range markers {
		f := &Figure{Style: Line, Series: []Series{{Name: "min", Look: shape + 1, Hue: 1, X: []float64{1, 2, 3}, Y: []float64{1, 1, 1}, States: []State{Steady, Undecided, Saturated}}}}
		l, tape := record(f)
		trX, trY := l.plot.Transforms(&draw.Canvas{Rectangle: l.data})
		for i, want := range [][]bool{{false}, {true, false}, {true}} { // fills, from below: white?
			x := trX(float64(i + 1))
			var got []bool
			for _, m := range tape.marks {
				b := m.box()
				if !m.filled || b.Size().X > 3*markerRadius || math.Abs(float64(b.Min.X+b.Max.X)/2-float64(x)) > 0.01 {
					continue
				}
				got = append(got, m.ink.R == 0xff && m.ink.B == 0xff)
				simtest.ErrorIf(t, len(got) == 2 && len(m.points) > 3 && (b.Max.Y-trY(1) > 0.01 || b.Size().Y < markerRadius/3) && markers[shape].corners > 0, "shape %d: the half of an undecided marker at %v is filled at %v", shape, trY(1), b)
			}
			simtest.ErrorIf(t, !slices.Equal(got, want), "shape %d, point %d: fills %v, want %v", shape, i, got, want)
		}
	}
}

// TestMarkersAreTurned: the extent of markers of radius 10 with the centre at 0. Square and diamond of
// corners 12 away: 12 cos 45 = 8.485 and 12. Triangles of corners 13 away: 13 up, 13 sin 30 = 6.5 down,
// 13 cos 30 = 11.258 aside, and turned over. Hexagon of corners 11 away: 11 up, 11 cos 30 = 9.526 aside.
func TestMarkersAreTurned(t *testing.T) {
	for shape, want := range [][4]float64{1: {-8.485, 8.485, -8.485, 8.485}, 2: {-11.258, 11.258, -6.5, 13}, 3: {-12, 12, -12, 12}, 4: {-11.258, 11.258, -13, 6.5}, 5: {-9.526, 9.526, -11, 11}} {
		if shape == 0 {
			continue // round
		}
		var xs, ys []float64
		for _, corner := range markers[shape].around(vg.Point{}, 10) {
			xs, ys = append(xs, float64(corner.X)), append(ys, float64(corner.Y))
		}
		for i, got := range []float64{slices.Min(xs), slices.Max(xs), slices.Min(ys), slices.Max(ys)} {
			if math.Abs(got-want[i]) > 1e-3 {
				t.Errorf("shape %d: x from %v to %v, y from %v to %v, want %v", shape, slices.Min(xs), slices.Max(xs), slices.Min(ys), slices.Max(ys), want)
				break
			}
		}
	}
}

// TestReferencesTakeTurns: references of different names have crosses that are turned in turn, those
// of one name have the same, in other panels, too.
func TestReferencesTakeTurns(t *testing.T) {
	panel := &Figure{References: []Reference{{Name: "c"}, {Name: "b"}}}
	f := &Figure{References: []Reference{{Name: "a"}, {Name: "b"}, {Name: "a"}}, Panels: []*Figure{panel}}
	f.tellReferences()
	for i, want := range []int{0, 1, 0} {
		simtest.Equal(t, f.References[i].turn, want, "reference %d: turned by", i)
	}
	c, b := panel.References[0].turn, panel.References[1].turn
	simtest.ErrorIf(t, c != 0 || b != 1, "in a panel: turned by %d and %d, want 0 and 1", c, b)
}

// TestBinsHaveTheirEdges: a bin from 4 to 5 is a unit wide on an axis from 4 to
// 35, and nothing is drawn between 5 and 34.
func TestBinsHaveTheirEdges(t *testing.T) {
	l, tape := record(samples()["outlier"])
	unit := (l.data.Max.X - l.data.Min.X) / 31
	var areas []vg.Rectangle
	for _, m := range tape.marks {
		if m.ofSeries() && m.filled {
			areas = append(areas, m.box())
		}
	}
	simtest.FatalIf(t, len(areas) != 2, "areas %v", areas)
	for i, left := range []vg.Length{0, 30} {
		want := [2]vg.Length{l.data.Min.X + left*unit, l.data.Min.X + (left+1)*unit}
		simtest.ErrorIf(t, math.Abs(float64(areas[i].Min.X-want[0])) > 0.01 || math.Abs(float64(areas[i].Max.X-want[1])) > 0.01,
			"bin %d from %v to %v, want %v", i, areas[i].Min.X, areas[i].Max.X, want)
	}
}

// TestNoFootOnLogarithmicAxes: a logarithmic axis has no zero that an area or a
// line down could begin at.
func TestNoFootOnLogarithmicAxes(t *testing.T) {
	for _, name := range []string{"log-bar", "log-histogram"} {
		l, tape := record(samples()[name])
		for _, m := range tape.marks {
			b := m.box()
			simtest.ErrorIf(t, m.ofSeries() && b.Min.Y < l.data.Min.Y+0.5 && b.Max.Y > l.data.Min.Y+2*markerRadius,
				"%s: something stands on the axis at %v", name, b)
		}
	}
}

// TestByteTicks: axes of bytes have labels at powers of two, or multiples of one.
func TestByteTicks(t *testing.T) {
	for _, c := range []struct {
		least, most float64
		log         bool
		want        string
	}{
		{64, 1024, true, "64 B 128 B 256 B 512 B 1 KiB"},
		{1, 1 << 20, true, "1 B 8 B 64 B 512 B 4 KiB 32 KiB 256 KiB"},
		{3, 2000, true, "4 B 8 B 16 B 32 B 64 B 128 B 256 B 512 B 1 KiB"},
		{0, 4096, false, "0 1 KiB 2 KiB 3 KiB 4 KiB"},
		{0, 1e6, false, "0 128 KiB 256 KiB 384 KiB 512 KiB 640 KiB 768 KiB 896 KiB"},
		{1100, 1500, true, "1.125 KiB 1.188 KiB 1.25 KiB 1.312 KiB 1.375 KiB 1.438 KiB"},
	} {
		f := &Figure{XLabel: "Message size (B)", LogX: c.log, Style: Line, Series: []Series{{X: []float64{c.least, c.most}, Y: []float64{1, 2}}}}
		p := plot.New()
		p.X.Label.Text = f.XLabel
		f.axes(p)
		simtest.Equal(t, labelsOf(p.X.Tick.Marker, c.least, c.most), c.want, "%v to %v:", c.least, c.most)
		simtest.ErrorIf(t, p.X.Label.Text != "Message size", "label %q", p.X.Label.Text)
	}
}

// TestTicksAtPowers: values swept in powers have their ticks at them, on logarithmic axes all that
// there is room for, on linear ones where there is room for all; others, and two, have round ones.
func TestTicksAtPowers(t *testing.T) {
	for _, c := range []struct {
		label  string
		values []float64
		log    bool
		want   string
	}{
		{"Ranks", []float64{4, 8, 16, 32}, true, "4 8 16 32"},
		{"Ranks", []float64{4, 8, 16, 32}, false, "0 4 8 16 32"},
		{"Ranks", []float64{1, 2, 4, 8, 16, 32, 64, 128}, false, "0 20 40 60 80 100 120"}, // 1 and 2 are 3 points apart
		{"Ranks", []float64{4, 8, 12, 16}, true, "4 5 6 7 8 9 10"},
		{"Share", []float64{0.25, 0.5, 1}, true, "0.25 0.5 1"},
		{"Ranks", []float64{1, 100, 10000}, true, "1 100 10,000"},
		{"Message size (B)", []float64{8, 32, 128, 512, 2048}, true, "8 B 32 B 128 B 512 B 2 KiB"},
		{"Message size (B)", []float64{8, 1 << 13, 1 << 23}, true, "8 B 8 KiB 8 MiB"},
	} {
		s := Series{X: c.values}
		for range c.values {
			s.Y = append(s.Y, 1)
		}
		f := &Figure{XLabel: c.label, LogX: c.log, Style: Line, Series: []Series{s}}
		l, _ := record(f)
		p := l.plot
		simtest.Equal(t, labelsOf(p.X.Tick.Marker, p.X.Min, p.X.Max), c.want, "%v, logarithmic %v:", c.values, c.log)
		panels := &Figure{Style: Line, Panels: []*Figure{
			{XLabel: c.label, LogX: c.log, Style: Line, Series: []Series{{X: c.values[:1], Y: s.Y[:1]}}},
			{XLabel: c.label, LogX: c.log, Style: Line, Series: []Series{{X: c.values[1:], Y: s.Y[1:]}}},
		}}
		panels.panels()
		got := panels.Panels[0].powers()
		simtest.ErrorIf(t, (got != nil) != !slices.Contains(c.values, 12), "powers in panels: %v", got)
	}
	// An axis that shows one of them has other ticks.
	f := &Figure{XLabel: "Ranks", LogX: true, XRange: []float64{7, 12}, Style: Line, Series: []Series{{X: []float64{4, 8, 16}, Y: []float64{1, 1, 1}}}}
	l, _ := record(f)
	simtest.ErrorIf(t, labelsOf(l.plot.X.Tick.Marker, 7, 12) != "7 8 9 10", "ticks %s", labelsOf(l.plot.X.Tick.Marker, 7, 12))
	// Of 40 powers each that there is room for has a label, at equal distances.
	s := Series{}
	for i := range 40 {
		s.X, s.Y = append(s.X, math.Exp2(float64(i))), append(s.Y, 1)
	}
	l, tape := record(&Figure{XLabel: "Ranks", LogX: true, Style: Line, Series: []Series{s}})
	tape.texts(t, "many powers", l.size)
}

// TestLegendTitle: what all names have in common is written once.
func TestLegendTitle(t *testing.T) {
	_, tape := record(samples()["histogram"])
	var texts []string
	for _, m := range tape.marks {
		if m.text != "" {
			texts = append(texts, m.text)
		}
	}
	got := strings.Join(texts, "|")
	simtest.ErrorIf(t, strings.Count(got, "buffers") != 1 || !strings.HasSuffix(got, "|buffers|16|256"), "texts %s", got)
}

// TestRender: every style in every format gives a picture of that format, the same bytes each time.
// With WEFT_FIGURES set the pictures are left there to be looked at.
func TestRender(t *testing.T) {
	magic := map[string]string{"svg": "<?xml", "png": "\x89PNG", "pdf": "%PDF"}
	for name, f := range samples() {
		for format, start := range magic {
			first, err := f.Render(format)
			simtest.FatalIf(t, err != nil, "%s.%s: %v", name, format, err)
			again, err := f.Render(format)
			simtest.ErrorIf(t, err != nil || !bytes.Equal(first, again), "%s.%s differs when drawn again (%v)", name, format, err)
			simtest.ErrorIf(t, !bytes.HasPrefix(first, []byte(start)), "%s.%s begins with %q", name, format, first[:8])
			if dir := os.Getenv("WEFT_FIGURES"); dir != "" {
				simtest.Check(t, os.WriteFile(filepath.Join(dir, name+"."+format), first, 0o644))
			}
		}
	}
}

// TestRangeWithSaturation: a saturated latency of thousands does not stretch
// the axis; without saturated points everything is shown.
func TestRangeWithSaturation(t *testing.T) {
	f := &Figure{Style: Line, Series: []Series{{
		X: []float64{0.1, 0.5, 0.9}, Y: []float64{20, 30, 10000}, States: []State{Steady, Steady, Saturated},
	}}}
	// 1.1 * 30 = 33, but at least 2 * 20 = 40; the strip for one series takes
	// 10 points for its label, 8 for the series and 2 beside them, of about 228.
	_, y := f.ranges()
	simtest.ErrorIf(t, y.min != 0 || f.ceiling() != 40 || math.Abs(y.max-40/(1-20.0/228)) > 1e-9, "axis from %v to %v with a ceiling at %v", y.min, y.max, f.ceiling())
	// An accepted load, which hardly grows beyond saturation, is shown whole.
	f.Series[0].Y = []float64{0.1, 0.5, 0.6}
	_, y = f.ranges()
	simtest.ErrorIf(t, math.Abs(y.max-0.63) > 1e-9, "axis to %v, want 0.63", y.max)
	f.Series[0].Y[2] = 10000
	f.Series[0].States = nil
	_, y = f.ranges()
	simtest.ErrorIf(t, math.Abs(y.max-10500) > 1e-9, "axis to %v, want 10500", y.max)
}

// TestNothingToDraw: empty figures are errors that say why.
func TestNothingToDraw(t *testing.T) {
	f := &Figure{Style: Line, LogY: true, Series: []Series{{X: []float64{1}, Y: []float64{0}}}}
	_, err := f.Render("svg")
	simtest.ErrorIf(t, err == nil || err.Error() != "no point to draw: a logarithmic axis shows positive numbers only", "got %v", err)
	f.Series[0].Y[0] = math.NaN()
	simtest.Refuse(f.Render("svg"))(t, "no point to draw: no row has a number in both columns")
	f.Series[0].States = []State{Saturated}
	simtest.Refuse(f.Render("svg"))(t, "no point to draw: those that are saturated have no value")
	f.Series[0].X = []float64{math.NaN()} // a name along the axis of a line
	simtest.Refuse(f.Render("svg"))(t, "no point to draw: no row has a number in both columns")
	simtest.Refuse(f.Render("bmp"))(t, "")
	f = &Figure{Style: Line, Series: []Series{{X: []float64{1, 2}, Y: []float64{1e300, -1e300}}}} // whose distance is no number
	simtest.Refuse(f.Render("svg"))(t, "no point to draw: an axis shows numbers between -1e+150 and 1e+150")
	f = &Figure{Style: Line, LogX: true, LogY: true, Series: []Series{{X: []float64{1e-300, 1, 1e300}, Y: []float64{1, 2, 3}}, {X: []float64{1, 2}, Y: []float64{1e300, 1e-300}}}}
	simtest.Must(f.Render("svg"))(t)
}

// TestTicks: labels at round steps.
func TestTicks(t *testing.T) {
	for _, c := range []struct {
		least, most float64
		want        string
	}{
		{0, 1, "0.0 0.2 0.4 0.6 0.8 1.0"},
		{0, 42, "0 10 20 30 40"},
		{0, 12345, "0 2,000 4,000 6,000 8,000 10,000 12,000"},
		{-1, 1, "-1.0 -0.5 0.0 0.5 1.0"},
		{0, 3e9, "0 500 M 1 G 1.5 G 2 G 2.5 G 3 G"},
		{0, 2e-5, "0 5e-06 1e-05 1.5e-05 2e-05"},
		{0.5, 0.5000000022, "0.5000000000 0.5000000005 0.5000000010 0.5000000015 0.5000000020"}, // a step of 5e-10
		{1e9, 1e9 + 20, "1 G 1.000000005 G 1.00000001 G 1.000000015 G 1.00000002 G"},
		{1764458643000000000, 1764458643000000512, "1764.458643 P"}, // two steps of a float64: nothing between them
	} {
		simtest.Equal(t, labelsOf(ticks{}, c.least, c.most), c.want, "%v to %v:", c.least, c.most)
	}
	for _, c := range []struct {
		least, most float64
		unit, want  string
	}{
		{1, 1e6, "", "1 10 100 1,000 10,000 100,000 1,000,000"},
		{1e-6, 1e-2, "", "1e-06 1e-05 1e-04 1e-03 1e-02"},
		{1e-6, 1e-2, "s", "1 µs 10 µs 100 µs 1 ms 10 ms"},
		{1e-2, 10, "s", "0.01 0.1 1 10"},
		{12, 45, "", "20 30 40"},                                        // of 1, 2 and 5 times a power only 20 is there
		{1.017, 1.031, "", "1.018 1.020 1.022 1.024 1.026 1.028 1.030"}, // of no digit of the first place
	} {
		simtest.Equal(t, labelsOf(logTicks{c.unit}, c.least, c.most), c.want, "%v to %v, logarithmic:", c.least, c.most)
	}
	// -log10(1 - 0.999) is 3. Of 100 points 50 % is a tenth behind 0 %, within its letters and a gap, and
	// 90 % a third.
	for room, want := range map[vg.Length]string{500: "0 % 50 % 90 % 99 % 99.9 %", 100: "0 % 90 % 99 % 99.9 %"} {
		simtest.Equal(t, labelsOf(uncrowded{nines{}, labelSpace{Words(9, text.XCenter, text.YTop), room}, false}, 0, 3), want, "nines in %v:", room)
	}
	// A unit that stands at the numbers does not stand in the label, too.
	for most, want := range map[float64]string{10: "Time (s)", 1e-3: "Time"} {
		f := &Figure{YLabel: "Time (s)", Style: Line, Series: []Series{{X: []float64{1, 2}, Y: []float64{most / 2, most}}}}
		p := plot.New()
		p.Y.Label.Text = f.YLabel
		f.axes(p)
		simtest.ErrorIf(t, p.Y.Label.Text != want, "up to %v: label %q, want %q", most, p.Y.Label.Text, want)
	}
}

// labelsOf lists the labels of an axis.
func labelsOf(m plot.Ticker, least, most float64) string {
	var labels []byte
	for _, tick := range m.Ticks(least, most) {
		if !tick.IsMinor() {
			labels = append(append(labels, ' '), tick.Label...)
		}
	}
	return string(bytes.TrimSpace(labels))
}

// Logarithmic axes take as much of the canvas as linear ones: their labels ask
// for no room above or beside the data.
func TestLogarithmicAxesFillTheCanvas(t *testing.T) {
	area := func(logarithmic bool) (width, height float64) {
		f := &Figure{Title: "title", XLabel: "a label along the horizontal axis", YLabel: "a label along the vertical axis", Style: Line, LogX: logarithmic, LogY: logarithmic}
		f.Series = []Series{{X: []float64{20, 80}, Y: []float64{20, 80}}}
		data := f.layout().data
		return data.Size().X.Points(), data.Size().Y.Points()
	}
	width, height := area(false)
	w, h := area(true)
	// Tick labels at the ends may hang over by half their size.
	simtest.ErrorIf(t, math.Abs(w-width) > 15 || math.Abs(h-height) > 15, "linear axes are %.0f x %.0f, logarithmic ones %.0f x %.0f", width, height, w, h)
}

// Without YMax an axis that begins below zero still holds the values above it.
func TestRangeAroundZero(t *testing.T) {
	f := &Figure{Style: Line, Series: []Series{{X: []float64{1, 2}, Y: []float64{-0.5, 2}}}}
	_, y := f.ranges()
	simtest.ErrorIf(t, y.min > -0.5 || y.max < 2, "vertical axis from %g to %g", y.min, y.max)
}

// TestControlCharactersInLabels: whatever names are made of, an SVG file is XML; in others what the font lacks is a box.
func TestControlCharactersInLabels(t *testing.T) {
	const bad = "a\x01\x1b[31m\x00b"
	f := &Figure{Title: bad, XLabel: bad, YLabel: bad, Style: Bar, Categories: []string{bad},
		Series: []Series{{Name: bad, X: []float64{0}, Y: []float64{1}}, {Name: bad + "2", X: []float64{0}, Y: []float64{2}}}}
	picture := simtest.Must(f.Render("svg"))(t)
	for d := xml.NewDecoder(bytes.NewReader(picture)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	simtest.ErrorIf(t, f.Title != bad || f.Categories[0] != bad, "drawing has changed the figure")
	style, size := Words(9, text.XLeft, text.YCenter), vg.Point{X: 50, Y: 50}
	blank, boxed := simtest.Must(newCanvas("png", size, dpi))(t), simtest.Must(newCanvas("png", size, dpi))(t)
	boxed.FillString(style.Handler.Cache().Lookup(style.Font, 9), vg.Point{X: 9, Y: 9}, "日")
	simtest.ErrorIf(t, bytes.Equal(simtest.Must(written(blank))(t), simtest.Must(written(boxed))(t)), "nothing stands for a letter that the font lacks")
}

// TestLegendClearOfMarks: of two corners that a rising line leaves free, the upper left comes first,
// and the lower right where a mark at nine tenths of the height crosses the upper one.
func TestLegendClearOfMarks(t *testing.T) {
	for _, marks := range [][]Mark{nil, {{Name: "paper", From: 0.9, To: 0.9, Hue: ReferenceHue}}} {
		l, _ := record(&Figure{Style: Line, Marks: marks, Series: []Series{
			{Name: "one", X: []float64{0, 1}, Y: []float64{0, 1}}, {Name: "other", X: []float64{0, 1}, Y: []float64{0, 1}},
		}})
		left, top := l.box.Max.X < (l.data.Min.X+l.data.Max.X)/2, l.box.Min.Y > (l.data.Min.Y+l.data.Max.Y)/2
		want := marks == nil
		simtest.ErrorIf(t, left != want || top != want, "%d marks: legend at %v of %v: left %v, top %v, want %v", len(marks), l.box, l.data, left, top, want)
	}
}
