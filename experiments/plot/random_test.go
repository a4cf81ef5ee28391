package plot

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
)

// randomFigure is a figure of any style with values of any kind.
func randomFigure(r *rand.Rand) *Figure {
	f := &Figure{
		Title: strings.Repeat("title ", r.IntN(40)), XLabel: []string{"", "Message size (B)", "Offered load"}[r.IntN(3)],
		YLabel: []string{"", "Memory (B)", "Time (s)", strings.Repeat("label ", 30)}[r.IntN(4)],
		Style:  []Style{Line, Bar, Histogram}[r.IntN(3)], LogX: r.IntN(3) == 0, LogY: r.IntN(3) == 0,
		LegendTitle: strings.Repeat("shared ", r.IntN(20)/10*r.IntN(12)),
	}
	if r.IntN(5) == 0 {
		f.YMax = 10
	}
	scale := math.Pow(10, float64(r.IntN(24)-12))
	value := func() float64 {
		switch r.IntN(12) {
		case 0:
			return 0
		case 1:
			return math.NaN()
		case 2:
			return math.Inf(1)
		case 3:
			return -scale * r.Float64()
		}
		return scale * r.ExpFloat64()
	}
	for range 1 + r.IntN(60)/(1+r.IntN(20)) {
		f.Categories = append(f.Categories, strings.Repeat("category ", r.IntN(4)))
	}
	for i := range 1 + r.IntN(50)/(1+r.IntN(20)) {
		s := Series{Name: strings.Repeat(fmt.Sprint("name ", i, " "), r.IntN(8))}
		x := 0.0
		for j := range 1 + r.IntN(12) {
			if f.Style == Bar {
				x = float64(j % len(f.Categories))
			}
			s.X, s.Y, s.HalfWidth = append(s.X, x), append(s.Y, value()), append(s.HalfWidth, value())
			s.States = append(s.States, State(r.IntN(3)))
			x += 1 + scale*r.Float64()
			s.XEnd = append(s.XEnd, x)
		}
		f.Series = append(f.Series, s)
	}
	return f
}

// TestRandomFigures: whatever the values, a figure that can be drawn keeps to
// the picture and its legend off the data.
func TestRandomFigures(t *testing.T) {
	drawn := 0
	for seed := range uint64(300) {
		f := randomFigure(rand.New(rand.NewPCG(seed, 0)))
		if f.check() != nil {
			continue
		}
		drawn++
		l, tape := record(f)
		picture := grown(vg.Rectangle{Max: l.size}, 0.01)
		for _, m := range tape.marks {
			if b := m.box(); !within(picture, b) {
				t.Errorf("%d: %q of %v is at %v, the picture is %v", seed, m.text, m.ink, b, l.size)
				break
			}
			if m.ofSeries() && l.legend != nil && m.covers(grown(l.box, -0.01)) && !within(grown(l.box, 3), m.box()) {
				t.Errorf("%d: the legend at %v lies over data at %v", seed, l.box, m.box())
				break
			}
		}
	}
	if drawn < 200 {
		t.Errorf("%d figures drawn", drawn)
	}
}
