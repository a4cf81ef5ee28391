package atlas

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
)

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
				if g.Terminals() < terminals || most > radix {
					t.Errorf("%d terminals on %d ports: %s %s has %d on %d", terminals, radix, c.Family, c.Line(), g.Terminals(), most)
				}
				if m := topology.Measure(g); m.UniformCapacity < 0.85 {
					t.Errorf("%d terminals on %d ports: %s %s carries %v", terminals, radix, c.Family, c.Line(), m.UniformCapacity)
				}
			}
		}
	}
	if len(families) != 10 {
		t.Errorf("families %v", families)
	}
}

// Besta and Hoefler's instance is what is found at its size: 10,830 terminals on 44 ports.
func TestCandidateOfPaper(t *testing.T) {
	all := Candidates(10830, 44)
	if i := slices.IndexFunc(all, func(c Candidate) bool { return c.Family == "slim-fly" }); i < 0 || all[i].Line() != "q = 19, p = 15" {
		t.Errorf("%v", all)
	}
	// A fat tree of two levels on 64 ports: 2,048 terminals, 64 + 32 switches.
	all = Candidates(2048, 64)
	if i := slices.IndexFunc(all, func(c Candidate) bool { return c.Family == "xgft" }); i < 0 || all[i].Line() != "m = [32, 64], w = [1, 32], parallel = [1, 1]" {
		t.Errorf("%v", all)
	}
}

func TestListRanks(t *testing.T) {
	for _, rank := range Ranks() {
		all, err := List(context.Background(), 100, 16, rank, nil)
		if err != nil || len(all) < 6 {
			t.Fatalf("%s: %d networks, %v", rank, len(all), err)
		}
		by := ranks[rank]
		for i := 1; i < len(all); i++ {
			if by(&all[i-1]) > by(&all[i]) {
				t.Errorf("%s: %s before %s", rank, all[i-1].Line(), all[i].Line())
			}
		}
	}
	dear, err := List(context.Background(), 100, 16, "price", []string{"price.switch_port=100000"})
	if err != nil || dear[0].Price < 1e6 {
		t.Errorf("a price that was set does nothing: %v", err)
	}
	if _, err := List(context.Background(), 100, 16, "price", []string{"price.beauty=1"}); err == nil || !strings.Contains(err.Error(), "price.beauty") {
		t.Error(err)
	}
}
