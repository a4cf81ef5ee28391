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
	"github.com/weft-sim/weft/experiments/engine/enginetest"
	"github.com/weft-sim/weft/sim/simtest"
)

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
[phase.adverse]
at = 500
pattern = "worst-case"
[phase.back]
at = 1500
[measure]
warmup = 300
window = 2000
time_lapse = "250ns"
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
		if adverse := i >= 3 && i < 6; adverse && minimal[i] > 0.42 || (i < 2 || i == 7) && minimal[i] < 0.6 || !(latency[i] > 0) {
			t.Errorf("interval %d: %.3f of the packets minimal, %.1f ns", i, minimal[i], latency[i])
		}
	}
	all := enginetest.Numbers(t, o.Results, "accepted_load")[0]
	simtest.ErrorIf(t, len(accepted) != 8 || math.Abs(sum/8-all) > 1e-12,
		"%d intervals accept %v in the mean, the window %v", len(accepted), sum/8, all)
}

// TestPhaseLoads: two terminals send each other a flit in every cycle, none from cycle 100 to 300 of the
// window, and one again. A flit takes L cycles, so that in intervals of 100 cycles 100, L, 0 and 100-L arrive;
// 200 of 400 are offered.
func TestPhaseLoads(t *testing.T) {
	o := enginetest.OutcomeOf(t, `
topology = { type = "mesh", dims = [2], terminals = 1 }
traffic.load = 1
[phase.pause]
at = 100
load = 0
[phase.again]
at = 300
[measure]
warmup = 100
window = 400
time_lapse = "100ns"
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
		if role != want || math.Abs(rates[i]-rate) > 0.06 {
			t.Errorf("from group %v %v on: %s, %v flits a cycle, want %s, %v", groups[i], offsets[i], role, rates[i], want, rate)
		}
	}
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
