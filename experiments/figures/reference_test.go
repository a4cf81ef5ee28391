package figures

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments/plot"
)

// TestReferences: numbers of a user's file and of the targets stand in the figure where
// they say, in the unit of its axis, named in the legend, and in its data. The target is
// 4.64 us, 4640 ns.
func TestReferences(t *testing.T) {
	name := filepath.Join(t.TempDir(), "testbed.csv")
	write := func(text string) {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("offered_load,latency_mean_ns,series\n0.2,30,b\n0.1,11,b\n0.15,12,a\n0.3,,a\n")
	references := []ReferenceConfig{
		{File: name},
		{Target: "x", Value: 4.64, Unit: "us", X: "0.2", Formula: "value / 100", Series: "min"},
		{Target: "x", Value: 4.64, Unit: "us", Axis: "y", Panel: "tornado", Series: "all"},
		{Target: "y", Value: 0.84, Bound: "at_least", Axis: "x", Name: "Kim 2008"},
	}
	f := plotted(t, optionsTable, func(p *PlotConfig) { p.Panels, p.References = "traffic.pattern", references })
	for i, panel := range f.Panels {
		got := panel.References
		if len(got) != 3 || got[0].Name != "testbed" || len(got[0].X) != 2 || got[0].X[0] != 0.1 || got[0].Y[1] != 30 || got[1].Y[0] != 12 {
			t.Errorf("panel %d: %+v", i, got)
		}
		if last := got[len(got)-1]; last.Name != "paper" || last.X[0] != 0.2 || math.Abs(last.Y[0]-46.4) > 1e-9 || last.Bar != "min" {
			t.Errorf("panel %d: %+v", i, last)
		}
		marks := panel.Marks
		if i == 1 {
			if m := marks[0]; m.Name != "paper" || m.Vertical || math.Abs(m.From-4640) > 1e-9 || m.Label != "all 4640" || m.Hue != plot.ReferenceHue {
				t.Errorf("%+v", m)
			}
			marks = marks[1:]
		}
		if len(marks) != 1 || !marks[0].Vertical || marks[0].From != 0.84 || marks[0].Label != "≥ 0.84" || marks[0].Name != "Kim 2008" {
			t.Errorf("panel %d: %+v", i, marks)
		}
	}
	p := NewPlot()
	p.X, p.Y, p.References = "offered_load", []string{"latency_mean_ns"}, references[:2]
	p.Where = map[string]string{"traffic.pattern": "uniform"}
	data, err := p.Draw(&PlotSource{Table: table(t, optionsTable)}, "csv")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{"\"testbed, b\",0.1,11,", "\"paper, min\",0.2,46.", "\"testbed, a\",0.15,12,"} {
		if !strings.Contains(string(data), row) {
			t.Errorf("the data lack %s:\n%s", row, data)
		}
	}
	picture, err := p.Draw(&PlotSource{Table: table(t, optionsTable)}, "svg")
	for _, entry := range []string{">testbed, a<", ">testbed, b<", ">paper<"} {
		if err != nil || strings.Count(string(picture), entry) != 1 {
			t.Errorf("the legend lacks %s (%v)", entry, err)
		}
	}
	write("load,latency\n0.1,11\n")
	if _, err := p.Draw(&PlotSource{Table: table(t, optionsTable)}, "svg"); err == nil || !strings.Contains(err.Error(), "testbed.csv: want columns \"offered_load\" and \"latency_mean_ns\", or x and y: there are load, latency") {
		t.Errorf("error %v", err)
	}
	write("x,y\n0.1,eleven\n")
	if _, err := p.Draw(&PlotSource{Table: table(t, optionsTable)}, "svg"); err == nil || !strings.Contains(err.Error(), "no row has numbers") {
		t.Errorf("error %v", err)
	}
}

// spreadTable is channels of two roles: means 0.2 and 0.9.
const spreadTable = `point,routing.type,role,flits_per_cycle
0,min,beside,0.1
0,min,beside,0.1
0,min,beside,0.4
0,min,other,0.9
`

// TestBarsOfManyRows: a bar over several rows of a further table is their mean, with the
// least and the largest, not one over the other so that the largest is read.
func TestBarsOfManyRows(t *testing.T) {
	f := plotted(t, spreadTable, func(p *PlotConfig) { p.Style, p.X, p.Y = "bar", "role", []string{"flits_per_cycle"} })
	if len(f.Series) != 1 || len(f.Series[0].Y) != 2 || math.Abs(f.Series[0].Y[0]-0.2) > 1e-9 || f.Series[0].Y[1] != 0.9 {
		t.Fatalf("%+v", f.Series)
	}
	if q := f.Series[0].Quantiles[0]; q[0] != 0.1 || q[4] != 0.4 {
		t.Errorf("spread %v", q)
	}
	picture, err := f.Render("svg")
	if err != nil || !strings.Contains(string(picture), "mean, from least to largest") {
		t.Errorf("the legend says nothing of the spread (%v)", err)
	}
}

// TestPanelsOfBars: a panel has its own categories, not those of all panels.
func TestPanelsOfBars(t *testing.T) {
	f := plotted(t, strings.ReplaceAll(optionsTable, "tornado,min", "tornado,val-tornado"), func(p *PlotConfig) {
		p.Style, p.X, p.Panels, p.By = "bar", "routing.type", "traffic.pattern", []string{"traffic.pattern"}
		p.Where = map[string]string{"traffic.load": "0.1"}
	})
	if len(f.Panels) != 2 || strings.Join(f.Panels[0].Categories, " ") != "min val" || strings.Join(f.Panels[1].Categories, " ") != "val-tornado" || f.Panels[1].Series[0].X[0] != 0 {
		t.Errorf("%+v", f.Panels)
	}
}
