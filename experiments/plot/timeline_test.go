package plot

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"gonum.org/v1/plot/vg"
)

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
		if a < to-1e-9 || a > to+1e-9 {
			t.Errorf("a box from %v on, behind one that ends at %v", a, to)
		}
		from, to = a, b
		boxes[part]++
	})
	if boxes[0] != 1 || boxes[1] != 0 || boxes[2] > 800 || boxes[2] < 600 || to < 599.9 || from > to {
		t.Errorf("boxes %v, the last from %v to %v", boxes, from, to)
	}
	l.Path = []PathStep{{0, 0, 0, 1, "in a row"}, {0, 1, 1, 50, "to another"}}
	for _, width := range []vg.Length{340, 900} {
		d := l.Draw(width)
		svg, err := d.Render("svg")
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"<title>work</title>", "<title>to another</title>", "mostly often", ">often<", ">rank 1<", ">0 us<"} {
			if !bytes.Contains(svg, []byte(want)) {
				t.Errorf("%v wide: no %s", width, want)
			}
		}
		if bytes.Contains(svg, []byte("never")) {
			t.Error("the legend has a part that no row has")
		}
		for _, x := range regexp.MustCompile(`d="M([0-9.]+),`).FindAllSubmatch(svg, -1) {
			if at, err := strconv.ParseFloat(string(x[1]), 64); err != nil || vg.Length(at) > width {
				t.Errorf("%v wide: something at %s", width, x[1])
			}
		}
	}
	if d := (&Timeline{}).Draw(340); d.Size.X != 340 {
		t.Error(fmt.Sprint("an empty timeline is ", d.Size))
	}
}
