package plot

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// TestNothingOutside: every text and every line of a figure is on the picture,
// and no text lies over another.
func TestNothingOutside(t *testing.T) {
	for name, f := range samples() {
		l, tape := record(f)
		picture := grown(vg.Rectangle{Max: l.size}, 0.01)
		var texts []mark
		for _, m := range tape.marks {
			if b := m.box(); !within(picture, b) {
				t.Errorf("%s: %q of %v is at %v, the picture is %v", name, m.text, m.ink, b, l.size)
			}
			if m.text != "" {
				texts = append(texts, m)
			}
		}
		for i, a := range texts {
			for _, b := range texts[:i] {
				if overlap(grown(a.box(), -1), grown(b.box(), -1)) { // lines of a text touch
					t.Errorf("%s: %q lies over %q", name, a.text, b.text)
				}
			}
		}
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
			if !slices.ContainsFunc(tape.marks[start:], func(m mark) bool { return m.text == s.Name }) {
				t.Errorf("%s: %q is not in the legend", name, s.Name)
			}
		}
		for _, m := range tape.marks[:start] {
			if m.ofSeries() && m.covers(legend) {
				t.Errorf("%s: the legend at %v lies over data at %v", name, legend, m.box())
			}
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
				if s.Y[i] < y.min || s.Y[i] > min(y.max, f.ceiling()) || s.X[i] < x.min || s.X[i] > x.max {
					t.Errorf("%s: %s at %v, %v is off the axes %v, %v", name, s.Name, s.X[i], s.Y[i], x, y)
				}
				if f.Style == Bar && s.Y[i]+s.interval(i) > y.max {
					t.Errorf("%s: the interval of %s at %v ends at %v, the axis at %v", name, s.Name, s.X[i], s.Y[i]+s.interval(i), y.max)
				}
			}
		}
	}
}

// TestSaturatedPointsAreOneLine: where a figure has a strip, the saturated
// points of a series stand in it at one height and at their loads, and those of
// different series at different heights, all of them with a marker.
func TestSaturatedPointsAreOneLine(t *testing.T) {
	for _, name := range []string{"loads", "two", "adaptive", "many"} {
		f := samples()[name]
		l, tape := record(f)
		canvas := draw.Canvas{Rectangle: l.data}
		trX, trY := l.plot.Transforms(&canvas)
		heights := map[vg.Length]bool{}
		for i := range f.Series {
			points, states, _ := f.newCurve(i).points(canvas, l.plot)
			height := vg.Length(math.NaN())
			for j, at := range points {
				if states[j] != Saturated {
					continue
				}
				if at.X != trX(f.Series[i].X[j]) || at.Y <= trY(f.ceiling()) || at.Y >= l.data.Max.Y {
					t.Errorf("%s: saturated point %d of series %d at %v", name, j, i, at)
				}
				if height == height && at.Y != height {
					t.Errorf("%s: saturated points of series %d at %v and %v", name, i, height, at.Y)
				}
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
				if x := trX(f.Series[i].X[j]); state == Saturated && !slices.ContainsFunc(points, func(at vg.Point) bool { return at.X == x }) {
					t.Errorf("%s: saturated point %d of series %d is not drawn", name, j, i)
				}
			}
			if height == height {
				if heights[height] {
					t.Errorf("%s: two series share the line at %v", name, height)
				}
				heights[height] = true
			}
		}
		if len(heights) == 0 {
			t.Errorf("%s: no strip", name)
		}
		for _, tick := range l.plot.Y.Tick.Marker.Ticks(l.plot.Y.Min, l.plot.Y.Max) {
			if tick.Value > f.ceiling() {
				t.Errorf("%s: a tick at %v, in the strip above %v", name, tick.Value, f.ceiling())
			}
		}
	}
}

// TestMarkersTellStates: what is undecided has a white hole in its marker, what
// is saturated a white marker, all else a filled one; the legend explains them.
func TestMarkersTellStates(t *testing.T) {
	f := &Figure{Style: Line, Series: []Series{{Name: "min", X: []float64{1, 2, 3}, Y: []float64{1, 1, 1}, States: []State{Steady, Undecided, Saturated}}}}
	l, tape := record(f)
	for i, want := range [][]bool{{false}, {false, true}, {true}} { // fills, from below: white?
		x := l.data.Min.X + (l.data.Max.X-l.data.Min.X)*vg.Length(l.plot.X.Norm(float64(i+1)))
		var got []bool
		for _, m := range tape.marks {
			if b := m.box(); m.filled && b.Size().X < 3*markerRadius && math.Abs(float64(b.Min.X+b.Max.X)/2-float64(x)) < 0.01 {
				got = append(got, m.ink.R == 0xff && m.ink.B == 0xff)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("point %d: fills %v, want %v", i, got, want)
		}
	}
	for _, text := range []string{"with a hole: undecided", "hollow: saturated"} {
		if !slices.ContainsFunc(tape.marks, func(m mark) bool { return m.text == text }) {
			t.Errorf("the legend has no %q", text)
		}
	}
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
	if len(areas) != 2 {
		t.Fatalf("areas %v", areas)
	}
	for i, left := range []vg.Length{0, 30} {
		want := [2]vg.Length{l.data.Min.X + left*unit, l.data.Min.X + (left+1)*unit}
		if math.Abs(float64(areas[i].Min.X-want[0])) > 0.01 || math.Abs(float64(areas[i].Max.X-want[1])) > 0.01 {
			t.Errorf("bin %d from %v to %v, want %v", i, areas[i].Min.X, areas[i].Max.X, want)
		}
	}
}

// TestNoFootOnLogarithmicAxes: a logarithmic axis has no zero that an area or a
// line down could begin at.
func TestNoFootOnLogarithmicAxes(t *testing.T) {
	for _, name := range []string{"log-bar", "log-histogram"} {
		l, tape := record(samples()[name])
		for _, m := range tape.marks {
			if b := m.box(); m.ofSeries() && b.Min.Y < l.data.Min.Y+0.5 && b.Max.Y > l.data.Min.Y+2*markerRadius {
				t.Errorf("%s: something stands on the axis at %v", name, b)
			}
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
		if got := labelsOf(p.X.Tick.Marker, c.least, c.most); got != c.want {
			t.Errorf("%v to %v: %s, want %s", c.least, c.most, got, c.want)
		}
		if p.X.Label.Text != "Message size" {
			t.Errorf("label %q", p.X.Label.Text)
		}
	}
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
	if got := strings.Join(texts, "|"); strings.Count(got, "buffers") != 1 || !strings.HasSuffix(got, "|buffers|16|256") {
		t.Errorf("texts %s", got)
	}
}
