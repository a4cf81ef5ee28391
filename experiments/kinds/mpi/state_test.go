package mpi

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine/enginetest"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/snapshot"
	"github.com/weft-sim/weft/sim/snapshot/snapshottest"
)

// pausing is the division of a run that is stopped now and then, for its state to be
// written: at any event of a single part, and in any gap between windows of several.
type pausing struct {
	mpi.Division
	every  int // events or windows, in the mean; 0: it is not stopped
	random sim.Stream
	first  bool // stop before anything happens
}

func (p *pausing) Archive(a *snapshot.Archive) { p.Division.(mpi.Stater).Archive(a) }

func (p *pausing) Event(a *snapshot.Archive, e *sim.Event) int {
	return p.Division.(mpi.Stater).Event(a, e)
}

// now tells whether to stop here.
func (p *pausing) now() bool { return p.every > 0 && p.random.IntN(p.every) == 0 }

// Transport implements mpi.Division.
func (p *pausing) Transport(part int, k *sim.Kernel, sink mpi.Sink) (mpi.Transport, error) {
	if p.Parts() == 1 {
		sink = pausingSink{sink, p, k}
	}
	return p.Division.Transport(part, k, sink)
}

// pausingSink stops a single kernel at some deliveries.
type pausingSink struct {
	mpi.Sink
	p *pausing
	k *sim.Kernel
}

func (s pausingSink) Delivered(id int32) {
	s.Sink.Delivered(id)
	if s.p.now() {
		s.k.Stop()
	}
}

// Run implements mpi.Division.
func (p *pausing) Run(kernels []*sim.Kernel, m mpi.Meeting) {
	stop := false
	if p.first {
		stop = pause(m)
	}
	if !stop {
		p.Division.Run(kernels, pausingMeeting{m, p})
	}
}

// pause makes a meeting offer its state.
func pause(m mpi.Meeting) (stop bool) {
	for range 1024 { // the windows for which it is not asked
		stop = stop || m.Stop()
	}
	return stop
}

type pausingMeeting struct {
	mpi.Meeting
	p *pausing
}

func (m pausingMeeting) Stop() bool {
	if m.p.Parts() == 1 {
		return m.Meeting.Stop()
	}
	return m.p.now() && pause(m.Meeting)
}

// fabricRun is a program on a fabric that is stopped and goes on.
type fabricRun struct {
	t      testing.TB
	config *Config
}

// run is the result on so many threads.
func (r *fabricRun) run(threads int, p *pausing, checkpoint mpi.Checkpoint) (string, error) {
	c := r.config
	config, err := c.Runtime(1)
	simtest.Check(r.t, err)
	w, err := c.build()
	simtest.Check(r.t, err)
	divide, over, err := c.overFabric(&config.Adapter, &experiments.Run{Threads: threads}, 1, &mpiObserved{}, false, new(mpiRow))
	simtest.Check(r.t, err)
	config.Checkpoint = checkpoint
	config.Divide = func(nodes int, alone sim.Time, why string) (mpi.Division, error) {
		p.Division, err = divide(nodes, alone, why)
		return p, err
	}
	result, err := over(config.Run(w))
	if s, ok := w.(*mpi.ScheduleRun); ok {
		return fmt.Sprint(result, s.PhaseEnds()), err
	}
	return fmt.Sprint(result), err
}

// check stops a run at random moments; what goes on from there, on any number of
// threads, comes to the same, and writes the state that it has read.
func (r *fabricRun) check(name string, random *sim.Stream, moments int) {
	want, err := r.run(1, &pausing{}, mpi.Checkpoint{})
	simtest.FatalIf(r.t, err != nil, "%s: %v", name, err)
	for moment := range moments {
		threads, seen, at := 1+random.IntN(3), 0, 1+random.IntN(20)
		every := 1 + random.IntN(20)
		var kept []byte
		got, err := r.run(threads, &pausing{every: every, random: *random}, mpi.Checkpoint{Save: func(done bool, state func(*snapshot.Archive) error) error {
			if seen++; seen > at || done && kept != nil {
				return nil
			}
			kept, err = snapshottest.Encode(state)
			return err
		}})
		simtest.FatalIf(r.t, err != nil || got != want, "%s: with snapshots, %d threads: %v, %v, want %v", name, threads, got, err, want)
		for _, threads := range simtest.Some(r.t, moment+len(name), 1, 2, 3) {
			p := &pausing{random: *random, first: true}
			var again []byte
			got, err := r.run(threads, p, mpi.Checkpoint{From: snapshot.Reader(kept), Save: func(_ bool, state func(*snapshot.Archive) error) error {
				if again != nil {
					return nil
				}
				again, err = snapshottest.Encode(state)
				return err
			}})
			simtest.FatalIf(r.t, err != nil || got != want,
				"%s, from state %d on, %d threads: %v, %v, want %v", name, moment, threads, got, err, want)
			if !bytes.Equal(ofNetwork(again), ofNetwork(kept)) {
				r.t.Fatalf("%s: the network of %d bytes that %d threads read is written as another, of %d", name, len(ofNetwork(kept)), threads, len(ofNetwork(again)))
			}
		}
		simtest.Refuse(r.run(2, &pausing{}, mpi.Checkpoint{From: snapshot.Reader(kept[:random.IntN(len(kept))])}))(r.t, "")
	}
}

// ofNetwork is the state of a run from the adapters on. What comes before has the numbers of
// messages that nobody uses, which follow from the parts.
func ofNetwork(state []byte) []byte { return state[bytes.Index(state, []byte("adapters")):] }

// TestFabricProgramsGoOn: programs on fabrics that go on from a state of a random moment, on
// any number of threads, are the programs themselves: over all protocols and ways of
// connecting, with lanes, and with packets as the unit.
func TestFabricProgramsGoOn(t *testing.T) {
	enginetest.DivideAlways(t)
	moments := 1
	if simtest.Soak() {
		moments = 20
	}
	random := sim.NewStream(1, "fabric programs", 0)
	for j, program := range threaded {
		for _, on := range simtest.Some(t, j, threadedNetworks...) {
			text := "kind = \"mpi\"\n[job]\nranks = 32\nmachine = \"fabric\"\n[placement]\nper_node = 2\n" + program.text + on.text
			r := &fabricRun{t, enginetest.Load(t, text).Points[0].Config().(*Config)}
			r.check(program.name+" on "+on.name, &random, moments)
		}
	}
}
