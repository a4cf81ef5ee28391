package atlas

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestPairs: every pair is certified with the defaults, or refused with a reason; with a
// choice that can deadlock a cycle is named where there is one. Engines of OpenSM do what
// OpenSM does, and some promise nothing. make soak-pairs takes all networks, else some.
func TestPairs(t *testing.T) {
	pairs, cycles, refused := 0, 0, 0
	for _, n := range Networks() {
		if some := []string{"hyperx", "megafly", "oft", "kautz", "polarfly"}; os.Getenv("SOAK_TIME") == "" && !slices.Contains(some, n.Family) {
			continue
		}
		all, err := Pairs(&n)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range all {
			pairs++
			switch {
			case p.Refused != "":
				refused++
				t.Logf("%s %s %s refused: %s", n.Family, p.Routing, p.Variant, p.Refused)
			case p.Variant == "" && !p.Certificate.Acyclic && !strings.HasPrefix(p.Routing, "opensm-"):
				t.Errorf("%s with %s: %s%s", n.Family, p.Routing, p.Certificate.Text, p.Certificate.Cycle)
			case !p.Certificate.Acyclic:
				cycles++
			}
		}
	}
	t.Logf("%d pairs, %d with a cycle, %d refused", pairs, cycles, refused)
	if pairs < 20 || cycles == 0 {
		t.Errorf("%d pairs, %d with a cycle", pairs, cycles)
	}
}
