package mpi_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/goal"
	"github.com/weft-sim/weft/mpi/skeletons"
	"github.com/weft-sim/weft/sim"
)

// keptLogGOPS is a run on the LogGOPS machine that is stopped and goes on.
type keptLogGOPS struct {
	name  string
	p     mpi.LogGOPS
	begin func() mpi.Workload
}

func (k *keptLogGOPS) run(threads int, checkpoint mpi.Checkpoint) (mpi.LogGOPSResult, []int64, string, error) {
	r, w, why, err := k.p.RunOn(threads, func() (mpi.Workload, error) { return k.begin(), nil }, nil, checkpoint)
	if s, ok := w.(*mpi.ScheduleRun); ok && err == nil {
		return r, s.PhaseEnds(), why, nil
	}
	return r, nil, why, err
}

// check stops a run at random moments, on one thread and on several: what goes on from
// there, on any number of threads, comes to the same. It returns how many went on that had
// been, and were, divided.
func (k *keptLogGOPS) check(t *testing.T, random *sim.Stream) (divided int) {
	t.Helper()
	want, phases, _, wantErr := k.run(1, mpi.Checkpoint{})
	defer mpi.PauseEvery(1 + random.IntN(1+int(want.Events)/3))()
	for threads := 1; threads <= 3; threads += 2 {
		var states [][]byte
		_, _, whyWriter, _ := k.run(threads, mpi.Checkpoint{Save: func(done bool, state func() ([]byte, error)) error {
			if len(states) > 100 {
				return nil
			}
			b, err := state()
			states = append(states, b)
			return err
		}})
		for range min(3, len(states)) {
			state := states[random.IntN(len(states))]
			if again, err := k.p.Rewrite(k.begin(), state); err != nil || !bytes.Equal(again, state) {
				t.Fatalf("%s: what is read is not written again: %v", k.name, err)
			}
			got, ends, why, err := k.run(1+random.IntN(4), mpi.Checkpoint{From: state})
			if (err == nil) != (wantErr == nil) {
				t.Fatalf("%s: error %v, without a break %v", k.name, err, wantErr)
			}
			if err == nil && (!slices.Equal(got.Finish, want.Finish) || !slices.Equal(ends, phases) || got.Messages != want.Messages || got.Events != want.Events) {
				t.Fatalf("%s: %v, without a break %v", k.name, got, want)
			}
			if why == "" && whyWriter == "" && err == nil {
				divided++
			}
		}
	}
	return divided
}

// TestLogGOPSIsKept: schedules in which ties decide, on CPUs and NICs, with errors of
// LogGOPSim and without.
func TestLogGOPSIsKept(t *testing.T) {
	defer mpi.DivideAlways()()
	random, divided := sim.NewStream(6, "kept", 0), 0
	schedules := 150
	if testing.Short() { // with the race detector
		schedules = 50
	}
	for i := range schedules {
		s := sim.NewStream(3, "goal", i)
		p := []mpi.LogGOPS{mpi.DefaultLogGOPS, {L: 2000, Overhead: 2000, Gap: 2000, Eager: 100}, {L: 500, Overhead: 1500, Gap: 4000, GapByte: 1, OverByte: 2, Eager: 5000}, {L: 4000, Gap: 4000, Eager: 8}}[s.IntN(4)]
		p.Compatible = s.IntN(3) == 0
		text := tiedGoal(&s)
		if i%2 == 0 {
			text = randomGoal(&s, 1+i/2%3)
		}
		g, err := goal.Parse("random.goal", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		k := keptLogGOPS{text, p, func() mpi.Workload { return g.Replay(1) }}
		divided += k.check(t, &random)
	}
	if divided < schedules/4 {
		t.Errorf("%d runs went on from states of several threads on several threads: too few to mean anything", divided)
	}
}

// Every registered collective and skeleton.
func TestLogGOPSKeepsSchedules(t *testing.T) {
	defer mpi.DivideAlways()()
	random := sim.NewStream(7, "kept", 0)
	for _, name := range collectives.Registry.Names() {
		schedule, err := collectives.Registry.New(name, collectives.Env{Ranks: 16, PerNode: 4, Bytes: 5000})
		if err != nil {
			t.Fatal(err)
		}
		k := keptLogGOPS{name, mpi.DefaultLogGOPS, func() mpi.Workload {
			return mpi.RunSchedule(mpi.Iterate(schedule, 2), mpi.Costs{Copy: 200, Combine: 500}, sim.Nanosecond)
		}}
		k.check(t, &random)
	}
	for name, s := range registeredSkeletons(t) {
		k := keptLogGOPS{name, mpi.DefaultLogGOPS, func() mpi.Workload { return s.Run(sim.Nanosecond, mpi.Costs{}) }}
		k.check(t, &random)
	}
}

// registeredSkeletons are those of the registry, of about sixteen ranks.
func registeredSkeletons(t *testing.T) map[string]skeletons.Program {
	t.Helper()
	all := map[string]skeletons.Program{}
	for _, name := range skeletons.Registry.Names() {
		config, err := skeletons.Registry.Config(name)
		if err != nil {
			t.Fatal(err)
		}
		ranks := 16
		switch c := config.(type) {
		case *skeletons.Contention:
			ranks = 15
		case *skeletons.Goal:
			c.File = "testdata/goal/linear_alltoall_r8_64KiB.goal"
		case *skeletons.LU:
			c.Iterations.Iterations = 1 // of 250
		}
		if all[name], err = skeletons.Registry.Build(name, config, skeletons.Env{Ranks: ranks, PerNode: 4}); err != nil {
			t.Fatal(err)
		}
	}
	return all
}
