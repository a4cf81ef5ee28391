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
		{[]experiments.Knee{{Steady: 0.3, Not: nan, Seeds: 5}}, "The network keeps up to the load of 0.3 and is saturated at none. A load counts where all 5 seeds are steady."},
		{[]experiments.Knee{{Variant: "a", Steady: nan, Not: 0.1}, {Variant: "b", Steady: nan, Not: nan}}, "None of 2 variants is steady at any load. The verdict on 1 is open at every load."},
		{[]experiments.Knee{{Steady: nan, Not: nan}, {Steady: nan, Not: nan}}, "The verdict on all 2 variants is open: none is steady or saturated at any load."},
		{[]experiments.Knee{{Variant: "a", Steady: nan, Not: nan}, {Variant: "b", Steady: 0.2, Not: nan}}, "Of 2 variants, b keeps up to the load of 0.2 and is saturated at none. The verdict on 1 is open at every load."},
		{[]experiments.Knee{{Variant: "a", Steady: 0.2, Not: 0.3}, {Variant: "b", Steady: 0.2, Not: 0.25}}, "2 variants keep up to the same of the loads, 0.2."},
		{[]experiments.Knee{{Variant: "a", Steady: nan, Not: 0.1}, {Variant: "b", Steady: 0.5, Not: 0.6}}, "Of 2 variants, b carries most: it keeps up to a load of 0.5 and is saturated at 0.6. a carries least: it keeps up at none of the loads and is saturated at 0.1."},
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
