package experiments

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestReport: findings are said once each, with the settings that they are about; a sweep wholly
// above the bound is warned of; what a run does not need is left out of its own preflight.
func TestReport(t *testing.T) {
	f := load(t, `
topology = { type = "dragonfly", p = 2, a = 4, h = 2 }
measure = { warmup = 1000, window = 4000 }
[sweep]
"routing.type" = ["min", "val"]
"traffic.pattern" = ["uniform", "worst-case"]
"traffic.load" = [0.3, 0.4]
`)
	report := simtest.Must(f.Preflight(true))(t)
	var got []string
	for _, n := range report.Notes {
		text, _, _ := strings.Cut(n.Text, ":")
		got = append(got, n.Topic+"|"+n.Where+"|"+text)
	}
	for _, want := range []string{
		"deadlock|routing.type = min|free from deadlock",
		"deadlock|routing.type = val|free from deadlock",
		"throughput|routing.type = min, traffic.pattern = worst-case|at most 0.125 flits per terminal and cycle",
		"latency|routing.type = min, traffic.pattern = uniform|",
		"cost||roughly ",
	} {
		all := "\n" + strings.Join(got, "\n")
		simtest.Equal(t, strings.Count(all, "\n"+want), 1, "of %q in%s:", want, all)
	}
	simtest.FatalIf(t, len(report.Warnings) != 1, "warnings: %+v", report.Warnings)
	simtest.Equal(t, report.Warnings[0].Key, "traffic.load", "a warning of")
	simtest.Says(t, report.Warnings[0].Message, "from 0.3 on, with a bound of 0.125")
	proofs := 0 // one for each routing, not for each point
	f.shared.entries.Range(func(key, _ any) bool {
		if strings.HasPrefix(key.(string), "certificate ") {
			proofs++
		}
		return true
	})
	simtest.ErrorIf(t, proofs != 2, "%d certificates for 8 points of 2 networks", proofs)
	short, err := f.Preflight(false)
	simtest.ErrorIf(t, err != nil || len(short.Notes) != 2 || len(short.Warnings) != 0, "before a run: %+v, %v", short, err)
}

// TestSameValue: values of a file are told apart as by reflect.DeepEqual.
func TestSameValue(t *testing.T) {
	values := []any{nil, "1", int64(1), 1.0, true, []any{"a"}, []any{"a", "b"}, map[string]any{"a": int64(1)}, map[string]any{"b": int64(1)}, map[string]any{"a": []any{1.0}}, []map[string]any{{}}}
	for _, a := range values {
		for _, b := range values {
			simtest.Equal(t, sameValue(a, b), reflect.DeepEqual(a, b), "%v and %v are the same:", a, b)
		}
	}
}

// TestLargeSweepsWalkLess: programs of 2 and 9 million operations are within the 1e8 that 10,000 points have, and beyond
// the 1e7 that more have: of these the longer is left out.
func TestLargeSweepsWalkLess(t *testing.T) {
	for points, most := range map[int]float64{10_000: 1e8 / 2, 10_001: 1e7 / 2} {
		of, examined := make([]int, points), make([]*Preflight, 2)
		for i, operations := range []float64{2e6, 9e6} {
			examined[i] = &Preflight{programs: map[string]float64{fmt.Sprint(i): operations}, lack: "are not walked", rest: func(float64) error { return nil }}
		}
		for i := range of {
			of[i] = i % 2
		}
		got, large := afford(examined, of), points > 10_000
		simtest.ErrorIf(t, got != most || examined[0].rest == nil || (examined[1].rest == nil) != large || (len(examined[1].notes) > 0) != large,
			"%d points: %v operations a program, want %v; the longer has notes %v", points, got, most, examined[1].notes)
	}
}

// TestMostWalked: a ping-pong between two ranks has 4 operations an iteration, a send and a receive of each rank, so
// that the programs have 40, 8 and 16. Both buffers share a walk. The shortest are gone through as far as their sum
// allows, one at least; of the others it is said that they are not counted.
func TestMostWalked(t *testing.T) {
	defer func(usual float64) { mostWalked = usual }(mostWalked)
	for _, c := range []struct{ most, walked float64 }{{64, 6}, {63, 4}, {24, 4}, {23, 2}, {1, 2}} {
		mostWalked = c.most
		f := load(t, `
kind = "mpi"
job = { machine = "fabric", ranks = 2 }
workload = { type = "ping-pong" }
topology = { type = "dragonfly", p = 2, a = 4, h = 2 }
[sweep]
"workload.iterations" = [10, 2, 4]
"switch.buffer_flits" = [32, 64]
`)
		walked, said := 0.0, ""
		for _, n := range simtest.Must(f.Preflight(true))(t).Notes {
			if n.Topic == "latency" {
				walked += 2
			} else if strings.Contains(n.Text, "no least time") {
				said += n.Where + ": " + n.Text
			}
		}
		want := fmt.Sprintf("%v points have no least time here", 6-c.walked)
		simtest.ErrorIf(t, walked != c.walked || (said == "") != (walked == 6) || said != "" && strings.Count(said, want) != 1,
			"of at most %v operations: %v points have a least time, want %v; %q", c.most, walked, c.walked, said)
	}
}

// TestPreflightOfResumedRun: points that are finished are not examined again,
// others are. What there is to warn of is a deadlock that is allowed.
func TestPreflightOfResumedRun(t *testing.T) {
	text := "kind = \"traffic\"\n[topology]\ntype = \"torus\"\ndims = [4, 4]\n[routing]\ntype = \"dor\"\nvc_rule = \"none\"\n[switch]\nvcs = 1\n" +
		"[measure]\nwarmup = 10\nwindow = 20\n[sweep]\n\"traffic.load\" = LOADS\n"
	finished := map[string]*Record{}
	for i, c := range []struct {
		loads    string
		warnings int
		run      bool
	}{{"[1.0]", 1, true}, {"[1.0]", 0, false}, {"[0.9, 1.0]", 1, false}, {"[0.9]", 1, false}} {
		f := loadWith(t, strings.Replace(text, "LOADS", c.loads, 1), Options{AllowDeadlock: true})
		report, err := f.PreflightRest(finished)
		simtest.ErrorIf(t, err != nil || len(report.Warnings) != c.warnings, "%d: %+v, %v; want %d warnings", i, report, err, c.warnings)
		if c.run {
			finished[f.Points[0].Hash] = compute(t, f, f.Points[0])
		}
	}
}

// costRow is a torus of 16 terminals: 0.4 flits each for 600 cycles over 3 hops
// and 1/15 in the mean (32/15 between switches and one to the terminal) are
// 0.4 * 16 * 600 * (1+32/15) = 12,032 flit-hops.
const costRow = `
topology = { type = "torus", dims = [4, 4] }
routing = { type = "dor" }
traffic = { load = 0.4 }
[measure]
warmup = 200
window = 400
`

// predicted is the work that weft check says the file takes.
func predicted(t *testing.T, text string) work {
	t.Helper()
	f := load(t, text)
	all := work{}
	for _, point := range f.Points {
		p := &Preflight{Seed: point.Seed, Thorough: true, shared: f.shared}
		simtest.Check(t, f.kind.preflight(point.config, p))
		all.add(1, p.work())
	}
	return all
}

// TestCost: what a file takes counts every replication, every point of a sweep,
// and every load that a search tries.
func TestCost(t *testing.T) {
	const one = 0.4 * 16 * 600 * (1 + 32.0/15)
	// Four channels a switch share 32/15 hops: 8/15 of a flit each, so that the
	// bound is that of the terminals, 1. Bisection among 0.1 to 1.0 goes up all
	// the way: 0.5, 0.8, 0.9, 1.0. They take 1,000 cycles each, with a window that doubles, and budgets of 100,000. In one
	// 1,600,000 packets are sent, which tell loads apart to 1/1,265: the share that is near to the
	// capacity is 1 - exp(-12*10/1,265) = 0.09051, so that 1,000 + 99,000 * 0.09051 = 9,960 cycles are said
	// in the mean. Two replications send twice as many: 1 - exp(-12*10/1,789) = 0.06488, 7,423 cycles each.
	const perCycle = (0.5 + 0.8 + 0.9 + 1.0) * one / 0.4 / 600
	for _, c := range []struct {
		name, text string
		want       float64
	}{
		{"one run", costRow, one},
		{"replications", costRow + "replications = 5\n", 5 * one},
		{"sweep of loads and seeds", costRow + "[sweep]\nseed = [1, 2, 3]\n\"traffic.load\" = [0.1, 0.2]\n", 3 * (0.1 + 0.2) / 0.4 * one},
		{"search", costRow + "find = \"saturation\"\nload_precision = 0.1\n", 9960 * perCycle},
		// 0.44 and 0.88 are tried, with which the network keeps up: windows that double.
		{"search below the capacity", costRow + "find = \"saturation\"\nload_precision = 0.44\n", 1000 * (0.44 + 0.88) * one / 0.4 / 600},
		{"search with replications", costRow + "find = \"saturation\"\nload_precision = 0.1\nreplications = 2\n", 2 * 7423 * perCycle},
	} {
		got := predicted(t, c.text)
		simtest.ErrorIf(t, math.Abs(got.likely.crossings/c.want-1) > 1e-9 || got.most != got.likely, "%s: %+v, want %v flit-hops", c.name, got, c.want)
	}
}

// TestCostOfAdaptiveSearch: a search spends its cycles on a full network, whatever traffic.load says. Of the
// worst case of a dragonfly an eighth goes by minimal paths (one global channel for 8 terminals), and detours
// carry half of what uniform traffic has: less than half of its flit-hops.
func TestCostOfAdaptiveSearch(t *testing.T) {
	search := func(pattern, load string) float64 {
		return predicted(t, `topology = { type = "dragonfly", p = 2, a = 4, h = 2 }
routing = { type = "ugal-l" }
traffic = { pattern = "`+pattern+`", load = `+load+` }
measure = { find = "saturation" }
`).likely.crossings
	}
	worst := search("worst-case", "0.9")
	idle, uniform := search("worst-case", "0.05"), search("uniform", "0.9")
	simtest.ErrorIf(t, idle != worst || worst > uniform/2, "%v flit-hops, with a load of 0.05 %v, of uniform traffic %v", worst, idle, uniform)
}

// TestCostOfPackets: as many flits cross switches in packets of 8, each of which takes as long as four
// flits alone.
func TestCostOfPackets(t *testing.T) {
	flits := strings.Replace(costRow, "load = 0.4", "load = 0.4, packet_flits = 8", 1) + "[switch]\nhold = true\nflow_control = \"cut-through\"\n"
	of, got := predicted(t, flits), predicted(t, flits+"[fabric]\nunit = \"packet\"\n")
	simtest.ErrorIf(t, math.Abs(got.likely.crossings/of.likely.crossings-1) > 1e-9 || math.Abs(2*got.most.nanoseconds/of.most.nanoseconds-1) > 1e-9, "packets: %+v, flits: %+v", got, of)
}

// TestCostOfOpenWindow: where the run finds its window, what is said is a range,
// from its least length to the budget: a warm-up of 16 slices of 16 cycles, a window of 40.
func TestCostOfOpenWindow(t *testing.T) {
	const perCycle = 0.4 * 16 * (1 + 32.0/15)
	for _, c := range []struct {
		text        string
		least, most float64 // cycles
	}{
		{strings.Replace(costRow, "window = 400", "window = 0", 1), 840, 100_000},
		{strings.Replace(costRow, "window = 400", "window = 0\nbudget = 9000", 1), 840, 9000},
		{strings.Replace(costRow, "warmup = 200", "budget = 1000", 1), 656, 1000},
	} {
		got := predicted(t, c.text)
		simtest.ErrorIf(t, math.Abs(got.likely.crossings/(c.least*perCycle)-1) > 1e-9 || math.Abs(got.most.crossings/(c.most*perCycle)-1) > 1e-9, "%s\n%+v", c.text, got)
	}
	both := work{effort{1e6, 30, 1e9}, effort{1e6, 30, 1e9}}
	simtest.Equal(t, both.String(), "30 messages, 1e+06 flit-hops, 1s of one core", "")
	w := work{effort{1e6, 0, 1e9}, effort{2e6, 0, 2e9}}
	simtest.Equal(t, w.String(), "1e+06 flit-hops, 1s of one core (at most 2e+06 flit-hops, 2s of one core)", "")
}

// TestCostIsThatOfTheRun: the flit-hops that a sweep with replications takes are those said before,
// within a tenth: the drain comes on top, and what Bernoulli sources offer varies.
func TestCostIsThatOfTheRun(t *testing.T) {
	text := strings.Replace(costRow, "window = 400", "window = 2000\nreplications = 3", 1) + "[sweep]\nseed = [1, 2]\n\"traffic.load\" = [0.1, 0.5]\n"
	f := load(t, text)
	got := 0.0
	for _, p := range f.Points {
		got += float64(compute(t, f, p).FlitHops)
	}
	want := predicted(t, text).likely.crossings
	simtest.ErrorIf(t, math.Abs(got/want-1) > 0.1, "the run took %v flit-hops, predicted were %v", got, want)
}

// TestCostOfFoundWindows: where runs find their windows, the flit-hops of a figure are those said
// before, within a factor of 1.3: of minimal routing and Valiant's up to what they carry and
// beyond, and of UGAL, whose hops are between theirs.
func TestCostOfFoundWindows(t *testing.T) {
	for name, text := range map[string]string{
		"torus": strings.Replace(costRow, "warmup = 200\nwindow = 400", "budget = 20000", 1) + "[sweep]\n\"traffic.load\" = [0.1, 0.3, 0.5, 0.7]\n",
		"dragonfly": `
topology = { type = "dragonfly", p = 2, a = 4, h = 2 }
traffic = { pattern = "worst-case" }
switch = { buffer_flits = 8 }
measure = { budget = 10000 }
[sweep]
"routing.type" = ["min", "val", "ugal-l"]
"traffic.load" = [0.05, 0.1, 0.2, 0.3, 0.5]
`,
	} {
		f := load(t, text)
		got := 0.0
		for _, p := range f.Points {
			got += float64(compute(t, f, p).FlitHops)
		}
		said := predicted(t, text)
		t.Logf("%s: %.3g flit-hops said, %.3g at most, %.3g counted", name, said.likely.crossings, said.most.crossings, got)
		times := said.likely.crossings / got
		simtest.ErrorIf(t, times < 1/1.3 || times > 1.3, "%s: %.3g flit-hops said, %.3g counted", name, said.likely.crossings, got)
	}
}

// TestWhere: findings name the points that they are about by the swept settings in which these
// do not have all values; a set that is no product of such values is counted. Points are 0 to
// 11: two routings, and of each six loads.
func TestWhere(t *testing.T) {
	f := load(t, `
topology = { type = "dragonfly", p = 2, a = 4, h = 2 }
[sweep]
"routing.type" = ["min", "val"]
"traffic.load" = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
`)
	for _, c := range []struct {
		points []int
		want   string
	}{
		{[]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, ""},
		{[]int{6, 7, 8, 9, 10, 11}, "routing.type = val"},
		{[]int{2, 8}, "traffic.load = 0.3"},
		{[]int{9}, "routing.type = val, traffic.load = 0.4"},
		{[]int{0, 1, 2, 6, 7, 8}, "traffic.load = 0.1, 0.2 or 0.3"},
		{[]int{1, 2, 3, 4, 5}, "routing.type = min, traffic.load = 0.2 to 0.6 (5 values)"},
		{[]int{0, 7}, "traffic.load = 0.1 or 0.2, 2 of 4 points, the first with routing.type = min, traffic.load = 0.1"},
		{[]int{0, 1, 2, 3, 4, 5, 11}, "7 of 12 points, the first with routing.type = min, traffic.load = 0.1"},
	} {
		var points []*Point
		for _, i := range c.points {
			points = append(points, f.Points[i])
		}
		simtest.Equal(t, f.where(points, f.byValue), c.want, "points %v:", c.points)
	}
}

// TestWarningsOnce: what the check of a file and its preflight warn of is said once, with the
// points that it is about. The two loads of "val" are above its bound, below 0.6, those of
// "min" below the 1 of the terminals' own channels.
func TestWarningsOnce(t *testing.T) {
	f := load(t, `
topology = { type = "dragonfly", p = 2, a = 4, h = 2 }
channel = { global = { latency = "40ns" } }
measure = { warmup = 1000, window = 4000 }
[sweep]
"switch.buffer_flits" = [8, 200]
"routing.type" = ["min", "val"]
"traffic.load" = [0.8, 0.9]
`)
	said := func(warnings []Warning) (all []string) {
		for _, w := range warnings {
			all = append(all, w.Key+" for "+w.Where)
		}
		return all
	}
	simtest.Equal(t, fmt.Sprint(said(f.Warnings)), "[switch.buffer_flits for switch.buffer_flits = 8]", "the file:")
	simtest.Equal(t, strings.Join(said(simtest.Must(f.Preflight(true))(t).Warnings), "; "), "traffic.load for routing.type = val", "preflight:")
}

// TestIdleKeys: of settings that change nothing those are named that the file, its sweep or an
// option gives, each once with the first reason; a whole table stands for those of its settings.
// Other warnings stay.
func TestIdleKeys(t *testing.T) {
	d := &document.Tree{
		Origins: map[string]document.Origin{"a.x": {}, "a.y": {}, "ab.x": {}, "b.x": {}},
		Swept:   map[string]document.Origin{"a.w": {}},
	}
	got := ""
	for _, w := range idleKeys([]Warning{
		{Key: "b.x", Message: "1", Idle: true}, {Key: "b.y", Message: "2", Idle: true}, {Key: "c.x", Message: "3"},
		{Key: "a.*", Message: "4", Idle: true}, {Key: "a.x", Message: "5", Idle: true}, {Key: "b.x", Message: "6"},
	}, d) {
		got += fmt.Sprintf("%s %s, ", w.Key, w.Message)
	}
	want := "b.x changes nothing: 1, c.x 3, a.w changes nothing: 4, a.x changes nothing: 4, a.y changes nothing: 4, b.x 6, "
	simtest.ErrorIf(t, got != want, "%s\nwant %s", got, want)
}
