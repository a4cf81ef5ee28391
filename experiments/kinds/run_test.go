package kinds

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// Networks of several tests, with which files begin.
const (
	torusDOR  = "topology = { type = \"torus\" }\nrouting = { type = \"dor\" }\n"
	dragonfly = "topology = { type = \"dragonfly\", p = 2, a = 4, h = 2 }\n"
	filling   = dragonfly + "[channel.global]\nlatency = \"100ns\"\n[switch]\nbuffer_flits = 256\n"
	fatTree   = "topology = { type = \"fat-tree\", k = 4, n = 3 }\nrouting = { type = \"nca\" }\n"
	mesh9     = "topology = { type = \"mesh\", dims = [3, 3] }\nrouting = { type = \"dor\" }\n"
	oneSwitch = "routing = { type = \"table\" }\n[topology]\ntype = \"single-switch\"\n"
	halfFly   = "[topology]\ntype = \"dragonfly\"\np = 1\na = 4\nh = 2\n[routing]\ntype = \"ugal-l\"\n"
	random16  = "topology = { type = \"random-regular\", switches = 16, degree = 4, terminals = 2 }\nrouting = { type = \"table\" }\n"
)

// load reads the text of a file, with settings laid over it, KEY=VALUE.
func load(t testing.TB, text string, set ...string) *experiments.File {
	t.Helper()
	return simtest.Must(experiments.Load("x.toml", text, experiments.Options{Set: set}))(t)
}

// refused takes the text of a file that is refused, with a message that says what is wanted.
func refused(t *testing.T, text, want string) {
	t.Helper()
	simtest.Refuse(experiments.Load("x.toml", text, experiments.Options{}))(t, want)
}

// refusals is refused for files that begin alike.
func refusals(t *testing.T, head string, files map[string]string) {
	t.Helper()
	for text, want := range files {
		refused(t, head+text, want)
	}
}

// execute runs a file, of whose points none may fail, and returns the outcome.
func execute(t *testing.T, f *experiments.File, e engine.Execution) *engine.Outcome {
	t.Helper()
	o := simtest.Must(engine.Execute(t.Context(), f, e))(t)
	if len(o.Failures) > 0 {
		t.Fatalf("point %d failed: %s", o.Failures[0].Point.Index, o.Failures[0].Reason)
	}
	return o
}

// outcomeOf runs a file by its text.
func outcomeOf(t *testing.T, text string, set ...string) *engine.Outcome {
	t.Helper()
	return execute(t, load(t, text, set...), engine.Execution{})
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	b := simtest.Must(os.ReadFile(filepath.Join(path...)))(t)
	return string(b)
}

// number is what a cell holds; NaN if that is no number.
func number(cell string) float64 {
	x, err := strconv.ParseFloat(cell, 64)
	if err != nil {
		return math.NaN()
	}
	return x
}

// numbers returns a column of a table.
func numbers(t *testing.T, table *results.Table, name string) []float64 {
	t.Helper()
	return simtest.Must(table.Numbers(name))(t)
}

// shortest is a number as cells of results have it.
func shortest(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// moments is a context that counts how often it is asked whether work is to end. Simulations
// ask every so many cycles or events: the number of a question is a moment of simulated time,
// whatever the machine does beside.
type moments struct {
	context.Context
	asked atomic.Int64
	at    func(n int64) // is told of the nth question before it is answered
}

// Err implements [context.Context].
func (m *moments) Err() error {
	m.at(m.asked.Add(1))
	return m.Context.Err()
}

// endingAt is a context that ends at its nth question.
func endingAt(parent context.Context, n int64) *moments {
	ctx, end := context.WithCancel(parent)
	return &moments{Context: ctx, at: func(i int64) {
		if i == n {
			end()
		}
	}}
}

// TestSlurmTaskGoesOn: a task of a job array that ends while it computes a point has left
// its state in the result folder; the next one goes on from there, comes to the same row and
// takes the state away.
func TestSlurmTaskGoesOn(t *testing.T) {
	dir := t.TempDir()
	toml := filepath.Join(dir, "long.toml")
	text := "title = \"long\"\nkind = \"traffic\"\n" + strings.Replace(longPoints, `["uniform", "worst-case"]`, `["uniform"]`, 1)
	simtest.Check(t, os.WriteFile(toml, []byte(text), 0o666))
	file := simtest.Must(experiments.Open(toml, experiments.Options{}))(t)
	// task computes the point in a result folder until ctx ends, and returns its row.
	task := func(ctx context.Context, folder string) (cells any, err error) {
		slurm := filepath.Join(dir, folder, "slurm")
		job := map[string]any{"file": toml, "threads": 2, "snapshot_every": time.Microsecond, "tasks": [][]string{{file.Points[0].Hash}}}
		content, err := json.Marshal(job)
		if err != nil {
			t.Fatal(err)
		}
		simtest.Check(t, os.MkdirAll(slurm, 0o777))
		simtest.Check(t, os.WriteFile(filepath.Join(slurm, "job.json"), content, 0o666))
		if err := engine.SlurmTask(ctx, filepath.Join(slurm, "job.json"), 0); err != nil {
			return nil, err
		}
		journal, err := os.ReadFile(filepath.Join(slurm, "task-0.journal"))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(journal)), "\n")
		var last map[string]any
		simtest.Check(t, json.Unmarshal([]byte(lines[len(lines)-1][len("01234567 "):]), &last))
		return last["cells"], nil
	}
	want, err := task(t.Context(), "whole")
	if err != nil || want == nil {
		t.Fatal(want, err)
	}
	kept := filepath.Join(dir, "killed", "snapshots", file.Points[0].Hash+".*.weft")
	if _, err := task(endingAt(t.Context(), 20), "killed"); err == nil {
		t.Fatal("the task was through before it was told to end")
	}
	if states, _ := filepath.Glob(kept); len(states) == 0 {
		t.Fatal("nothing is kept")
	}
	got := simtest.Must(task(t.Context(), "killed"))(t)
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)
	if string(a) != string(b) {
		t.Errorf("went on to\n%s\nwant\n%s", a, b)
	}
	if states, _ := filepath.Glob(kept); len(states) != 0 {
		t.Errorf("%q are left", states)
	}
}

// notesOf are the notes of a report, a line each.
func notesOf(report *experiments.Report) string {
	var b strings.Builder
	for _, n := range report.Notes {
		fmt.Fprintf(&b, "%s %s: %s\n", n.Topic, n.Where, n.Text)
	}
	return b.String()
}

// warnings counts those of a file that are about a key.
func warnings(f *experiments.File, key string) (n int) {
	for _, w := range f.Warnings {
		if w.Key == key {
			n++
		}
	}
	return n
}

// TestCache: results and preflight are the same without a cache, when it is filled, when it
// is read, and when all that is in it is damaged. Two networks under one pattern are two
// certificates, two tables of loads and, of the ring, where those of terminals are not full first,
// one of weighted loads.
func TestCache(t *testing.T) {
	const text = smallTorus + `
[sweep]
"topology.dims" = [[8], [4, 4]]
"traffic.load" = [0.1, 0.2]
`
	var warnings []string
	cache := &experiments.Cache{Dir: t.TempDir(), Limit: 1 << 20, Warn: func(m string) { warnings = append(warnings, m) }}
	run := func(c *experiments.Cache) string {
		f := simtest.Must(experiments.Load("x.toml", text, experiments.Options{Cache: c}))(t)
		report := simtest.Must(f.Preflight(true))(t)
		return notesOf(report) + fmt.Sprint(execute(t, f, engine.Execution{}).Results.Rows)
	}
	want := run(nil)
	for _, when := range []string{"filled", "read", "damaged"} {
		paths := simtest.Must(filepath.Glob(filepath.Join(cache.Dir, "*")))(t)
		if when != "filled" && len(paths) != 5 {
			t.Fatalf("%s: %d entries, want 5", when, len(paths))
		}
		for _, path := range paths {
			if when == "damaged" {
				simtest.Check(t, os.Truncate(path, 50))
			}
		}
		if got := run(cache); got != want {
			t.Errorf("%s:\n%s\nwithout a cache:\n%s", when, got, want)
		}
	}
	if len(warnings) != 5 {
		t.Errorf("warnings %q, want one for each damaged entry", warnings)
	}
}

// Points share routings that depend on the network only, so that files of tables are read
// once; others, and those with settings of their own, are each point's own.
func TestPointsShareTables(t *testing.T) {
	for _, c := range []struct {
		sweep string
		same  bool
	}{
		{"\"traffic.load\" = [0.1, 0.2]\n\"routing.type\" = [\"opensm-lash\"]", true},
		{"\"routing.data_lanes\" = [4, 8]\n\"routing.type\" = [\"opensm-lash\"]", false},
		{"\"switch.vcs\" = [6, 8]\n\"routing.type\" = [\"opensm-lash\"]", true},
		{"\"topology.dims\" = [[3, 3], [3, 4]]\n\"routing.type\" = [\"opensm-lash\"]", false},
		{"\"traffic.load\" = [0.1, 0.2]\n\"routing.type\" = [\"dor\"]", false},
	} {
		f := load(t, "kind = \"traffic\"\n[topology]\ntype = \"torus\"\ndims = [3, 3]\n[sweep]\n"+c.sweep+"\n")
		var built [2]any
		for i := range built {
			parts := simtest.Must(f.Points[i].Config().(*trafficConfig).build(f.Points[i].Seed))(t)
			built[i] = parts.Routing
		}
		if same := built[0] == built[1]; same != c.same {
			t.Errorf("%s: one routing is %v, want %v", c.sweep, same, c.same)
		}
	}
}

// A fabric of two switches with cables of the given speeds between switches and to
// hosts.
func speedFabric(t *testing.T, trunk, edge string) string {
	t.Helper()
	text := strings.NewReplacer("TRUNK", trunk, "EDGE", edge).Replace(`Switch 4 "S-a" # "a" base port 0 lid 1 lmc 0
[1] "H-c"[1](c1) # "c" lid 3 EDGE
[2] "S-b"[2] # "b" lid 2 TRUNK
Switch 4 "S-b" # "b" base port 0 lid 2 lmc 0
[1] "H-d"[1](d1) # "d" lid 4 EDGE
[2] "S-a"[2] # "a" lid 1 TRUNK
Ca 1 "H-c" # "c"
[1](c1) "S-a"[1] # lid 3 lmc 0 "a" lid 1 EDGE
Ca 1 "H-d" # "d"
[1](d1) "S-b"[1] # lid 4 lmc 0 "b" lid 2 EDGE
`)
	path := filepath.Join(t.TempDir(), "fabric.txt")
	simtest.Check(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// The clock of an imported fabric is the time of a flit of 64 bytes on its fastest
// cable: 512 bits.
func TestClockFollowsTheFabric(t *testing.T) {
	for _, c := range []struct {
		name, trunk, edge, more string
		want                    sim.Time
	}{
		{"EDR", "4xEDR", "4xEDR", "", 5120},
		{"mixed", "4xFDR", "4xHDR", "", 2560},
		{"the trunk is faster", "4xNDR", "1xEDR", "", 1280},
		{"XDR, faster than the default", "4xXDR", "4xXDR", "", 640},
		{"FDR does not divide", "4xFDR", "4xFDR", "", 9386}, // 512/54.545454545 = 9386.67
		{"no rates", "4x???", "4x???", "", 1000},
		{"stated", "4xEDR", "4xEDR", "[fabric]\nclock = \"2ns\"\n", 2000},
		{"larger flits", "4xEDR", "4xEDR", "[fabric]\nflit_bytes = \"128B\"\n", 10240},
		{"a channel of another rate", "4xEDR", "4xSDR", "[channel.4xSDR]\nrate = \"200Gb/s\"\n", 2560},
		{"a channel of another link", "4xEDR", "4xSDR", "[channel.4xSDR]\nlink = \"4xNDR\"\n", 1280},
		// The longest divisor of 100 ns that is not above 5,120 ps.
		{"latencies", "4xEDR", "4xSDR", "[channel.4xSDR]\nlatency = \"100ns\"\n", 5000},
		{"link", "4xEDR", "4xEDR", "[fabric]\nlink = \"4xHDR\"\n", 2560},
	} {
		f := load(t, "[topology]\ntype = \"ibnetdiscover\"\npath = \""+speedFabric(t, c.trunk, c.edge)+"\"\n[routing]\ntype = \"table\"\n"+c.more)
		if got := f.Points[0].Config().(*trafficConfig).Fabric.Clock; got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// Generated networks have the clock that they are given; a link gives it, too.
func TestClockOfLinks(t *testing.T) {
	const torus = "[topology]\ntype = \"torus\"\ndims = [4, 4]\n[routing]\ntype = \"dor\"\n"
	for _, c := range []struct {
		text string
		want sim.Time
	}{
		{"", 1000},
		{"[fabric]\nlink = \"4xQDR\"\n", 16000},
		{"[fabric]\nlink = \"4xNDR\"\nflit_bytes = \"32B\"\n", 640},
		{"[fabric]\nlink = \"4xNDR\"\nclock = \"1280ps\"\n", 1280}, // as the resolved file says it
	} {
		if got := load(t, torus+c.text).Points[0].Config().(*trafficConfig).Fabric.Clock; got != c.want {
			t.Errorf("%q: %v, want %v", c.text, got, c.want)
		}
	}
	refusals(t, torus, map[string]string{
		"[fabric]\nlink = \"4xNDR\"\nclock = \"1ns\"\n":        "fabric.clock = 1ns: want 1.28ns, the time of a flit on fabric.link = \"4xNDR\", or either of them left out",
		"[fabric]\nlink = \"3xNDR\"\n":                         "fabric.link = 3xNDR: want a width of 1x,",
		"[channel.grid]\nlink = \"4xndr\"\n":                   "channel.grid.link = 4xndr: want a width of 1x,",
		"[channel.grid]\nlink = \"4xHDR\"\nrate = \"1Gb/s\"\n": "channel.grid.link = 4xHDR: want it alone",
		"[channel.grid]\nlink = \"4xXDR\"\n":                   "want at least 1 cycle a flit: fabric.clock = \"640ps\" works with flits of 64B, and so do larger flits",
	})
	f := load(t, torus+"[fabric]\nclock = \"1ns\"\n[channel.grid]\nlink = \"4xEDR\"\n")
	parts := simtest.Must(f.Points[0].Config().(*trafficConfig).build(1))(t)
	timings, err := parts.fabric.ChannelTimings(parts.topology.Graph())
	if err != nil || timings[1].CyclesPerFlit < 5.11999 || timings[1].CyclesPerFlit > 5.12001 {
		t.Errorf("%+v, %v", timings, err)
	}
}

// TestCyclesAsTimes: settings in cycles take times, in any table, swept or given with --set.
// With a clock of 3 ns, 1.5 us are 500 cycles and 100 ns are 34, since 33 are 99 ns.
func TestCyclesAsTimes(t *testing.T) {
	const text = `kind = "traffic"
topology = { type = "torus", dims = [4, 4] }
routing = { type = "table" }
fabric = { clock = "3ns" }
fault.a = { fraction = 0.1, at = AT }
recovery = { reroute = REROUTE }
measure = { warmup = 100, window = 300 }
[sweep]
"measure.warmup" = WARMUP
`
	row := func(replace []string, set ...string) []string {
		rows := outcomeOf(t, strings.NewReplacer(replace...).Replace(text), set...).Results.Rows
		return rows[len(rows)-1][2:] // behind the point and what is swept
	}
	times := row([]string{"AT", `"600ns"`, "REROUTE", `"100ns"`, "WARMUP", `["1us", "1.5us"]`}, "switch.credit_cycles=4ns", "terminal.injection_cycles=6ns")
	cycles := row([]string{"AT", "200", "REROUTE", "34", "WARMUP", "[334, 500]"}, "switch.credit_cycles=2", "terminal.injection_cycles=2")
	if !slices.Equal(times, cycles) {
		t.Errorf("as times\n%v\nas cycles\n%v", times, cycles)
	}
	_, err := experiments.Load("x.toml", strings.NewReplacer("AT", `"-1us"`, "REROUTE", `"2"`, "WARMUP", "[334]").Replace(text), experiments.Options{})
	for _, want := range []string{"x.toml:5:29: fault.a.at = -333: want at least 0", `x.toml:6:14: recovery.reroute = "2": want an integer, in cycles, or a time with its unit in quotes, for example "2us"`} {
		simtest.Fail(t, err, want)
	}
}

// accepted_load counts what arrives within the window, packets_measured what is born in
// it. On a fat tree of 16 terminals the sources draw the same packets whatever the channels are. Where a
// channel to a terminal takes 1,000 cycles, a packet takes L = 2,000 and some more; of
// the window of cycles 1,000 to 4,000 the first L - 1,000 see none arrive, so that
// (4,000 - L)/3,000 of the load is accepted.
func TestAcceptedLoadOfAWindowThatFills(t *testing.T) {
	o := outcomeOf(t, fatTree, "fabric.clock=1ns", "switch.buffer_flits=4000", "traffic.load=0.8",
		"measure.warmup=1000", "measure.window=3000", `sweep.channel.terminal.latency=["1ns", "1us"]`).Results
	accepted, measured, latency := numbers(t, o, "accepted_load"), numbers(t, o, "packets_measured"), numbers(t, o, "latency_mean_ns")
	if measured[0] != measured[1] || math.Abs(measured[0]/(0.8*16*3000)-1) > 0.01 {
		t.Errorf("%v packets measured, want %v of both", measured, 0.8*16*3000)
	}
	for i, want := range []float64{0.8, 0.8 * (4000 - latency[1]) / 3000} {
		if math.Abs(accepted[i]-want) > 0.008 {
			t.Errorf("accepted load %v, want %v", accepted[i], want)
		}
	}
}

// A saturated run ends before the last packets of its window have arrived: those that
// are measured are fewer than were born, and fewer than arrived within the window, among
// which are packets from before it.
func TestPacketsMeasuredWhenSaturated(t *testing.T) {
	o := outcomeOf(t, "", "kind=traffic", "topology.type=mesh", "routing.type=dor", "traffic.load=0.8",
		"measure.warmup=1000", "measure.window=3000").Results
	accepted, measured := numbers(t, o, "accepted_load")[0]*64*3000, numbers(t, o, "packets_measured")[0]
	if born := 0.8 * 64 * 3000; accepted > 0.9*born || measured > accepted {
		t.Errorf("of %v packets of the window %v are measured, while %v arrived in it", born, measured, accepted)
	}
}

// In lockstep the first iteration of a ring of 64 KiB blocks is not like the others, which
// begin as a barrier lets the ranks go. Where ranks begin out of step, or the barrier lets
// all go at once, as with 8 nodes of 8 ranks, all iterations take the same time.
func TestRingOutOfStep(t *testing.T) {
	ring := func(ranks, perNode, skew string) float64 {
		o := outcomeOf(t, `
kind = "mpi"
[job]
ranks = `+ranks+`
[placement]
per_node = `+perNode+`
[workload]
type = "osu-alltoall"
bytes = "64KiB"
algorithm = "alltoall-ring"
iterations = 3
[hca]
quantum = "4KiB"
[noise]
start_skew = "`+skew+`"
`).Results
		return numbers(t, o, "steady_iteration_s")[0] / numbers(t, o, "first_iteration_s")[0]
	}
	if r := ring("96", "12", "0us"); r < 1.1 || r > 1.2 {
		t.Errorf("in lockstep later iterations take %v times as long as the first, want 1.14", r)
	}
	for _, c := range [][3]string{{"96", "12", "1us"}, {"64", "8", "0us"}} {
		if r := ring(c[0], c[1], c[2]); math.Abs(r-1) > 0.03 {
			t.Errorf("%v: later iterations take %v times as long as the first", c, r)
		}
	}
}
