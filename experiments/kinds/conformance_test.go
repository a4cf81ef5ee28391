package kinds

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// Keys are lower case, or one of the capitals by which the LogGP models name their
// parameters (L, G, O, S beside o and g).
var (
	kindName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
	keyName  = regexp.MustCompile(`^([a-z][a-z0-9_]*|[A-Z])$`)
)

// TestConformance is the conformance suite of kinds: names that files and CSV can
// carry, everything documented, defaults that are valid, and no parameter of a
// choice hidden behind a key of its table or of another choice.
func TestConformance(t *testing.T) {
	for _, k := range experiments.DescribeKinds() {
		t.Run(k.Name, func(t *testing.T) {
			if !kindName.MatchString(k.Name) || k.Doc == "" {
				t.Errorf("documented %q", k.Doc)
			}
			seen := map[string]bool{"point": true, "seed": true, "replications": true}
			for _, c := range k.Columns {
				if !keyName.MatchString(c.Name) || c.Doc == "" || seen[c.Name] {
					t.Errorf("column %q, documented %q, or twice", c.Name, c.Doc)
				}
				seen[c.Name] = true
			}
			for _, table := range k.Tables {
				checkTable(t, &table)
			}
			f, err := experiments.Load("defaults", fmt.Sprintf("kind = %q", k.Name), experiments.Options{})
			if err != nil {
				t.Fatalf("the defaults are not valid: %v", err)
			}
			if _, err := experiments.Load("resolved.toml", f.Resolved(), experiments.Options{}); err != nil {
				t.Errorf("the defaults spelt out cannot be read again: %v", err)
			}
		})
	}
}

func checkTable(t *testing.T, table *experiments.TableDescription) {
	t.Helper()
	if table.Doc == "" {
		t.Errorf("table %s has no documentation", table.Name)
	}
	own := map[string]bool{}
	for _, p := range table.Params {
		checkParam(t, table.Name, p)
		own[p.Key] = true
	}
	others := map[string]string{}
	for _, c := range table.Choices {
		for _, e := range c.Entries {
			for _, p := range e.Params {
				where := table.Name + " " + e.Name
				checkParam(t, where, p)
				if own[p.Key] || others[p.Key] != "" && others[p.Key] != c.Key {
					t.Errorf("%s: %s is hidden by another key of the table", where, p.Key)
				}
				others[p.Key] = c.Key
			}
		}
	}
}

func checkParam(t *testing.T, where string, p param.Param) {
	t.Helper()
	if !keyName.MatchString(p.Key) || p.Doc == "" {
		t.Errorf("%s: key %q, documented %q", where, p.Key, p.Doc)
	}
}

// A terminal that sends packets of D flits to one other through an otherwise
// idle switch is a queue with one server: its channel, which takes D cycles a
// packet. Packets are born with probability p a cycle.
//
// Exact mean wait (Geo/D/1). Let V be the work, in cycles, found by a packet
// born in a cycle; with A = 1 if one is born in the cycle (probability p) and
// U = V + D A, the next cycle finds V' = max(U - 1, 0). The channel is busy
// for a share rho = pD of the cycles, so P(U = 0) = 1 - rho. V' differs from
// U - 1 only there, where it is 0 and not -1:
//
//	E V'^2 = E (U-1)^2 - P(U = 0) = E U^2 - 2 E U + rho.
//
// In the steady state E V'^2 = E V^2. With E U = E V + rho and, A being
// independent of V, E U^2 = E V^2 + 2 rho E V + D rho, this leaves
//
//	0 = 2 rho E V + D rho - 2 E V - 2 rho + rho,  E V = rho (D-1) / (2 (1-rho)).
//
// A birth is independent of V in its cycle, so that E V is the mean wait. The
// rest is the latency without a wait: 1 cycle of injection, 1 for each of the
// two channels, 1 in the switch, and D-1 for the flits behind the head.
func exactLatency(load, flits float64) float64 {
	return load*(flits-1)/(2*(1-load)) + 4 + flits - 1
}

// TestCoverage: in 200 runs with seeds of their own, the 95 % confidence
// interval of the mean latency contains the exact mean in 90 to 98 % of them.
// (With exact coverage that share leaves 90 to 98 % in about one set of
// 200 runs in 40; the seeds are fixed.) A window that ends as soon as its
// interval is narrow enough does so early where chance has made both the
// interval and the mean small: with precision = 0.04 here, 177 of 200 intervals
// contain the exact mean, and with precision = 0.01, which exhausts the budget,
// 188.
func TestCoverage(t *testing.T) {
	const runs = 200
	type variant struct{ name, text string }
	for _, c := range simtest.Some(t, 0,
		variant{"window", "warmup = 1000\nwindow = 20000\n"},
		variant{"replications", "warmup = 500\nwindow = 2000\nreplications = 5\n"},
	) {
		t.Run(c.name, func(t *testing.T) {
			o := outcomeOf(t, oneSwitch+`terminals = 2
[traffic]
pattern = "neighbour"
load = 0.6
packet_flits = 8
[measure]
`+c.text+`
[sweep]
seed = { from = 1, to = 200, step = 1 }
`)
			mean, half := numbers(t, o.Results, "latency_mean_ns"), numbers(t, o.Results, "latency_ci95_ns")
			exact := exactLatency(0.6, 8)
			inside, sum, width := 0, 0.0, 0.0
			for i := range mean {
				sum += mean[i] / runs
				width += half[i] / runs
				if math.Abs(mean[i]-exact) <= half[i] {
					inside++
				}
			}
			t.Logf("mean %v, exact %v, half-width %v, %d of %d inside", sum, exact, width, inside, runs)
			if inside < 0.90*runs || inside > 0.98*runs {
				t.Errorf("%d of %d intervals contain the exact mean %v", inside, runs, exact)
			}
			// The mean of all runs has a standard error of about
			// width/1.96/sqrt(runs).
			if slack := 4 * width / 1.96 / math.Sqrt(runs); math.Abs(sum-exact) > slack {
				t.Errorf("the mean of all runs is %v, want %v within %v", sum, exact, slack)
			}
		})
	}
}

// verdictCase is a network and pattern with the loads around its knee. The
// loads stand in thousandths of a flit per terminal and cycle.
type verdictCase struct {
	name, text string
	loads      []int
	brief      bool // short enough for every run of the tests
	warmup     int  // cycles; 0: 1,000
}

// verdictCases are those of docs/validation.md.
var verdictCases = []verdictCase{
	{"torus 8x8, dor, transpose", torusDOR + "[traffic]\npattern = \"transpose\"\n", []int{200, 250, 260, 270, 280, 290, 300, 320}, true, 0},
	{"torus 8x8, dor, uniform", torusDOR, []int{500, 650, 700, 725, 750, 775, 800, 850}, false, 0},
	{"torus 8x8, dor, uniform, on-off", torusDOR + "[traffic]\nprocess = \"on-off\"\n", []int{400, 600, 650, 700, 725, 750, 775, 800}, false, 0},
	{"torus 8x8, adaptive-escape, tornado", "[topology]\ntype = \"torus\"\n[routing]\ntype = \"adaptive-escape\"\n[traffic]\npattern = \"tornado\"\n", []int{200, 250, 275, 300, 325, 350, 375, 400}, false, 0},
	{"mesh 8x8, dor, uniform, 8 flits", "[topology]\ntype = \"mesh\"\n[routing]\ntype = \"dor\"\n[traffic]\npacket_flits = [8]\n", []int{200, 275, 300, 325, 350, 375, 400, 450}, false, 0},
	{"mesh 6x6, dor, hot-spot", "[topology]\ntype = \"mesh\"\ndims = [6, 6]\n[routing]\ntype = \"dor\"\n[traffic]\npattern = \"hot-spot\"\n", []int{50, 100, 150, 200, 225, 250, 275, 300}, true, 0},
	{"dragonfly 72, min, uniform", dragonfly, []int{700, 850, 900, 935, 960, 975, 985, 990}, false, 0},
	{"dragonfly 72, min, worst case", dragonfly + "[traffic]\npattern = \"worst-case\"\n", []int{80, 100, 110, 115, 120, 124, 130, 140}, true, 0},
	{"dragonfly 72, ugal-l, worst case", dragonfly + "[routing]\ntype = \"ugal-l\"\n[traffic]\npattern = \"worst-case\"\n", []int{300, 400, 440, 460, 480, 490, 500, 520}, false, 0},
	{"dragonfly 72, ugal-l-vch, buffers of 64, worst case", dragonfly + "[switch]\nbuffer_flits = 64\n[routing]\ntype = \"ugal-l-vch\"\n[traffic]\npattern = \"worst-case\"\n", []int{280, 320, 400, 460, 480, 490, 500, 520}, false, 0},
	{"dragonfly 72, val, uniform", dragonfly + "[routing]\ntype = \"val\"\n", []int{400, 475, 500, 525, 540, 550, 560, 600}, false, 0},
	{"fat tree 8-port, 2 levels, nca, uniform", "[topology]\ntype = \"fat-tree\"\nk = 8\nn = 2\n[routing]\ntype = \"nca\"\n", []int{600, 750, 800, 850, 900, 925, 950, 970}, false, 0},
	{"XGFT m=[8,8,4] w=[1,4,2], nca, uniform", "[topology]\ntype = \"xgft\"\nm = [8, 8, 4]\nw = [1, 4, 2]\n[routing]\ntype = \"nca\"\n", []int{120, 145, 155, 160, 165, 170, 175, 190}, false, 0},
	{"random 32x6, table, uniform", "[topology]\ntype = \"random-regular\"\nswitches = 32\ndegree = 6\nterminals = 4\n[routing]\ntype = \"table\"\n", []int{400, 450, 475, 485, 495, 500, 525, 550}, false, 0},
	{"dragonfly 72, global channels of 100 cycles, val, worst case, filling", filling + "[routing]\ntype = \"val\"\n[traffic]\npattern = \"worst-case\"\n", []int{100, 200, 300, 400, 420, 435, 440, 460}, false, 10},
	{"dragonfly 72, global channels of 100 cycles, min, uniform, filling", filling, []int{300, 500, 700, 800, 900, 950, 980, 1000}, false, 10},
	{"single switch of 16, uniform", "[topology]\ntype = \"single-switch\"\nterminals = 16\n[routing]\ntype = \"table\"\n", []int{600, 800, 900, 940, 955, 965, 980, 990}, true, 0},
}

// verdicts judges the case at all loads: by load, by window. withBound also uses
// the bounds of the channels.
func (c verdictCase) verdicts(t *testing.T, windows []int64, withBound bool) [][]*measure.Result {
	t.Helper()
	all := make([][]*measure.Result, len(c.loads))
	for i, load := range c.loads {
		for _, window := range windows {
			text := fmt.Sprintf("%s\n[measure]\nwarmup = %d\nwindow = %d\n", c.text, cmp.Or(c.warmup, 1000), window)
			f := simtest.Must(experiments.Load("verdict.toml", text, experiments.Options{Set: []string{fmt.Sprintf("traffic.load=%v", float64(load)/1000)}}))(t)
			bound := 0.0
			if withBound {
				bound = f.LoadBound(f.Points[0])
			}
			all[i] = append(all[i], replicationOf(t, f, 1, bound, 1))
		}
	}
	return all
}

// TestVerdictsStand: a window four times as long never turns steady into
// saturated or back, where the tests alone decide, without proven bounds. At the
// lowest of these loads the networks are steady in the longer window, and at the
// highest they are saturated. docs/validation.md has more networks and windows.
func TestVerdictsStand(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates some seconds")
	}
	brief := slices.DeleteFunc(slices.Clone(verdictCases), func(c verdictCase) bool { return !c.brief })
	for _, c := range simtest.Some(t, 0, brief...) {
		t.Run(c.name, func(t *testing.T) {
			for i, results := range c.verdicts(t, []int64{3000, 12000}, false) {
				short, long := results[0].State, results[1].State
				if short != measure.Undecided && long != measure.Undecided && short != long {
					t.Errorf("load %.3f: %v, with a longer window %v", float64(c.loads[i])/1000, short, long)
				}
				if i == 0 && long != measure.Steady || i == len(c.loads)-1 && long != measure.Saturated {
					t.Errorf("load %.3f: %v (%s)", float64(c.loads[i])/1000, long, results[1].Reason)
				}
			}
		})
	}
}

// TestVerdictTable rewrites the table of verdicts in docs, on request.
func TestVerdictTable(t *testing.T) {
	if !*updateValidation {
		t.Skip("with -update-validation only")
	}
	windows := []int64{3000, 12000, 48000}
	table := results.Table{Columns: []string{"case", "bound", "offered_load", "window_cycles", "accepted_load", "latency_mean_cycles", "by_tests", "reason", "state"}}
	for _, c := range verdictCases {
		for i, results := range c.verdicts(t, windows, true) {
			for k, r := range results {
				alone := r.Evidence
				alone.Bound = 0
				byTests, reason := alone.Judge()
				bound := ""
				if r.Evidence.Bound > 0 {
					bound = shortest(experiments.RoundDecimal(r.Evidence.Bound))
				}
				table.Rows = append(table.Rows, []string{c.name, bound, shortest(float64(c.loads[i]) / 1000), fmt.Sprint(windows[k]),
					fmt.Sprintf("%.4f", r.Accepted), fmt.Sprintf("%.1f", r.MeanLatency()), byTests.String(), reason, r.State.String()})
			}
		}
	}
	simtest.Check(t, table.WriteFile("../../docs/verdicts-by-window.csv"))
}

// TestVerdictTableIsTrue: docs/validation.md counts what the table holds.
func TestVerdictTableIsTrue(t *testing.T) {
	text := simtest.Must(os.ReadFile("../../docs/verdicts-by-window.csv"))(t)
	table := simtest.Must(results.ReadTable("verdicts-by-window.csv", bytes.NewReader(text)))(t)
	page := simtest.Must(os.ReadFile("../../docs/validation.md"))(t)
	var counts [3][3]int // by window, by state
	flips, undecided := 0, 0
	cases := map[string]bool{}
	const name, byTests = 0, 6
	for i := 0; i < len(table.Rows); i += 3 {
		decided := map[string]bool{}
		for k := range 3 {
			row := table.Rows[i+k]
			state := simtest.Must(measure.ParseState(row[byTests]))(t)
			cases[row[name]] = true
			counts[k][state]++
			if state != measure.Undecided {
				decided[row[byTests]] = true
			}
		}
		if len(decided) == 2 {
			flips++
		}
		if len(decided) == 0 {
			undecided++
		}
	}
	for _, sentence := range []string{
		fmt.Sprintf("%d networks and patterns, %d loads", len(cases), len(table.Rows)/3),
		fmt.Sprintf("| 3,000 | %d | %d | %d |", counts[0][measure.Steady], counts[0][measure.Saturated], counts[0][measure.Undecided]),
		fmt.Sprintf("| 12,000 | %d | %d | %d |", counts[1][measure.Steady], counts[1][measure.Saturated], counts[1][measure.Undecided]),
		fmt.Sprintf("| 48,000 | %d | %d | %d |", counts[2][measure.Steady], counts[2][measure.Saturated], counts[2][measure.Undecided]),
		fmt.Sprintf("%d of them changed between steady and saturated", flips),
	} {
		if !strings.Contains(string(page), sentence) {
			t.Errorf("docs/validation.md lacks %q", sentence)
		}
	}
}
