package figures

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments/plot"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/sim/simtest"
)

func table(t *testing.T, text string) *results.Table {
	t.Helper()
	return simtest.Must(results.ReadTable("t.csv", strings.NewReader(strings.TrimSpace(text))))(t)
}

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
	f := simtest.Must(p.figure(results))(t)
	simtest.Equal(t, names(f), "min, vcs 2; val, vcs 2; val, vcs 4; min, vcs 4", "series")
	first := f.Series[0] // sorted by x; the empty interval is not a number
	simtest.Alike(t, "first series", first.X, []float64{0.2, 0.4}, first.Y, []float64{20, 30}, first.HalfWidth, []float64{math.NaN(), 3})
	simtest.Alike(t, "last series", f.Series[3].States[0], plot.Saturated, f.YLabel, "Mean latency (ns)")
	p = PlotConfig{Style: "bar", X: "routing.type", Y: []string{"latency_mean_ns"}, By: []string{"switch.vcs"}, Where: map[string]string{"offered_load": "0.2"}}
	f = simtest.Must(p.figure(results))(t)
	simtest.Alike(t, "bars", f.Categories, []string{"min", "val"}, len(f.Series), 2, f.Series[1].X, []float64{1})
	for format, start := range map[string]string{"svg": "<?xml", "png": "\x89PNG", "pdf": "%PDF"} {
		picture, err := p.Draw(&PlotSource{Table: results}, format)
		simtest.ErrorIf(t, err != nil || !strings.HasPrefix(string(picture), start), "%s: %v", format, err)
	}
	p.By = []string{"routing"}
	simtest.Refuse(p.figure(results))(t, `no column "routing"`)
}

// Legends name values that stand for something else.
func TestSeriesName(t *testing.T) {
	p := PlotConfig{Names: map[string]string{"switch.threshold": "limit", "rc": "reliable"}}
	for _, c := range [][3]string{{"switch.threshold", "15", "limit 15"}, {"switch.other", "15", "other 15"}, {"connections.mode", "rc", "reliable"}} {
		simtest.Equal(t, p.seriesName(c[0], c[1]), c[2], "%s = %s is called", c[0], c[1])
	}
	for _, c := range [][3]string{{"connections.mode", "rc", "rc"}, {"connections.group", "4096", "group 4096"}, {"connections.group", "0", "ungrouped"}, {"switch.vcs", "0", "vcs 0"}} {
		simtest.Equal(t, new(PlotConfig).seriesName(c[0], c[1]), c[2], "%s = %s is called", c[0], c[1])
	}
}

// TestDefaultBy: series are told apart by what is swept, except what x follows.
func TestDefaultBy(t *testing.T) {
	results := table(t, `
point,routing.type,traffic.load,switch.vcs,seed,replications,offered_load,accepted_load
0,min,0.1,2,1,1,0.1,0.10
1,min,0.2,2,2,1,0.2,0.19
2,min,0.3,2,1,1,0.3,0.28
3,val,0.1,2,2,1,0.1,0.11
4,val,0.2,2,1,1,0.2,0.20
5,val,0.3,2,2,1,0.3,0.22
`)
	for x, want := range map[string]string{
		"traffic.load":  "routing.type", // switch.vcs has one value
		"offered_load":  "routing.type", // traffic.load determines it
		"accepted_load": "routing.type", // a metric: the longest axis, the load, runs along
		"routing.type":  "traffic.load",
	} {
		p := PlotConfig{X: x}
		simtest.Equal(t, strings.Join(p.defaultBy(results), " "), want, "over %s: by", x)
	}
}

// TestBoundToX: what is swept together with x and has one value for each of its values makes no
// series, for lines and for bars, where two values of x have the same of it, too; a metric on the
// axis, of which each row has its own value, binds nothing.
func TestBoundToX(t *testing.T) {
	results := table(t, `
point,topology.dims,job.ranks,routing.type,seed,replications,offered_load,elapsed_s
0,4x4,16,min,1,1,0.11,1
1,2x8,16,min,1,1,0.12,2
2,8x8,64,min,1,1,0.13,3
3,4x4,16,val,1,1,0.14,4
4,2x8,16,val,1,1,0.15,5
5,8x8,64,val,1,1,0.16,6
`)
	for x, want := range map[string]string{
		"topology.dims": "routing.type",           // not job.ranks
		"offered_load":  "job.ranks routing.type", // a metric: the longest axis, the dimensions, runs along
	} {
		p := PlotConfig{X: x}
		simtest.Equal(t, strings.Join(p.defaultBy(results), " "), want, "over %s: by", x)
	}
	p := PlotConfig{Style: "bar", X: "topology.dims", Y: []string{"elapsed_s"}}
	f := simtest.Must(p.figure(results))(t)
	simtest.ErrorIf(t, names(f) != "min; val" || len(f.Categories) != 3, "series %s over %v", names(f), f.Categories)
}

// TestSweptKeyAlongX: variants are series whether the figure is asked for in the
// file or of the table, as weft plot does.
func TestSweptKeyAlongX(t *testing.T) {
	results := table(t, `
point,routing.type,traffic.load,seed,replications,offered_load,latency_mean_ns
0,min,0.2,1,1,0.2,20
1,min,0.1,1,1,0.1,10
2,val,0.1,1,1,0.1,30
3,val,0.2,1,1,0.2,40
`)
	for _, x := range []string{"traffic.load", "offered_load"} {
		p := PlotConfig{Style: "line", X: x, Y: []string{"latency_mean_ns"}}
		f := simtest.Must(p.figure(results))(t)
		simtest.Alike(t, "over "+x, names(f), "min; val", f.Series[1].Y, []float64{30, 40})
	}
}

// TestSeedsAreReplications: rows that differ only in their seed are one point, their mean, with
// Student's interval: 10, 12 and 14 have the mean 12, the standard deviation 2, and t = 4.302653 of
// 2 degrees of freedom, so that the half-width is 4.302653 * 2 / sqrt(3) = 4.968275. A point with
// one seed keeps the interval of its row, and one is saturated if any of its runs is.
func TestSeedsAreReplications(t *testing.T) {
	results := table(t, `
point,seed,traffic.load,routing.type,replications,offered_load,latency_mean_ns,latency_ci95_ns,saturated
0,1,0.1,min,1,0.1,10,1,false
1,1,0.2,min,1,0.2,20,1,false
2,2,0.1,min,1,0.1,12,1,false
3,2,0.2,min,1,0.2,26,1,true
4,3,0.1,min,1,0.1,14,1,false
5,1,0.3,min,1,0.3,99,3,false
6,1,0.1,val,1,0.1,30,2,false
7,1,0.4,min,1,0.4,,,true
`)
	for _, style := range []string{"line", "bar"} {
		p := PlotConfig{Style: style, X: "offered_load", Y: []string{"latency_mean_ns"}}
		f := simtest.Must(p.figure(results))(t)
		simtest.Equal(t, names(f), "min; val", "%s:", style)
		s := f.Series[0] // nothing arrived at load 0.4: the point has a place, but no value
		simtest.Alike(t, style, s.Y, []float64{12, 23, 99, math.NaN()}, s.HalfWidth[2], 3,
			s.States, []plot.State{plot.Steady, plot.Saturated, plot.Steady, plot.Saturated})
		simtest.Near(t, s.HalfWidth[0], 4.968275, 1e-6, "%s: half-width", style)
		simtest.ErrorIf(t, style == "line" && s.X[3] != 0.4, "%s: %+v", style, s)
	}
	// Those who ask for the seeds get them.
	p := PlotConfig{Style: "line", X: "offered_load", Y: []string{"latency_mean_ns"}, By: []string{"routing.type", "seed"}}
	simtest.Equal(t, len(simtest.Must(p.figure(results))(t).Series), 4, "series by seed:")
	p = PlotConfig{Style: "line", X: "seed", Y: []string{"latency_mean_ns"}, Where: map[string]string{"routing.type": "min", "traffic.load": "0.1"}}
	f := simtest.Must(p.figure(results))(t)
	simtest.Alike(t, "over seed", len(f.Series), 1, f.Series[0].Y, []float64{10, 12, 14})
	// In a table with several rows a point, those with the same x are one.
	further := table(t, `
point,seed,traffic.load,rank,flits
0,1,0.1,0,5
0,1,0.1,1,7
1,2,0.1,0,9
1,2,0.1,1,11
`)
	p = PlotConfig{Style: "line", Table: "fairness", X: "rank", Y: []string{"flits"}}
	f = simtest.Must(p.figure(further))(t)
	simtest.Alike(t, "further table", len(f.Series), 1, f.Series[0].Y, []float64{7, 9})
}

// TestMixedSeries: a series that would jump between variants at one x is refused.
func TestMixedSeries(t *testing.T) {
	results := table(t, `
point,routing.type,switch.vcs,traffic.load,seed,replications,offered_load,latency_mean_ns,hops_mean
0,min,2,0.1,1,1,0.1,10,3
1,min,4,0.1,1,1,0.1,11,3
2,min,2,0.2,1,1,0.2,12,3
3,min,4,0.2,1,1,0.2,13,3
`)
	p := PlotConfig{Style: "line", X: "offered_load", Y: []string{"latency_mean_ns"}, By: []string{"routing.type"}}
	simtest.Refuse(p.figure(results))(t, "points of one series at offered_load = 0.1 differ in switch.vcs: name it under by, or select one value under where")
	p.Where = map[string]string{"switch.vcs": "4"}
	simtest.EqualSlices(t, simtest.Must(p.figure(results))(t).Series[0].Y, []float64{11, 13}, "where 4 are selected")
}

// TestCategories: no two bars of a series stand in one place; variants with the
// same x are told apart by as few other keys as it takes.
func TestCategories(t *testing.T) {
	results := table(t, `
point,multicast.engine,topology.type,topology.groups,groups.dims,seed,replications,colours
0,minhop,tree,34,2x2,1,1,10
1,minhop,tree,160,2x2,1,1,11
2,minhop,torus,34,2x2,1,1,12
3,minhop,torus,34,8x8,1,1,13
4,sssp,tree,34,2x2,1,1,20
5,sssp,tree,160,2x2,1,1,21
6,sssp,torus,34,2x2,1,1,22
7,sssp,torus,34,8x8,1,1,23
`)
	p := PlotConfig{Style: "bar", X: "groups.dims", Y: []string{"colours"}, By: []string{"multicast.engine"}}
	f := simtest.Must(p.figure(results))(t)
	simtest.Equal(t, strings.Join(f.Categories, "; "), "2x2, tree, groups 34; 2x2, tree, groups 160; 2x2, torus; 8x8", "categories")
	// Keys in lockstep with the series do not make their bars different places.
	lockstep := table(t, `
point,connections.mode,job.per_node,job.ranks,seed,replications,memory
0,rc,8,8000,1,1,10
1,srq,8,8000,1,1,11
2,rc,16,16000,1,1,12
3,srq,16,16000,1,1,13
`)
	p2 := PlotConfig{Style: "bar", X: "connections.mode", Y: []string{"memory"}, By: []string{"job.per_node"}}
	g := simtest.Must(p2.figure(lockstep))(t)
	simtest.Alike(t, "lockstep", g.Categories, []string{"rc", "srq"}, g.LegendTitle, "per node")
	for i, s := range f.Series {
		simtest.Alike(t, s.Name, s.X, []float64{0, 1, 2, 3}, s.Y[2], 12+10*i)
	}
}

// TestDensity: bins of unequal width and two seeds. 6 + 2 of 16 packets in a bin of 1 ns are 0.5 a
// ns, 8 in one of 4 ns are 8 / 16 / 4 = 0.125; the bin from 5 to 8 is empty.
func TestDensity(t *testing.T) {
	bins := table(t, `
point,seed,latency_from_ns,latency_to_ns,packets
0,1,4,5,6
0,1,8,12,4
1,2,4,5,2
1,2,8,12,4
`)
	for _, y := range [][]string{{"packets"}, nil} {
		p := PlotConfig{Style: "histogram", Table: "histogram", X: "latency_from_ns", Y: y}
		f := simtest.Must(p.figure(bins))(t)
		simtest.FatalIf(t, len(f.Series) != 1, "%v", f)
		s := f.Series[0]
		simtest.Alike(t, "bins", s.X, []float64{4, 8}, s.XEnd, []float64{5, 12}, s.Y, []float64{0.5, 0.125})
		simtest.Alike(t, "labels", f.YLabel, "Share of packets per ns", f.XLabel, "Latency (ns)")
	}
	p := PlotConfig{Style: "histogram", X: "packets", Y: []string{"seed"}}
	simtest.Refuse(p.figure(bins))(t, "want x to be the column of their lower edges, such as latency_from_ns")
	p = PlotConfig{Style: "box", X: "seed"}
	simtest.Refuse(p.figure(bins))(t, "style box needs a column y, or bins")
}

// TestLegendNames: what all series share is said once, and where one key tells
// them apart, its name is.
func TestLegendNames(t *testing.T) {
	results := table(t, `
point,routing.type,switch.vcs,workload.bytes,traffic.load,seed,replications,latency_mean_ns,latency_p99_ns
0,min,2,64,0.1,1,1,10,11
1,min,4,64,0.1,1,1,10,11
2,val,4,65536,0.1,1,1,10,11
`)
	for _, c := range []struct {
		p           PlotConfig
		title, want string
	}{
		{PlotConfig{By: []string{"routing.type", "switch.vcs"}}, "", "min, vcs 2; min, vcs 4; val, vcs 4"},
		{PlotConfig{By: []string{"routing.type", "switch.vcs"}, Where: map[string]string{"routing.type": "min"}}, "min, vcs", "2; 4"},
		{PlotConfig{By: []string{"workload.bytes"}, Where: map[string]string{"switch.vcs": "4"}}, "", "64 B; 64 KiB"},
		{PlotConfig{By: []string{"routing.type"}, Where: map[string]string{"switch.vcs": "4"}}, "", "min; val"},
		{PlotConfig{By: []string{"routing.type"}, Where: map[string]string{"point": "0"}}, "", "min"},
		{PlotConfig{}, "", "min, vcs 2; min, vcs 4; val, vcs 4"}, // bytes tell no more
		{PlotConfig{Y: []string{"latency_mean_ns", "latency_p99_ns"}, By: []string{"switch.vcs"}, Where: map[string]string{"routing.type": "min"}}, "",
			"vcs 2, mean latency; vcs 2, 99th percentile of latency; vcs 4, mean latency; vcs 4, 99th percentile of latency"},
	} {
		c.p.X, c.p.Style = "traffic.load", "line"
		if c.p.Y == nil {
			c.p.Y = []string{"latency_mean_ns"}
		}
		f := simtest.Must(c.p.figure(results))(t)
		simtest.Alike(t, fmt.Sprintf("%+v", c.p), names(f), c.want, f.LegendTitle, c.title)
	}
}

// TestLabelOfSeveralColumns: an axis says what its columns share, or names them.
func TestLabelOfSeveralColumns(t *testing.T) {
	for want, columns := range map[string][]string{
		"Latency (ns)":                        {"latency_mean_ns", "network_latency_mean_ns"},
		"Load (flits per terminal and cycle)": {"offered_load", "accepted_load"},
		"Mean latency (ns), mean hops":        {"latency_mean_ns", "hops_mean"},
		"Packets":                             {"packets_measured", "packets_dropped"},
		"Memory per process (B)":              {"memory_static_per_process_b", "memory_per_process_b"},
		"Time (s)":                            {"elapsed_s", "steady_iteration_s"},
		"95th percentile of latency (ns), accepted load (flits per terminal and cycle)": {"latency_p95_ns", "accepted_load"},
	} {
		simtest.Equal(t, commonLabel(columns), want, "%v:", columns)
	}
	simtest.Equal(t, commonLabel([]string{"latency_p50_ns", "latency_p99_ns"}), "Latency (ns)", "common label")
}

// TestRefused: values of fewer groups than were asked for say so.
func TestRefused(t *testing.T) {
	results := table(t, `
point,multicast.engine,seed,replications,refused,colours
0,mr4lms,1,1,0,5
1,minhop,1,1,8,16
`)
	p := PlotConfig{Style: "bar", X: "multicast.engine", Y: []string{"colours"}}
	simtest.EqualSlices(t, simtest.Must(p.figure(results))(t).Series[0].States, []plot.State{plot.Steady, plot.Refused}, "")
	data := simtest.Must(p.Draw(&PlotSource{Table: results}, "csv"))(t)
	simtest.ErrorIf(t, !strings.HasSuffix(string(data), "minhop,16,,some refused\n"), "%s", data)
}

// TestVerdictOfRow: the state says it where there is one; of seeds, the worst counts.
func TestVerdictOfRow(t *testing.T) {
	results := table(t, `
point,seed,traffic.load,replications,latency_mean_ns,state,saturated
0,1,0.1,1,10,steady,false
1,2,0.1,1,10,steady,false
2,1,0.2,1,10,steady,false
3,2,0.2,1,10,undecided,false
4,1,0.3,1,,saturated,true
5,2,0.3,1,10,undecided,false
`)
	p := PlotConfig{Style: "line", X: "traffic.load", Y: []string{"latency_mean_ns"}}
	f := simtest.Must(p.figure(results))(t)
	simtest.EqualSlices(t, f.Series[0].States, []plot.State{plot.Steady, plot.Undecided, plot.Saturated}, "states")
	// The seed that is left of a saturated point is not its latency, however several seeds are
	// summed up, nor is that a baseline, nor a percentile of a histogram.
	for _, how := range []string{"mean", "median", "smallest", "largest"} {
		p.Aggregate = how
		s := simtest.Must(p.figure(results))(t).Series[0]
		simtest.Alike(t, how, s.Y, []float64{10, 10, math.NaN()}, s.HalfWidth[2], math.NaN())
	}
	heat := PlotConfig{Style: "heat", X: "traffic.load", Y: []string{"replications"}, Z: "latency_mean_ns"}
	simtest.Alike(t, "cells", simtest.Must(heat.figure(results))(t).Field.Values[0][1:], []float64{10, math.NaN()})
	related := PlotConfig{Style: "line", X: "traffic.load", Y: []string{"replications"}, Baseline: map[string]string{"replications": "1"}}
	simtest.Equal(t, simtest.Must(related.figure(results))(t).Series[0].Y[2], 1, "a column that has all values:")
	related.Y = []string{"latency_mean_ns"}
	simtest.Alike(t, "over the baseline", simtest.Must(related.figure(results))(t).Series[0].Y[1:], []float64{1, math.NaN()})
	bins := table(t, `
point,seed,traffic.load,latency_from_ns,latency_to_ns,packets,state
0,1,0.1,0,10,100,steady
1,1,0.2,0,10,100,saturated
2,2,0.2,0,10,100,steady
`)
	tail := PlotConfig{Style: "line", X: "traffic.load", Percentiles: []float64{50}}
	simtest.Alike(t, "medians", simtest.Must(tail.figure(bins))(t).Series[0].Y, []float64{5, math.NaN()})
	simtest.ErrorIf(t, results.State(3) == measure.Saturated || results.State(4) != measure.Saturated, "rows 3 and 4")
}

// figure is [PlotConfig.Figure] of a table of which nothing else is known.
func (p *PlotConfig) figure(t *results.Table) (*plot.Figure, error) {
	return p.Figure(&PlotSource{Table: t})
}
