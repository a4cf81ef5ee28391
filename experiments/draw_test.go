package experiments

import (
	"slices"
	"strings"
	"testing"
)

// TestFigureOfTable: series, categories, bands and marks come from the columns.
func TestFigureOfTable(t *testing.T) {
	results := table(t, `
point,routing.type,switch.vcs,offered_load,latency_mean_ns,latency_ci95_ns,saturated
0,min,2,0.4,30,3,false
1,min,2,0.2,20,,false
2,val,2,0.2,25,1,false
3,val,4,0.2,24,1,false
4,min,4,0.6,999,9,true
`)
	p := PlotConfig{Style: "line", X: "offered_load", Y: []string{"latency_mean_ns"}, By: []string{"routing.type", "switch.vcs"}}
	f, err := p.figure(results)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range f.Series {
		names = append(names, s.Name)
	}
	if got := strings.Join(names, "; "); got != "min, vcs 2; val, vcs 2; val, vcs 4; min, vcs 4" {
		t.Errorf("series %s", got)
	}
	first := f.Series[0] // sorted by x; the empty interval is not a number
	if !slices.Equal(first.X, []float64{0.2, 0.4}) || !slices.Equal(first.Y, []float64{20, 30}) || first.HalfWidth[0] == first.HalfWidth[0] || first.HalfWidth[1] != 3 {
		t.Errorf("first series %+v", first)
	}
	if !f.Series[3].Saturated[0] || f.YLabel != "Mean latency (ns)" {
		t.Errorf("last series %+v, label %q", f.Series[3], f.YLabel)
	}

	p = PlotConfig{Style: "bar", X: "routing.type", Y: []string{"latency_mean_ns"}, By: []string{"switch.vcs"}, Where: map[string]string{"offered_load": "0.2"}}
	if f, err = p.figure(results); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(f.Categories, []string{"min", "val"}) || len(f.Series) != 2 || !slices.Equal(f.Series[1].X, []float64{1}) {
		t.Errorf("bars: %v, %+v", f.Categories, f.Series)
	}
	for format, start := range map[string]string{"svg": "<?xml", "png": "\x89PNG", "pdf": "%PDF"} {
		if picture, err := p.Picture(results, format); err != nil || !strings.HasPrefix(string(picture), start) {
			t.Errorf("%s: %v", format, err)
		}
	}
	p.By = []string{"routing"}
	if _, err := p.figure(results); err == nil || !strings.Contains(err.Error(), `no column "routing"`) {
		t.Errorf("got %v", err)
	}
}

// Legends name values that stand for something else.
func TestSeriesName(t *testing.T) {
	for _, c := range [][3]string{{"connections.mode", "rc", "rc"}, {"connections.group", "4096", "group 4096"}, {"connections.group", "0", "ungrouped"}, {"switch.vcs", "0", "vcs 0"}} {
		if got := seriesName(c[0], c[1]); got != c[2] {
			t.Errorf("%s = %s is called %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

// TestDefaultBy: series are told apart by what is swept, except what x follows.
func TestDefaultBy(t *testing.T) {
	results := table(t, `
point,routing.type,traffic.load,switch.vcs,offered_load,accepted_load
0,min,0.1,2,0.1,0.10
1,min,0.2,2,0.2,0.19
2,min,0.3,2,0.3,0.28
3,val,0.1,2,0.1,0.11
4,val,0.2,2,0.2,0.20
5,val,0.3,2,0.3,0.22
`)
	for x, want := range map[string]string{
		"traffic.load":  "routing.type", // switch.vcs has one value
		"offered_load":  "routing.type", // traffic.load determines it
		"accepted_load": "routing.type", // a metric: the longest axis, the load, runs along
		"routing.type":  "traffic.load",
	} {
		p := PlotConfig{Table: resultsTable, X: x, swept: []string{"routing.type", "traffic.load", "switch.vcs"}}
		if got := strings.Join(p.defaultBy(results), " "); got != want {
			t.Errorf("over %s: by %q, want %q", x, got, want)
		}
	}
}
