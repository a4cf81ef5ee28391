package traffic

import (
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
)

// Every terminal sends to the terminal of its own index on another switch, all of a switch
// to one.
func TestSwitchPermutation(t *testing.T) {
	topo := grid(t, "mesh", 3, 4, 4)
	g := topo.Graph()
	reached := map[topology.TerminalID]bool{}
	to := fixedOf(t, "switch-permutation", topo)
	for src, dst := range to {
		s, d := g.TerminalSwitch(topology.TerminalID(src)), g.TerminalSwitch(dst)
		if s == d || src%3 != int(dst)%3 || d != g.TerminalSwitch(to[src/3*3]) {
			t.Errorf("terminal %d of switch %d sends to %d of switch %d", src, s, dst, d)
		}
		reached[dst] = true
	}
	if len(reached) != 48 {
		t.Errorf("%d terminals are reached", len(reached))
	}
	config, _ := Patterns.Config("switch-permutation")
	if _, err := Patterns.Build("switch-permutation", config, Env{Topology: single(t, 4)}); err == nil || !strings.Contains(err.Error(), "two switches with terminals") {
		t.Error(err)
	}
}
