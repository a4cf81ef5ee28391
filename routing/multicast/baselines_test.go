package multicast

import (
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/simtest"
)

// A chain of 63 switches is a branch that OpenSM follows to its end; it stops before the 64th.
func TestMinHopMCDepth(t *testing.T) {
	// Both ends and the switch of one end as members pull the root to the
	// middle, so the branch is counted from an end by hand: b.divide.
	builder := topology.NewBuilder(64, topology.Class{Name: "local"})
	for s := range topology.SwitchID(63) {
		builder.AddLink(s, s+1, 0)
	}
	env := simtest.Must(NewEnv(builder.Freeze(), 1))(t)
	b := NewMinHopMC(env.Graph, env.Hops).(*minHopMC)
	for _, c := range []struct {
		depth int
		ok    bool
	}{{62, true}, {63, false}} {
		b.members = []MemberSwitch{{63, 1, 1}}
		if err := b.divide(branch{sw: 0, from: 0, to: 1, depth: c.depth}, &Tree{}); (err == nil) != c.ok {
			t.Errorf("a child at depth %d: %v", c.depth+1, err)
		}
	}
}
