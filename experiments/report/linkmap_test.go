package report

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
)

// TestLinkMaps: a map for each variant, with a frame for each load, lowest first. Two
// digits of a frame are the load of an element of the picture, in 1295ths of the
// hottest channel of all points; the picture shows the highest load.
func TestLinkMaps(t *testing.T) {
	dir := t.TempDir()
	resultFolder(t, dir, strings.Replace(ring, "[0.1, 1.0]", "[1.0, 0.1, 0.5]", 1))
	f, err := experiments.ReadFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	loads, err := f.ChannelLoads()
	if err != nil || len(loads) != 6 {
		t.Fatalf("%v, loads of %d points", err, len(loads))
	}
	top := 0.0
	for _, list := range loads {
		for _, c := range list {
			top = max(top, c.Load)
		}
	}
	maps, note := linkMaps(f)
	if len(maps) != 2 || !strings.Contains(note, "Each variant is shown at its highest load.") {
		t.Fatalf("%d maps, %s", len(maps), note)
	}
	for i, m := range maps {
		frames := strings.Fields(m.Frames)
		if m.Variant != "switch.vcs = "+[]string{"2", "4"}[i] || m.Labels != "load 0.1|load 0.5|load 1" || m.Last != 2 || len(frames) != 3 || math.Abs(m.Top-top) > 1e-12 {
			t.Fatalf("%q, %q, %d frames, to %d", m.Variant, m.Labels, len(frames), m.Last)
		}
		root := parse(t, []byte("<p><style></style>"+string(m.Picture)+"</p>"))
		var titles []string
		for _, e := range root.all("title") {
			titles = append(titles, e.Text)
		}
		for k, point := range []int{3*i + 1, 3*i + 2, 3 * i} { // points in the order of their loads
			if len(frames[k]) != 2*len(titles) {
				t.Fatalf("%d digits for %d elements", len(frames[k]), len(titles))
			}
			of := map[string]float64{}
			for _, c := range loads[point] {
				from, _, _ := strings.Cut(c.From, " port ")
				to, _, _ := strings.Cut(c.To, " port ")
				of[from+" to "+to] = c.Load
			}
			checked := 0
			for j, title := range titles {
				name, number, _ := strings.Cut(title, ": ")
				load, isLink := of[name]
				if !isLink {
					continue // a switch
				}
				level, err := strconv.ParseInt(frames[k][2*j:2*j+2], 36, 64)
				if err != nil || level != int64(math.Round(load/top*1295)) {
					t.Errorf("%s at %v: level %d", name, load, level)
				}
				if shown, err := strconv.ParseFloat(number, 64); k == 2 && (err != nil || math.Abs(shown-load) > 0.0006) {
					t.Errorf("%s: the picture says %s, want %v", name, number, load)
				}
				checked++
			}
			// 64 channels between 16 switches, 16 of them drawn at both ends.
			if checked != 80 {
				t.Errorf("%d links", checked)
			}
			if h := m.Hottest[k]; h.Frame != k || h.Shown != (k == 2) || h.Channels[0] != hottestOf(loads[point])[0] {
				t.Errorf("hottest %+v", h)
			}
		}
	}
}
