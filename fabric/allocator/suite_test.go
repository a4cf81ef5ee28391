package allocator_test

import (
	"testing"

	"github.com/weft-sim/weft/fabric/allocator"
	"github.com/weft-sim/weft/fabric/allocator/allocatortest"
)

// TestConformance holds everything registered to the suite.
func TestConformance(t *testing.T) {
	for _, name := range allocator.Registry.Names() {
		t.Run(name, func(t *testing.T) { allocatortest.Conform(t, name) })
	}
}

// build makes a registered allocator.
func build(t *testing.T, name string, ports, vcs, iterations int) allocator.Allocator {
	t.Helper()
	a, err := allocator.Registry.New(name, allocator.Env{Ports: ports, VCs: vcs, Iterations: iterations})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// steps compares what an allocator chooses, step by step from the same requests, as
// input, virtual channel and output.
func steps(t *testing.T, a allocator.Allocator, requests []allocator.Request, want ...[][3]int) {
	t.Helper()
	for step, matches := range want {
		got := map[[3]int]bool{}
		for _, k := range a.Allocate(requests, nil) {
			r := requests[k]
			got[[3]int{int(r.Input), int(r.VC), int(r.Output)}] = true
		}
		same := len(got) == len(matches)
		for _, m := range matches {
			same = same && got[m]
		}
		if !same {
			t.Fatalf("step %d: %v cross, want %v", step, got, matches)
		}
	}
}
