package kinds

import (
	"math"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric/core"
)

// TestBlameTables: the parts of blame.csv add up to the mean latency of the
// row, for all packets, over switches and terminals, and over channels; and a
// hot terminal is named as the root of the congestion.
func TestBlameTables(t *testing.T) {
	f := load(t, `
kind = "traffic"
[topology]
type = "mesh"
dims = [3, 3]
[routing]
type = "dor"
[traffic]
pattern = "hot-spot"
fraction = 0.9
load = 0.25
[measure]
warmup = 500
window = 1000
replications = 2
blame = true
`, experiments.Options{})
	o := execute(t, f, experiments.Execution{})
	blame := o.Tables["blame"]
	scope, err := blame.Column("scope")
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]float64{}
	for i, x := range numbers(t, blame, "total_ns") {
		parts := 0.0
		for _, name := range core.PartNames {
			parts += numbers(t, blame, name+"_ns")[i]
		}
		if math.Abs(parts-x) > 1e-6 {
			t.Errorf("row %v: parts add up to %v", blame.Rows[i], parts)
		}
		sums[blame.Rows[i][scope]] += x
	}
	// Replications weigh as many packets as they have here, alike in the row.
	mean := numbers(t, o.Results, "latency_mean_ns")[0]
	if math.Abs(sums["all"]/mean-1) > 0.05 || math.Abs(sums["channel"]-sums["all"]) > 1e-6*mean {
		t.Errorf("mean latency %v, sums %v", mean, sums)
	}
	tree := o.Tables["congestion"]
	if len(tree.Rows) < 3 {
		t.Fatalf("congestion: %v", tree.Rows)
	}
	to, err := tree.Column("to")
	if err != nil {
		t.Fatal(err)
	}
	if depth := numbers(t, tree, "depth"); depth[0] != 0 || depth[1] != 1 || !strings.HasPrefix(tree.Rows[0][to], "terminal") {
		t.Errorf("congestion: %v", tree.Rows)
	}
	again := execute(t, f, experiments.Execution{})
	for name, table := range o.Tables {
		for i, row := range table.Rows {
			if strings.Join(row, ",") != strings.Join(again.Tables[name].Rows[i], ",") {
				t.Fatalf("%s differs from run to run: %v, %v", name, row, again.Tables[name].Rows[i])
			}
		}
	}
}
