package telemetry_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/engine/enginetest"
	"github.com/weft-sim/weft/experiments/kinds/telemetry"
	_ "github.com/weft-sim/weft/experiments/kinds/traffic"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestBlameTables: the parts of blame.csv add up to the mean latency of the
// row, for all packets, over switches and terminals, and over channels; and a
// hot terminal is named as the root of the congestion.
func TestBlameTables(t *testing.T) {
	f := enginetest.Load(t, enginetest.Mesh9, "traffic.pattern=hot-spot", "traffic.fraction=0.9", "traffic.load=0.25",
		"measure.warmup=500", "measure.window=1000", "measure.replications=2", "measure.blame=true")
	o := enginetest.SameOnThreads(t, "blame", f, []int{1, 2}, false, "blame", "congestion")
	blame := o.Tables["blame"]
	scope := enginetest.Column(t, blame, "scope")
	sums := map[string]float64{}
	for i, x := range enginetest.Numbers(t, blame, "total_ns") {
		parts := 0.0
		for j, name := range core.PartNames { // in the order in which the columns are filled
			column := telemetry.Tables.Named("blame").Columns[5+j].Name
			simtest.FatalIf(t, column != name+"_ns", "column of part %s is %s", name, column)
			parts += enginetest.Numbers(t, blame, name+"_ns")[i]
		}
		simtest.Near(t, parts, x, 1e-6, "row %v: parts add up to", blame.Rows[i])
		sums[scope[i]] += x
	}
	// Replications weigh as many packets as they have here, alike in the row.
	mean := enginetest.Numbers(t, o.Results, "latency_mean_ns")[0]
	simtest.ErrorIf(t, math.Abs(sums["all"]/mean-1) > 0.05 || math.Abs(sums["channel"]-sums["all"]) > 1e-6*mean,
		"mean latency %v, sums %v", mean, sums)
	tree := o.Tables["congestion"]
	simtest.FatalIf(t, len(tree.Rows) < 3, "congestion: %v", tree.Rows)
	depth := enginetest.Numbers(t, tree, "depth")
	simtest.ErrorIf(t, depth[0] != 0 || depth[1] != 1 || !strings.HasPrefix(enginetest.Column(t, tree, "to")[0], "terminal"),
		"congestion: %v", tree.Rows)
}

// TestSeriesFile: the intervals of a channel carry what links.csv says that it
// carried in the window, and read back as flits per cycle.
func TestSeriesFile(t *testing.T) {
	dir := t.TempDir()
	f := enginetest.Load(t, `
topology = { type = "mesh", dims = [3, 3] }
routing = { type = "dor" }
traffic = { load = 0.4 }
measure = { warmup = 100, window = 1000, links = true, series = 8 }
[sweep]
"traffic.load" = [0.2, 0.4]
`)
	o := enginetest.Execute(t, f, engine.Execution{Dir: dir})
	folder := simtest.Must(engine.ReadFolder(dir))(t)
	s := simtest.Must(folder.Series(1))(t)
	// 125 cycles each; 24 channels between switches, 18 at terminals.
	simtest.FatalIf(t, len(s.Ends) != 8 || s.Ends[0] != 125 || s.Ends[7] != 1000 || len(s.Channels) != 24+18,
		"%d channels, intervals end at %v", len(s.Channels), s.Ends)
	want := map[string]float64{}
	for _, r := range o.Tables["links"].Rows {
		if r[0] == "1" {
			want[r[len(r)-8]+" to "+r[len(r)-7]] += results.Number(r[len(r)-3])
		}
	}
	for _, c := range s.Channels {
		mean := 0.0
		for _, x := range c.Flits {
			mean += x / 8
		}
		name := c.From + " to " + c.To
		simtest.ErrorIf(t, math.Abs(mean-want[name]) > 1e-9 || mean == 0, "%s carries %v, want %v", name, mean, want[name])
	}
	none, err := folder.Series(2)
	simtest.ErrorIf(t, none != nil || err != nil, "a series of no point: %v, %v", none, err)
}

// TestPerformanceAndPackets: figures of what points took to compute, by the settings
// of the points; and of the packets that are traced, over time.
func TestPerformanceAndPackets(t *testing.T) {
	text := `[topology]
type = "torus"
dims = [4, 4]
[routing]
type = "dor"
[measure]
warmup = 100
window = 200
[trace]
packets = 50
[sweep]
"traffic.load" = [0.1, 0.3]
[[plot]]
file = "cost"
table = "performance"
x = "traffic.load"
y = "events"
[[plot]]
file = "time"
table = "packets"
style = "scatter"
x = "born_ns"
y = ["latency_ns", "hops"]
`
	dir := t.TempDir()
	f := enginetest.Load(t, text)
	o := simtest.Must(engine.Execute(t.Context(), f, engine.Execution{Dir: dir}))(t)
	simtest.Equal(t, strings.Join(o.Figures, " "), "cost.svg cost.png cost.data.csv time.svg time.png time.data.csv", "figures")
	packets := o.Tables["packets"]
	born, err := packets.Numbers("born_ns")
	latency, err2 := packets.Numbers("latency_ns")
	if err != nil || err2 != nil || len(born) != 100 || slices.Min(born) < 100 || slices.Min(latency) <= 0 {
		t.Errorf("%d packets, born from %v (%v, %v)", len(born), slices.Min(born), err, err2)
	}
	folder := simtest.Must(engine.ReadFolder(dir))(t)
	for i := range folder.File.Plots {
		p := &folder.File.Plots[i]
		source := simtest.Must(folder.PlotSource(p))(t)
		fig, err := p.Figure(source)
		simtest.ErrorIf(t, err != nil || len(fig.Series) == 0, "%s: %v", p.File, err)
		if p.File == "cost" && !slices.Equal(fig.Series[0].X, []float64{0.1, 0.3}) {
			t.Errorf("cost over %v", fig.Series[0].X)
		}
	}
}

// TestLinkShares: where channels to and from terminals have half the rate, links.csv says of them twice the
// per cent for the same flits per cycle.
func TestLinkShares(t *testing.T) {
	o := enginetest.OutcomeOf(t, enginetest.Mesh9, "channel.terminal.cycles_per_flit=2", "traffic.load=0.2", "measure.warmup=100", "measure.window=500", "measure.links=true")
	links := o.Tables["links"]
	rates, classes := enginetest.Numbers(t, links, "flits_per_cycle"), enginetest.Column(t, links, "class")
	for i, percent := range enginetest.Numbers(t, links, "percent") {
		cycles := 1.0
		if classes[i] == "terminal" {
			cycles = 2
		}
		if math.Abs(percent-100*cycles*rates[i]) > 1e-9 {
			t.Errorf("%v: want %g %%", links.Rows[i], 100*cycles*rates[i])
		}
	}
}

// TestCarried: channel 1 of three with two virtual channels each carried 3 + 4 flits in the first window, of
// 10 cycles, and 1 + 2 in the second, of 15.
func TestCarried(t *testing.T) {
	var c telemetry.Carried
	c.Add([]uint32{1, 2, 3, 4, 5, 6}, 10)
	c.Add([]uint32{0, 0, 1, 2, 0, 0}, 15)
	simtest.Equal(t, c.Rate(1, 3), 10.0/25, "flits per cycle:")
}
