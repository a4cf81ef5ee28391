package experiments

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/snapshot"
)

// seedsConfig is of a kind whose points are wrong from a size on and, where they draw, for odd seeds.
type seedsConfig struct {
	Size seedsTable `toml:"size"`
}

type seedsTable struct {
	Of   int  `toml:"of" doc:"size" max:"8"`
	Draw bool `toml:"draw" doc:"odd seeds are wrong"`
}

// registerSeeds registers the kind for a test, which counts its checks.
func registerSeeds(t *testing.T, checked *[]string) {
	var mu sync.Mutex
	Register(Kind[seedsConfig, struct{}]{
		Name: "seeds", Doc: "for tests",
		Defaults: func() seedsConfig { return seedsConfig{} },
		Draws:    func(c *seedsConfig) bool { return c.Size.Draw },
		Check: func(c *seedsConfig, seed uint64) ([]Warning, error) {
			mu.Lock()
			defer mu.Unlock()
			*checked = append(*checked, fmt.Sprint(c.Size.Of, " ", seed))
			switch {
			case c.Size.Draw && seed%2 == 1:
				return nil, document.At("seed", fmt.Errorf("= %d: is odd", seed))
			case c.Size.Of > 2:
				return nil, document.At("size.of", fmt.Errorf("= %d: is large", c.Size.Of))
			case c.Size.Of == 2:
				return []Warning{{Key: "size.of", Message: "is 2"}}, nil
			}
			return nil, nil
		},
		Preflight: func(c *seedsConfig, p *Preflight) error {
			if c.Size.Of == 2 {
				p.Note("cost", "of %d", c.Size.Of)
			}
			p.Work(1, 1, 0)
			return nil
		},
		Run: func(context.Context, *seedsConfig, *Run) (struct{}, error) { return struct{}{}, errors.New("not here") },
	})
	t.Cleanup(func() { delete(kinds, "seeds") })
}

// TestPointsShareChecks: points that differ in the seed alone are checked once, where nothing draws, by
// the first seed; what is wrong with any of them is reported, as is what each draws; and findings
// are about all of them. A point is named as it is in a file without a sweep.
func TestPointsShareChecks(t *testing.T) {
	var checked []string
	registerSeeds(t, &checked)
	sweep := func(more string) string { return "kind = \"seeds\"\n" + more + "\n[sweep]\nseed = [1, 2, 4]\n" }
	for _, c := range []struct{ file, checks, problems string }{
		{sweep("") + `"size.of" = [0, 1, 2]`, "0 1, 1 1, 2 1", ""},
		{sweep("") + `"size.of" = [0, 3, 4]`, "0 1, 3 1, 4 1", "x.toml:5:1: size.of = 3: is large\nx.toml:5:1: size.of = 4: is large"},
		{sweep("") + `"size.of" = [0, 9, 10]`, "", "x.toml:5:1: size.of = 9: want at most 8\nx.toml:5:1: size.of = 10: want at most 8"},
		{sweep("") + `"size.draw" = [false, true]`, "0 1, 0 1, 0 2, 0 4", "x.toml:4:1: seed = 1: is odd"},
		{"kind = \"seeds\"\n[sweep]\n\"size.of\" = [0, 1]\nseed = [1, -2]", "", "x.toml:4:1: seed = -2: want an integer that is not negative"},
		{"kind = \"seeds\"\n[sweep.lockstep]\n\"size.of\" = [0, 1]\nseed = [1, 2]", "0 1, 1 2", ""},
	} {
		checked = nil
		_, err := Load("x.toml", c.file, Options{})
		got := ""
		if err != nil {
			got = err.Error()
		}
		simtest.Alike(t, c.file, got, c.problems, strings.Join(checked, ", "), c.checks)
	}
	f := load(t, sweep("")+`"size.of" = [1, 2]`)
	simtest.ErrorIf(t, len(f.Warnings) != 1 || f.Warnings[0].Where != "size.of = 2", "warnings %+v, want one for size.of = 2", f.Warnings)
	for finished, want := range map[int]string{-1: "6", 3: "5"} { // flit-hops, one a point that is left
		done := map[string]*Record{}
		if finished >= 0 {
			done[f.Points[finished].Hash] = &Record{}
		}
		report, err := f.preflight(true, done)
		if err != nil || len(report.Notes) != 2 || report.Notes[0].Where != "size.of = 2" && finished < 0 || !strings.HasPrefix(report.Notes[1].Text, "roughly "+want+" flit-hops") {
			t.Errorf("point %d finished: %+v, %v; want a note on size.of = 2 and %s flit-hops", finished, report, err, want)
		}
	}
	for _, p := range f.Points {
		alone := load(t, fmt.Sprintf("kind = \"seeds\"\nseed = %s\nsize.of = %s", p.Swept[0], p.Swept[1]))
		got := alone.Points[0]
		simtest.Alike(t, fmt.Sprint("point ", p.Swept), got.Hash, p.Hash, got.Seed, p.Seed)
	}
}

// TestRefineAtMost: 14 spacings are halved 4 times (7, 4, 2, 1), whichever half
// the knee is in, for each of two variants. Each costs
// no more than the dearer of its neighbours: 4 of 0.9 for each variant.
func TestRefineAtMost(t *testing.T) {
	f := load(t, string(simtest.Must(os.ReadFile("testdata/refined.toml"))(t)))
	points, more := f.refine.most(f, func(p *Point) work {
		load := results.Number(p.Swept[1])
		return work{most: effort{load, 0, 10 * load}}
	})
	simtest.ErrorIf(t, points != 8 || math.Abs(more.most.crossings-7.2) > 1e-9 || math.Abs(more.most.nanoseconds-72) > 1e-9,
		"%d points, %v, want 8, 7.2 and 72", points, more)
	report, err := f.Preflight(true)
	simtest.ErrorIf(t, err != nil || report.Refined != 8, "the report says %d, %v", report.Refined, err)
	f = load(t, "kind = \"toy\"\n[sweep]\n\"traffic.load\" = [0.9, 0.1, 0.4, 0.5]\nrefine = { \"traffic.load\" = 0.1 }\n")
	if points, _ := f.refine.most(f, func(*Point) work { return work{} }); points != 2 { // 0.5 to 0.9: 4 spacings
		t.Errorf("%d points, want 2", points)
	}
}

// TestRefineFailed: a point that has failed is not tried again, and ends the
// refinement of its variant.
func TestRefineFailed(t *testing.T) {
	f := load(t, "kind = \"toy\"\n[sweep]\n\"traffic.load\" = [0.2, 0.8]\nrefine = { \"traffic.load\" = 0.1 }\n")
	steady := func(p *Point) (bool, bool) { return p.Swept[0] != "0.8", p.Swept[0] != "0.5" }
	list := f.refine.next(f, f.Points, steady)
	simtest.FatalIf(t, len(list) != 1 || list[0].Value != 0.5, "%+v", list)
	p := simtest.Must(f.Refined(list[0], 2))(t)
	list = f.refine.next(f, append(f.Points, p), steady)
	simtest.ErrorIf(t, len(list) != 0, "%+v", list)
}

// TestRefineInteger: an axis of integers is refined by integers, 1 + 2*4 = 9 between 1 and 17.
func TestRefineInteger(t *testing.T) {
	f := load(t, "kind = \"toy\"\n[sweep]\n\"shape.p\" = [1, 17]\nrefine = { \"shape.p\" = 2 }\n")
	list := f.refine.next(f, f.Points, func(p *Point) (bool, bool) { return p.Index != 1, true })
	p, err := f.Refined(list[0], 2)
	simtest.ErrorIf(t, err != nil || p.Swept[0] != "9" || !strings.Contains(f.Resolved(), "[sweep.refine]\n\"shape.p\" = 2\n"),
		"%v, %v\n%s", p.Swept, err, f.Resolved())
}

// TestRefineProblems: what cannot be refined is told by its place.
func TestRefineProblems(t *testing.T) {
	refusals(t, "kind = \"toy\"\n[sweep]\n", map[string]string{
		"\"traffic.load\" = [0.1, 0.9]\nrefine = 0.1\n":                                                          `x.toml:4:1: sweep.refine = 0.1: want a table such as`,
		"\"traffic.load\" = [0.1, 0.9]\nrefine = {}\n":                                                           `sweep.refine = a table: want a table such as`,
		"\"traffic.load\" = [0.1, 0.9]\n[sweep.refine]\ntraffic.load = 0\n":                                      `sweep.refine.traffic.load = 0: want the largest distance`,
		"\"traffic.load\" = [0.1, 0.9]\n[sweep.refine]\ntraffic.load = \"x\"\n":                                  `sweep.refine.traffic.load = "x": want the largest distance`,
		"\"traffic.limit\" = [1, 9]\n[sweep.refine]\ntraffic.load = 0.1\n":                                       `sweep.refine.traffic.load is not swept by a list of its own`,
		"\"traffic.mode\" = [\"\", \"fail\"]\n[sweep.refine]\ntraffic.mode = 0.1\n":                              `sweep.refine.traffic.mode cannot be refined: "" is not a number`,
		"\"traffic.load\" = [0.1, 0.9]\n\"shape.p\" = [1, 2]\n[sweep.refine]\ntraffic.load = 0.1\nshape.p = 1\n": `sweep.refine.shape.p is a second key to refine`,
	})
	refused(t, "kind = \"sessions\"\n[sweep]\nseed = [1, 9]\nrefine = { seed = 1 }\n", `kind "sessions" does not tell whether a network keeps up`)
}

// TestBrokenSnapshot: a point that breaks with a snapshot names the file.
func TestBrokenSnapshot(t *testing.T) {
	dir := t.TempDir()
	f := load(t, "kind = \"toy\"\n[traffic]\nmode = \"break\"\n")
	key := f.Points[0].Hash + ".0"
	path := filepath.Join(dir, "snapshots", key+".weft")
	simtest.Check(t, os.MkdirAll(filepath.Dir(path), 0o777))
	state := simtest.Must(os.Create(path))(t)
	simtest.Check(t, errors.Join(snapshot.Write(state, build(), key, func(a *snapshot.Archive) error { snapshot.Blob(a, &[]byte{1}); return nil }), state.Close()))
	_, _, err := f.NewRun(f.Points[0], Circumstances{Dir: dir, SnapshotEvery: time.Hour}).Compute(t.Context())
	want := "went on from " + path + ", and broke; with --resume it begins again\ninternal error, please report it: told to break\n"
	simtest.FatalIf(t, err == nil || !strings.HasPrefix(err.Error(), want), "failed by %v, want %q", err, want)
}

// TestMisuse: what is registered and breaks its contract is called by its name in the file,
// without a stack.
func TestMisuse(t *testing.T) {
	f := load(t, "kind = \"toy\"\n[shape]\ntype = \"ring\"\n[traffic]\nmode = \"misuse\"\n")
	_, _, err := f.NewRun(f.Points[0], Circumstances{}).Compute(t.Context())
	simtest.ErrorIf(t, fmt.Sprint(err) != `shape "ring" reads what it has not declared`, "%v", err)
	simtest.Fail(t, f.Points[0].blame(&param.Misuse{Of: "mode", Did: "moves"}), `mode "misuse" moves`)
	simtest.Panics(t, func() { Register(Kind[struct{}, struct{}]{Name: "empty"}) }, `experiments: kind "empty": want a name that is not registered yet, Doc, Defaults and Run`)
}

// TestInterruptible: what does not end by itself is left behind; what is done is
// returned though the context has ended.
func TestInterruptible(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	begun, forever := make(chan bool), make(chan bool)
	defer close(forever)
	go func() { <-begun; cancel() }()
	x, err := Interruptible(ctx, func() (int, error) { begun <- true; <-forever; return 3, nil })
	simtest.ErrorIf(t, x != 0 || !errors.Is(err, ErrInterrupted), "%d, %v", x, err)
	x, err = interruptible(ctx, time.Hour, func() (int, error) { return 3, nil })
	simtest.ErrorIf(t, x != 3 || err != nil, "%d, %v", x, err)
}

// TestInsideAPoint: a point tells how far it is, in what its kind counts; where the end
// is known, it is reached.
func TestInsideAPoint(t *testing.T) {
	const torus = "[topology]\ntype = \"torus\"\ndims = [4]\n[routing]\ntype = \"dor\"\n[traffic]\nload = 0.2\n"
	for _, c := range []struct {
		name, text string
		want       PointProgress
	}{
		// Two replications of 100 + 300 cycles, then a drain that does not count.
		{"fixed", torus + "[measure]\nwarmup = 100\nwindow = 300\nreplications = 2\n", PointProgress{Done: 800, Total: 800, Unit: "cycles"}},
		{"found", torus + "[measure]\nbudget = 20000\n", PointProgress{Done: -1, Total: 20000, Unit: "cycles", AtMost: true}},
		{"search", torus + "[measure]\nwarmup = 100\nwindow = 300\nbudget = 300\nfind = \"saturation\"\nload_precision = 0.5\n", PointProgress{Done: -1, Total: 0, Unit: "cycles at load 1"}}, // 0.5 is undecided
		// 32 terminals (a fat tree of 2 levels of 8-port switches), 31 packets each.
		{"exchange", "kind = \"exchange\"\n[topology]\nk = 8\nn = 2\n", PointProgress{Done: 32 * 31, Total: 32 * 31, Unit: "packets"}},
		// One group of 4 terminals, 20 measured messages.
		{"multicast", "kind = \"multicast-latency\"\n[groups]\ncount = 1\n[messages]\ncount = 20\n", PointProgress{Done: 20, Total: 20, Unit: "messages"}},
		// The pattern makes 64 groups.
		{"trees", "kind = \"multicast-routing\"\n[groups]\npattern = \"random-fixed-size\"\ncount = 64\n", PointProgress{Done: 64, Total: 64, Unit: "groups"}},
		// Theorem 2 on two cascades of m = 3: m^k sessions.
		{"sessions", "kind = \"sessions\"\n", PointProgress{Done: 9, Total: 9, Unit: "sessions"}},
		{"mpi", "kind = \"mpi\"\n[job]\nranks = 4\n", PointProgress{Done: -1, Total: 0, Unit: "events"}},
	} {
		f := simtest.Must(Load(c.name+".toml", c.text, Options{}))(t)
		run := f.NewRun(f.Points[0], Circumstances{})
		_, _, err := run.Compute(t.Context())
		simtest.Check(t, err)
		got := run.way
		if c.want.Done < 0 && got.Done > 0 {
			got.Done = -1
		}
		simtest.ErrorIf(t, got != c.want, "%s: %+v, want %+v", c.name, got, c.want)
	}
}
