package routing_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestRandomFabrics checks a third of 200 random fabrics with random settings; see
// routingtest.Trial.Check.
func TestRandomFabrics(t *testing.T) {
	var all routingtest.Tally
	seeds := simtest.Seeds(t, 200, 3)
	trials := len(seeds)
	for _, seed := range seeds {
		all.Add(routingtest.DrawTrial(t, seed).Check(t, 1500))
	}
	t.Log(all)
	if all.Certified < trials/2 || all.Stopped == 0 || all.Bounded < trials/4 {
		t.Errorf("%v: not a test of all", all)
	}
}

// FuzzFabrics checks the random fabric of any seed; go test -fuzz tries new ones.
func FuzzFabrics(f *testing.F) {
	for seed := range uint64(4) {
		f.Add(1000 + seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { routingtest.DrawTrial(t, seed).Check(t, 1500) })
}

// TestSoak checks random fabrics, and flits against packets as the unit, in long runs, for as long as SOAK_TIME says
// (a duration, as 8h), beginning with that of seed SOAK_SEED (1 unless set). make
// soak runs it.
func TestSoak(t *testing.T) {
	setting := os.Getenv("SOAK_TIME")
	if setting == "" {
		t.Skip("SOAK_TIME is not set")
	}
	limit, err := time.ParseDuration(setting)
	if err != nil {
		t.Fatalf("SOAK_TIME: %v", err)
	}
	first := uint64(1)
	if setting := os.Getenv("SOAK_SEED"); setting != "" {
		if _, err := fmt.Sscan(setting, &first); err != nil {
			t.Fatalf("SOAK_SEED = %q: want a number", setting)
		}
	}
	var all routingtest.Tally
	seed, report := first, time.Now()
	for start := time.Now(); time.Since(start) < limit && !t.Failed(); seed++ {
		all.Add(routingtest.DrawTrial(t, seed).Check(t, 20_000))
		routingtest.DrawUnitTrial(t, seed).CheckUnits(t, 20_000)
		if time.Since(report) > time.Minute {
			report = time.Now()
			fmt.Printf("%v: %v\n", time.Since(start).Round(time.Second), all)
		}
	}
	t.Logf("seeds %d to %d: %v", first, seed-1, all)
}
