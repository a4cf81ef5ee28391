package kinds

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric/measure"
)

// verdictCase is a network and pattern with the loads around its knee. The
// loads stand in thousandths of a flit per terminal and cycle.
type verdictCase struct {
	name, text string
	loads      []int
	brief      bool // short enough for every run of the tests
	warmup     int  // cycles; 0: 1,000
}

const (
	torusDOR  = "[topology]\ntype = \"torus\"\n[routing]\ntype = \"dor\"\n"
	dragonfly = "[topology]\ntype = \"dragonfly\"\np = 2\na = 4\nh = 2\n"
	filling   = dragonfly + "[channel.global]\nlatency = \"100ns\"\n[switch]\nbuffer_flits = 256\n"
)

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
			f, err := experiments.Load("verdict.toml", text, experiments.Options{Set: []string{fmt.Sprintf("traffic.load=%v", float64(load)/1000)}})
			if err != nil {
				t.Fatal(err)
			}
			config := f.Points[0].Config().(*trafficConfig)
			bound := 0.0
			if withBound {
				if bound, err = config.LoadBound(1); err != nil {
					t.Fatal(err)
				}
			}
			_, r, err := config.simulate(context.Background(), &experiments.Run{Seed: 1}, bound, 1)
			if err != nil {
				t.Fatal(err)
			}
			all[i] = append(all[i], r)
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
	for _, c := range verdictCases {
		if !c.brief {
			continue
		}
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
	table := experiments.Table{Columns: []string{"case", "bound", "offered_load", "window_cycles", "accepted_load", "latency_mean_cycles", "by_tests", "reason", "state"}}
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
	if err := table.WriteFile("../../docs/verdicts-by-window.csv"); err != nil {
		t.Fatal(err)
	}
}

// TestVerdictTableIsTrue: docs/validation.md counts what the table holds.
func TestVerdictTableIsTrue(t *testing.T) {
	text, err := os.ReadFile("../../docs/verdicts-by-window.csv")
	if err != nil {
		t.Fatal(err)
	}
	table, err := experiments.ReadTable("verdicts-by-window.csv", bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/validation.md")
	if err != nil {
		t.Fatal(err)
	}
	var counts [3][3]int // by window, by state
	flips, undecided := 0, 0
	cases := map[string]bool{}
	const name, byTests = 0, 6
	for i := 0; i < len(table.Rows); i += 3 {
		decided := map[string]bool{}
		for k := range 3 {
			row := table.Rows[i+k]
			state, err := measure.ParseState(row[byTests])
			if err != nil {
				t.Fatal(err)
			}
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
