package atlas

import (
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments/booksim"
)

// TestTargets: every exact and bounding number of the reference comes out, but for those of
// a graph that the reference speaks of and does not hold.
func TestTargets(t *testing.T) {
	r, err := Read(Own(), "reference")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]map[string]int{}
	for _, v := range r.JudgeTargets() {
		kind, _, _ := strings.Cut(v.Kind, " ")
		if kinds[kind] == nil {
			kinds[kind] = map[string]int{}
		}
		kinds[kind][v.Verdict]++
		if absent := strings.Contains(v.Instance, "graphs/jellyfish_n98_r11.edges.gz"); v.Verdict == booksim.Differs ||
			(kind == "exact" || kind == "bound" || kind == "computed") && v.Verdict != booksim.Agrees && !absent {
			t.Errorf("%s: reference %s, weft %s: %s %s", v.ID, v.Value, v.Own, v.Verdict, v.Note)
		}
	}
	t.Log(kinds)
	if kinds["exact"][booksim.Agrees]+kinds["bound"][booksim.Agrees] < 140 {
		t.Errorf("%v", kinds)
	}
}
