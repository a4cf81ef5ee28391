package mpi_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/applications"
	"github.com/weft-sim/weft/mpi/goal"
	"github.com/weft-sim/weft/mpi/replay"
	"github.com/weft-sim/weft/mpi/skeletons"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/snapshot"
	"github.com/weft-sim/weft/sim/snapshot/snapshottest"
)

// keptLogGOPS is a run on the LogGOPS machine that is stopped and goes on.
type keptLogGOPS struct {
	name  string
	p     mpi.LogGOPS
	begin func() mpi.Workload
}

func (k *keptLogGOPS) run(checkpoint mpi.Checkpoint) (mpi.LogGOPSResult, []int64, error) {
	w := k.begin()
	r, err := k.p.RunKept(w, nil, checkpoint)
	if s, ok := w.(*mpi.ScheduleRun); ok && err == nil {
		return r, s.PhaseEnds(), nil
	}
	return r, nil, err
}

// check stops a run at random moments: what goes on from there comes to the same. It returns
// how many went on.
func (k *keptLogGOPS) check(t *testing.T, random *sim.Stream) (wentOn int) {
	t.Helper()
	want, phases, wantErr := k.run(mpi.Checkpoint{})
	defer mpi.PauseEvery(1 + random.IntN(1+int(want.Events)/3))()
	var states [][]byte
	_, _, _ = k.run(mpi.Checkpoint{Save: func(done bool, state func(*snapshot.Archive) error) error {
		if len(states) > 100 {
			return nil
		}
		b, err := snapshottest.Encode(state)
		states = append(states, b)
		return err
	}})
	for range min(5, len(states)) {
		state := states[random.IntN(len(states))]
		if again, err := k.p.Rewrite(k.begin(), state); err != nil || !bytes.Equal(again, state) {
			t.Fatalf("%s: what is read is not written again: %v", k.name, err)
		}
		got, ends, err := k.run(mpi.Checkpoint{From: snapshot.Reader(state)})
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%s: error %v, without a break %v", k.name, err, wantErr)
		}
		if err == nil && (!slices.Equal(got.Finish, want.Finish) || !slices.Equal(ends, phases) || got.Messages != want.Messages || got.Events != want.Events) {
			t.Fatalf("%s: %v, without a break %v", k.name, got, want)
		}
		wentOn++
	}
	return wentOn
}

// tiedGoal is a schedule in which nearly everything happens at the same times: messages
// of one size from and to anyone, computations of few lengths. Who comes first decides
// who waits, and what is matched with what.
func tiedGoal(s *sim.Stream) string {
	ranks := 2 + s.IntN(11)
	ops, anyone := make([][]string, ranks), s.IntN(2) == 0
	for range 10 + s.IntN(100) {
		from, to := s.IntN(ranks), s.IntN(ranks)
		source := from
		if anyone {
			source = -1
		}
		ops[from] = append(ops[from], fmt.Sprintf("send 8b to %d tag 0", to))
		ops[to] = append(ops[to], fmt.Sprintf("recv 8b from %d tag %d", source, -s.IntN(2)))
	}
	return goalText(s, ops, func() string { return fmt.Sprintf("calc %d", s.IntN(3)*2000) }, 8)
}

// TestLogGOPSIsKept: schedules in which ties decide, on CPUs and NICs, with errors of
// LogGOPSim and without.
func TestLogGOPSIsKept(t *testing.T) {
	random, wentOn := sim.NewStream(6, "kept", 0), 0
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
		g := simtest.Must(goal.Parse("random.goal", strings.NewReader(text)))(t)
		k := keptLogGOPS{text, p, func() mpi.Workload { return g.Replay(1) }}
		wentOn += k.check(t, &random)
	}
	simtest.ErrorIf(t, wentOn < 2*schedules, "%d runs went on: too few to mean anything", wentOn)
}

// Every registered collective and skeleton.
func TestLogGOPSKeepsSchedules(t *testing.T) {
	random := sim.NewStream(7, "kept", 0)
	for _, name := range collectives.Registry.Names() {
		schedule := simtest.Must(collectives.Registry.New(name, collectives.Env{Ranks: 16, PerNode: 4, Bytes: 5000}))(t)
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

// registeredSkeletons are the skeletons of the registry, of about sixteen ranks.
func registeredSkeletons(t *testing.T) map[string]skeletons.Program {
	t.Helper()
	all := map[string]skeletons.Program{}
	for _, name := range skeletons.Registry.Names() {
		config := simtest.Must(skeletons.Registry.Config(name))(t)
		ranks := 16
		switch c := config.(type) {
		case *skeletons.Contention:
			ranks = 15
		case *replay.Goal:
			c.File = "testdata/goal/linear_alltoall_r8_64KiB.goal"
		case *replay.Trace:
			c.File = "testdata/goal/Fin1.bin"
		case *applications.ProgramFile:
			c.File = "applications/testdata/steps.toml"
		case *applications.Storage:
			c.Request = 1 << 15 // for more events
		case *skeletons.NAS:
			if name == "nas-lu" {
				c.Iterations.Iterations = 1 // of 250
			}
		}
		all[name] = simtest.Must(skeletons.Registry.Build(name, config, skeletons.Env{Ranks: ranks, PerNode: 4}))(t)
	}
	return all
}
