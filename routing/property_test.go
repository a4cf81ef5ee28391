package routing_test

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// TestRandomFabrics checks 200 random fabrics with random settings; see
// trial.check.
func TestRandomFabrics(t *testing.T) {
	trials := 200 // 5 s
	if testing.Short() {
		trials = 40
	}
	var all tally
	for seed := range uint64(trials) {
		all.add(drawTrial(t, seed).check(t, 1500))
	}
	t.Log(all)
	if all.certified < trials/2 || all.stopped == 0 || all.bounded < trials/4 {
		t.Errorf("%v: not a test of all", all)
	}
}

// FuzzFabrics checks the random fabric of any seed; go test -fuzz tries new ones.
func FuzzFabrics(f *testing.F) {
	for seed := range uint64(4) {
		f.Add(1000 + seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { drawTrial(t, seed).check(t, 1500) })
}

// TestSoak checks random fabrics, in long runs, for as long as SOAK_TIME says
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
	var all tally
	seed, report := first, time.Now()
	for start := time.Now(); time.Since(start) < limit && !t.Failed(); seed++ {
		all.add(drawTrial(t, seed).check(t, 20_000))
		if time.Since(report) > time.Minute {
			report = time.Now()
			fmt.Printf("%v: %v\n", time.Since(start).Round(time.Second), all)
		}
	}
	t.Logf("seeds %d to %d: %v", first, seed-1, all)
}

// tally counts what came out of trials.
type tally struct{ trials, certified, stopped, bounded int }

func (a *tally) add(o tally) {
	a.trials += o.trials
	a.certified += o.certified
	a.stopped += o.stopped
	a.bounded += o.bounded
}

func (a tally) String() string {
	return fmt.Sprintf("%d fabrics, %d certified, %d held to a throughput bound, %d stopped", a.trials, a.certified, a.bounded, a.stopped)
}
