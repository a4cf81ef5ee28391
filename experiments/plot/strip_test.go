package plot

import (
	"image/color"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// TestStrip: the strip of saturated points is labelled, the axis is broken at its foot,
// and no line of a series leads into it.
func TestStrip(t *testing.T) {
	f := &Figure{Title: "t", XLabel: "x", YLabel: "y", Style: Line, Series: []Series{latency("min", 12, 0.63), latency("val", 20, 0.41)}}
	l, tape := record(f)
	canvas := draw.Canvas{Rectangle: l.data}
	strip := f.roof().area(canvas, l.plot)
	if strip.Size().Y < 20 {
		t.Fatalf("no strip: %v", strip)
	}
	label, breaks := 0, 0
	for _, m := range tape.marks {
		box := m.box()
		switch {
		case m.text == "saturated":
			label++
			if !within(grown(strip, 0.5), box) {
				t.Errorf("the label lies at %v, the strip at %v", box, strip)
			}
			for _, other := range tape.marks {
				if other.ofSeries() && overlap(box, other.box()) {
					t.Errorf("the label lies over %v", other.box())
				}
			}
		case m.text == "" && !m.filled && m.ink == color.NRGBA{A: 0xff} && len(m.points) == 2 && box.Size().X > 0 && box.Size().Y > 0 && math.Abs(float64(box.Min.Y-strip.Min.Y)) < 4:
			breaks++
		case m.ofSeries() && !m.filled && box.Size().X > 10 && box.Max.Y > strip.Min.Y && box.Min.Y < l.data.Max.Y && !overlap(box, l.box):
			t.Errorf("a line leads into the strip: %v", box)
		}
	}
	if label != 1 || breaks != 4 {
		t.Errorf("%d labels and %d strokes of breaks, want 1, and 2 at each side", label, breaks)
	}
}

// TestPanelsLegendStates: the legend explains hollow and holed markers, whichever panel
// has them.
func TestPanelsLegendStates(t *testing.T) {
	f := panelled()
	slices.Reverse(f.Panels)
	f.Panels[0].Series = []Series{{Name: "min", X: []float64{0.1, 0.2}, Y: []float64{10, 11}}}
	f.Panels[1].Series[0].States[1] = Undecided
	f.Series = f.Panels[0].Series
	_, tape := recordPage(f)
	for _, text := range []string{"with a hole: undecided", "hollow: saturated"} {
		if !slices.ContainsFunc(tape.marks, func(m mark) bool { return m.text == text }) {
			t.Errorf("the legend lacks %q", text)
		}
	}
}

// TestMarkLabels: labels of bounds lie between the axes, over no marker, line, legend or
// other label, upright or not.
func TestMarkLabels(t *testing.T) {
	for _, vertical := range []bool{true, false} {
		f := &Figure{Title: "t", XLabel: "Offered load", YLabel: "Mean latency (ns)", Style: Line, Series: []Series{latency("min", 12, 2), latency("val", 20, 2)}}
		for i, x := range []float64{0.005, 0.3, 0.31, 0.95} {
			if !vertical {
				x *= 25
			}
			f.Marks = append(f.Marks, Mark{Name: "bound", Label: "bound " + string(rune('a'+i)), Vertical: vertical, From: x, To: x, Hue: i})
		}
		l, tape := record(f)
		var labels []vg.Rectangle
		for _, m := range tape.marks {
			if len(m.text) == 7 && m.text[:6] == "bound " {
				labels = append(labels, grown(m.box(), -1))
			}
		}
		if len(labels) != 4 {
			t.Fatalf("%d labels", len(labels))
		}
		for i, box := range labels {
			if !within(l.data, box) || overlap(box, l.box) {
				t.Errorf("vertical %v: label %d lies at %v, the axes at %v, the legend at %v", vertical, i, box, l.data, l.box)
			}
			for j, other := range labels {
				if i != j && overlap(box, other) {
					t.Errorf("vertical %v: labels %d and %d overlap", vertical, i, j)
				}
			}
			for _, m := range tape.marks {
				if m.ofSeries() && m.covers(box) {
					t.Errorf("vertical %v: label %d lies over a series at %v", vertical, i, m.box())
				}
			}
		}
	}
}
