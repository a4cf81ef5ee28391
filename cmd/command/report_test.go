package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReport: a result folder becomes a page; a folder without results is
// refused.
func TestReport(t *testing.T) {
	inFolder(t, map[string]string{"small.toml": small})
	if status, _, stderr := weft(t, "run", "small.toml", "--quiet"); status != exitSuccess {
		t.Fatalf("status %d: %s", status, stderr)
	}
	if status, _, stderr := weft(t, "report", "results"); status != exitSuccess || stderr != "results/report.html\n" {
		t.Errorf("status %d: %s", status, stderr)
	}
	if status, _, stderr := weft(t, "report", "results/small", "-o", "r.html"); status != exitSuccess || stderr != "r.html\n" {
		t.Errorf("status %d: %s", status, stderr)
	}
	if page, err := os.ReadFile("r.html"); err != nil || !strings.Contains(string(page), "<h1>small</h1>") {
		t.Errorf("page: %v\n%s", err, page)
	}
	if status, _, stderr := weft(t, "report", "."+string(filepath.Separator)+"nothing"); status != exitUsage || !strings.Contains(stderr, "cannot be read") {
		t.Errorf("status %d: %s", status, stderr)
	}
}

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
	for args, want := range map[string]string{
		"":                     "a.svg\n",
		"--quiet":              "",
		"--where switch.vcs=3": "weft: o/results.csv: no row has switch.vcs = 3 (did you mean \"2\"?): there are 2, 4\n",
		"--where switch.vcs=2 --where traffic.load=1": "weft: o/results.csv: no row has traffic.load = 1: there are 0.1, 0.2\n",
		"--where switch.vsc=2":                        "weft: o/results.csv: no column \"switch.vsc\" (did you mean \"switch.vcs\"?)",
	} {
		if _, _, stderr := weft(t, append([]string{"plot", "o/results.csv", "-o", "a.svg"}, strings.Fields(args)...)...); !strings.HasPrefix(stderr, want) || want == "" && stderr != "" {
			t.Errorf("plot %s: %q, want %q", args, stderr, want)
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

// TestPlotOptions: the options give the figure that the same keys give in a file, and
// a table in its result folder knows the bounds.
func TestPlotOptions(t *testing.T) {
	keys := "names = { \"2\" = \"two\" }\norder = [\"4\"]\nannotate = [\"bound\", \"knee\"]\nsize = \"one-column\"\nx_range = [0, 0.5]\nintervals = \"bars\"\npanels = \"switch.vcs\"\ncolour_by = \"switch.vcs\"\n"
	text := strings.NewReplacer("[0.1, 0.2]", "[0.1, 0.2]\n\"switch.vcs\" = [2, 4]", "[4, 4]", "[8]").Replace(small) + "title = \"small\"\n" + keys
	inFolder(t, map[string]string{"small.toml": text})
	if status, _, stderr := weft(t, "run", "small.toml", "--out", "o", "--quiet"); status != exitSuccess {
		t.Fatal(stderr)
	}
	options := []string{"plot", "o/results.csv", "--title", "small", "--name", "2=two", "--order", "4", "--annotate", "bound,knee", "--size", "one-column",
		"--x-range", "0,0.5", "--intervals", "bars", "--panels", "switch.vcs", "--colour-by", "switch.vcs"}
	for ending, of := range map[string]string{".svg": "o/latency.svg", ".csv": "o/latency.data.csv"} {
		if status, _, stderr := weft(t, append(options, "-o", "a"+ending)...); status != exitSuccess {
			t.Fatal(stderr)
		}
		got, err := os.ReadFile("a" + ending)
		want, err2 := os.ReadFile(of)
		if err != nil || err2 != nil || string(got) != string(want) {
			t.Errorf("another %s than that of the run (%v, %v)", ending, err, err2)
		}
	}
	if picture, err := os.ReadFile("a.svg"); err != nil || !strings.Contains(string(picture), ">two<") {
		t.Errorf("%v: no panel \"two\"", err)
	}
}
