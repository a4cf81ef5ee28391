package experiments

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/weft-sim/weft/experiments/document"
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
		if got != c.problems || strings.Join(checked, ", ") != c.checks {
			t.Errorf("%s\nproblems %s\nchecks %s, want %s\n%s", c.file, got, strings.Join(checked, ", "), c.problems, c.checks)
		}
	}
	f := load(t, sweep("")+`"size.of" = [1, 2]`)
	simtest.ErrorIf(t, len(f.Warnings) != 1 || f.Warnings[0].Where != "size.of = 2",
		"warnings %+v, want one for size.of = 2", f.Warnings)
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
		simtest.ErrorIf(t, got.Hash != p.Hash || got.Seed != p.Seed,
			"point %v: seed %d, hash %s; in a file of its own %d, %s", p.Swept, p.Seed, p.Hash, got.Seed, got.Hash)
	}
}
