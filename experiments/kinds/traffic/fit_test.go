package traffic

import (
	"testing"

	"github.com/weft-sim/weft/experiments/engine/enginetest"
	_ "github.com/weft-sim/weft/fabric/topology/families"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestRoutingThatFits: a file that names no routing has one of its topology, the kind's own where that fits.
func TestRoutingThatFits(t *testing.T) {
	for topology, want := range map[string]string{"dragonfly": "min", "torus": "dor", "fat-tree": "nca", "slim-fly": "table", "single-switch": "table"} {
		f := enginetest.Load(t, "kind = \"traffic\"\n[topology]\ntype = \""+topology+"\"\n")
		simtest.Equal(t, f.Points[0].Config().(*trafficConfig).Routing.Type.Name(), want, "%s: routing", topology)
	}
	// What a file gives stays, whether it fits or not.
	enginetest.Refused(t, "kind = \"traffic\"\n[topology]\ntype = \"torus\"\n[routing]\ntype = \"min\"\n", "needs a topology with groups")
}
