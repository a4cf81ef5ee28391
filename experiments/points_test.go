package experiments

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/simtest"
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

// The toy keeps up to a load of 0.6, that included.
const toyRefined = `
kind = "toy"
[traffic]
mode = "wait"
[sweep]
"shape.type" = ["ring", "box"]
"traffic.load" = [0.2, 0.9]
refine = { "traffic.load" = 0.05 }
`

// TestRefineAtMost: 14 spacings are halved 4 times (7, 4, 2, 1), whichever half
// the knee is in, for each of two variants. Each costs
// no more than the dearer of its neighbours: 4 of 0.9 for each variant.
func TestRefineAtMost(t *testing.T) {
	f := load(t, toyRefined)
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
