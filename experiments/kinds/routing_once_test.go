package kinds

import (
	"testing"

	"github.com/weft-sim/weft/experiments"
)

// Points share routings that depend on the network only, so that files of tables are read
// once; others, and those with settings of their own, are each point's own.
func TestPointsShareTables(t *testing.T) {
	for _, c := range []struct {
		sweep string
		same  bool
	}{
		{"\"traffic.load\" = [0.1, 0.2]\n\"routing.type\" = [\"opensm-lash\"]", true},
		{"\"routing.data_lanes\" = [4, 8]\n\"routing.type\" = [\"opensm-lash\"]", false},
		{"\"switch.vcs\" = [6, 8]\n\"routing.type\" = [\"opensm-lash\"]", true},
		{"\"topology.dims\" = [[3, 3], [3, 4]]\n\"routing.type\" = [\"opensm-lash\"]", false},
		{"\"traffic.load\" = [0.1, 0.2]\n\"routing.type\" = [\"dor\"]", false},
	} {
		f := load(t, "kind = \"traffic\"\n[topology]\ntype = \"torus\"\ndims = [3, 3]\n[sweep]\n"+c.sweep+"\n", experiments.Options{})
		var built [2]any
		for i := range built {
			parts, err := f.Points[i].Config().(*trafficConfig).build(f.Points[i].Seed)
			if err != nil {
				t.Fatal(err)
			}
			built[i] = parts.Routing
		}
		if same := built[0] == built[1]; same != c.same {
			t.Errorf("%s: one routing is %v, want %v", c.sweep, same, c.same)
		}
	}
}
