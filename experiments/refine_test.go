package experiments

import (
	"math"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/simtest"
)

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
	if err != nil || report.Refined != 8 {
		t.Errorf("the report says %d, %v", report.Refined, err)
	}
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
	if list = f.refine.next(f, append(f.Points, p), steady); len(list) != 0 {
		t.Errorf("%+v", list)
	}
}

// TestRefineInteger: an axis of integers is refined by integers, 1 + 2*4 = 9 between 1 and 17.
func TestRefineInteger(t *testing.T) {
	f := load(t, "kind = \"toy\"\n[sweep]\n\"shape.p\" = [1, 17]\nrefine = { \"shape.p\" = 2 }\n")
	list := f.refine.next(f, f.Points, func(p *Point) (bool, bool) { return p.Index != 1, true })
	p, err := f.Refined(list[0], 2)
	if err != nil || p.Swept[0] != "9" || !strings.Contains(f.Resolved(), "[sweep.refine]\n\"shape.p\" = 2\n") {
		t.Errorf("%v, %v\n%s", p.Swept, err, f.Resolved())
	}
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
