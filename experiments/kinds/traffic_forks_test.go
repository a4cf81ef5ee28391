package kinds

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/sim/simtest"
)

const forkBase = dragonfly + `
[routing]
type = "ugal-l"
[measure]
warmup = 600
window = 800
histogram = true
links = true
fairness = true
`

// forkFiles fork over loads, patterns and sizes, over programs, with replications, with
// windows that are found, and over settings that have warm-ups of their own; those without
// a fork can go on from files all the same.
var forkFiles = map[string]string{
	"loads": forkBase + `series = 3
[sweep]
"traffic.load" = [0.1, 0.3, 0.9]
"traffic.pattern" = ["uniform", "worst-case"]
fork = { warmup = { "traffic.load" = 0.3, "traffic.pattern" = "uniform" }, settle = "250ns" }
`,
	"programs": forkBase + `levels = true
replications = 2
[sweep]
"program.type" = ["open-loop", "request-reply", "closed-loop"]
fork = { warmup = { "program.type" = "request-reply", "traffic.load" = 0.2 }, settle = "300ns" }
`,
	"found": strings.NewReplacer("warmup = 600", "warmup = 0", "window = 800", "window = 0\nbudget = 9000").Replace(forkBase) + `
[sweep]
"routing.type" = ["min", "val"]
[sweep.lockstep]
"traffic.load" = [0.1, 0.4]
"traffic.packet_flits" = [1, 3]
[sweep.fork]
settle = "0.4us"
warmup."traffic.load" = 0.25
warmup."traffic.packet_flits" = 2
`,
	"faults": random16 + `
switch = { vcs = 6 }
fault.cables = { fraction = 0.05 }
fault.switch = { switches = ["switch 5"], at = 500, until = 900 }
recovery = { unreachable = "count", reroute = 100, retries = 3, timeout = "300ns" }
measure = { warmup = 600, window = 700 }
[sweep]
"fault.cables.seed" = [1, 2]
"traffic.load" = [0.1, 0.3]
fork = { warmup = { "traffic.load" = 0.2 }, settle = "150ns" }
`,
	"own faults": ownFaults + `
[sweep]
"fault.cables.fraction" = [0, 0.2]
"fault.switch.at" = [0, 200]
"recovery.reroute" = [100, 1000000]
fork = { warmup = { "traffic.load" = 0.2 }, settle = "150ns" }
`,
	"own faults, found": strings.NewReplacer("warmup = 600", "warmup = 0", "window = 700", "window = 0\nbudget = 9000").Replace(ownFaults) + `
[sweep]
"fault.cables.seed" = [1, 2]
"traffic.load" = [0.1, 0.3]
fork = { warmup = { "traffic.pattern" = "uniform", "traffic.load" = 0.2 }, settle = "250ns" }
`,
	"observed": forkBase + observeRun + `
[sweep]
"traffic.load" = [0.1, 0.5]
"trace.choose" = ["first", "slowest"]
fork = { warmup = { "traffic.load" = 0.3 }, settle = "250ns" }
`,
	"observed, packets": strings.Replace(forkBase, "[measure]", `[fabric]
unit = "packet"
[switch]
flow_control = "cut-through"
buffer_flits = 16
hold = true
[traffic]
packet_flits = [2, 5]
[measure]
levels = true
replications = 2`, 1) + observeRun + `
[sweep]
"traffic.load" = [0.1, 0.4]
fork = { warmup = { "traffic.load" = 0.2, "traffic.packet_flits" = 3 }, settle = "250ns" }
`,
	"own faults, traced": ownFaults + `
[trace]
packets = 50
[sweep]
"fault.cables.fraction" = [0, 0.2]
"fault.switch.at" = [0, 200]
fork = { warmup = { "traffic.load" = 0.2 }, settle = "150ns" }
`,
	"search": forkBase + `find = "saturation"
load_precision = 0.2
budget = 2000
[sweep]
"traffic.pattern" = ["uniform", "worst-case"]
fork = { warmup = { "traffic.load" = 0.2, "traffic.pattern" = "uniform" }, settle = "250ns" }
`,
	"search, without": forkBase + `find = "saturation"
load_precision = 0.2
budget = 2000
replications = 2
[sweep]
"traffic.pattern" = ["uniform", "worst-case"]
`,
	"observed, without": forkBase + observeRun + `
[sweep]
"traffic.load" = [0.1, 0.5]
"trace.choose" = ["first", "slowest"]
`,
	"refined": forkBase + `
[sweep]
"traffic.load" = [0.2, 1.0]
refine = { "traffic.load" = 0.2 }
fork = { warmup = { "traffic.load" = 0.3 }, settle = "500ns" }
`,
}

// observeRun asks for blame and traces.
const observeRun = `blame = true
[trace]
packets = 40
every = 2
`

// ownFaults has a cable that is down from the start, and faults that begin after the warm-up.
const ownFaults = random16 + `
[switch]
vcs = 9
[fault.always]
links = ["switch 3 port 5"]
[fault.cables]
since = "warmup"
fraction = 0.1
[fault.switch]
since = "warmup"
switches = ["switch 5"]
at = 100
until = 500
[recovery]
unreachable = "count"
reroute = 100
retries = 3
timeout = "300ns"
[measure]
warmup = 600
window = 700
`

// TestForks: points that fork from a common warm-up have the bytes of points that warm up
// one by one, for any number of jobs and threads; and so have those that go on from a file.
func TestForks(t *testing.T) {
	for name, text := range forkFiles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && (name == "refined" || strings.Contains(name, "found")) {
				t.Skip("short: the longest runs, on threads like the others")
			}
			run := func(text string, e engine.Execution) *engine.Outcome { return execute(t, load(t, text), e) }
			file := filepath.Join(t.TempDir(), "warm")
			want := run(text, engine.Execution{Jobs: 1, NoFork: true})
			compareOutcomes(t, "kept", run(text, engine.Execution{Jobs: 1, SaveWarm: file}), want)
			compareOutcomes(t, "from a file", run(text, engine.Execution{Jobs: 2, Threads: 2, FromWarm: file}), want)
			resolved := load(t, text).Resolved()
			compareOutcomes(t, "resolved, side by side", run(resolved, engine.Execution{Jobs: 3, Threads: 2}), want)
		})
	}
}

// TestFaultsAfterWarmup: faults that count from the end of a warm-up of 600 cycles are those
// that begin 600 cycles later from the start.
func TestFaultsAfterWarmup(t *testing.T) {
	fromStart := strings.NewReplacer("since = \"warmup\"\nfraction = 0.1", "at = 600\nfraction = 0.1",
		"since = \"warmup\"\nswitches", "switches", "at = 100", "at = 700", "until = 500", "until = 1100").Replace(ownFaults)
	for _, more := range []string{"", "[sweep]\nseed = [1, 2]\n\"traffic.load\" = [0.1, 0.4]\n"} {
		got := execute(t, load(t, ownFaults+more), engine.Execution{Threads: 2}).Results
		want := outcomeOf(t, fromStart+more).Results
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%v\nwant\n%v", got.Rows, want.Rows)
		}
		for _, column := range []string{"packets_dropped", "packets_retransmitted"} {
			for i, n := range numbers(t, got, column) {
				if n == 0 {
					t.Errorf("point %d: no %s", i, column)
				}
			}
		}
	}
}

func compareOutcomes(t *testing.T, what string, got, want *engine.Outcome) {
	t.Helper()
	if !reflect.DeepEqual(got.Results, want.Results) {
		t.Errorf("%s: results\n%v\nwant\n%v", what, got.Results.Rows, want.Results.Rows)
	}
	for name := range want.Tables {
		if name != "performance" && !reflect.DeepEqual(got.Tables[name], want.Tables[name]) {
			t.Errorf("%s: table %s differs", what, name)
		}
	}
	if !reflect.DeepEqual(got.Files, want.Files) {
		t.Errorf("%s: files differ", what)
	}
}

// TestForksAgree: a sweep that forks is another experiment than one whose points warm up at
// their own load, and has the same latencies within the intervals of both.
func TestForksAgree(t *testing.T) {
	const sweep = `
[sweep]
"traffic.load" = [0.1, 0.2, 0.3, 0.4, 0.5]
seed = [1, 2, 3, 4]
`
	base := strings.Replace(forkBase, "window = 800", "window = 3000", 1)
	forked := outcomeOf(t, base+sweep+`fork = { warmup = { "traffic.load" = 0.3 }, settle = "1us" }`).Results
	alone := outcomeOf(t, base+sweep).Results
	outside := 0
	for i := range alone.Rows {
		a, b := numbers(t, alone, "latency_mean_ns")[i], numbers(t, forked, "latency_mean_ns")[i]
		half := math.Hypot(numbers(t, alone, "latency_ci95_ns")[i], numbers(t, forked, "latency_ci95_ns")[i])
		if a == b {
			t.Errorf("point %d: the very same latency, %v", i, a)
		}
		if math.Abs(a-b) > half {
			outside++
		}
	}
	if outside > 3 { // of 20 at 95 %: more are one chance in 60
		t.Errorf("%d of %d latencies are outside of the interval", outside, len(alone.Rows))
	}
}

// TestForkProblems: what a fork cannot do is refused with its key.
func TestForkProblems(t *testing.T) {
	refusals(t, forkBase+"[sweep]\n\"traffic.load\" = [0.1]\n", map[string]string{
		"fork = 3\n":                    "sweep.fork = 3: want a table such as",
		"fork = { settle = \"1us\" }\n": "sweep.fork.warmup",
		"fork = { warmup = { \"traffic.load\" = 0.3 } }\n":                              "sweep.fork.settle is not given",
		"fork = { warmup = { \"traffic.load\" = 0.3 }, settle = 5 }\n":                  "sweep.fork.settle = 5: want a time",
		"fork = { warmup = { \"traffic.load\" = 0.3 }, settle = \"1us\", extra = 1 }\n": "sweep.fork.extra is not a key",
		"fork = { warmup = { \"traffic.load\" = 1.5 }, settle = \"1us\" }\n":            "= 1.5",
		"fork = { warmup = { \"traffic.laod\" = 0.5 }, settle = \"1us\" }\n":            "did you mean \"load\"",
		"fork = { warmup = { \"switch.vcs\" = 4 }, settle = \"1us\" }\n":                "cannot change in a network that is warm",
	})
	refusals(t, "", map[string]string{
		forkBase + "[fault.a]\nsince = \"warmup\"\n[fault.b]\nat = 7\n": "fault.b comes or goes at a cycle of the run",
		forkBase + "[fault.a]\nsince = \"later\"\n":                     "fault.a.since",
		"kind = \"exchange\"\n[fault.a]\nsince = \"warmup\"\n":          "fault.a.since = warmup: want \"\": this kind has no warm-up",
		forkBase + "find = \"saturation\"\n[sweep]\nseed = [1]\nfork = { warmup = { \"traffic.pattern\" = \"uniform\" }, settle = \"1us\" }\n": "measure.find looks for a load: give the common warm-up one",
		"kind = \"multicast-latency\"\n[sweep]\nfork = { warmup = { \"messages.bytes\" = \"1KiB\" }, settle = \"1us\" }\n":                     "becomes warm when it has had them",
		"kind = \"cost\"\n[sweep]\nfork = { warmup = { \"traffic.load\" = 0.5 }, settle = \"1us\" }\n":                                         "kind \"cost\" cannot go on with other settings",
		"kind = \"mpi\"\n[sweep]\n\"workload.bytes\" = [\"1KiB\"]\nfork = { warmup = { \"workload.bytes\" = \"2KiB\" }, settle = \"1us\" }\n":  "measured from its first message on",
	})
}

// TestWarmFiles: a file of warm networks that a sweep cannot go on from is refused with the
// reason.
func TestWarmFiles(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "warm")
	text := forkFiles["loads"]
	execute(t, load(t, text), engine.Execution{SaveWarm: file})
	whole := []byte(read(t, file))
	other := filepath.Join(dir, "other")
	for _, c := range []struct {
		name, text, want string
		content          []byte
	}{
		{"whole", text, "", whole},
		{"another window", strings.Replace(text, "window = 800", "window = 400", 1), "", whole},
		{"another load of the warm-up", strings.Replace(text, `{ "traffic.load" = 0.3`, `{ "traffic.load" = 0.4`, 1), "is of other settings: traffic.load = 0.3, here 0.4", whole},
		{"another seed", "seed = 2\n" + text, "seed = 1, here 2", whole},
		{"another network", strings.Replace(text, "p = 2", "p = 3", 1), "topology.p = 2, here 3", whole},
		{"no fork", strings.Split(text, "fork =")[0], "is of other settings", whole},
		{"cut off", text, "is cut off or grown", whole[:len(whole)/2]},
		{"damaged", text, "is damaged", append(whole[:len(whole)-1:len(whole)-1], whole[len(whole)-1]^1)},
		{"results", text, "is no snapshot of weft", []byte("point,seed\n0,1\n")},
		{"empty", text, "is empty", nil},
	} {
		simtest.Check(t, os.WriteFile(other, c.content, 0o644))
		err := load(t, c.text).CheckWarm(other)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if err := load(t, text).CheckWarm(filepath.Join(dir, "nothing")); err == nil {
		t.Error("a file that is not there is taken")
	}
	execute(t, load(t, strings.Replace(text, "window = 800", "window = 400", 1)), engine.Execution{FromWarm: file})
}

// TestForkWarns: a fork that saves nothing is warned of.
func TestForkWarns(t *testing.T) {
	const fork = "fork = { warmup = { \"traffic.pattern\" = \"uniform\" }, settle = \"1us\" }\n"
	for text, want := range map[string]int{
		forkBase + "[sweep]\n\"traffic.load\" = [0.1, 0.2]\n" + fork:                       1,
		forkBase + "[sweep]\n\"traffic.pattern\" = [\"uniform\", \"worst-case\"]\n" + fork: 0,
		forkFiles["loads"]: 0,
		ownFaults + "[sweep]\n\"fault.cables.fraction\" = [0.1, 0.2]\n\"fault.cables.at\" = [0, 9]\n" + fork: 0,
		ownFaults + "[sweep]\n\"recovery.reroute\" = [1, 2]\n" + fork:                                        0,
		ownFaults + "[sweep]\n\"recovery.retries\" = [1, 2]\n" + fork:                                        1,
	} {
		if warned := warnings(load(t, text), "sweep.fork"); warned != want {
			t.Errorf("%d warnings, want %d:\n%s", warned, want, text)
		}
	}
}
