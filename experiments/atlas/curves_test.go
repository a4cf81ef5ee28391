package atlas

import (
	"context"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/booksim"
	"github.com/weft-sim/weft/experiments/judge"
	"github.com/weft-sim/weft/sim/simtest"
)

func own(t testing.TB) *Reference {
	t.Helper()
	r := simtest.Must(Read(Own(), "reference"))(t)
	return r
}

// run runs a curve at some loads with so many seeds and judges these points.
func run(t *testing.T, r *Reference, name string, loads []float64, seeds int) []booksim.Row {
	t.Helper()
	i := slices.IndexFunc(r.Curves, func(c Curve) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("no curve %s", name)
	}
	c := r.Curves[i]
	text, files, canDeadlock, err := r.Experiment(&c, loads, seeds)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, content := range files {
		simtest.Check(t, os.WriteFile(filepath.Join(dir, name), content, 0o666))
	}
	file := simtest.Must(experiments.Load(filepath.Join(dir, "curve.toml"), text, experiments.Options{AllowDeadlock: canDeadlock}))(t)
	outcome := simtest.Must(file.Execute(context.Background(), experiments.Execution{}))(t)
	c.At(loads)
	rows := simtest.Must(c.Judge(booksim.Run{Results: outcome.Results}))(t)
	return rows
}

// TestCurvesMap: every curve that has a peer behind it is carried over to an experiment
// that weft accepts.
func TestCurvesMap(t *testing.T) {
	r, dir := own(t), t.TempDir()
	mapped := 0
	for _, c := range r.Curves {
		text, files, canDeadlock, err := r.Experiment(&c, c.Loads(), 2)
		if err != nil {
			if !c.SecondReading() {
				t.Errorf("%s: %v", c.Name, err)
			}
			continue
		}
		for name, content := range files {
			simtest.Check(t, os.WriteFile(filepath.Join(dir, name), content, 0o666))
		}
		if _, err := experiments.Load(filepath.Join(dir, c.Name+".toml"), text, experiments.Options{AllowDeadlock: canDeadlock}); err != nil {
			t.Errorf("%s: %v\n%s", c.Name, err, text)
		}
		mapped++
	}
	if mapped < 30 {
		t.Errorf("%d curves are mapped", mapped)
	}
}

// TestCurvePoints: a light point and one beyond saturation of curves of each kind of graph.
func TestCurvePoints(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates for some seconds")
	}
	r := own(t)
	for _, c := range []struct {
		curve string
		loads []float64
	}{
		{"polarfly_q7__minhopvc_rperm_vc4_buf16_speedup2", []float64{0.1, 0.2}},
		{"slimfly_q5__valhopvc_rperm_vc4_buf16_speedup2", []float64{0.2, 0.5}},
		{"hyperx_4x4__ran_min_shift0_vc4_buf16_speedup2", []float64{0.1, 0.3}},
	} {
		for _, row := range run(t, r, c.curve, c.loads, 2) {
			if row.Verdict == judge.Differs || row.Verdict == judge.NotRun {
				t.Errorf("%+v", row)
			}
		}
	}
}

// TestDecidedAsInBookSim2: UGAL beside its knee depends on how old the queues are that
// terminals see, and UGAL-PF on which of several equally empty neighbours it takes. With
// queues newer by two cycles the first two points read 22.9 and 18.9 cycles, and with
// neighbours drawn the third 24.1. Permitted are three standard deviations of the mean of
// three seeds, whose own is 7, 0.5 and 2 %.
func TestDecidedAsInBookSim2(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates for some seconds")
	}
	r := own(t)
	for _, c := range []struct {
		curve     string
		load      float64
		permitted float64
	}{
		{"slimfly_q5__ugalhopvc_rperm_vc4_buf16_speedup2", 0.4, 0.12},
		{"slimfly_q5__ugallnew_rperm_vc4_buf16_speedup2", 0.4, 0.01},
		{"polarfly_q7__ugall4_pf_rperm_vc4_buf16_speedup2", 0.3, 0.035},
	} {
		for _, row := range run(t, r, c.curve, []float64{c.load}, 3) {
			if row.Metric != "latency" {
				continue
			}
			mean := 0.0
			for _, x := range row.Own {
				mean += x / float64(len(row.Own))
			}
			if d := mean/row.Peer[0] - 1; math.Abs(d) > c.permitted {
				t.Errorf("%s at %v: latency %.2f, BookSim2 %.2f", c.curve, c.load, mean, row.Peer[0])
			}
		}
	}
}

// The largest accepted load of polarfly_q7 ugalhopvc rperm is 0.484484; at 0.4, 0.826 of
// it, seeds.csv has 20.3853, 21.1569 and 20.601 beside the curve's 20.601: a mean of 20.686,
// a standard deviation of 0.3305, 1.6 %. Nearer to saturation lies slimfly_q5 minhopvc
// uniform at 0.9.
func TestNoise(t *testing.T) {
	r := own(t)
	for i := range r.Curves {
		c := &r.Curves[i]
		switch c.Name {
		case "polarfly_q7__ugalhopvc_rperm_vc4_buf16_speedup2":
			if got := c.Noise[0.4]; math.Abs(got-0.01598) > 1e-4 {
				t.Errorf("noise %v at 0.4", got)
			}
			if got := slices.Sorted(maps.Values(c.Noise)); got[0] > 1e-3 {
				t.Errorf("noise %v far from saturation", got)
			}
		case "slimfly_q5__minhopvc_uniform_vc4_buf16_speedup2":
			if got := c.Noise[0.9]; got < 0.1 || got > 0.2 {
				t.Errorf("noise %v beside saturation", got)
			}
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for _, c := range []struct{ files, want string }{
		{"", "holds neither targets.csv nor curves.csv"},
		{"targets.csv:id,topology\n", `targets.csv:1: has no column instance, metric`},
		{"curves.csv:curve,graph,routing,traffic\na,b,c,d\n", "curves: cannot be read"},
		{"seeds.csv:curve,load,latency\na,x,1\n", "seeds.csv:2: "},
	} {
		dir := t.TempDir()
		if name, content, ok := strings.Cut(c.files, ":"); ok {
			simtest.Check(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666))
		}
		r, err := Open(dir)
		if err == nil {
			err = r.Check()
		}
		simtest.Fail(t, err, c.want)
	}
}
