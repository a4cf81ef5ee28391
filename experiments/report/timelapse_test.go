package report

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/plot"
)

// lapsed is the ring with a series of 5 intervals, and its report.
func lapsed(t *testing.T) (dir string, page []byte) {
	t.Helper()
	dir = t.TempDir()
	resultFolder(t, dir, strings.Replace(ring, "links = true", "series = 5", 1))
	page, err := Make([]string{dir}, "")
	if err != nil {
		t.Fatal(err)
	}
	return dir, page
}

// withClass lists the elements below e of a class.
func withClass(e *element, name, class string) []*element {
	var some []*element
	for _, x := range e.all(name) {
		if x.Attr["class"] == class {
			some = append(some, x)
		}
	}
	return some
}

// TestTimelapse: both variants at load 1, each with 5 intervals of 80 cycles. A
// digit of a frame is the load of the element of the picture at its place: for
// the line from one switch to another, its channel's, found in the series and
// rounded to 35ths of the hottest in any interval.
func TestTimelapse(t *testing.T) {
	dir, html := lapsed(t)
	page := parse(t, html)
	lapses := withClass(page, "figure", "timelapse")
	if len(lapses) != 2 {
		t.Fatalf("%d time-lapses", len(lapses))
	}
	folder, err := experiments.ReadFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	top := 0.0
	for _, point := range []int{1, 3} {
		s, err := folder.Series(point)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range s.Channels {
			for _, x := range c.Flits {
				top = max(top, x)
			}
		}
	}
	for i, lapse := range lapses {
		series, err := folder.Series(2*i + 1)
		if err != nil {
			t.Fatal(err)
		}
		load := map[string][]float64{} // by the switches that a channel leads from and to
		for _, c := range series.Channels {
			from, _, _ := strings.Cut(c.From, " port ")
			to, _, _ := strings.Cut(c.To, " port ")
			load[from+" to "+to] = c.Flits
		}
		if got := lapse.Attr["data-labels"]; !strings.HasPrefix(got, "cycles 0 to 80 of the window|cycles 80 to 160 of") || strings.Count(got, "|") != 4 {
			t.Errorf("labels %s", got)
		}
		frames := strings.Fields(lapse.Attr["data-frames"])
		named := withTitles(lapse)
		// 16 switches, and 64 channels between them; those that close a ring
		// of 4 are drawn at both ends: 16 more.
		if len(frames) != 5 || len(named) != 16+64+16 {
			t.Fatalf("%d frames, %d elements", len(frames), len(named))
		}
		checked := 0
		for k, frame := range frames {
			if len(frame) != len(named) {
				t.Fatalf("frame %d has %d digits for %d elements", k, len(frame), len(named))
			}
			for j, e := range named {
				name, _, _ := strings.Cut(e.Text, ":")
				if !strings.Contains(name, " to ") {
					continue // a switch
				}
				digit, err := strconv.ParseInt(frame[j:j+1], 36, 64)
				if err != nil || int(digit) != int(math.Round(load[name][k]/top*35)) {
					t.Errorf("%s in interval %d: %q for a load of %v", name, k, frame[j], load[name][k])
				}
				checked++
			}
		}
		if checked != 5*80 {
			t.Errorf("%d lines compared", checked)
		}
		stills := withClass(lapse, "div", "stills")[0]
		if got := len(stills.all("svg")); got != 5 || stills.all("p")[4].Text != "cycles 320 to 400 of the window" {
			t.Errorf("%d stills, %s", got, stills.Text)
		}
		// What a still shows is what the slider does.
		for k, svg := range stills.all("svg") {
			j := 0
			for _, e := range svg.all("path") {
				_, colour, _ := strings.Cut(strings.TrimPrefix(e.Attr["style"], "fill:none;"), ":")
				colour, _, _ = strings.Cut(colour, ";")
				if colour == "#FFFFFF" {
					continue // behind a switch
				}
				digit, err := strconv.ParseInt(frames[k][j:j+1], 36, 64)
				if err != nil {
					t.Fatal(err)
				}
				near(t, colour, "#%02X%02X%02X", digit)
				j++
			}
			if j != len(named) {
				t.Errorf("a still of %d elements", j)
			}
		}
	}
}

// near compares a colour in a format with that of a digit of a frame: a 70th of the scale is
// at most 5 of 255, in a stretch of it where a channel of colour falls by 141 in a quarter.
func near(t *testing.T, got, format string, digit int64) {
	t.Helper()
	want := plot.LoadColours.At(float64(digit) / 35)
	var rgb [3]int
	if _, err := fmt.Sscanf(got, format, &rgb[0], &rgb[1], &rgb[2]); err != nil {
		t.Fatalf("colour %q: %v", got, err)
	}
	for i, w := range []uint8{want.R, want.G, want.B} {
		if d := rgb[i] - int(w); d < -9 || d > 9 {
			t.Errorf("colour %s, want about %v", got, want)
			return
		}
	}
}

// TestDamagedSeries: the page says what is wrong with a series.
func TestDamagedSeries(t *testing.T) {
	dir, _ := lapsed(t)
	if err := os.WriteFile(filepath.Join(dir, "series", "1.csv"), []byte("from,to,class,0-80,90-100\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	page, err := Make([]string{dir}, "")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "want an interval that begins at 80") {
		t.Error("the damage is not told")
	}
}
