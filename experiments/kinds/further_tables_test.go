package kinds

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestBlameTables: the parts of blame.csv add up to the mean latency of the
// row, for all packets, over switches and terminals, and over channels; and a
// hot terminal is named as the root of the congestion.
func TestBlameTables(t *testing.T) {
	f := load(t, mesh9, "traffic.pattern=hot-spot", "traffic.fraction=0.9", "traffic.load=0.25",
		"measure.warmup=500", "measure.window=1000", "measure.replications=2", "measure.blame=true")
	o := sameOnThreads(t, "blame", f, []int{1, 2}, false, "blame", "congestion")
	blame := o.Tables["blame"]
	scope := column(t, blame, "scope")
	sums := map[string]float64{}
	for i, x := range numbers(t, blame, "total_ns") {
		parts := 0.0
		for _, name := range core.PartNames {
			parts += numbers(t, blame, name+"_ns")[i]
		}
		if math.Abs(parts-x) > 1e-6 {
			t.Errorf("row %v: parts add up to %v", blame.Rows[i], parts)
		}
		sums[scope[i]] += x
	}
	// Replications weigh as many packets as they have here, alike in the row.
	mean := numbers(t, o.Results, "latency_mean_ns")[0]
	if math.Abs(sums["all"]/mean-1) > 0.05 || math.Abs(sums["channel"]-sums["all"]) > 1e-6*mean {
		t.Errorf("mean latency %v, sums %v", mean, sums)
	}
	tree := o.Tables["congestion"]
	if len(tree.Rows) < 3 {
		t.Fatalf("congestion: %v", tree.Rows)
	}
	if depth := numbers(t, tree, "depth"); depth[0] != 0 || depth[1] != 1 || !strings.HasPrefix(column(t, tree, "to")[0], "terminal") {
		t.Errorf("congestion: %v", tree.Rows)
	}
}

// queued samples the ports of some switches and of a class.
const queued = fatTree + `
program = { type = "heeding" }
switch = { flow_control = "cut-through", hold = true, marking = "threshold", mark_flits = 4 }
traffic = { packet_flits = [2, 5] }
[measure]
warmup = 500
window = 3000
queues = "100ns"
queue_ports = ["switch 1*", "level2"]
queue_samples = ["waiting", "outstanding", "sent", "marked"]
[sweep]
"fabric.unit" = ["flit", "packet"]
`

func init() {
	longRuns["queues"] = longRun{"traffic", strings.Replace(queued, "100ns", "1us", 1), "measure.window=200000", []string{"queues.csv"}}
}

// TestQueues: queues.csv has 30 samples of the ports that are named, the same on any number of
// threads and with either unit. Of the 20 switches of 4 ports 11 have names that begin with
// "switch 1"; of the upper channels, those of the upper ports of switches 8 and 9 come to that:
// 11*4 + 2*2 ports.
func TestQueues(t *testing.T) {
	divideAlways(t)
	table := sameOnThreads(t, "queues", load(t, queued), simtest.Threads(t, 0), true, "queues").Tables["queues"]
	points := map[string]string{}
	ports := map[string]bool{}
	for _, row := range table.Rows {
		points[row[0]] += strings.Join(row[3:], ",") + "\n" // behind the point, its keys and its seed
		ports[row[4]] = true
	}
	if len(points) != 2 || points["0"] != points["1"] {
		t.Errorf("%d points; those of packets have other series than those of flits", len(points))
	}
	if n := strings.Count(points["0"], "\n"); n != 30*len(ports) || len(ports) != 48 || !ports["switch 1 port 3"] || ports["switch 2 port 0"] {
		t.Errorf("%d rows of %d ports", n, len(ports))
	}
	for _, name := range []string{"waiting_flits", "outstanding_flits", "sent_flits", "marked_packets"} {
		if slices.Max(numbers(t, table, name)) == 0 {
			t.Errorf("all is 0 in column %s", name)
		}
	}
}

// TestQueuesRefusals: what names no port, and what cannot be sampled, is a problem of the file.
func TestQueuesRefusals(t *testing.T) {
	for _, c := range []struct{ change, to, want string }{
		{`"switch 1*"`, `"swich 1"`, `measure.queue_ports[0] = "swich 1" names no port: want all, a class of channels such as level2`},
		{`, marking = "threshold", mark_flits = 4`, "", `measure.queue_samples[3] = "marked": want others, or a switch.marking`},
		{`"sent", "marked"]`, `"lost"]`, "measure.queue_samples"},
		{`"nca"`, `"adaptive-escape"`, `measure.queue_samples[0] = "waiting": want others with this routing, whose packets wait for several ports`},
	} {
		refused(t, strings.Replace(queued, c.change, c.to, 1), c.want)
	}
}

// FuzzMatches holds patterns to regular expressions.
func FuzzMatches(f *testing.F) {
	for _, seed := range [][2]string{{"switch 1", "switch 1"}, {"switch *", "switch 12"}, {"*port 1", "switch 1 port 1"}, {"a*a", "a"}, {"*b*", "abc"}, {"**", ""}, {"", "x"}, {"ab*b*b", "abb"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		expression, err := regexp.Compile("(?s)^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$")
		if err != nil {
			t.Skip(err) // it is no text
		}
		if got, want := matches(pattern, name), expression.MatchString(name); got != want {
			t.Errorf("pattern %q and %q: %v, want %v", pattern, name, got, want)
		}
	})
}

const tree128 = "kind = \"flows\"\n[topology]\ntype = \"xgft\"\nm = [4, 4, 8]\nw = [1, 4, 4]\n"

// TestFlowsVictim: a flow beside an incast of 125 takes 176.2 us alone (489 full packets and a
// short one through the pod: the closed form is shared.TestAlone's). Under the sender's window
// and the receiver's credit it ends within twice that, and with pauses and no congestion
// control after more than twenty times that, as another simulator has it (282 to 301 us, less,
// and 6,300 to 10,400). The incast ends at the same time under all: 125 * 2 MB at 100 Gb/s with
// headers, 20.3 ms, within 3 %.
func TestFlowsVictim(t *testing.T) {
	f := load(t, tree128+`[flows]
pattern = "victim"
senders = 125
receiver = 33
[measure]
flows = true
[sweep.lockstep]
"transport.control" = ["nscc", "rccc", "none"]
"switch.full" = ["trim", "trim", "pause"]
"transport.spray" = ["mixed", "mixed", "single"]
"switch.control" = ["first", "first", "with-data"]
`)
	o := execute(t, f, engine.Execution{Jobs: 2})
	victims, tails := numbers(t, o.Results, "victim_us"), numbers(t, o.Results, "tail_us")
	if victims[0] < 176 || victims[0] > 352 || victims[1] < 176 || victims[1] > victims[0] || victims[2] < 20*176 {
		t.Errorf("the victim takes %v us", victims)
	}
	for _, tail := range tails {
		if ideal := 125. * (490*64 + 2_000_000) * 80e-6; tail < ideal || tail > 1.03*ideal {
			t.Errorf("the incasts end at %v us, their bytes take %v", tails, ideal)
		}
	}
}

// TestFlowsConserve runs random settings to their ends: every flow completes, whatever is
// dropped, trimmed or paused on the way, and no packet is left in the network.
func TestFlowsConserve(t *testing.T) {
	n := 40
	if simtest.Soak() {
		n = 1000
	}
	s := sim.NewStream(7, "settings of flows", 0)
	one := func(of ...string) string { return of[s.IntN(len(of))] }
	for i := range n {
		full, spray, paths := one("trim", "drop", "pause"), one("single", "oblivious", "bitmap", "reps", "mixed"), one("hash", "adaptive", "round-robin")
		repeat := "selective"
		if full != "trim" && spray == "single" && paths == "hash" {
			repeat = "go-back-n"
		}
		text := fmt.Sprintf(`kind = "flows"
topology = { type = %q }
measure = { end = "20s" }
transport = { control = %q, spray = %q, repeat = %q, entropies = %d, ack_bytes = "%dB", window_packets = %d }
[switch]
full = %q
queue = "%dB"
mark_from = "5000B"
mark_to = "60000B"
paths = %q
control = %q
pause_above = "20000B"
pause_below = "12000B"
[flows]
pattern = %q
bytes = "%dB"
senders = %d
duration = "20us"
sizes = %q
`, one("xgft", "fat-tree", "single-switch"), one("none", "constant", "nscc", "rccc", "both", "dcqcn"), spray, repeat, 1<<s.IntN(8), 1+s.IntN(20000), 1+s.IntN(50),
			full, 5000+s.IntN(200_000), paths, one("first", "with-data"),
			one("permutation", "incast", "poisson"), 1+s.IntN(100_000), 1+s.IntN(3), one("fixed", "hadoop"))
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Log(text)
			o := outcomeOf(t, text)
			if all, complete := numbers(t, o.Results, "flows"), numbers(t, o.Results, "flows_completed"); !slices.Equal(all, complete) {
				t.Errorf("%v flows, %v complete", all, complete)
			}
		})
	}
}

// TestPausesCertified: pauses can wait for each other on a ring, and do; not on a tree.
func TestPausesCertified(t *testing.T) {
	var matrix strings.Builder
	matrix.WriteString("Nodes 20\n")
	for i := range 20 {
		fmt.Fprintf(&matrix, "%d->%d start 0 size 2000000\n", i, (i+8)%20) // two switches on: all go round the same way
	}
	path := filepath.Join(t.TempDir(), "round.cm")
	simtest.Check(t, os.WriteFile(path, []byte(matrix.String()), 0o600))
	ring := "kind = \"flows\"\n[topology]\ntype = \"torus\"\ndims = [5]\nterminals = 4\n[transport]\ncontrol = \"none\"\n[switch]\nfull = \"pause\"\npause_above = \"10000B\"\npause_below = \"8000B\"\n"
	round := fmt.Sprintf("[flows]\nfile = %q\n", path)
	f := load(t, ring+round)
	simtest.Refuse(f.Preflight(false))(t, `switch.full = "pause" can deadlock: a cycle of 5 channels`)
	f = load(t, ring+"allow_deadlock = true\n"+round)
	o, err := engine.Execute(t.Context(), f, engine.Execution{Jobs: 1})
	if err != nil || len(o.Failures) != 1 || !strings.Contains(fmt.Sprint(o.Failures), "wait for each other for ever") {
		t.Errorf("%v, %v", err, o)
	}
	f = load(t, strings.Replace(tree128, "kind", "title = \"x\"\nkind", 1)+"[switch]\nfull = \"pause\"\n")
	if _, err := f.Preflight(false); err != nil {
		t.Error(err)
	}
}

// TestFlowsIdleSettings: settings of congestion control that change nothing are told.
func TestFlowsIdleSettings(t *testing.T) {
	for text, want := range map[string]string{
		"[transport]\ncontrol = \"none\"\nspray = \"single\"\n[switch]\nmark_to = \"1000B\"\n": "switch.mark_to changes nothing: no sender heeds marks",
		"[transport]\nspray = \"single\"\nentropies = 8\n":                                     "transport.entropies changes nothing",
		"[transport]\nwindow_packets = 8\n":                                                    "transport.window_packets changes nothing",
		"[transport.nscc]\nstart_window = 8\n[transport]\ncontrol = \"rccc\"\n":                "transport.nscc.start_window changes nothing",
		"[flows]\npattern = \"permutation\"\nsenders = 8\n":                                    "flows.senders changes nothing",
		"[flows]\npattern = \"incast\"\nload = 0.7\n":                                          "flows.load changes nothing",
		"[switch]\npause_above = \"90000B\"\n":                                                 "switch.pause_above changes nothing",
	} {
		f := load(t, "kind = \"flows\"\n"+text)
		if got := f.Warnings; len(got) != 1 || !strings.HasPrefix(got[0].Key+" "+got[0].Message, want) {
			t.Errorf("%s: %v, want %s", text, got, want)
		}
	}
	refusals(t, "kind = \"flows\"\n", map[string]string{
		"[transport]\ncontrol = \"dcqcn\"\n":             `switch.mark_to = 0B: want above 0B with transport.control = "dcqcn"`,
		"[transport]\nrepeat = \"go-back-n\"\n":          `transport.repeat = go-back-n: want "selective", or transport.spray = "single"`,
		"[flows]\npattern = \"incast\"\nsenders = 999\n": "999 senders: want at most",
		"[channel.none]\nrate = \"1Gb/s\"\n":             "channel.none",
	})
}

// TestSeriesFile: the intervals of a channel carry what links.csv says that it
// carried in the window, and read back as flits per cycle.
func TestSeriesFile(t *testing.T) {
	dir := t.TempDir()
	f := load(t, `
topology = { type = "mesh", dims = [3, 3] }
routing = { type = "dor" }
traffic = { load = 0.4 }
measure = { warmup = 100, window = 1000, links = true, series = 8 }
[sweep]
"traffic.load" = [0.2, 0.4]
`)
	o := execute(t, f, engine.Execution{Dir: dir})
	folder := simtest.Must(engine.ReadFolder(dir))(t)
	s := simtest.Must(folder.Series(1))(t)
	// 125 cycles each; 24 channels between switches, 18 at terminals.
	if len(s.Ends) != 8 || s.Ends[0] != 125 || s.Ends[7] != 1000 || len(s.Channels) != 24+18 {
		t.Fatalf("%d channels, intervals end at %v", len(s.Channels), s.Ends)
	}
	want := map[string]float64{}
	for _, r := range o.Tables["links"].Rows {
		if r[0] == "1" {
			want[r[len(r)-6]+" to "+r[len(r)-5]] += results.Number(r[len(r)-1])
		}
	}
	for _, c := range s.Channels {
		mean := 0.0
		for _, x := range c.Flits {
			mean += x / 8
		}
		if name := c.From + " to " + c.To; math.Abs(mean-want[name]) > 1e-9 || mean == 0 {
			t.Errorf("%s carries %v, want %v", name, mean, want[name])
		}
	}
	if none, err := folder.Series(2); none != nil || err != nil {
		t.Errorf("a series of no point: %v, %v", none, err)
	}
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
	f := load(t, text)
	o := simtest.Must(engine.Execute(t.Context(), f, engine.Execution{Dir: dir}))(t)
	if got := strings.Join(o.Figures, " "); got != "cost.svg cost.png cost.data.csv time.svg time.png time.data.csv" {
		t.Errorf("figures %s", got)
	}
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
		if err != nil || len(fig.Series) == 0 {
			t.Errorf("%s: %v", p.File, err)
		}
		if p.File == "cost" && !slices.Equal(fig.Series[0].X, []float64{0.1, 0.3}) {
			t.Errorf("cost over %v", fig.Series[0].X)
		}
	}
}
