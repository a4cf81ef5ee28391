package traffic

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/engine/enginetest"
	"github.com/weft-sim/weft/fabric/measure"
	_ "github.com/weft-sim/weft/fabric/topology/families"
	"github.com/weft-sim/weft/routing"
	_ "github.com/weft-sim/weft/routing/opensm"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestInfiniBandVictim: seven terminals of a leaf send 0.4 each to one terminal, and the eighth sends 0.4 to another one over the same cables up.
// Without congestion control the hot terminal's link is full, and the victim has less than half of its load, as its packets wait behind the others'.
// With marks, notifications and a timer of 15.36 us, K of docs/congestion.md is 15.36 / (7 * 32 * 5.12 ns * 11) = 1.2: it has its load, or more, as
// what waits from before goes, too (seeds 1 to 6: 0.476 to 0.542), and the hot link stays full (0.975 to 0.986). Results do not depend on threads.
func TestInfiniBandVictim(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hot.csv")
	simtest.Check(t, os.WriteFile(path, []byte("8\n8\n8\n8\n8\n8\n8\n15\n0\n1\n2\n3\n4\n5\n6\n7\n"), 0o600))
	text := fmt.Sprintf(`
topology = { type = "xgft", m = [8, 2], w = [1, 4] }
routing = { type = "nca" }
fabric = { flit_bytes = "64B", clock = "5120ps" }
program = { type = "infiniband", cc_ca_cong_setting_ccti_timer = 15 }
switch = { buffer_flits = 256, flow_control = "cut-through", hold = true }
traffic = { pattern = "file", path = %q, load = 0.4, packet_flits = [32] }
measure = { warmup = 60000, window = 60000, links = true }
[sweep]
"switch.marking" = ["none", "infiniband"]
`, path)
	links := enginetest.SameOnThreads(t, "hot terminal", enginetest.Load(t, text), simtest.Threads(t, 0), false, "links").Tables["links"]
	var rates []float64
	all, to := enginetest.Numbers(t, links, "flits_per_cycle"), enginetest.Column(t, links, "to")
	for i := range to {
		if to[i] == "terminal 8" || to[i] == "terminal 15" {
			rates = append(rates, all[i])
		}
	}
	plain, controlled := rates[:2], rates[2:]
	simtest.ErrorIf(t, len(rates) != 4 || plain[0] < 0.99 || plain[1] > 0.2 || controlled[0] < 0.95 || controlled[1] < 0.4,
		"hot terminal and victim: %v without congestion control, %v with it", plain, controlled)
}

// TestInfiniBandIncast: sixty hosts send to one over four cables into the core switch above it,
// and one beside them elsewhere, over one of the four. Without control every buffer on the way
// is full, and the one has as much of its leaf's cable as the three beside it, which have a
// sixtieth each: 0.4 becomes 0.017. With control as the example has it, a sender that is at its
// share of the hot link sends a packet in 60 * 32 cycles of 2.56 ns = 4.9 us; at a marking rate of
// 1 that raises its index by 1 in 9.8 us at most, and a timer of 20.5 us lowers it by 1: there are
// marks to hold the sixty at their share, with a queue or without. The one has nine tenths of its
// 0.4 at least, and the hot link carries 0.85 or more. A pair of any source has all.
func TestInfiniBandIncast(t *testing.T) {
	text := `
topology = { type = "ibnetdiscover", path = "weft:examples/fat-tree-128.ibnetdiscover" }
routing = { type = "opensm-minhop" }
program = { type = "infiniband", cc_ca_cong_setting_ccti_timer = 20 }
switch = { buffer_flits = 128, flow_control = "cut-through", marking = "infiniband", cc_sw_cong_setting_threshold = 1, cc_sw_cong_setting_marking_rate = 1 }
traffic = { pattern = "file", path = "weft:examples/infiniband-incast.txt", load = 0.4, packet_flits = [32] }
measure = { warmup = 600000, window = 100000, pairs = ["n000, n111", "*,n127", "0,n127"] }
[sweep]
"switch.cc_sw_cong_setting_threshold" = [0, 1]
`
	pairs := enginetest.OutcomeOf(t, text).Tables["pairs"]
	rates := enginetest.Numbers(t, pairs, "flits_per_cycle")
	if len(rates) != 6 || rates[0] > 0.02 || rates[1] < 0.999 || rates[3] < 0.36 || rates[4] < 0.85 || rates[2]+rates[5] > 0 {
		t.Errorf("victim, hot link, and a pair that sends nothing: %v without congestion control, %v with it", rates[:3], rates[3:])
	}
}

// TestPairsRefused: what measure.pairs names must be there, in the form SOURCE,DESTINATION.
func TestPairsRefused(t *testing.T) {
	enginetest.Refusals(t, `topology = { type = "single-switch", terminals = 8 }
`, map[string]string{
		`measure.pairs = ["0"]`:     `measure.pairs[0] = "0": want "SOURCE,DESTINATION"`,
		`measure.pairs = ["0,8"]`:   `measure.pairs[0] = "0,8": "8", want a terminal, 0 to 7, or a name such as "terminal 0"`,
		`measure.pairs = ["x, *"]`:  `measure.pairs[0] = "x, *": "x", want a terminal`,
		`measure.pairs = ["0,1,2"]`: `"1,2", want a terminal`,
		"measure.pairs = []\n[[plot]]\ntable = \"pairs\"\nx = \"source\"\ny = \"flits_per_cycle\"\n": "nothing in the file asks for this table: set measure.pairs",
	})
}

// TestSilentTerminals: of eight terminals two send a load of 0.3 each, both to terminal 0. Loads are of
// those two: 0.3 is accepted, within four standard deviations of the births in 8,000 cycles
// (4 * sqrt(0.3 * 0.7 / 16,000) = 0.0145), though the mean over all terminals is a quarter of that. What is
// sent is even to the same degree; received is all by one of eight, 1/8 by Jain's index.
func TestSilentTerminals(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pairs")
	simtest.Check(t, os.WriteFile(path, []byte("3,0\nterminal 5,0\n"), 0o600))
	o := enginetest.OutcomeOf(t, fmt.Sprintf(`
topology = { type = "single-switch", terminals = 8 }
traffic = { pattern = "file", path = %q, load = 0.3 }
measure = { warmup = 500, window = 8000, fairness = true, pairs = ["3,0", "0,3"] }
`, path))
	accepted := enginetest.Numbers(t, o.Results, "accepted_load")[0]
	if accepted < 0.3-0.0145 || accepted > 0.3+0.0145 || o.Results.Rows[0][slices.Index(o.Results.Columns, "state")] != "steady" {
		t.Errorf("accepts %v of 0.3: %v", accepted, o.Results.Rows)
	}
	fairness := o.Tables["fairness"]
	jain, least := enginetest.Numbers(t, fairness, "jain_index"), enginetest.Column(t, fairness, "min_terminal")
	simtest.ErrorIf(t, jain[0] < 0.99 || jain[1] != 0.125 || least[0] != "terminal 3" && least[0] != "terminal 5",
		"sent and received: Jain's index %v, the least by %v", jain, least)
	rates := enginetest.Numbers(t, o.Tables["pairs"], "flits_per_cycle")
	simtest.ErrorIf(t, rates[0] < 0.27 || rates[1] != 0, "pairs carry %v, want 0.3 and nothing", rates)
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
		return notesOf(report) + fmt.Sprint(enginetest.Execute(t, f, engine.Execution{}).Results.Rows)
	}
	want := run(nil)
	for _, when := range []string{"filled", "read", "damaged"} {
		paths := simtest.Must(filepath.Glob(filepath.Join(cache.Dir, "*")))(t)
		simtest.FatalIf(t, when != "filled" && len(paths) != 5, "%s: %d entries, want 5", when, len(paths))
		for _, path := range paths {
			if when == "damaged" {
				simtest.Check(t, os.Truncate(path, 50))
			}
		}
		simtest.Equal(t, run(cache), want, "%s:", when)
	}
	simtest.ErrorIf(t, len(warnings) != 5, "warnings %q, want one for each damaged entry", warnings)
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
		f := enginetest.Load(t, "kind = \"traffic\"\n[topology]\ntype = \"torus\"\ndims = [3, 3]\n[sweep]\n"+c.sweep+"\n")
		var built [2]any
		for i := range built {
			parts := simtest.Must(f.Points[i].Config().(*trafficConfig).build(f.Points[i].Seed))(t)
			built[i] = parts.Routing
		}
		simtest.Equal(t, built[0] == built[1], c.same, "%s: one routing is", c.sweep)
	}
}

// Points that differ by their seeds alone share what is known of their network and traffic, but
// where a routing or a pattern is drawn from the seed: then that is found for each.
func TestSeedsShare(t *testing.T) {
	loads := func(settings string) (found [2]*routing.Load) {
		f := enginetest.Load(t, "kind = \"traffic\"\n[topology]\ntype = \"random-regular\"\nswitches = 16\ndegree = 4\nterminals = 2\n"+settings+"[sweep]\nseed = [1, 2]\n")
		shared := new(experiments.Shared)
		for i, p := range f.Points {
			c := p.Config().(*trafficConfig)
			parts := simtest.Must(c.build(p.Seed))(t)
			load, _, err := c.loads(shared, c.Network(p.Seed), parts, evenEnds)
			simtest.Check(t, err)
			found[i] = load
		}
		return found
	}
	for _, c := range []struct {
		settings string
		same     bool
	}{
		{"[routing]\ntype = \"table\"\n", true},
		{"[routing]\ntype = \"fatpaths\"\nchoice = \"hashed\"\n", false},
		{"[traffic]\npattern = \"permutation\"\n[routing]\ntype = \"table\"\n", false},
		{"[traffic]\npattern = \"switch-permutation\"\n[routing]\ntype = \"table\"\n", false},
	} {
		found := loads(c.settings)
		simtest.Equal(t, slices.Equal(found[0].Port, found[1].Port), c.same, "%s: the channel loads of both seeds are the same:", c.settings)
	}
}

// Networks of several tests, with which files begin.
const (
	torusDOR  = "topology = { type = \"torus\" }\nrouting = { type = \"dor\" }\n"
	filling   = enginetest.Dragonfly + "[channel.global]\nlatency = \"100ns\"\n[switch]\nbuffer_flits = 256\n"
	oneSwitch = "routing = { type = \"table\" }\n[topology]\ntype = \"single-switch\"\n"
)

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

// TestRoutingThatFits: a file that names no routing has one of its topology, the kind's own where that fits.
func TestRoutingThatFits(t *testing.T) {
	for topology, want := range map[string]string{"dragonfly": "min", "torus": "dor", "fat-tree": "nca", "slim-fly": "table", "single-switch": "table"} {
		f := enginetest.Load(t, "kind = \"traffic\"\n[topology]\ntype = \""+topology+"\"\n")
		simtest.Equal(t, f.Points[0].Config().(*trafficConfig).Routing.Type.Name(), want, "%s: routing", topology)
	}
	// What a file gives stays, whether it fits or not.
	enginetest.Refused(t, "kind = \"traffic\"\n[topology]\ntype = \"torus\"\n[routing]\ntype = \"min\"\n", "needs a topology with groups")
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
		simtest.Equal(t, matches(pattern, name), expression.MatchString(name), "pattern %q and %q:", pattern, name)
	})
}

const changing = `
topology = { type = "dragonfly", p = 2, a = 4, h = 2 }
routing.type = "ugal-g"
switch = { vcs = 3, buffer_flits = 32 }
traffic.load = 0.3
phase.adverse = { at = 500, pattern = "worst-case" }
phase.back = { at = 1500 }
measure = { warmup = 300, window = 2000, time_lapse = "250ns" }
`

// TestPhases: the accepted loads of eight intervals of 250 cycles have the mean of the window's.
// Under the worst case the one channel between two groups carries 1 of the 8 * 0.3 that it is
// offered, so that at most 1 in 2.4 packets goes minimally (0.42; a few more packets, born in the
// time on one side of the border, arrive on the other); under uniform traffic most do. The
// intervals from cycle 750 to 1500 are of the worst case alone, those from 0 and from 1750 of
// uniform traffic: an idle network takes a tenth of an interval.
func TestPhases(t *testing.T) {
	o := enginetest.SameOnThreads(t, "phases", enginetest.Load(t, changing), simtest.Threads(t, 0), false, "time_lapse")
	lapse := o.Tables["time_lapse"]
	minimal, accepted, latency := enginetest.Numbers(t, lapse, "minimal_fraction"), enginetest.Numbers(t, lapse, "accepted_load"), enginetest.Numbers(t, lapse, "latency_mean_ns")
	sum := 0.0
	for i, a := range accepted {
		sum += a
		wrong := i >= 3 && i < 6 && minimal[i] > 0.42 || (i < 2 || i == 7) && minimal[i] < 0.6 || !(latency[i] > 0) // adverse traffic from 3 to 5
		simtest.ErrorIf(t, wrong, "interval %d: %.3f of the packets minimal, %.1f ns", i, minimal[i], latency[i])
	}
	all := enginetest.Numbers(t, o.Results, "accepted_load")[0]
	simtest.ErrorIf(t, len(accepted) != 8 || math.Abs(sum/8-all) > 1e-12, "%d intervals accept %v in the mean, the window %v", len(accepted), sum/8, all)
}

// TestPhaseLoads: two terminals send each other a flit in every cycle, none from cycle 100 to 300 of the
// window, and one again. A flit takes L cycles, so that in intervals of 100 cycles 100, L, 0 and 100-L arrive;
// 200 of 400 are offered.
func TestPhaseLoads(t *testing.T) {
	o := enginetest.OutcomeOf(t, `
topology = { type = "mesh", dims = [2], terminals = 1 }
traffic.load = 1
measure = { warmup = 100, window = 400, time_lapse = "100ns" }
phase = { pause = { at = 100, load = 0 }, again = { at = 300 } }
`)
	accepted, latency := enginetest.Numbers(t, o.Tables["time_lapse"], "accepted_load"), enginetest.Numbers(t, o.Tables["time_lapse"], "latency_mean_ns")[0]
	want := []float64{1, latency / 100, 0, 1 - latency/100}
	simtest.ErrorIf(t, !slices.Equal(accepted, want) || latency < 3 || latency > 20, "accepted %v, want %v", accepted, want)
	simtest.Equal(t, enginetest.Numbers(t, o.Results, "offered_load")[0], 0.5, "offered:")
}

// TestOfferedInPhases: half a flit for 100 cycles, one for 200, a quarter for the last 100 of 400: 275 flits, 0.6875 a cycle.
func TestOfferedInPhases(t *testing.T) {
	c := enginetest.Load(t, `
topology = { type = "mesh", dims = [2], terminals = 1 }
traffic.load = 0.5
phase.busy = { at = 100, load = 1 }
phase.calm = { at = 300, load = 0.25 }
measure = { warmup = 100, window = 400 }
`).Points[0].Config().(*trafficConfig)
	simtest.Equal(t, c.offered(), 0.6875, "offered:")
}

// TestLapse: intervals of 150 cycles of a window of 400, the last of which has 100, in two replications. Two of
// eight terminals send a flit in every cycle, each to another, and all arrive: 1 for each that sends.
func TestLapse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pairs")
	simtest.Check(t, os.WriteFile(path, []byte("3,0\n5,1\n"), 0o600))
	o := enginetest.OutcomeOf(t, fmt.Sprintf(`
topology = { type = "single-switch", terminals = 8 }
traffic = { pattern = "file", path = %q, load = 1 }
measure = { warmup = 100, window = 400, replications = 2, time_lapse = "150ns" }
`, path))
	lapse := o.Tables["time_lapse"]
	got, from := enginetest.Numbers(t, lapse, "accepted_load"), enginetest.Numbers(t, lapse, "time_ns")
	simtest.Alike(t, "from", got, []float64{1, 1, 1}, from, []float64{0, 150, 300})
}

// TestGlobalChannels: of five groups of two switches each has its channels in the order of the other groups, two
// on a switch: group 0 those to groups 1 and 2, 3 and 4; group 1 to 0 and 2, 3 and 4; and so on. So the one
// beside the channel to the next group leads 2, 4, 2, 4, 2 groups on. Under the worst case, minimally, the two terminals
// of a group send all by the channel to the next, 0.6 flits a cycle (within 10 %: of 4,800 flits the deviation is
// below 1 %).
func TestGlobalChannels(t *testing.T) {
	o := enginetest.OutcomeOf(t, `
topology = { type = "dragonfly", p = 1, a = 2, h = 2 }
routing.type = "min"
traffic = { pattern = "worst-case", load = 0.3 }
measure = { warmup = 500, window = 8000, global_channels = true }
`)
	table := o.Tables["global_channels"]
	groups, offsets := enginetest.Numbers(t, table, "group"), enginetest.Numbers(t, table, "offset")
	rates, roles := enginetest.Numbers(t, table, "flits_per_cycle"), enginetest.Column(t, table, "role")
	simtest.FatalIf(t, len(roles) != 20, "%d channels, want 20", len(roles))
	for i, role := range roles {
		want, rate := "other", 0.0
		switch offsets[i] {
		case 1:
			want, rate = "minimal", 0.6
		case []float64{2, 4, 2, 4, 2}[int(groups[i])]:
			want = "beside"
		}
		simtest.ErrorIf(t, role != want || math.Abs(rates[i]-rate) > 0.06, "from group %v %v on: %s, %v flits a cycle, want %s, %v", groups[i], offsets[i], role, rates[i], want, rate)
	}
}

// TestTallyCells: two packets of 10 and 30 cycles, and 8 flits in 4 cycles of 2 ns.
func TestTallyCells(t *testing.T) {
	l := measure.Tally{Packets: 2, Flits: 8, Sum: 40}
	l.Latency.Add(10)
	l.Latency.Add(30)
	simtest.EqualSlices(t, tallyCells(&l, 4, 2), []any{int64(2), 2.0, 40.0, 20.0, 60.0, 60.0}, "")
}

// TestPhasesRefused: phases want a window of given length that holds them, and the open loop.
func TestPhasesRefused(t *testing.T) {
	for set, want := range map[string]string{
		"measure.find=saturation":      "measure.find does not go with [phase.NAME]: the search for a load",
		"measure.warmup=0":             "measure.warmup = 0: want a number of cycles with [phase.NAME]",
		"measure.window=0":             "measure.window = 0: want a number of cycles with [phase.NAME]",
		"phase.back.at=2000":           "phase.back.at = 2000: want at most 1999, a cycle of the window",
		"phase.back.at=500":            "phase.back.at = 500: phase adverse begins then, too",
		"phase.back.pattern=tornado2":  `phase.back.pattern = "tornado2": unknown pattern`,
		"phase.back.pattern=transpose": "needs a square grid or a square number of terminals",
		"program.type=request-reply":   `program.type = "request-reply": want "open-loop"`,
		"phase.back.load=1.5":          "phase.back.load = 1.5: want",
		"phase.back.load=-0.5":         "phase.back.load = -0.5: want 0 to 1",
	} {
		simtest.Refuse(loadWith(changing, set))(t, want)
	}
}

func loadWith(text string, set ...string) (*experiments.File, error) {
	return experiments.Load("x.toml", text, experiments.Options{Set: set})
}
