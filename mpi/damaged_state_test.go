package mpi_test

import (
	"strings"
	"testing"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/goal"
	"github.com/weft-sim/weft/sim"
)

// damagedRun runs from a state that need not be one: that ends with an error, or with a run
// that goes on for some time.
func damagedRun(k *keptRun, state []byte) error {
	c, pauses := k.config, 0
	c.Checkpoint.From = state
	c.Progress = func(int64) bool { pauses++; return pauses > 3 }
	_, err := c.Run(k.begin())
	return err
}

// damagedRuns are small runs that have all that a state can hold.
func damagedRuns(t testing.TB) []keptRun {
	schedule := func(name string, bytes sim.Bytes) func() mpi.Workload {
		s, err := collectives.Registry.New(name, collectives.Env{Ranks: 12, PerNode: 3, Bytes: bytes})
		if err != nil {
			t.Fatal(err)
		}
		return func() mpi.Workload {
			return mpi.RunSchedule(mpi.Iterate(s, 2), mpi.Costs{Copy: 200, Combine: 500}, sim.Picosecond)
		}
	}
	plain, relays, copies, onDemand := mpi.QDRConfig(3), mpi.QDRConfig(3), mpi.QDRConfig(3), mpi.QDRConfig(3)
	relays.Connections.Group, relays.Connections.Proxy = 4, true
	copies.Memory = mpi.Memory{40e9, 2}
	copies.Noise = mpi.Noise{Call: 100 * sim.Nanosecond, CallLaw: mpi.Exponential, DaemonEvery: 30 * sim.Microsecond, DaemonTime: 2 * sim.Microsecond}
	onDemand.Connections.OnDemand, onDemand.Connections.Mode = true, mpi.XRCS
	boxes := onDemand
	boxes.Connections.Mode, boxes.Connections.Preposted = mpi.RC, 1
	s := sim.NewStream(3, "goal", 4)
	g, err := goal.Parse("random.goal", strings.NewReader(tiedGoal(&s)))
	if err != nil {
		t.Fatal(err)
	}
	return []keptRun{
		{"rendezvous", plain, schedule("alltoall-linear", 20000)},
		{"direct writes", plain, schedule("alltoall-ring-rendezvous", 20000)},
		{"relays", relays, schedule("alltoall-pairwise", 9000)},
		{"shared memory", copies, schedule("alltoall-plp", 2000)},
		{"on demand", onDemand, schedule("alltoall-pairwise", 2000)},
		{"buffers of connections", boxes, schedule("alltoall-linear", 2000)},
		{"goal", plain, func() mpi.Workload { return g.Replay(1000) }},
	}
}

// damage changes some bytes of a state, or its length.
func damage(s *sim.Stream, state []byte) []byte {
	b := append([]byte(nil), state...)
	for range 1 + s.IntN(3) {
		i := s.IntN(len(b))
		switch s.IntN(5) {
		case 0:
			b[i] = byte(s.IntN(256))
		case 1:
			b[i] ^= 1 << s.IntN(8)
		case 2:
			b[i] += 2 // another number of the same length
		case 3:
			b = append(b[:i], append([]byte{byte(s.IntN(256))}, b[i:]...)...)
		default:
			if b = append(b[:i], b[i+1:]...); len(b) == 0 {
				return b
			}
		}
	}
	return b
}

// TestDamagedStates: a state that is damaged gives an error, or a run, and never a panic.
func TestDamagedStates(t *testing.T) {
	random, refused, ran := sim.NewStream(8, "damage", 0), 0, 0
	for _, k := range damagedRuns(t) {
		want, _ := k.run(t, mpi.Checkpoint{})
		states := k.states(t, &random, want.Stats.Events, 3)
		end := mpi.PauseEvery(2000)
		for _, state := range states {
			for range damages {
				if err := damagedRun(&k, damage(&random, state)); err != nil {
					refused++
				} else {
					ran++
				}
			}
		}
		end()
	}
	t.Logf("%d refused, %d ran", refused, ran)
	if refused < ran {
		t.Errorf("%d damaged states are refused, and %d ran", refused, ran)
	}
}

// damages is how often each state is damaged.
const damages = 12

// TestDamagedLogGOPSStates is TestDamagedStates for the LogGOPS machine, also in parts.
func TestDamagedLogGOPSStates(t *testing.T) {
	defer mpi.DivideAlways()()
	random := sim.NewStream(9, "damage", 0)
	for i := range 60 {
		s := sim.NewStream(3, "goal", i)
		g, err := goal.Parse("random.goal", strings.NewReader([]string{tiedGoal(&s), randomGoal(&s, 1+i%3)}[i%2]))
		if err != nil {
			t.Fatal(err)
		}
		k := keptLogGOPS{"damaged", mpi.LogGOPS{L: 2000, Overhead: 2000, Gap: 2000, Eager: 100}, func() mpi.Workload { return g.Replay(1) }}
		end := mpi.PauseEvery(1 + random.IntN(40))
		var states [][]byte
		if _, _, _, err := k.run(1+i%2, mpi.Checkpoint{Save: func(_ bool, state func() ([]byte, error)) error {
			b, err := state()
			states = append(states, b)
			return err
		}}); err != nil && len(states) == 0 {
			end()
			continue
		}
		end()
		end = mpi.PauseEvery(2000)
		for range damages {
			pauses := 0
			_, _, _, _ = k.p.RunOn(1+random.IntN(3), func() (mpi.Workload, error) { return k.begin(), nil }, func(int64) bool { pauses++; return pauses > 3 },
				mpi.Checkpoint{From: damage(&random, states[random.IntN(len(states))])})
		}
		end()
	}
}

// FuzzState: what is no state of a run is refused, or runs; nothing panics.
func FuzzState(f *testing.F) {
	runs := damagedRuns(f)
	for i, k := range runs {
		end := mpi.PauseEvery(300)
		c := k.config
		c.Checkpoint.Save = func(_ bool, state func() ([]byte, error)) error {
			b, err := state()
			f.Add(uint8(i), b)
			return err
		}
		_, err := c.Run(k.begin())
		if end(); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, of uint8, b []byte) {
		defer mpi.PauseEvery(2000)()
		_ = damagedRun(&runs[int(of)%len(runs)], b)
	})
}
