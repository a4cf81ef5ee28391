package traffic

import (
	"testing"

	"github.com/weft-sim/weft/experiments/engine/enginetest"
	_ "github.com/weft-sim/weft/fabric/topology/families"
)

// TestRoutingThatFits: a file that names no routing has one of its topology, the kind's own where that fits.
func TestRoutingThatFits(t *testing.T) {
	for topology, want := range map[string]string{"dragonfly": "min", "torus": "dor", "fat-tree": "nca", "slim-fly": "table", "single-switch": "table"} {
		f := enginetest.Load(t, "kind = \"traffic\"\n[topology]\ntype = \""+topology+"\"\n")
		if got := f.Points[0].Config().(*trafficConfig).Routing.Type.Name(); got != want {
			t.Errorf("%s: routing %s, want %s", topology, got, want)
		}
	}
	// What a file gives stays, whether it fits or not.
	enginetest.Refused(t, "kind = \"traffic\"\n[topology]\ntype = \"torus\"\n[routing]\ntype = \"min\"\n", "needs a topology with groups")
}
