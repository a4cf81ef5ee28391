package figures

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments/plot"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// optionsTable is two routings under two patterns at two loads, with two seeds.
const optionsTable = `point,traffic.pattern,routing.type,traffic.load,seed,replications,offered_load,accepted_load,latency_mean_ns,state
0,uniform,min,0.1,1,1,0.1,0.1,10,steady
1,uniform,min,0.1,2,1,0.1,0.1,14,steady
2,uniform,min,0.2,1,1,0.2,0.2,20,steady
3,uniform,min,0.2,2,1,0.2,0.2,20,steady
4,uniform,val,0.1,1,1,0.1,0.1,24,steady
5,uniform,val,0.1,2,1,0.1,0.1,24,steady
6,uniform,val,0.2,1,1,0.2,0.15,100,saturated
7,uniform,val,0.2,2,1,0.2,0.15,300,saturated
8,tornado,min,0.1,1,1,0.1,0.05,50,steady
9,tornado,min,0.1,2,1,0.1,0.05,50,steady
10,tornado,min,0.2,1,1,0.2,0.05,60,steady
11,tornado,min,0.2,2,1,0.2,0.05,60,steady
`

// plotted is a plot of a table with the defaults and what set changes.
func plotted(t *testing.T, text string, set func(*PlotConfig)) *plot.Figure {
	t.Helper()
	p := NewPlot()
	p.X, p.Y = "offered_load", []string{"latency_mean_ns"}
	set(&p)
	simtest.Check(t, p.Validate())
	return simtest.Must(p.Figure(&PlotSource{Table: table(t, text), Bound: func(point int) float64 { return 0.15 + 0.01*float64(point) }}))(t)
}

func names(f *plot.Figure) string {
	var all []string
	for _, s := range f.Series {
		all = append(all, s.Name)
	}
	return strings.Join(all, "; ")
}

// TestOrderAndNames: series come in the order that is given, the others after them,
// under the names that are given.
func TestOrderAndNames(t *testing.T) {
	f := plotted(t, optionsTable, func(p *PlotConfig) {
		p.Where = map[string]string{"traffic.pattern": "uniform"}
		p.Order, p.Names = []string{"val"}, map[string]string{"val": "Valiant (1982)"}
	})
	simtest.Equal(t, names(f), "Valiant (1982); min", "series")
	f = plotted(t, optionsTable, func(p *PlotConfig) {
		p.Y = []string{"latency_mean_ns", "accepted_load"}
		p.Where = map[string]string{"traffic.pattern": "uniform", "routing.type": "min"}
		p.Names = map[string]string{"accepted_load": "throughput"}
	})
	simtest.Says(t, names(f), "throughput", "mean latency")
}

// TestPanelsByKey: a panel for each pattern, in the order of the table; a routing has
// the same look in all, and the legend each once.
func TestPanelsByKey(t *testing.T) {
	f := plotted(t, optionsTable, func(p *PlotConfig) {
		p.Panels, p.Order, p.Names = "traffic.pattern", []string{"val", "min"}, map[string]string{"tornado": "worst"}
		p.Annotate = []string{"bound", "knee"}
	})
	simtest.FatalIf(t, len(f.Panels) != 2, "panels %+v", f.Panels)
	simtest.Alike(t, "panels", f.Panels[0].Title, "uniform", f.Panels[1].Title, "worst", names(f), "val; min", names(f.Panels[1]), "min")
	a, b := f.Panels[0].Series[1], f.Panels[1].Series[0]
	simtest.ErrorIf(t, a.Look != b.Look || a.Hue != b.Hue, "looks %d and %d", a.Look, b.Look)
	coloured := plotted(t, optionsTable, func(p *PlotConfig) { p.Panels, p.ColourBy = "traffic.pattern", "seed" })
	a, b = coloured.Panels[0].Series[0], coloured.Panels[1].Series[0]
	simtest.Alike(t, "with colour_by", a.Name, "min", b.Name, "min", a.Look, b.Look)
	// Bounds of points 0, 4 and 8; the knee of val from 0.1 to 0.2.
	marks := ""
	for _, panel := range f.Panels {
		for _, m := range panel.Marks {
			marks += fmt.Sprintf("%s %.2f-%.2f; ", m.Name, m.From, m.To)
		}
	}
	simtest.Equal(t, marks, "knee 0.10-0.20; bound of the channels 0.19-0.19; bound of the channels 0.15-0.15; "+
		"bound of the channels 0.23-0.23; ", "marks")
	p := NewPlot()
	p.X, p.Y, p.Panels = "offered_load", []string{"latency_mean_ns"}, "traffic.pattern"
	simtest.Must(p.Draw(&PlotSource{Table: table(t, optionsTable)}, "svg"))(t)
	text := string(simtest.Must(p.Draw(&PlotSource{Table: table(t, optionsTable)}, "csv"))(t))
	simtest.ErrorIf(t, !strings.HasPrefix(text, "traffic.pattern,series,offered_load,latency_mean_ns,ci95,state\nuniform,min,0.1,12,"), "data %s", text)
}

// TestHeatSums: the rows of a cell add up, in the mean of two seeds: (1+2+3+4)/2 and 6/2; both axes have
// one order.
func TestHeatSums(t *testing.T) {
	f := plotted(t, "point,seed,job,slowed_by,slowdown\n0,1,a,b,1\n0,1,a,b,2\n1,2,a,b,3\n1,2,a,b,4\n1,2,b,a,6\n", func(p *PlotConfig) {
		p.Style, p.X, p.Y, p.Z, p.Aggregate = "heat", "slowed_by", []string{"job"}, "slowdown", "sum"
	})
	got := f.Field.Values
	simtest.ErrorIf(t, got[0][1] != 5 || got[1][0] != 3 || !math.IsNaN(got[0][0]), "the field is %v", got)
	p := NewPlot()
	p.Aggregate = "sum"
	simtest.ErrorIf(t, p.Validate() == nil, "lines of sums are drawn")
}

// TestAggregate: 10 and 14 are 12 in the mean, with an interval of t(0.975, 1) *
// 2*sqrt(2)/sqrt(2) = 25.4; of the others there is no interval.
func TestAggregate(t *testing.T) {
	for how, want := range map[string]float64{"mean": 12, "median": 12, "smallest": 10, "largest": 14} {
		f := plotted(t, optionsTable, func(p *PlotConfig) {
			p.Aggregate, p.Where = how, map[string]string{"traffic.pattern": "uniform", "routing.type": "min"}
		})
		simtest.Alike(t, how, f.Series[0].Y[0], want, math.Abs(f.Series[0].HalfWidth[0]-25.412) < 0.001, how == "mean")
	}
	f := plotted(t, optionsTable, func(p *PlotConfig) {
		p.Intervals, p.Where = "none", map[string]string{"traffic.pattern": "uniform"}
	})
	simtest.ErrorIf(t, !math.IsNaN(f.Series[0].HalfWidth[0]), "intervals none: there is one")
}

// TestRelative: val over min at the same load and pattern, the other way round, and what it is more.
func TestRelative(t *testing.T) {
	of := func(relative string) []float64 {
		return plotted(t, optionsTable, func(p *PlotConfig) {
			p.Baseline, p.Relative = map[string]string{"routing.type": "min"}, relative
			p.Where = map[string]string{"traffic.pattern": "uniform"}
		}).Series[1].Y
	}
	// 24/12, 200/20; 24-12, 200-20.
	for relative, want := range map[string][]float64{"ratio": {2, 10}, "speedup": {0.5, 0.1}, "difference": {12, 180}, "gain": {100, 900}} {
		simtest.EqualSlices(t, of(relative), want, "%s:", relative)
	}
	// The series of the baseline itself left out.
	alone := plotted(t, optionsTable, func(p *PlotConfig) {
		p.Baseline, p.Relative = map[string]string{"routing.type": "min"}, "difference"
		p.Where = map[string]string{"traffic.pattern": "uniform", "routing.type": "val"}
	})
	simtest.ErrorIf(t, len(alone.Series) != 1 || !slices.Equal(alone.Series[0].Y, []float64{12, 180}), "val alone: %v", alone.Series)
	p := NewPlot()
	p.X, p.Y, p.Baseline = "offered_load", []string{"latency_mean_ns"}, map[string]string{"routing.type": "ugal"}
	simtest.Refuse(p.figure(table(t, optionsTable)))(t, "baseline: no row has routing.type = ugal")
}

// TestIntervalsOfFigures: 50 +- 5 beside 20 +- 2. The intervals of what is related are the series' own, in proportion:
// 5/20 of the ratio; 20/50^2 * 5 of the speed-up, which falls by 20/y^2; 5; 100 * 5/20 per cent of the gain. The
// median, least and greatest of two seeds have none, though each seed has one.
func TestIntervalsOfFigures(t *testing.T) {
	const rows = `point,routing.type,traffic.load,seed,replications,offered_load,latency_mean_ns,latency_ci95_ns
0,min,0.1,1,1,0.1,20,2
1,val,0.1,1,1,0.1,50,5
`
	for relative, want := range map[string][2]float64{"ratio": {2.5, 0.25}, "speedup": {0.4, 0.04}, "difference": {30, 5}, "gain": {150, 25}} {
		all := plotted(t, rows, func(p *PlotConfig) {
			p.By, p.Baseline, p.Relative = []string{"routing.type"}, map[string]string{"routing.type": "min"}, relative
		}).Series
		s := all[len(all)-1]
		simtest.ErrorIf(t, !(math.Abs(s.Y[0]-want[0]) < 1e-12 && math.Abs(s.HalfWidth[0]-want[1]) < 1e-12),
			"%s: %v +- %v, want %v", relative, s.Y[0], s.HalfWidth[0], want)
	}
	for _, how := range []string{"median", "smallest", "largest"} {
		f := plotted(t, rows+"2,val,0.1,2,1,0.1,60,6\n", func(p *PlotConfig) { p.Aggregate, p.By = how, []string{"routing.type"} })
		one, two := f.Series[0].HalfWidth[0], f.Series[1].HalfWidth[0]
		simtest.Alike(t, how, one, 2, two, math.NaN())
	}
}

// TestFormulaOfColumns: arithmetic over columns stands for a column.
func TestFormulaOfColumns(t *testing.T) {
	f := plotted(t, optionsTable, func(p *PlotConfig) {
		p.Y = []string{"100 * accepted_load / offered_load"}
		p.Where = map[string]string{"traffic.pattern": "tornado"}
	})
	got := f.Series[0].Y
	simtest.ErrorIf(t, math.Abs(got[0]-50) > 1e-9 || math.Abs(got[1]-25) > 1e-9 || f.YLabel != "100 * accepted_load / offered_load",
		"%v, label %q", got, f.YLabel)
}

// binTable is a distribution of 100 packets: 50 from 0 to 10, 49 from 10 to 20, 1 from
// 30 to 40; and of one of 4 at another load.
const binTable = `point,traffic.load,seed,latency_from_ns,latency_to_ns,packets
0,0.1,1,0,10,50
0,0.1,1,10,20,49
0,0.1,1,30,40,1
1,0.2,1,0,10,4
`

// TestDistributions: shares up to each edge; quantiles over nines; percentiles over the
// load, without those that too few packets tell; a box.
func TestDistributions(t *testing.T) {
	one := map[string]string{"traffic.load": "0.1"}
	f := plotted(t, binTable, func(p *PlotConfig) { p.Style, p.X, p.Y, p.Where = "cdf", "latency_from_ns", nil, one })
	simtest.Alike(t, "cdf", f.Series[0].X, []float64{0, 10, 20, 30, 40}, f.Series[0].Y, []float64{0, 0.5, 0.99, 0.99, 1},
		f.YLabel, "Share of packets", f.XLabel, "Latency (ns)")
	f = plotted(t, binTable, func(p *PlotConfig) { p.Style, p.X, p.Y, p.Where = "percentile", "latency_from_ns", nil, one })
	// 50 % at 10, 99 % at 20, where one packet is left: the axis ends there.
	s := f.Series[0]
	simtest.Alike(t, "percentiles, an axis of nines", len(s.X), 3, s.Y, []float64{0, 10, 20}, f.Nines, true)
	simtest.ErrorIf(t, math.Abs(s.X[1]-math.Log10(2)) > 1e-12 || math.Abs(s.X[2]-2) > 1e-9, "percentiles at %v", s.X)
	f = plotted(t, binTable, func(p *PlotConfig) { p.X, p.Y, p.Percentiles = "traffic.load", nil, []float64{50, 99} })
	simtest.Alike(t, "percentiles", names(f), "50 %; 99 %", f.Series[0].Y, []float64{10, 5}, f.Series[1].Y, []float64{20, math.NaN()},
		f.YLabel, "Latency (ns)")
	f = plotted(t, binTable, func(p *PlotConfig) { p.Style, p.X, p.Y = "box", "latency_from_ns", nil })
	simtest.Alike(t, "box", len(f.Series), 1, f.Series[0].Quantiles[0], []float64{0.2, 5, 10, 10 + 250.0/49, 20}, f.Categories, []string{"0.1", "0.2"})
	f = plotted(t, optionsTable, func(p *PlotConfig) {
		p.Style, p.X, p.By, p.Where = "box", "routing.type", []string{"traffic.pattern"}, map[string]string{"traffic.load": "0.1", "traffic.pattern": "uniform"}
	})
	simtest.ErrorIf(t, f.Series[0].Quantiles[0] != [5]float64{10, 11, 12, 13, 14}, "box of seeds %v", f.Series[0].Quantiles)
}

// TestHeatOfTable: numbers in their order, means of seeds, empty where there is no
// row, and a mark of what is saturated.
func TestHeatOfTable(t *testing.T) {
	f := plotted(t, optionsTable, func(p *PlotConfig) {
		p.Style, p.X, p.Y, p.Z, p.LogY = "heat", "traffic.load", []string{"routing.type"}, "latency_mean_ns", true
		p.Where = map[string]string{"traffic.pattern": "uniform"}
	})
	k := f.Field
	simtest.Alike(t, "heat", fmt.Sprint(k.Columns, k.Rows, k.Values), "[0.1 0.2] [min val] [[12 20] [24 200]]", k.States[1][1], plot.Saturated,
		k.Log, true, strings.HasSuffix(k.Label, "(*: saturated)"), true)
	p := NewPlot()
	p.Style, p.X, p.Y, p.Z = "heat", "traffic.load", []string{"routing.type"}, "latency_mean_ns"
	simtest.Refuse(p.figure(table(t, optionsTable)))(t, "differ in traffic.pattern")
	p.Where = map[string]string{"traffic.pattern": "uniform"}
	text, err := p.Draw(&PlotSource{Table: table(t, optionsTable)}, "csv")
	simtest.ErrorIf(t, err != nil || !strings.HasSuffix(string(text), "0.2,val,200,saturated\n"), "%v\n%s", err, text)
}

// TestColourBy: numbers have colours of a scale, names colours of the palette; series of
// one colour differ in their markers.
func TestColourBy(t *testing.T) {
	by := func(column string) *plot.Figure {
		return plotted(t, optionsTable, func(p *PlotConfig) {
			p.X, p.Style, p.By, p.ColourBy = "accepted_load", "scatter", []string{"routing.type", "traffic.load"}, column
			p.Where = map[string]string{"traffic.pattern": "uniform"}
		})
	}
	f := by("traffic.load") // min 0.1, min 0.2, val 0.1, val 0.2
	for i, want := range []plot.Series{{Hue: -1, Tint: 0, Look: 1}, {Hue: -1, Tint: 1, Look: 1}, {Hue: -1, Tint: 0, Look: 2}, {Hue: -1, Tint: 1, Look: 2}} {
		s := f.Series[i]
		simtest.Alike(t, "series", s.Hue, want.Hue, s.Tint, want.Tint, s.Look, want.Look)
	}
	f = by("routing.type")
	simtest.Alike(t, "hues and a look", f.Series[0].Hue, 1, f.Series[1].Hue, 1, f.Series[2].Hue, 2, f.Series[1].Look, 2)
}

// TestBinsOfX: the range of x in four parts, each the mean of its rows; parts without
// rows are no points.
func TestBinsOfX(t *testing.T) {
	f := plotted(t, "point,born_ns,latency_ns\n0,0,1\n0,1,3\n0,6,5\n0,8,7\n", func(p *PlotConfig) {
		p.X, p.Y, p.Bins = "born_ns", []string{"latency_ns"}, 4
	})
	s := f.Series[0]
	simtest.ErrorIf(t, !slices.Equal(s.X, []float64{0.5, 7}) || !slices.Equal(s.Y, []float64{2, 6}), "%v %v", s.X, s.Y)
	// The range is that of all series, so that 6 and 8 are in one part of the second, too.
	f = plotted(t, "point,kind,born_ns,latency_ns\n0,a,0,1\n0,a,8,3\n0,b,6,5\n0,b,8,7\n", func(p *PlotConfig) {
		p.X, p.Y, p.By, p.Bins = "born_ns", []string{"latency_ns"}, []string{"kind"}, 4
	})
	simtest.Alike(t, "the second of two series", f.Series[1].X, []float64{7}, f.Series[1].Y, []float64{6})
}

// TestBoundWithoutFolder: the bound of channels needs the network.
func TestBoundWithoutFolder(t *testing.T) {
	p := NewPlot()
	p.X, p.Y, p.Annotate = "offered_load", []string{"latency_mean_ns"}, []string{"bound"}
	simtest.Refuse(p.Draw(&PlotSource{Table: table(t, optionsTable)}, "svg"))(t, "needs the result folder")
}

// TestBeginning: what documentation begins with is a label where it is a name.
func TestBeginning(t *testing.T) {
	for _, c := range []struct {
		doc, unit, kind, want string
	}{
		{"input buffer of each virtual channel", "flits", "integer", "Input buffer of each virtual channel (flits)"},
		{"channels (both directions) that fail, drawn at random", "", "integer", "Channels that fail"},
		{"ranks on a node", "ranks", "integer", "Ranks on a node"},
		{"size of a message", "", "size", "Size of a message (B)"},
		{"poisson: payload offered, headers not counted", "", "number", "Payload offered"},
		{"buffers per size: as many", "", "integer", "Buffers per size"},
		{"of a plane, parents of a child at each level", "", "integer", ""},
	} {
		simtest.Equal(t, beginning(param.Param{Doc: c.doc, Unit: c.unit, Type: c.kind}), c.want, "%s:", c.doc)
	}
}

// TestReferences: numbers of a user's file and of the targets stand in the figure where
// they say, in the unit of its axis, named in the legend, and in its data. The target is
// 4.64 us, 4640 ns.
func TestReferences(t *testing.T) {
	name := filepath.Join(t.TempDir(), "testbed.csv")
	write := func(text string) { simtest.Check(t, os.WriteFile(name, []byte(text), 0o666)) }
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
		simtest.Alike(t, panel.Title, len(got), 3, got[0].Name, "testbed", len(got[0].X), 2, got[0].X[0], 0.1, got[0].Y[1], 30, got[1].Y[0], 12)
		last := got[len(got)-1]
		simtest.ErrorIf(t, last.Name != "paper" || last.X[0] != 0.2 || math.Abs(last.Y[0]-46.4) > 1e-9 || last.Bar != "min", "panel %d: %+v", i, last)
		marks := panel.Marks
		if i == 1 {
			m := marks[0]
			simtest.ErrorIf(t, m.Name != "paper" || m.Vertical || math.Abs(m.From-4640) > 1e-9 || m.Label != "all 4640" || m.Hue != plot.ReferenceHue, "%+v", m)
			marks = marks[1:]
		}
		simtest.Alike(t, panel.Title, len(marks), 1, marks[0].Vertical, true, marks[0].From, 0.84, marks[0].Label, "≥ 0.84", marks[0].Name, "Kim 2008")
	}
	p := NewPlot()
	p.X, p.Y, p.References = "offered_load", []string{"latency_mean_ns"}, references[:2]
	p.Where = map[string]string{"traffic.pattern": "uniform"}
	data := simtest.Must(p.Draw(&PlotSource{Table: table(t, optionsTable)}, "csv"))(t)
	simtest.Says(t, string(data), "\"testbed, b\",0.1,11,", "\"paper, min\",0.2,46.", "\"testbed, a\",0.15,12,")
	picture, err := p.Draw(&PlotSource{Table: table(t, optionsTable)}, "svg")
	for _, entry := range []string{">testbed, a<", ">testbed, b<", ">paper<"} {
		simtest.ErrorIf(t, err != nil || strings.Count(string(picture), entry) != 1, "the legend lacks %s (%v)", entry, err)
	}
	write("load,latency\n0.1,11\n")
	simtest.Refuse(p.Draw(&PlotSource{Table: table(t, optionsTable)}, "svg"))(t, "testbed.csv: want columns \"offered_load\" and \"latency_mean_ns\", or x and y: there are load, latency")
	write("x,y\n0.1,eleven\n")
	simtest.Refuse(p.Draw(&PlotSource{Table: table(t, optionsTable)}, "svg"))(t, "no row has numbers")
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
	simtest.FatalIf(t, len(f.Series) != 1 || len(f.Series[0].Y) != 2 || math.Abs(f.Series[0].Y[0]-0.2) > 1e-9 || f.Series[0].Y[1] != 0.9, "%+v", f.Series)
	q := f.Series[0].Quantiles[0]
	simtest.ErrorIf(t, q[0] != 0.1 || q[4] != 0.4, "spread %v", q)
	picture, err := f.Render("svg")
	simtest.ErrorIf(t, err != nil || !strings.Contains(string(picture), "mean, from least to largest"), "the legend says nothing of the spread (%v)", err)
}

// TestPanelsOfBars: a panel has its own categories, not all panels' categories.
func TestPanelsOfBars(t *testing.T) {
	f := plotted(t, strings.ReplaceAll(optionsTable, "tornado,min", "tornado,val-tornado"), func(p *PlotConfig) {
		p.Style, p.X, p.Panels, p.By = "bar", "routing.type", "traffic.pattern", []string{"traffic.pattern"}
		p.Where = map[string]string{"traffic.load": "0.1"}
	})
	simtest.Alike(t, "panels and their categories", len(f.Panels), 2, f.Panels[0].Categories, []string{"min", "val"},
		f.Panels[1].Categories, []string{"val-tornado"}, f.Panels[1].Series[0].X[0], 0)
}
