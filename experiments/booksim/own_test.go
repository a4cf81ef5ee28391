package booksim

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/figures"
	"github.com/weft-sim/weft/experiments/judge"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/simtest"
)

// own reads the curves that come with weft.
func own(t *testing.T) []Curve {
	t.Helper()
	curves, ignored, err := ReadFolder(Own(), "curves")
	simtest.FatalIf(t, err != nil || len(ignored) > 0, "%v %v", err, ignored)
	return curves
}

// load is the experiment of a curve with five seeds.
func load(t *testing.T, c Curve, loads []float64, set ...string) (*experiments.File, error) {
	t.Helper()
	text, files, _, err := c.Config.Experiment(c.Name, loads, 5)
	if err != nil {
		return nil, err
	}
	dir := t.TempDir()
	for name, content := range files {
		simtest.Check(t, os.WriteFile(filepath.Join(dir, name), content, 0o644))
	}
	return experiments.Load(filepath.Join(dir, c.Name), text, experiments.Options{Set: set})
}

// judged runs a curve with five seeds at its loads, or those given, and judges it.
func judged(t *testing.T, c Curve, loads []float64, set ...string) []Row {
	t.Helper()
	if loads == nil {
		loads = c.Loads()
	}
	file := simtest.Must(load(t, c, loads, set...))(t)
	outcome := simtest.Must(engine.Execute(context.Background(), file, engine.Execution{}))(t)
	return simtest.Must(c.Judge(Run{Results: outcome.Results}))(t)
}

// TestOwnCurvesMap: all curves that come with weft are carried over.
func TestOwnCurvesMap(t *testing.T) {
	names := map[string]bool{}
	for _, c := range own(t) {
		names[c.Name] = true
		_, err := load(t, c, c.Loads())
		simtest.ErrorIf(t, err != nil, "%s: %v", c.Name, err)
	}
	simtest.ErrorIf(t, len(names) != 25, "%d curves, want 25", len(names))
}

// TestLongPackets holds packets of 8 flits and speedup 2 against five seeds of
// BookSim2's at every load, and packets of 4 against three: no mean differs by more than the rules allow. A switch that
// sends every credit at once accepts 4.6 % more than BookSim2's on the torus at 0.7, weft's own 0.1 % less.
func TestLongPackets(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates for half a minute")
	}
	seen := 0
	var rows []Row
	var more []float64
	for _, c := range own(t) {
		if c.File != "longpackets_seeds.csv" {
			continue
		}
		seen++
		all := judged(t, c, nil)
		rows = append(rows, all...)
		for _, r := range all {
			simtest.ErrorIf(t, len(r.Peer) < 3 || len(r.Own) < len(r.Peer), "%s, load %v: %d and %d seeds", c.Name, r.Load, len(r.Peer), len(r.Own))
			simtest.ErrorIf(t, r.Verdict != judge.Agrees && r.Verdict != judge.NotJudged,
				"%s, load %v, %s: %s: %v, BookSim2's %v", c.Name, r.Load, r.Metric, r.Verdict, r.Own, r.Peer)
		}
		if strings.HasPrefix(c.Name, "torus_8x8") {
			for _, r := range append(all, judged(t, c, []float64{0.7}, "switch.credits_per_cycle=0")...) {
				if r.Load == 0.7 && r.Metric == "accepted" {
					own, _ := r.Own.moments()
					peer, _ := r.Peer.moments()
					more = append(more, own/peer-1)
				}
			}
		}
	}
	simtest.ErrorIf(t, seen != 4 || len(more) != 2 || math.Abs(more[0]) > 0.01 || more[1] < 0.04, "%d curves with seeds, want 4; accepts %v more", seen, more)
	if *updateValidation {
		writeValidation(t, rows)
	}
}

// TestSettings holds BookSim2's own examples, and its settings wait_for_tail_credit, separable
// and wavefront allocators and input_speedup on a mesh of 4x4, against three seeds, or two, at every load, below and
// beyond saturation: no mean differs by more than the rules allow. They tell the settings apart:
// beyond saturation, virtual channels that wait for their credits cost 8 % of what is accepted. A run
// takes a third of the curves, make soak all.
func TestSettings(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates for half a minute")
	}
	curves, agree, thirds := 0, 0, simtest.Some(t, 0, 0, 1, 2)
	for _, c := range own(t) {
		if c.File != "examples_seeds.csv" && c.File != "settings_seeds.csv" {
			continue
		}
		if curves++; !slices.Contains(thirds, curves%3) {
			continue
		}
		for _, r := range judged(t, c, nil) {
			switch r.Verdict {
			case judge.Agrees:
				agree++
			case judge.NotJudged:
			default:
				t.Errorf("%s, load %v, %s: %s: %v, BookSim2's %v", c.Name, r.Load, r.Metric, r.Verdict, r.Own, r.Peer)
			}
		}
		if strings.HasSuffix(c.Name, "buf4_wait_for_tail_credit") {
			for _, r := range judged(t, c, []float64{0.9}, "switch.vc_reuse=tail-sent") {
				simtest.ErrorIf(t, r.Load == 0.9 && r.Metric == "accepted" && r.Verdict != judge.Differs,
					"virtual channels that wait for nothing, load 0.9: %s: %v, BookSim2's %v", r.Verdict, r.Own, r.Peer)
			}
		}
	}
	want := 14
	if len(thirds) == 3 {
		want = 70
	}
	simtest.ErrorIf(t, curves != 15 || agree < want, "%d curves, want 15; %d means agree, want at least %d of 87", curves, agree, want)
}

// accepted is the mean accepted load of all points of an experiment.
func accepted(t *testing.T, text string, set ...string) float64 {
	file := simtest.Must(experiments.Load("peer", text, experiments.Options{Set: set}))(t)
	outcome := simtest.Must(engine.Execute(context.Background(), file, engine.Execution{}))(t)
	var s sample
	for _, row := range outcome.Results.Rows {
		s = append(s, simtest.Must(strconv.ParseFloat(row[slices.Index(outcome.Results.Columns, "accepted_load")], 64))(t))
	}
	mean, _ := s.moments()
	return mean
}

// TestTerminalBuffers: packets of 4 flits on a 4x4x4 torus whose buffers, those of terminals too,
// have 8 flits. At a load of 0.8 BookSim2 accepts 0.7751 +- 0.0013 (40 seeds); with switches
// bounded by 16 flits that wait for a terminal, and no credits, weft accepts 1.5 % more.
func TestTerminalBuffers(t *testing.T) {
	config := parse(t, "topology = torus; k = 4; n = 3; routing_function = dim_order; num_vcs = 2; packet_size = 4; sample_period = 400; warmup_periods = 3; max_samples = 6;"+
		"routing_delay = 0; credit_delay = 2; internal_speedup = 2.0; vc_allocator = islip; sw_allocator = islip; alloc_iters = 1;")
	text, _, _, err := config.Experiment("torus", []float64{0.8}, 40)
	simtest.Check(t, err)
	got := accepted(t, text)
	simtest.ErrorIf(t, math.Abs(got/0.7751-1) > 0.005, "accepted %v, BookSim2 0.7751", got)
	got = accepted(t, text, "terminal.buffer_flits=0")
	simtest.ErrorIf(t, got < 1.01*0.7751, "accepted %v by terminals that take every flit: what was to be told apart is not", got)
}

// TestSmallBuffers: two terminals send each other packets through buffers that hold less than a packet, as fast as they can.
// BookSim2 accepts what is wanted, to 0.05 %. A terminal may use a credit 5 cycles after a head, if the head goes on at once, and a
// switch that of a terminal 7 cycles after its grant. So 4 flits through buffers of 2 leave in cycles 0, 1, 5 and 7, the next head
// in 8 (4/8); with buffers of 3 in 0, 1, 2 and 5, the next in 6 (4/6); on one virtual channel 2 flits in 7 cycles.
func TestSmallBuffers(t *testing.T) {
	for _, c := range []struct {
		flits, buffer, vcs int
		want               float64
	}{{4, 2, 2, 4. / 8}, {4, 3, 2, 4. / 6}, {8, 3, 2, 8. / 15}, {2, 1, 4, 2. / 6}, {4, 1, 4, 4. / 20}, {4, 2, 1, 2. / 7}} {
		config := parse(t, fmt.Sprintf("topology = fly; k = 2; n = 1; routing_function = dest_tag; traffic = bitcomp; packet_size = %d; vc_buf_size = %d; num_vcs = %d;"+
			"routing_delay = 0; credit_delay = 2; internal_speedup = 1.0; vc_allocator = islip; sw_allocator = islip;", c.flits, c.buffer, c.vcs))
		text, _, _, err := config.Experiment("two", []float64{1}, 1)
		simtest.Check(t, err)
		simtest.Near(t, accepted(t, text), c.want, 0.001, "%v", c)
	}
}

var updateValidation = flag.Bool("update-validation", false, "rewrite docs/validation-longpackets.csv and its figure")

// writeValidation writes the verdicts on the curves with five seeds, and a figure of their
// latencies with 95 % confidence intervals of both simulators, to the documentation.
func writeValidation(t *testing.T, rows []Row) {
	t.Helper()
	docs := filepath.Join("..", "..", "docs")
	simtest.Check(t, tableOf(rows).WriteFile(filepath.Join(docs, "validation-longpackets.csv")))
	table := &results.Table{Columns: []string{"case", "simulator", "offered_load", "latency_mean_ns", "latency_ci95_ns"}}
	for _, r := range rows {
		if r.Metric != "latency" || r.Verdict != judge.Agrees {
			continue
		}
		for i, s := range []sample{r.Own, r.Peer} {
			mean, variance := s.moments()
			n := float64(len(s))
			half := math.Sqrt(variance/n) * distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(0.975)
			table.Rows = append(table.Rows, []string{strings.TrimSuffix(strings.NewReplacer("_dor_uniform_8flit_", ", ", "_dor_uniform_4flit_", ", ").Replace(r.Curve), "_speedup2"),
				[]string{"weft", "BookSim2"}[i], fmt.Sprint(r.Load), fmt.Sprint(mean), fmt.Sprint(half)})
		}
	}
	p := figures.PlotConfig{X: "offered_load", Y: []string{"latency_mean_ns"}, By: []string{"simulator"}, Panels: "case", Height: 3.8, Style: "line", YMax: 80, Title: "weft and BookSim2: packets of 8 flits, and of 4 on the torus 4x4x4, speedup 2"}
	picture := simtest.Must(p.Draw(&figures.PlotSource{Table: table}, "png"))(t)
	simtest.Check(t, results.WriteFile(filepath.Join(docs, "validation-longpackets.png"), picture))
}
