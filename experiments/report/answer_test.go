package report

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
)

// TestAnswer: the knees stand in the page as the results have them, with the bound
// of the channels: on rings of 4 tornado traffic goes one hop (4/2 - 1), so that its
// channels carry a flit a cycle at load 1.
func TestAnswer(t *testing.T) {
	dir := t.TempDir()
	resultFolder(t, dir, ring)
	f, err := experiments.ReadFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	rows, sentence, bounds := knees(f)
	if len(rows) != 2 || rows[0].Variant != "switch.vcs = 2" || rows[1].Variant != "switch.vcs = 4" || !bounds || sentence == "" {
		t.Fatalf("%+v, %q", rows, sentence)
	}
	for i, k := range f.Results.Knees() {
		if rows[i].Bound != "1" || !strings.HasSuffix(rows[i].Idle, " at 0.1") || !strings.HasPrefix(rows[i].Idle, short(k.Idle)) {
			t.Errorf("%+v, want %+v", rows[i], k)
		}
	}
	nan := math.NaN()
	for _, c := range []struct {
		knees []experiments.Knee
		want  string
	}{
		{nil, ""},
		{[]experiments.Knee{{Steady: 0.3, Not: 0.4}}, "The network keeps up to a load of 0.3 and is saturated at 0.4."},
		{[]experiments.Knee{{Steady: 0.3, Not: nan, Highest: 0.3, Seeds: 5}}, "The network keeps up to a load of 0.3, the highest load tried. A load counts where all 5 seeds are steady."},
		{[]experiments.Knee{{Steady: 0.3, Not: nan, Highest: 0.5}}, "The network keeps up to a load of 0.3; no load tried is saturated."},
		{[]experiments.Knee{{Design: "a", Steady: nan, Not: 0.1}, {Design: "b", Steady: nan, Not: nan}}, "None of 2 variants is steady at any load. The verdict on b is open at every load."},
		{[]experiments.Knee{{Steady: nan, Not: nan}, {Steady: nan, Not: nan}}, "The verdict on all 2 variants is open: none is steady or saturated at any load."},
		{[]experiments.Knee{{Design: "a", Steady: nan, Not: nan}, {Design: "b", Steady: 0.2, Not: nan}}, "Of 2 variants, b keeps up to a load of 0.2; no load tried is saturated. The verdict on a is open at every load."},
		{[]experiments.Knee{{Design: "a", Steady: 0.2, Not: 0.3}, {Design: "b", Steady: 0.2, Not: 0.25}}, "Both variants keep up to a load of 0.2 of those tried."},
		{[]experiments.Knee{{Design: "a", Steady: 0.7, Not: nan, Highest: 0.9}, {Design: "b", Steady: 0.7, Not: nan, Highest: 0.9}}, "Both variants keep up to a load of 0.7; no load tried is saturated."},
		{[]experiments.Knee{{Design: "a", Steady: nan, Not: 0.1}, {Design: "b", Steady: 0.5, Not: 0.6}}, "Of 2 variants, b carries most: it keeps up to a load of 0.5 and is saturated at 0.6. a carries least: it keeps up at none of the loads and is saturated at 0.1."},
		// Ties are named, the first is no winner.
		{[]experiments.Knee{{Design: "a", Steady: 0.9, Not: nan, Highest: 0.9}, {Design: "b", Steady: 0.9, Not: nan, Highest: 0.9}, {Design: "c", Steady: 0.4, Not: 0.5, Highest: 0.9}},
			"Of 3 variants, a and b carry most: each keeps up to a load of 0.9, the highest load tried. c carries least: it keeps up to a load of 0.4 and is saturated at 0.5."},
		// Patterns are no designs: an answer for each.
		{[]experiments.Knee{{Demand: "traffic.pattern = uniform", Steady: 0.9, Not: nan, Highest: 0.9}, {Demand: "traffic.pattern = tornado", Steady: 0.3, Not: 0.4, Highest: 0.9}},
			"Under traffic.pattern = uniform, the network keeps up to a load of 0.9, the highest load tried. Under traffic.pattern = tornado, the network keeps up to a load of 0.3 and is saturated at 0.4."},
		{[]experiments.Knee{
			{Demand: "traffic.pattern = u", Design: "min", Steady: 0.8, Not: 0.9}, {Demand: "traffic.pattern = u", Design: "val", Steady: 0.4, Not: 0.5},
			{Demand: "traffic.pattern = w", Design: "min", Steady: 0.1, Not: 0.2}, {Demand: "traffic.pattern = w", Design: "val", Steady: 0.4, Not: 0.5}},
			"Under traffic.pattern = u, of 2 variants, min carries most: it keeps up to a load of 0.8 and is saturated at 0.9. val carries least: it keeps up to a load of 0.4 and is saturated at 0.5. " +
				"Under traffic.pattern = w, of 2 variants, val carries most: it keeps up to a load of 0.4 and is saturated at 0.5. min carries least: it keeps up to a load of 0.1 and is saturated at 0.2."},
	} {
		if got := sentenceOf(c.knees); got != c.want {
			t.Errorf("%q\nwant %q", got, c.want)
		}
	}
}

// TestCommand: a command line is written as a shell takes it.
func TestCommand(t *testing.T) {
	if got, want := commandOf([]string{"weft", "run", "my file.toml", "--set=traffic.load=[0.1, 0.2]", "--out=it's"}), `weft run 'my file.toml' '--set=traffic.load=[0.1, 0.2]' '--out=it'\''s'`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := fmt.Sprint(shortList([]uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13})); got != "[1 2 … 13]" {
		t.Error(got)
	}
}
