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
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/judge"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/metrics"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestTargets: every exact and bounding number of the reference comes out, but for numbers of
// a graph that the reference speaks of and does not hold.
func TestTargets(t *testing.T) {
	r := simtest.Must(Read(Own(), "reference"))(t)
	kinds := map[string]int{}
	for _, v := range r.JudgeTargets() {
		kind, _, _ := strings.Cut(v.Cells[4], " ")
		kinds[kind+" "+v.Verdict]++
		absent := strings.Contains(v.Cells[2], "graphs/jellyfish_n98_r11.edges.gz")
		proven := kind == "exact" || kind == "bound" || kind == "computed"
		simtest.ErrorIf(t, v.Verdict == judge.Differs || proven && v.Verdict != judge.Agrees && !absent, "%q: %s %s", v.Cells, v.Verdict, v.Note)
	}
	t.Log(kinds)
	simtest.ErrorIf(t, kinds["exact "+judge.Agrees]+kinds["bound "+judge.Agrees] < 140, "%v", kinds)
}

// TestInstances: networks that targets.csv of another folder may name. By the rules of the
// published rail-optimised clusters, 64 units of 32 nodes with 8 rails have 64*8 leaves, as many
// spines, and with 64*8*32 cables up on cores of 64 ports 256 of these. PolarStar: ER_8 has
// 8*8+8+1 = 73 points, times 13; ER_11 133, times the 2*3+2 = 8 switches of an inductive quad:
// the two networks of 15 ports of the paper's evaluation (949 and 1,064 switches).
func TestInstances(t *testing.T) {
	r := &Reference{}
	for _, c := range []struct{ topology, instance, metric, value string }{
		{"rail-optimised", "B200 SuperPOD, 64 scalable units, 8 rails, switches of 64 ports", "nodes", "2048"},
		{"rail-optimised", "B200 SuperPOD, 64 scalable units, 8 rails, switches of 64 ports", "leaf_switches", "512"},
		{"rail-optimised", "B200 SuperPOD, 64 scalable units, 8 rails, switches of 64 ports", "spine_switches", "512"},
		{"rail-optimised", "B200 SuperPOD, 64 scalable units, 8 rails, switches of 64 ports", "core_switches", "256"},
		{"PolarStar", "ER_8 x Paley 13", "routers", "949"},
		{"PolarStar", "ER_8 x Paley(13), 5 terminals a router", "terminals", "4745"},
		{"PolarStar", "ER_8 x Paley 13", "network_degree", "14..15"},
		{"PolarStar", "ER_8 x Paley 13", "diameter", "3"},
		// 13 cables for each of the 8*9*9/2 of ER_8, and 13*6/2 in each of 73 supernodes.
		{"PolarStar", "ER_8 x Paley 13", "links", "7059"},
		{"PolarStar", "ER_11 x inductive quad", "routers", "1064"},
		{"PolarStar", "q=11, supernode inductive quad, 5 terminals a router", "terminals", "5320"},
		{"PolarStar", "ER_11 x inductive quad of 8", "network_degree", "15"},
		{"PolarStar", "ER_11 x IQ, d'=3", "diameter", "3"},
		// All 1,064 switches have 15 cables.
		{"PolarStar", "ER_11 x inductive quad", "links", "7980"},
		{"PolarStar", "q=3, supernode paley, d=2", "routers", "65"},
	} {
		target := Target{ID: "x", Topology: c.topology, Instance: c.instance, Metric: c.metric, Value: c.value}
		own, verdict, note := r.own(&target, map[string]*subject{})
		simtest.ErrorIf(t, verdict != judge.Agrees, "%s, %s: %s, want %s: %s %s", c.instance, c.metric, own, c.value, verdict, note)
	}
}

// TestCandidates: at every size each network that is listed can be built, has the
// terminals, keeps to the ports, and can carry uniform traffic by the rule of its family:
// Slim Fly's and the random graphs' are a few percent short of 1 at some sizes.
func TestCandidates(t *testing.T) {
	families := map[string]bool{}
	for _, radix := range []int{4, 7, 16, 36, 64} {
		for _, terminals := range []int{2, 16, 100, 700, 3000} {
			for _, c := range Candidates(terminals, radix) {
				families[c.Family] = true
				x, err := c.Build()
				if err != nil {
					t.Errorf("%d terminals on %d ports: %s: %v", terminals, radix, c.Line(), err)
					continue
				}
				g := x.Graph()
				most := 0
				for s := range topology.SwitchID(g.Switches()) {
					most = max(most, g.Degree(s))
				}
				simtest.ErrorIf(t, g.Terminals() < terminals || most > radix,
					"%d terminals on %d ports: %s %s has %d on %d", terminals, radix, c.Family, c.Line(), g.Terminals(), most)
				carries := metrics.Measure(g).UniformCapacity
				simtest.ErrorIf(t, carries < 0.85, "%d terminals on %d ports: %s %s carries %v", terminals, radix, c.Family, c.Line(), carries)
			}
		}
	}
	simtest.ErrorIf(t, len(families) != 10, "families %v", families)
}

// Besta and Hoefler's instance is what is found at its size: 10,830 terminals on 44 ports.
func TestCandidateOfPaper(t *testing.T) {
	all := Candidates(10830, 44)
	i := slices.IndexFunc(all, func(c Candidate) bool { return c.Family == "slim-fly" })
	simtest.ErrorIf(t, i < 0 || all[i].Line() != "q = 19, p = 15", "%v", all)
	// A fat tree of two levels on 64 ports: 2,048 terminals, 64 + 32 switches.
	all = Candidates(2048, 64)
	i = slices.IndexFunc(all, func(c Candidate) bool { return c.Family == "xgft" })
	simtest.ErrorIf(t, i < 0 || all[i].Line() != "m = [32, 64], w = [1, 32], parallel = [1, 1]", "%v", all)
}

func TestListRanks(t *testing.T) {
	for _, rank := range Ranks() {
		all, err := List(context.Background(), 100, 16, rank, nil)
		simtest.FatalIf(t, err != nil || len(all) < 6, "%s: %d networks, %v", rank, len(all), err)
		by := ranks[rank]
		for i := 1; i < len(all); i++ {
			simtest.ErrorIf(t, by(&all[i-1]) > by(&all[i]), "%s: %s before %s", rank, all[i-1].Line(), all[i].Line())
		}
	}
	dear, err := List(context.Background(), 100, 16, "price", []string{"price.switch_port=100000"})
	simtest.ErrorIf(t, err != nil || dear[0].Price < 1e6, "a price that was set does nothing: %v", err)
	simtest.Refuse(List(context.Background(), 100, 16, "price", []string{"price.beauty=1"}))(t, "price.beauty")
}

func own(t testing.TB) *Reference {
	t.Helper()
	return simtest.Must(Read(Own(), "reference"))(t)
}

// run runs a curve at some loads with so many seeds and judges these points.
func run(t *testing.T, r *Reference, name string, loads []float64, seeds int) []booksim.Row {
	t.Helper()
	i := slices.IndexFunc(r.Curves, func(c Curve) bool { return c.Name == name })
	simtest.FatalIf(t, i < 0, "no curve %s", name)
	c := r.Curves[i]
	text, files, canDeadlock, err := r.Experiment(&c, loads, seeds)
	simtest.Check(t, err)
	dir := t.TempDir()
	for name, content := range files {
		simtest.Check(t, os.WriteFile(filepath.Join(dir, name), content, 0o666))
	}
	file := simtest.Must(experiments.Load(filepath.Join(dir, "curve.toml"), text, experiments.Options{AllowDeadlock: canDeadlock}))(t)
	outcome := simtest.Must(engine.Execute(context.Background(), file, engine.Execution{}))(t)
	c.At(loads)
	return simtest.Must(c.Judge(booksim.Run{Results: outcome.Results}))(t)
}

// TestCurvesMap: every curve that has a peer behind it is carried over to an experiment
// that weft accepts.
func TestCurvesMap(t *testing.T) {
	r, dir := own(t), t.TempDir()
	mapped := 0
	for _, c := range r.Curves {
		text, files, canDeadlock, err := r.Experiment(&c, c.Loads(), 2)
		if err != nil {
			simtest.ErrorIf(t, !c.SecondReading(), "%s: %v", c.Name, err)
			continue
		}
		for name, content := range files {
			simtest.Check(t, os.WriteFile(filepath.Join(dir, name), content, 0o666))
		}
		_, err = experiments.Load(filepath.Join(dir, c.Name+".toml"), text, experiments.Options{AllowDeadlock: canDeadlock})
		simtest.ErrorIf(t, err != nil, "%s: %v\n%s", c.Name, err, text)
		mapped++
	}
	simtest.ErrorIf(t, mapped < 30, "%d curves are mapped", mapped)
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
			simtest.ErrorIf(t, row.Verdict == judge.Differs || row.Verdict == judge.NotRun, "%+v", row)
		}
	}
}

// TestDecidedAsInBookSim2: UGAL beside its knee depends on how old the queues are that terminals
// see, and UGAL-PF on which of several equally empty neighbours it takes. With queues newer by two
// cycles the first two points read 22.9 and 18.9 cycles, and with neighbours drawn the third 24.1.
// Permitted are three standard deviations of the mean of three seeds, whose own is 7, 0.5 and 2 %.
func TestDecidedAsInBookSim2(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates for some seconds")
	}
	r := own(t)
	for _, c := range []struct {
		curve           string
		load, permitted float64
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
			simtest.ErrorIf(t, math.Abs(mean/row.Peer[0]-1) > c.permitted, "%s at %v: latency %.2f, BookSim2 %.2f", c.curve, c.load, mean, row.Peer[0])
		}
	}
}

// The largest accepted load of polarfly_q7 ugalhopvc rperm is 0.484484; at 0.4, 0.826 of it,
// seeds.csv has 20.3853, 21.1569 and 20.601 beside the curve's 20.601: a mean of 20.686, a standard
// deviation of 0.3305, 1.6 %. Nearer to saturation lies slimfly_q5 minhopvc uniform at 0.9.
func TestNoise(t *testing.T) {
	r := own(t)
	for i := range r.Curves {
		c := &r.Curves[i]
		switch c.Name {
		case "polarfly_q7__ugalhopvc_rperm_vc4_buf16_speedup2":
			simtest.Near(t, c.Noise[0.4], 0.01598, 1e-4, "noise at 0.4:")
			all := slices.Sorted(maps.Values(c.Noise))
			simtest.ErrorIf(t, all[0] > 1e-3, "noise %v far from saturation", all)
		case "slimfly_q5__minhopvc_uniform_vc4_buf16_speedup2":
			got := c.Noise[0.9]
			simtest.ErrorIf(t, got < 0.1 || got > 0.2, "noise %v beside saturation", got)
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
