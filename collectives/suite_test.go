package collectives_test

import (
	"strings"
	"testing"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/collectives/collectivestest"
)

// TestConformance holds every registered algorithm to the conformance suite.
func TestConformance(t *testing.T) {
	for _, name := range collectives.Registry.Names() {
		t.Run(name, func(t *testing.T) { collectivestest.Conform(t, name) })
	}
}

// TestAlltoallvKeepsItsContract: blocks of sizes of their own.
func TestAlltoallvKeepsItsContract(t *testing.T) {
	sizes := func(from, to int) int64 { return int64((from*31 + to*17) % 97) }
	for _, name := range []string{"alltoall-linear", "alltoall-ring", "alltoall-pairwise"} {
		for n := 1; n <= 70; n++ {
			if !collectivestest.Verify(t, name, collectives.Env{Ranks: n, Sizes: sizes}, nil) {
				t.Errorf("%s refuses %d ranks", name, n)
			}
		}
	}
	_, err := collectives.Registry.New("alltoall-bruck", collectives.Env{Ranks: 4, Sizes: sizes})
	if err == nil || !strings.Contains(err.Error(), "equal size") {
		t.Errorf("Bruck with sizes of their own: error %v", err)
	}
}
