package telemetry_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/engine/enginetest"
	_ "github.com/weft-sim/weft/experiments/kinds/jobs"
	_ "github.com/weft-sim/weft/experiments/kinds/mpi"
	"github.com/weft-sim/weft/experiments/kinds/telemetry"
	_ "github.com/weft-sim/weft/experiments/kinds/traffic"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/fabric/core"
	_ "github.com/weft-sim/weft/mpi/replay"
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
	simtest.ErrorIf(t, math.Abs(sums["all"]/mean-1) > 0.05 || math.Abs(sums["channel"]-sums["all"]) > 1e-6*mean, "mean latency %v, sums %v", mean, sums)
	tree := o.Tables["congestion"]
	simtest.FatalIf(t, len(tree.Rows) < 3, "congestion: %v", tree.Rows)
	depth := enginetest.Numbers(t, tree, "depth")
	simtest.ErrorIf(t, depth[0] != 0 || depth[1] != 1 || !strings.HasPrefix(enginetest.Column(t, tree, "to")[0], "terminal"), "congestion: %v", tree.Rows)
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
	text := `topology = { type = "torus", dims = [4, 4] }
routing = { type = "dor" }
measure = { warmup = 100, window = 200 }
trace = { packets = 50 }
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
		simtest.ErrorIf(t, p.File == "cost" && !slices.Equal(fig.Series[0].X, []float64{0.1, 0.3}), "cost over %v", fig.Series[0].X)
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
		simtest.ErrorIf(t, math.Abs(percent-100*cycles*rates[i]) > 1e-9, "%v: want %g %%", links.Rows[i], 100*cycles*rates[i])
	}
}

// TestCarried: channel 1 of three carried 3 + 4 flits on two virtual channels in a window of 10 cycles, 1 + 2 + 5
// on three in one of 10, and 1 + 2 on two in one of 5. Flits stay with their channel and virtual channel.
func TestCarried(t *testing.T) {
	var c telemetry.Carried
	c.Add([]uint32{1, 2, 3, 4, 5, 6}, 3, 10)
	c.Add([]uint32{0, 0, 0, 1, 2, 5, 0, 0, 0}, 3, 10)
	c.Add([]uint32{0, 0, 1, 2, 0, 0}, 3, 5)
	simtest.Equal(t, c.Rate(1, 3), 18.0/25, "flits per cycle:")
	simtest.EqualSlices(t, c.Flits, []int64{1, 2, 0, 5, 8, 5, 5, 6, 0}, "flits:")
}

// TestTimelineThroughAFabric: a message of 1000 B between two nodes of a switch. The sender's CPU takes
// 200 ns and as much for the copy at 40 Gb/s; both adapters load a context (500 ns), and the
// request takes 50 ns. Its 16 flits go over channels of one each 16 ns, 15 of them behind the
// first; a cycle each for the terminal, the switch and two channels, 250 and 289 ns in
// adapters. The receiver's CPU takes 250 ns and the copy.
func TestTimelineThroughAFabric(t *testing.T) {
	goal := enginetest.GoalFile(t, "num_ranks 2\nrank 0 {\nsend 1000b to 1\n}\nrank 1 {\nrecv 1000b from 0\n}\n")
	f := enginetest.Load(t, "", "kind=mpi", "placement.per_node=1", "job.machine=fabric", "workload.type=goal", "workload.file="+goal, "topology.terminals=2",
		"channel.terminal.cycles_per_flit=1", "measure.timeline=true")
	dir := t.TempDir()
	o := enginetest.Execute(t, f, engine.Execution{Dir: dir})
	want := [][]string{
		{"", "0", "0", "400", "send", "1", "0:0", "", "4e-07"},
		{"", "1", "400", "1450", "adapter", "0", "0:0", "", "1.05e-06"},
		{"", "1", "1450", "1690", "serialisation", "0", "0:0", "", "2.4e-07"},
		{"", "1", "1690", "2293", "propagation", "0", "0:0", "", "6.03e-07"},
		{"", "1", "2293", "2743", "receive", "0", "0:0", "", "4.5e-07"},
	}
	got := behindSeed(o.Tables["critical_path"].Rows)
	simtest.ErrorIf(t, fmt.Sprint(got) != fmt.Sprint(want), "critical path\n%v\nwant\n%v", got, want)
	want = [][]string{{"", "0", "0", "400", "send", "1", "0:0"}, {"", "1", "0", "2293", "wait", "0", "0:0"}, {"", "1", "2293", "2743", "receive", "0", "0:0"}}
	got = behindSeed(o.Tables["timeline"].Rows)
	simtest.ErrorIf(t, fmt.Sprint(got) != fmt.Sprint(want), "timeline\n%v\nwant\n%v", got, want)
	var events struct {
		TraceEvents []struct {
			Name string  `json:"name"`
			Ph   string  `json:"ph"`
			Ts   float64 `json:"ts"`
			Dur  float64 `json:"dur"`
		} `json:"traceEvents"`
	}
	simtest.Check(t, json.Unmarshal([]byte(enginetest.Read(t, dir, "timelines", "0.json")), &events))
	seen := map[string]int{}
	for _, e := range events.TraceEvents {
		seen[e.Ph]++
		simtest.ErrorIf(t, e.Name == "wait" && (e.Ts != 0 || e.Dur != 2.293), "%+v, want 2.293 us from 0 on", e)
	}
	simtest.ErrorIf(t, seen["X"] != 3+5 || seen["s"] != 1 || seen["f"] != 1, "%v, want 8 spans and a flow", seen)
}

// behindSeed leaves out the number of the point and its seed.
func behindSeed(rows [][]string) (all [][]string) {
	for _, row := range rows {
		all = append(all, row[2:])
	}
	return all
}

// TestTimelineOfNetworks: in networks with contention, with connections on demand, by rendezvous and
// with several ranks a node the path adds up to the elapsed time, some of it waiting for
// cables, and the results are those without a timeline.
func TestTimelineOfNetworks(t *testing.T) {
	waits := 0
	for _, text := range []string{
		"algorithm = \"alltoall-pairwise\"\nbytes = \"64KiB\"\n[topology]\nterminals = 16\n",
		"algorithm = \"alltoall-linear\"\nbytes = \"2KiB\"\n[connections]\non_demand = true\n[topology]\ntype = \"dragonfly\"\np = 1\na = 2\nh = 1\n[routing]\ntype = \"min\"\n[switch]\nvcs = 2\n",
	} {
		run := func(timeline bool) *engine.Outcome {
			return enginetest.OutcomeOf(t, fmt.Sprintf("kind = \"mpi\"\n[job]\nranks = 12\nmachine = \"fabric\"\n[placement]\nper_node = 2\n[measure]\ntimeline = %v\n[workload]\ntype = \"osu-alltoall\"\niterations = 1\n%s", timeline, text))
		}
		with, without := run(true), run(false)
		simtest.ErrorIf(t, fmt.Sprint(with.Results.Rows) != fmt.Sprint(without.Results.Rows),
			"%s: with a timeline\n%v\nwithout\n%v", text, with.Results.Rows, without.Results.Rows)
		path := with.Tables["critical_path"]
		waits += checkPath(t, path, enginetest.Numbers(t, with.Results, "elapsed_s")[0])
		simtest.ErrorIf(t, path.Rows[0][6] == "acknowledgement", "%s: the path begins with what nothing came before: %v", text, path.Rows[0])
		checkTimelineRows(t, with.Tables["timeline"])
	}
	simtest.ErrorIf(t, waits == 0, "no path waits for a cable")
}

// TestTimelineInANode: of a message of 1000 B to a rank of the same node the sender's CPU takes 200 ns and as much for the copy
// at 40 Gb/s, shared memory 200 ns, and the receiver's CPU 250 ns and the copy.
func TestTimelineInANode(t *testing.T) {
	goal := enginetest.GoalFile(t, "num_ranks 2\nrank 0 {\nsend 1000b to 1\n}\nrank 1 {\nrecv 1000b from 0\n}\n")
	o := enginetest.OutcomeOf(t, "", "kind=mpi", "placement.per_node=2", "workload.type=goal", "workload.file="+goal, "measure.timeline=true")
	got := fmt.Sprint(behindSeed(o.Tables["critical_path"].Rows))
	simtest.Equal(t, got, "[[ 0 0 400 send 1 0:0  4e-07] [ 1 400 600 shared_memory 0 0:0  2e-07] [ 1 600 1050 receive 0 0:0  4.5e-07]]", "path")
}

// TestTimelineRefused: of a machine on which times go backwards; and its points begin again when killed.
func TestTimelineRefused(t *testing.T) {
	enginetest.Refused(t, "kind = \"mpi\"\n[job]\nmachine = \"loggops\"\n[loggops]\nloggopsim = true\n[measure]\ntimeline = true\n", "measure.timeline needs loggops.loggopsim = false")
	f := enginetest.Load(t, "kind = \"mpi\"\n[measure]\ntimeline = true\n")
	simtest.Equal(t, f.BeginsAgain(f.Points[0]), telemetry.AgainTimeline, "begins again:")
}

// TestTimelineOfJobs: each job that has a number of repetitions has a path to its own end, over its own
// ranks and from its start on.
func TestTimelineOfJobs(t *testing.T) {
	o := enginetest.OutcomeOf(t, "", "kind=jobs", "job.halo.placement=random", "job.late.program=osu-alltoall",
		"job.late.start=3us", "job.late.ranks=8", "job.late.placement=random", "job.noise.program=traffic",
		"job.noise.repeat=0", "job.noise.ranks=8", "job.noise.placement=random", "topology.p=2",
		"topology.a=4", "topology.h=2", "measure.alone=false", "measure.timeline=true")
	all := o.Tables["critical_path"]
	elapsed, starts := enginetest.Numbers(t, o.Tables["jobs"], "elapsed_s"), enginetest.Numbers(t, o.Tables["jobs"], "start_s")
	for i, job := range []string{"halo", "late"} {
		path := simtest.Must(all.Where(map[string]string{"job": job}))(t)
		checkPath(t, path, elapsed[i]+starts[i])
		first := path.Rows[0]
		simtest.ErrorIf(t, job == "late" && (first[5] != "3000" || first[6] != "pause"), "begins with %v, want a pause of 3000 ns", first)
	}
	simtest.ErrorIf(t, strings.Contains(fmt.Sprint(all.Rows), "noise"), "a background has a path")
	checkTimelineRows(t, o.Tables["timeline"])
}

// checkPath: the rows of a path follow each other from 0 to the end. cables are its waits for them.
func checkPath(t *testing.T, path *results.Table, elapsed float64) (cables int) {
	t.Helper()
	start, end := enginetest.Column(t, path, "start_ns"), enginetest.Column(t, path, "end_ns")
	for i, what := range enginetest.Column(t, path, "what") {
		before := "0"
		simtest.FatalIf(t, i > 0 && start[i] != end[i-1] || i == 0 && start[i] != before, "row %v of a path", path.Rows[i])
		if what == "cable" {
			cables++
			simtest.ErrorIf(t, enginetest.Column(t, path, "cable")[i] == "", "row %v names no cable", path.Rows[i])
		}
	}
	last := enginetest.Numbers(t, path, "end_ns")[len(end)-1]
	simtest.ErrorIf(t, fmt.Sprintf("%.3f", last) != fmt.Sprintf("%.3f", elapsed*1e9), "a path of %v ns, want %v ns", last, elapsed*1e9)
	return cables
}

// checkTimelineRows: the rows of a rank follow each other.
func checkTimelineRows(t *testing.T, timeline *results.Table) {
	t.Helper()
	end := map[string]string{}
	for i, start := range enginetest.Column(t, timeline, "start_ns") {
		rank := enginetest.Column(t, timeline, "job")[i] + " " + enginetest.Column(t, timeline, "rank")[i]
		before, known := end[rank]
		simtest.FatalIf(t, known && before != start || !known && start != "0", "row %v behind %q", timeline.Rows[i], before)
		end[rank] = enginetest.Column(t, timeline, "end_ns")[i]
	}
}
