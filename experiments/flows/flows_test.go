package flows

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/engine/enginetest"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

const tree128 = "kind = \"flows\"\n[topology]\ntype = \"xgft\"\nm = [4, 4, 8]\nw = [1, 4, 4]\n"

// TestFlowsVictim: a flow beside an incast of 125 takes 171.5 us alone (489 full packets and a short one through the pod: the closed form is
// shared.TestAlone's). Under the sender's window and the receiver's credit it ends within twice that, and with pauses and no congestion control after
// more than twenty times that, as another simulator has it (282 to 301 us, less, and 6,300 to 10,400). The incast ends at the same time under all:
// 125 * 2 MB at 100 Gb/s with headers, 20.3 ms, within 3 %.
func TestFlowsVictim(t *testing.T) {
	f := enginetest.Load(t, tree128+`[flows]
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
	o := enginetest.Execute(t, f, engine.Execution{Jobs: 2})
	victims, tails := enginetest.Numbers(t, o.Results, "victim_us"), enginetest.Numbers(t, o.Results, "tail_us")
	simtest.ErrorIf(t, victims[0] < 171.5 || victims[0] > 343 || victims[1] < 171.5 || victims[1] > victims[0] || victims[2] < 20*171.5,
		"the victim takes %v us", victims)
	// The columns of incast and victim are those of flows.csv without and with the last flow.
	each := o.Tables["flows"]
	took, slowdowns, bytes := simtest.Must(each.Numbers("fct_us"))(t), simtest.Must(each.Numbers("slowdown"))(t), 2e6
	for i := range 3 {
		took, slowdowns, sum, squares, slowdown := took[126*i:126*i+126], slowdowns[126*i:126*i+126], 0.0, 0.0, 0.0
		for k, x := range took[:125] {
			sum += bytes / x
			squares += bytes / x * (bytes / x)
			slowdown += slowdowns[k] / 125
		}
		sorted := slices.Sorted(slices.Values(took[:125]))
		for column, want := range map[string]float64{
			"victim_us": took[125], "victim_slowdown": slowdowns[125], "incast_slowdown_mean": slowdown, "incast_jain_index": sum * sum / (125 * squares),
			"incast_fct_p50_us": sorted[62], "incast_fct_p99_us": sorted[123], // the 63rd and the 124th of 125
		} {
			simtest.Near(t, enginetest.Numbers(t, o.Results, column)[i], want, 1e-9*want, "point %d: %s", i, column)
		}
	}
	for _, tail := range tails {
		ideal := 125. * (490*64 + 2_000_000) * 80e-6
		simtest.ErrorIf(t, tail < ideal || tail > 1.03*ideal, "the incasts end at %v us, their bytes take %v", tails, ideal)
	}
}

// TestSlowdownUneven: where cables differ, or are slower than terminals, no flow is faster than alone, by its fastest ways.
func TestSlowdownUneven(t *testing.T) {
	for _, more := range []string{"[switch]\ndegraded = 1\n", "[channel.terminal]\nrate = \"400Gb/s\"\n"} {
		o := enginetest.OutcomeOf(t, "kind = \"flows\"\ntopology = { type = \"xgft\", m = [4, 4], w = [1, 4] }\nmeasure = { flows = true }\n"+more)
		least := slices.Min(simtest.Must(o.Tables["flows"].Numbers("slowdown"))(t))
		simtest.ErrorIf(t, least < 1, "%s: a slowdown of %v", more, least)
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
switch = { full = %q, queue = "%dB", mark_from = "5000B", mark_to = "60000B", paths = %q, control = %q, pause_above = "20000B", pause_below = "12000B" }
flows = { pattern = %q, bytes = "%dB", senders = %d, duration = "20us", sizes = %q }
`, one("xgft", "fat-tree", "single-switch"), one("none", "constant", "nscc", "rccc", "both", "dcqcn"), spray, repeat, 1<<s.IntN(8), 1+s.IntN(20000), 1+s.IntN(50),
			full, 5000+s.IntN(200_000), paths, one("first", "with-data"),
			one("permutation", "incast", "poisson"), 1+s.IntN(100_000), 1+s.IntN(3), one("fixed", "hadoop"))
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Log(text)
			o := enginetest.OutcomeOf(t, text)
			all, complete := enginetest.Numbers(t, o.Results, "flows"), enginetest.Numbers(t, o.Results, "flows_completed")
			simtest.ErrorIf(t, !slices.Equal(all, complete), "%v flows, %v complete", all, complete)
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
	f := enginetest.Load(t, ring+round)
	simtest.Refuse(f.Preflight(false))(t, `switch.full = "pause" can deadlock: a cycle of 5 channels`)
	f = enginetest.Load(t, ring+"allow_deadlock = true\n"+round)
	o, err := engine.Execute(t.Context(), f, engine.Execution{Jobs: 1})
	simtest.ErrorIf(t, err != nil || len(o.Failures) != 1 || !strings.Contains(fmt.Sprint(o.Failures), "wait for each other for ever"), "%v, %v", err, o)
	f = enginetest.Load(t, strings.Replace(tree128, "kind", "title = \"x\"\nkind", 1)+"[switch]\nfull = \"pause\"\n")
	simtest.Must(f.Preflight(false))(t)
}

// TestSlowdownFromStart: a flow that is alone takes as long as alone, 1, whenever it begins.
func TestSlowdownFromStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "late.cm")
	simtest.Check(t, os.WriteFile(path, []byte("Nodes 4\n0->1 start 10 size 4086\n"), 0o600))
	o := enginetest.Execute(t, enginetest.Load(t, tree128+fmt.Sprintf("[flows]\nfile = %q\n", path)), engine.Execution{Jobs: 1})
	took := enginetest.Numbers(t, o.Results, "fct_p50_us")[0]
	slowdown, tail := enginetest.Numbers(t, o.Results, "slowdown_mean")[0], enginetest.Numbers(t, o.Results, "tail_us")[0]
	simtest.ErrorIf(t, slowdown != 1 || math.Abs(tail-took-10) > 1e-9,
		"slowdown %v, complete at %v us after %v us; want 1, and 10 us between", slowdown, tail, took)
}

// TestSizeClasses: a flow of a power of ten is the largest of its class.
func TestSizeClasses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sizes.cm")
	simtest.Check(t, os.WriteFile(path, []byte("Nodes 4\n0->1 start 0 size 1000\n1->2 start 0 size 1001\n2->3 start 0 size 10000\n"), 0o600))
	table := enginetest.Execute(t, enginetest.Load(t, tree128+fmt.Sprintf("[flows]\nfile = %q\n", path)), engine.Execution{Jobs: 1}).Tables["size_classes"]
	for column, want := range map[string][]float64{"bytes_above": {0, 1000}, "bytes_to": {1000, 10_000}, "flows": {1, 2}} {
		simtest.EqualSlices(t, simtest.Must(table.Numbers(column))(t), want, "%s:", column)
	}
}

// TestPausedTime: of eight senders to one terminal each sends an eighth of the time, once their inputs are full, and
// is paused for the rest: seven times the time of all, less a tenth for the beginning and the end.
func TestPausedTime(t *testing.T) {
	o := enginetest.Execute(t, enginetest.Load(t, `kind = "flows"
topology = { type = "single-switch", terminals = 9 }
flows = { pattern = "incast", senders = 8, receiver = 0, bytes = "4MB" }
switch = { full = "pause" }
transport = { control = "none", spray = "single" }
`), engine.Execution{Jobs: 1})
	paused, all := enginetest.Numbers(t, o.Results, "paused_us")[0], enginetest.Numbers(t, o.Results, "tail_us")[0]
	simtest.ErrorIf(t, paused < 6.3*all || paused > 7.1*all, "paused for %v us in sum, want 6.3 to 7.1 times %v us", paused, all)
	// Each input pauses its sender, and again only when pause_above - pause_below = 12,000 B more have come.
	pauses := enginetest.Single(t, o, "pauses")
	simtest.ErrorIf(t, pauses < 8 || pauses > 8*4_200_000/12_000, "%v pauses", pauses)
}

// TestColumnsByHand: two flows of 60 packets each into one link, 5 us after the start, end 43.85024 and 44.18224 us later,
// and 61 packets of 4,150 B wait at most (TestIncastByHand of transport). Goodput counts from the start. The k-th packet
// leaves k behind, and from the 61st on 120 - k: more than 30 packets those from the 31st to the 89th, which are marked.
func TestColumnsByHand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "two.cm")
	simtest.Check(t, os.WriteFile(file, []byte("Nodes 4\n1->0 start 5 size 245160\n2->0 start 5 size 245160\n"), 0o600))
	o := enginetest.Execute(t, enginetest.Load(t, fmt.Sprintf(`kind = "flows"
topology = { type = "single-switch", terminals = 4 }
flows = { file = %q }
switch = { queue = "1MiB", mark_from = "124500B", mark_to = "124500B" }
transport = { control = "none" }
`, file)), engine.Execution{Jobs: 1})
	for column, want := range map[string]float64{
		"first_us": 48.85024, "tail_us": 49.18224, "mean_us": 49.01624, "fct_p50_us": 43.85024, "fct_p99_us": 44.18224,
		"goodput_gbps": 2 * 245_160 * 8 / 49_182.24, "queue_max_bytes": 61 * 4150, "packets_data": 120, "packets_dropped": 0, "packets_marked": 59,
	} {
		simtest.Near(t, enginetest.Single(t, o, column), want, 1e-6, "%s =", column)
	}
}

// TestFlowsFileBeside: a matrix is looked for beside the experiment file, and another content makes another
// point, whose results before are not taken for its own.
func TestFlowsFileBeside(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		simtest.Check(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	file := write("x.toml", tree128+"[flows]\nfile = \"pair.cm\"\n")
	hash := func(matrix string) string {
		write("pair.cm", matrix)
		return simtest.Must(experiments.ReadFile(file, experiments.Options{}))(t).Points[0].Hash
	}
	first := hash("Nodes 4\n0->1 start 0 size 4096\n")
	simtest.ErrorIf(t, hash("Nodes 4\n0->1 start 0 size 8192\n") == first || hash("Nodes 4\n0->1 start 0 size 4096\n") != first,
		"the point does not follow the content of its matrix")
}

// TestFlowsRefuses: what cannot be is told before a run: times below zero, queues whose thresholds do not fit into 64 bits, and more degraded
// switches than the two of the highest level above the first pod of m = 4, 4 and w = 1, 2. Of samples a picosecond apart 1,048,576 are kept.
func TestFlowsRefuses(t *testing.T) {
	const tree = "kind = \"flows\"\n[topology]\ntype = \"xgft\"\nm = [4, 4]\nw = [1, 2]\n"
	for text, want := range map[string]string{
		"[network]\nlatency = \"-1us\"\n":                    `network.latency = "-1us": want 0ns to 1000s`,
		"[channel.terminal]\nlatency = \"-1ns\"\n":           `channel.terminal.latency = "-1ns": want 0ns to 1000s`,
		"[switch]\ndelay = \"-1ns\"\n":                       `switch.delay = "-1ns": want 0ns to 1000s`,
		"[switch]\nfull = \"pause\"\npause_below = \"0B\"\n": `switch.pause_below = 0B: want at least 1B`,
		"[network]\nrate = \"1000001Gb/s\"\n":                `want 1Mb/s to 1000Tb/s`, "[network]\nlatency = \"1001s\"\n": `= "1001s": want 0ns to 1000s`,
		"[transport.nscc]\nstart_window = 1000001\n": `= 1000001: want 0 to 1000000`, "[transport.nscc]\ntarget_delay = \"9223372s\"\n": `want 0ns to 1000000s`,
		"[flows]\nbytes = \"9223372036854775807B\"\n":                    `flow 1 makes 2257310826445124 packets of a connection`,
		"[measure]\nend = \"0s\"\n":                                      `measure.end = "0ns": want at least 1ps`,
		"[switch]\nqueue = \"9223372036854775807B\"\n":                   `switch.queue = "9223372036854775807B": want at most 1000GB`,
		"[switch]\ndegraded = 3\n":                                       `switch.degraded = 3: want at most 2`,
		"[flows]\npattern = \"incast\"\nsenders = 9223372036854775807\n": `flows.senders = 9223372036854775807: want at most 16777216 flows`,
	} {
		simtest.Refuse(experiments.Load("x.toml", tree+text, experiments.Options{}))(t, want)
	}
	o := simtest.Must(engine.Execute(t.Context(), enginetest.Load(t, tree+"[measure]\nqueues = \"1ps\"\n"), engine.Execution{Jobs: 1}))(t)
	simtest.FatalIf(t, len(o.Failures) != 1, "failures %v", o.Failures)
	simtest.Says(t, o.Failures[0].Reason, "measure.queues: gives more than 1048576 samples by 1048.577ns")
}

// TestFlowsEstimated: what weft check says of a run is within a factor of 2 of its packets and what they cross.
func TestFlowsEstimated(t *testing.T) {
	for _, flows := range []string{
		"pattern = \"permutation\"\n", "pattern = \"incast\"\nbytes = \"100kB\"\nreceiver = 3\n", "pattern = \"all-to-all\"\nbytes = \"500B\"\n",
		"pattern = \"poisson\"\nload = 0.3\nduration = \"50us\"\nsizes = \"ali-storage\"\n",
	} {
		f := enginetest.Load(t, tree128+"[flows]\n"+flows)
		hops := enginetest.Single(t, enginetest.Execute(t, f, engine.Execution{}), "packet_hops")
		said, counted := enginetest.WorkOf(t, f)
		simtest.ErrorIf(t, 2*said < hops || said > 2*hops, "%s: %g hops said, %g hops", flows, said, hops)
		simtest.Equal(t, counted, hops, "%s: performance.csv counts hops", flows)
	}
}

// TestFlowsEstimatedApart: points share what packets to their receiver cross, and no other's. On a row of 8
// switches those to the end cross 28/7 cables between switches, those to the fifth 16/7, and all two more.
func TestFlowsEstimatedApart(t *testing.T) {
	said := func(receivers string) (hops float64) {
		f := enginetest.Load(t, "kind = \"flows\"\n[topology]\ntype = \"mesh\"\ndims = [8]\n[flows]\npattern = \"incast\"\nsenders = 7\n[sweep]\n\"flows.receiver\" = "+receivers+"\n")
		return enginetest.Expected(t, f)
	}
	end, fifth, both := said("[0]"), said("[4]"), said("[0, 4]")
	ratio, want := end/fifth, (28.0/7+2)/(16.0/7+2)
	simtest.ErrorIf(t, math.Abs(ratio-want) > 0.02*want || math.Abs(both-end-fifth) > 0.02*both, "%g and %g hops, together %g", end, fifth, both)
}

// TestFlowsMemory: 261,632 flows are refused where they do not fit, before they are listed.
func TestFlowsMemory(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(150 << 20))
	simtest.Refuse(experiments.Load("x.toml", "kind = \"flows\"\n[flows]\npattern = \"all-to-all\"\n[topology]\ntype = \"single-switch\"\nterminals = 512\n", experiments.Options{}))(t,
		"flows.pattern = all-to-all: want what fits into the memory of this machine: 261632 flows take at least")
}

// TestFlowsOfTerabytes: flows keep nothing by packet: three of 10^12 B, 245 million packets each, take less than
// 64 MB when they begin, where 16 B a packet would be 12 GB.
func TestFlowsOfTerabytes(t *testing.T) {
	f := enginetest.Load(t, "kind = \"flows\"\n[topology]\ntype = \"single-switch\"\nterminals = 4\n[flows]\npattern = \"incast\"\nbytes = \"1000000000000B\"\nreceiver = 3\nsenders = 3\n[measure]\nend = \"10us\"\n")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	enginetest.Execute(t, f, engine.Execution{})
	runtime.ReadMemStats(&after)
	taken := after.TotalAlloc - before.TotalAlloc
	simtest.ErrorIf(t, taken > 64<<20, "%d bytes taken", taken)
}

// TestFlowsMemoryWarned: 4,032 flows of some hundred bytes fit into 10 MiB, but not what the program takes beside them, 16 MB at least.
func TestFlowsMemoryWarned(t *testing.T) {
	f := enginetest.Load(t, "kind = \"flows\"\n[flows]\npattern = \"all-to-all\"\n[topology]\ntype = \"single-switch\"\nterminals = 64\n")
	simtest.Equal(t, len(simtest.Must(f.Preflight(false))(t).Warnings), 0, "warnings:")
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(10 << 20))
	report := simtest.Must(f.Preflight(false))(t)
	simtest.FatalIf(t, len(report.Warnings) != 1, "%+v", report.Warnings)
	simtest.Says(t, report.Warnings[0].Message, "a point may take 0.0", "this machine has 0.00977 GiB")
}

// TestFlowsWarned: queues that pauses do not keep from overflowing, as three inputs of 60,000 B, 25,000
// of a round trip of 2 us and two packets of 4,150 B fill 279,900; load of 64-byte flows, which headers
// double; a timeout of 15 us and six queues of 8,300 B, 18.984 us, where four flights of 5 us and twice the 4,214 B of a
// packet and its answer are 20.67424 us, and with flights of 4 us 16.67424. At 1 Gb/s these bytes take 67.424 us. DCQCN has marks by default, with pauses and without.
func TestFlowsWarned(t *testing.T) {
	star := "kind = \"flows\"\n[topology]\ntype = \"single-switch\"\nterminals = 4\n"
	pause, load64 := "[switch]\nfull = \"pause\"\nqueue = ", "[flows]\npattern = \"poisson\"\nbytes = \"64B\"\nload = "
	flown, dcqcn := "[switch]\nqueue = \"8300B\"\n[network]\nlatency = ", "[transport]\ncontrol = \"dcqcn\"\n[switch]\nfull = "
	for text, want := range map[string]string{
		pause + "\"279899B\"\n": "switch.queue holds less than the 279900B that 3 inputs of a switch bring",
		pause + "\"279900B\"\n": "", pause + "\"0B\"\n": "",
		load64 + "0.5\n": "flows.load = 0.5 counts payload: with headers flows fill 1 of the terminals' rate", load64 + "0.49\n": "",
		"[switch]\nqueue = \"4149B\"\n": "switch.queue = 4149B holds no full packet (transport.packet = 4150B)", "[switch]\nqueue = \"4150B\"\n": "",
		pause + "\"4149B\"\n": "switch.queue = 4149B holds no full packet (transport.packet", flown + "\"5us\"\n": "switch.queue = 8300B makes a timeout of 18.984us", flown + "\"4us\"\n": "",
		"[channel.terminal]\nrate = \"1Gb/s\"\n": "switch.queue = 62250B makes a timeout of 44.88us, 15us and what a terminal takes to send six queues, and a full packet and its answer take 71.424us",
		dcqcn + "\"drop\"\n":                     "", dcqcn + "\"pause\"\n": "",
	} {
		got := enginetest.Load(t, star+text).Warnings
		simtest.ErrorIf(t, want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.HasPrefix(got[0].Key+" "+got[0].Message, want)),
			"%s: %v, want %q", text, got, want)
	}
	f := enginetest.Load(t, star+dcqcn+"\"pause\"\n[flows]\npattern = \"incast\"\nsenders = 3\nbytes = \"1MB\"\n")
	o := enginetest.Execute(t, f, engine.Execution{})
	simtest.ErrorIf(t, enginetest.Numbers(t, o.Results, "packets_marked")[0] == 0 || enginetest.Numbers(t, o.Results, "packets_cnp")[0] == 0,
		"DCQCN with pauses has no marks by default")
}

// TestFlowsIdleSettings: settings of congestion control that change nothing are told.
func TestFlowsIdleSettings(t *testing.T) {
	for text, want := range map[string]string{
		"[transport]\ncontrol = \"none\"\nspray = \"single\"\n[switch]\nmark_to = \"1000B\"\n": "switch.mark_to changes nothing: no sender heeds marks",
		"[transport]\nspray = \"single\"\nentropies = 8\n":                                     "transport.entropies changes nothing",
		"[transport]\nwindow_packets = 8\n":                                                    "transport.window_packets changes nothing",
		"[transport.nscc]\nstart_window = 8\n[transport]\ncontrol = \"rccc\"\n":                "transport.nscc.start_window changes nothing",
		"[switch]\nfull = \"drop\"\nheader = \"80B\"\n":                                        "switch.header changes nothing: it is of switch.full = \"trim\"",
		"[switch]\ndegraded = 1\nqueue = \"16599B\"\n":                                         "switch.queue = 16599B holds no full packet on degraded cables",
		"[switch]\nallow_deadlock = true\n":                                                    "switch.allow_deadlock changes nothing",
		"[switch]\nfull = \"pause\"\nmark_max = 0.5\n":                                         "switch.mark_max changes nothing: switch.full = \"pause\" marks nothing",
		"[switch]\npause_above = \"90000B\"\n":                                                 "switch.pause_above changes nothing",
	} {
		f := enginetest.Load(t, "kind = \"flows\"\n"+text)
		got := f.Warnings
		simtest.ErrorIf(t, len(got) != 1 || !strings.HasPrefix(got[0].Key+" "+got[0].Message, want), "%s: %v, want %s", text, got, want)
	}
	for _, text := range []string{
		"[switch]\nfull = \"pause\"\nmark_max = 0.5\nmark_to = \"90kB\"\n", "[switch]\nfull = \"pause\"\nmark_max = 0.5\n[transport]\ncontrol = \"dcqcn\"\n",
	} {
		got := enginetest.Load(t, "kind = \"flows\"\n"+text).Warnings
		simtest.ErrorIf(t, len(got) != 0, "%s: %v", text, got)
	}
	for text, want := range map[string]string{
		"[transport]\nrepeat = \"go-back-n\"\n":                                                       `transport.repeat = go-back-n: want "selective", or transport.spray = "single"`,
		"[flows]\npattern = \"incast\"\nsenders = 999\n":                                              "999 senders: want at most",
		"[flows]\npattern = \"all-to-all\"\n[topology]\ntype = \"single-switch\"\nterminals = 5000\n": "flows.pattern = all-to-all: want at most 16777216 flows; these are 24995000",
		"[flows]\npattern = \"poisson\"\nduration = \"1000s\"\n":                                      "flows.duration = 1000s: want at most 16777216 flows",
		"[flows]\nbytes = \"1000000000000000B\"\n":                                                    "flows.bytes flow 1 makes 244738130201 packets of a connection: want at most 2147483647",
		"[channel.none]\nrate = \"1Gb/s\"\n":                                                          "channel.none is no channel class of this topology: want terminal, level1",
		"[switch]\nheader = \"4151B\"\n":                                                              "switch.header = 4151B: want at most transport.packet = 4150B",
	} {
		simtest.Refuse(experiments.Load("x.toml", "kind = \"flows\"\n"+text, experiments.Options{}))(t, want)
	}
}

// TestFlowsRepeated: a flow of 200,000 B, three times, one behind the other: each begins as the one before ends, on a connection of its own, and
// takes as long. It is 49 packets of 4,086 B of payload at most with 64 B of header: 3 * (200,000 + 49 * 64) = 609,408 B leave the sender, of which
// its cable could have carried more by the rest of the time. A switch alone has no other cables.
func TestFlowsRepeated(t *testing.T) {
	o := enginetest.OutcomeOf(t, `
kind = "flows"
topology = { type = "single-switch", terminals = 4 }
flows = { pattern = "incast", receiver = 1, senders = 1, bytes = "200kB", repeat = 3 }
measure = { flows = true, links = true }
`)
	flows, links := o.Tables["flows"], o.Tables["links"]
	start, end, fct := enginetest.Numbers(t, flows, "start_us"), enginetest.Numbers(t, flows, "end_us"), enginetest.Numbers(t, flows, "fct_us")
	simtest.ErrorIf(t, len(start) != 3 || start[0] != 0 || start[1] != end[0] || start[2] != end[1] || math.Abs(fct[2]-fct[0]) > 1e-9,
		"begin %v, end %v, take %v", start, end, fct)
	bytes, percent, from := enginetest.Numbers(t, links, "bytes"), enginetest.Numbers(t, links, "percent"), enginetest.Column(t, links, "from")
	at, want := slices.Index(from, "terminal "+enginetest.Column(t, flows, "source")[0]), 100*609408*8/(100e3*end[2])
	simtest.ErrorIf(t, at < 0 || bytes[at] != 609408 || math.Abs(percent[at]-want) > 1e-9,
		"%v carries %v bytes, %v %%, want 609,408 and %v", from, bytes, percent, want)
	simtest.ErrorIf(t, slices.Contains(enginetest.Column(t, links, "between_switches"), "true"), "one switch has a cable to another one")
	simtest.Refuse(experiments.Load("x.toml", "kind = \"flows\"\nflows.repeat = 0\n", experiments.Options{}))(t, "flows.repeat = 0: want 1 to 1000000")
}

// TestFlowsRates: a flow of 10 MB is 2,448 packets of at most 4,086 B and headers of 64 B: 10,156,672 B. The link to the receiver is behind by a full
// packet, 4,150 B, and the acknowledgement crosses both links, 128 B; four times a cable are 4 us, whatever the rate, also one that no whole number
// of picoseconds a byte has.
func TestFlowsRates(t *testing.T) {
	o := enginetest.OutcomeOf(t, "kind = \"flows\"\n[topology]\ntype = \"xgft\"\nm = [4]\nw = [1]\n[network]\nlatency = \"1us\"\n[switch]\nfull = \"pause\"\n[transport]\ncontrol = \"none\"\nspray = \"single\"\n"+
		"[flows]\npattern = \"incast\"\nsenders = 1\nbytes = \"10000000B\"\n[sweep]\n\"network.rate\" = [\"100Gb/s\", \"112Gb/s\", \"300Gb/s\", \"3200Gb/s\", \"6400Gb/s\", \"10000Gb/s\"]\n")
	tails, goodputs := enginetest.Numbers(t, o.Results, "tail_us"), enginetest.Numbers(t, o.Results, "goodput_gbps")
	for i, rate := range []float64{100, 112, 300, 3200, 6400, 10000} {
		want := 4 + 8*(10_156_672+4_150+128)/rate/1000
		simtest.Near(t, tails[i], want, 1e-5, "%g Gb/s: us", rate)
		simtest.Near(t, goodputs[i], 8e4/want, 0.01, "%g Gb/s: goodput", rate)
	}
}

// TestFlowsCounted: what is expected of a pattern is what it has.
func TestFlowsCounted(t *testing.T) {
	for pattern, want := range map[string]float64{"permutation": 16, "incast": 3, "victim": 4, "all-to-all": 240} {
		table := flowsTable{Pattern: pattern, Senders: 3, Receiver: 1, Bytes: 1000, Repeat: 2}
		flows, _, err := table.flows(16, 100e9, 1)
		got := table.count(16, 100e9)
		simtest.Alike(t, pattern, err, nil, got, 2*want, len(flows), int(got))
	}
}

// TestVictimRepeated: the victim's times are those of its repetitions, and the incast's those of the others: two of three senders each.
func TestVictimRepeated(t *testing.T) {
	o := enginetest.OutcomeOf(t, tree128+"[flows]\npattern = \"victim\"\nsenders = 3\nbytes = \"20kB\"\nrepeat = 2\n[measure]\nflows = true\n")
	fct := enginetest.Numbers(t, o.Tables["flows"], "fct_us")
	incast := slices.Concat(fct[:3], fct[4:7])
	slices.Sort(incast)
	got := enginetest.Numbers(t, o.Results, "victim_us")[0]
	simtest.ErrorIf(t, len(fct) != 8 || math.Abs(got-(fct[3]+fct[7])/2) > 1e-9, "victim %v of %v", got, fct)
	simtest.Equal(t, enginetest.Numbers(t, o.Results, "incast_fct_p99_us")[0], incast[5], "the slowest of the incast takes")
}
