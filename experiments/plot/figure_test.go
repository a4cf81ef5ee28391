package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"gonum.org/v1/plot"
)

// TestRender: every style in every format gives a picture of that format, the
// same bytes each time. With WEFT_FIGURES set the pictures are left there to
// be looked at.
func TestRender(t *testing.T) {
	magic := map[string]string{"svg": "<?xml", "png": "\x89PNG", "pdf": "%PDF"}
	for name, f := range samples() {
		for format, start := range magic {
			first, err := f.Render(format)
			if err != nil {
				t.Fatalf("%s.%s: %v", name, format, err)
			}
			again, err := f.Render(format)
			if err != nil || !bytes.Equal(first, again) {
				t.Errorf("%s.%s differs when drawn again (%v)", name, format, err)
			}
			if !bytes.HasPrefix(first, []byte(start)) {
				t.Errorf("%s.%s begins with %q", name, format, first[:8])
			}
			if dir := os.Getenv("WEFT_FIGURES"); dir != "" {
				if err := os.WriteFile(filepath.Join(dir, name+"."+format), first, 0o644); err != nil {
					t.Fatal(err)
				}
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
	if _, y := f.ranges(); y.min != 0 || f.ceiling() != 40 || math.Abs(y.max-40/(1-20.0/228)) > 1e-9 {
		t.Errorf("axis from %v to %v with a ceiling at %v", y.min, y.max, f.ceiling())
	}
	// An accepted load, which hardly grows beyond saturation, is shown whole.
	f.Series[0].Y = []float64{0.1, 0.5, 0.6}
	if _, y := f.ranges(); math.Abs(y.max-0.63) > 1e-9 {
		t.Errorf("axis to %v, want 0.63", y.max)
	}
	f.Series[0].Y[2] = 10000
	f.Series[0].States = nil
	if _, y := f.ranges(); math.Abs(y.max-10500) > 1e-9 {
		t.Errorf("axis to %v, want 10500", y.max)
	}
}

// TestNothingToDraw: empty figures are errors that say why.
func TestNothingToDraw(t *testing.T) {
	f := &Figure{Style: Line, LogY: true, Series: []Series{{X: []float64{1}, Y: []float64{0}}}}
	if _, err := f.Render("svg"); err == nil || err.Error() != "no point to draw: a logarithmic axis shows positive numbers only" {
		t.Errorf("got %v", err)
	}
	if _, err := f.Render("bmp"); err == nil {
		t.Error("bmp accepted")
	}
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
	} {
		if got := labelsOf(ticks{}, c.least, c.most); got != c.want {
			t.Errorf("%v to %v: %s, want %s", c.least, c.most, got, c.want)
		}
	}
	for _, c := range []struct {
		least, most float64
		unit, want  string
	}{
		{1, 1e6, "", "1 10 100 1,000 10,000 100,000 1,000,000"},
		{1e-6, 1e-2, "", "1e-06 1e-05 0.0001 0.001 0.01"},
		{1e-6, 1e-2, "s", "1 µs 10 µs 100 µs 1 ms 10 ms"},
		{1e-2, 10, "s", "0.01 0.1 1 10"},
	} {
		if got := labelsOf(logTicks{c.unit}, c.least, c.most); got != c.want {
			t.Errorf("%v to %v, logarithmic: %s, want %s", c.least, c.most, got, c.want)
		}
	}
	// A unit that stands at the numbers does not stand in the label, too.
	for most, want := range map[float64]string{10: "Time (s)", 1e-3: "Time"} {
		f := &Figure{YLabel: "Time (s)", Style: Line, Series: []Series{{X: []float64{1, 2}, Y: []float64{most / 2, most}}}}
		p := plot.New()
		p.Y.Label.Text = f.YLabel
		f.axes(p)
		if p.Y.Label.Text != want {
			t.Errorf("up to %v: label %q, want %q", most, p.Y.Label.Text, want)
		}
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
	if math.Abs(w-width) > 15 || math.Abs(h-height) > 15 {
		t.Errorf("linear axes are %.0f x %.0f, logarithmic ones %.0f x %.0f", width, height, w, h)
	}
}

// Without YMax an axis that begins below zero still holds the values above it.
func TestRangeAroundZero(t *testing.T) {
	f := &Figure{Style: Line, Series: []Series{{X: []float64{1, 2}, Y: []float64{-0.5, 2}}}}
	if _, y := f.ranges(); y.min > -0.5 || y.max < 2 {
		t.Errorf("vertical axis from %g to %g", y.min, y.max)
	}
}

// TestControlCharactersInLabels: whatever names are made of, an SVG file is XML.
func TestControlCharactersInLabels(t *testing.T) {
	const bad = "a\x01\x1b[31m\x00b"
	f := &Figure{Title: bad, XLabel: bad, YLabel: bad, Style: Bar, Categories: []string{bad},
		Series: []Series{{Name: bad, X: []float64{0}, Y: []float64{1}}, {Name: bad + "2", X: []float64{0}, Y: []float64{2}}}}
	picture, err := f.Render("svg")
	if err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(bytes.NewReader(picture)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if f.Title != bad || f.Categories[0] != bad {
		t.Error("drawing has changed the figure")
	}
}
