package mpi_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/collectives/collectivestest"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/goal"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/snapshot"
)

// keptRun is a run that is stopped and goes on.
type keptRun struct {
	name   string
	config mpi.Config
	begin  func() mpi.Workload
}

// run is the result with the ends of phases behind the times.
func (k *keptRun) run(t *testing.T, checkpoint mpi.Checkpoint) (mpi.Result, []int64) {
	t.Helper()
	c, w := k.config, k.begin()
	c.Checkpoint = checkpoint
	r, err := c.Run(w)
	if err != nil {
		t.Fatalf("%s: %v", k.name, err)
	}
	if s, ok := w.(*mpi.ScheduleRun); ok {
		return r, s.PhaseEnds()
	}
	return r, nil
}

// states are some of random moments, in order, and that of the end.
func (k *keptRun) states(t *testing.T, random *sim.Stream, events uint64, moments int) (states [][]byte) {
	t.Helper()
	least := int(events) / (12 * moments)
	defer mpi.PauseEvery(1 + least + random.IntN(least+1))()
	k.run(t, mpi.Checkpoint{Save: func(_ bool, state func(*snapshot.Archive) error) error {
		b, err := snapshot.Encode(state)
		states = append(states, b)
		return err
	}})
	return states
}

// check stops a run at random moments: what goes on from there comes to the same, and
// writes the state that it has read.
func (k *keptRun) check(t *testing.T, random *sim.Stream, moments int) {
	t.Helper()
	want, phases := k.run(t, mpi.Checkpoint{})
	states := k.states(t, random, want.Stats.Events, moments)
	if len(states) < 2 {
		t.Errorf("%s: %d states are too few to test anything", k.name, len(states))
	}
	for len(states) > moments {
		i := random.IntN(len(states) - 1) // the end stays
		states = slices.Delete(states, i, i+1)
	}
	for i, state := range states {
		if again, err := k.config.Rewrite(k.begin(), state); err != nil || !bytes.Equal(again, state) {
			t.Errorf("%s, state %d of %d: what is read is not written again: %v", k.name, i, len(states), err)
			continue
		}
		got, ends := k.run(t, mpi.Checkpoint{From: snapshot.Reader(state)})
		if digest(&got) != digest(&want) || got.Stats != want.Stats || !slices.Equal(ends, phases) {
			t.Errorf("%s, from state %d of %d: %+v, want %+v", k.name, i, len(states), got.Stats, want.Stats)
		}
	}
}

// TestKept: runs that reach every protocol, way of connecting and queue go on from states
// of random moments, with the results of one without a break.
func TestKept(t *testing.T) {
	random := sim.NewStream(1, "kept", 0)
	for _, c := range goldenRuns(t) {
		k := keptRun{c.name, c.config(), c.begin}
		k.check(t, &random, 2)
	}
}

// Noise, and memory that copies share.
func TestKeptNoiseAndMemory(t *testing.T) {
	random := sim.NewStream(2, "kept", 0)
	for _, name := range []string{"alltoall-bruck", "alltoall-ring", "alltoall-plp", "alltoall-linear", "allreduce-recursive-doubling"} {
		for _, bytes := range []sim.Bytes{2000, 20000} {
			schedule, err := collectives.Registry.New(name, collectives.Env{Ranks: 24, PerNode: 6, Bytes: bytes})
			if err != nil {
				t.Fatal(err)
			}
			config := mpi.QDRConfig(6)
			config.Memory = mpi.Memory{40e9, 2}
			config.Noise = mpi.Noise{
				StartSkew: 2 * sim.Microsecond, Call: 100 * sim.Nanosecond, CallLaw: mpi.Exponential, Compute: 0.1, ComputeLaw: mpi.Normal, Spread: 0.3,
				DaemonEvery: 30 * sim.Microsecond, DaemonTime: 2 * sim.Microsecond,
			}
			if bytes > 2000 {
				config.Connections.Group, config.Connections.Proxy = 8, true
			}
			k := keptRun{name, config, func() mpi.Workload {
				return mpi.RunSchedule(mpi.Iterate(schedule, 2), mpi.Costs{Copy: 200, Combine: 500}, sim.Picosecond)
			}}
			k.check(t, &random, 6)
		}
	}
}

// Every registered collective.
func TestCollectivesAreKept(t *testing.T) {
	random := sim.NewStream(3, "kept", 0)
	for _, name := range collectives.Registry.Names() {
		for _, bytes := range []sim.Bytes{16, 70000} {
			config, err := collectives.Registry.Config(name)
			if err != nil {
				t.Fatal(err)
			}
			perNode := 5
			s, err := collectives.Registry.Build(name, config, collectives.Env{Ranks: 15, PerNode: perNode, Bytes: bytes})
			if collectivestest.Refused(err) {
				perNode = 4
				s, err = collectives.Registry.Build(name, config, collectives.Env{Ranks: 16, PerNode: perNode, Bytes: bytes})
			}
			if err != nil {
				t.Fatal(err)
			}
			k := keptRun{name, mpi.QDRConfig(perNode), func() mpi.Workload {
				return mpi.RunSchedule(s, mpi.Costs{Copy: 200, Combine: 200}, sim.Picosecond)
			}}
			k.check(t, &random, 2)
		}
	}
}

// Every registered skeleton, and all GOAL schedules of the tests.
func TestSkeletonsAreKept(t *testing.T) {
	random := sim.NewStream(4, "kept", 0)
	for name, s := range registeredSkeletons(t) {
		k := keptRun{name, mpi.QDRConfig(4), func() mpi.Workload { return s.Run(sim.Picosecond, mpi.Costs{}) }}
		k.check(t, &random, 2)
	}
	files, err := filepath.Glob("testdata/goal/*.goal")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		g, err := goal.Parse(file, f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		k := keptRun{file, mpi.QDRConfig(3), func() mpi.Workload { return g.Replay(1000) }}
		k.check(t, &random, 5)
	}
}
