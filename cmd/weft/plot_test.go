package main

import (
	"os"
	"strings"
	"testing"
)

// TestPlot: a table draws the same figure as the file that it comes from; its
// variants are series, its seeds are not.
func TestPlot(t *testing.T) {
	text := strings.Replace(small, "[0.1, 0.2]", "[0.1, 0.2]\n\"switch.vcs\" = [2, 4]\nseed = [1, 2, 3]", 1)
	inFolder(t, map[string]string{"small.toml": "title = \"small\"\n" + text})
	if status, _, stderr := weft(t, "run", "small.toml", "--out", "o", "--quiet"); status != exitSuccess {
		t.Fatal(stderr)
	}
	picture := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, x := range []string{"offered_load", "traffic.load"} {
		if status, _, stderr := weft(t, "plot", "o/results.csv", "--x", x, "--title", "small", "-o", "a.svg"); status != exitSuccess {
			t.Fatal(stderr)
		}
		if got := picture("a.svg"); got != picture("o/latency.svg") {
			t.Errorf("over %s: another figure than that of the run", x)
		}
	}
	// The title of the legend and two names: one series a variant.
	for text, times := range map[string]int{">vcs<": 1, ">2<": 1, ">4<": 1, "seed": 0} {
		if got := strings.Count(picture("a.svg"), text); got != times {
			t.Errorf("%d times %s, want %d", got, text, times)
		}
	}
	status, _, stderr := weft(t, "plot", "o/results.csv", "--x", "offered_load", "--by", "seed", "-o", "a.svg")
	if status != exitUsage || !strings.Contains(stderr, "points of one series at offered_load = 0.1 differ in switch.vcs") {
		t.Errorf("mixed: status %d: %s", status, stderr)
	}
	if status, _, stderr := weft(t, "run", "small.toml", "--out", "o", "--force", "--quiet", "--set", "switch.buffer_flits=4"); status != exitSuccess || !strings.Contains(picture("o/latency.svg"), "small, switch.buffer_flits = 4") {
		t.Errorf("status %d: %s: the title does not follow --set", status, stderr)
	}
}
