package atlas

import (
	"fmt"
	"os"
	"testing"

	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/routing/routingtest"
)

// TestSoakPairs checks, for every registered topology and every variant of every registered
// routing, those of OpenSM too, a random network on which they go together: no network with
// a certificate stops, and one that stops has a cycle. See [routingtest.Trial.Check]. make
// soak-pairs runs it, with seeds from SOAK_SEED on.
func TestSoakPairs(t *testing.T) {
	if os.Getenv("SOAK_TIME") == "" {
		t.Skip("needs SOAK_TIME: see make soak-pairs")
	}
	seed := uint64(1)
	if setting := os.Getenv("SOAK_SEED"); setting != "" {
		if _, err := fmt.Sscan(setting, &seed); err != nil {
			t.Fatalf("SOAK_SEED = %q: want a number", setting)
		}
	}
	var all routingtest.Tally
	pairs := map[[2]string]bool{}
	for _, family := range topologytest.Families() {
		for _, name := range routing.Registry.Names() {
			for _, v := range routingtest.Variants(t, name) {
				seed++
				tr := routingtest.DrawTrialOf(t, seed, family, v)
				if tr == nil {
					continue // the family has not got what the routing needs
				}
				all.Add(tr.Check(t, 6000))
				pairs[[2]string{family, name}] = true
			}
		}
		fmt.Println(family, all)
	}
	t.Logf("%d pairs of topology and routing: %v", len(pairs), all)
	if all.Certified < 300 || all.Stopped == 0 {
		t.Errorf("%v: want 300 with a certificate, and some that stop", all)
	}
}
