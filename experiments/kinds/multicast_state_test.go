package kinds

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/snapshot"
	"github.com/weft-sim/weft/sim/snapshot/snapshottest"
)

// stateFile is a file of messages on a network.
func stateFile(network, messages string) string {
	return "kind = \"multicast-latency\"\n[switch]\nbuffer_flits = 80\n[groups]\npattern = \"random\"\ngroups = 8\njoins = 3\n" + network + "[messages]\ncount = 2\nwarmup = 1\nspread = \"2us\"\n" + messages
}

// latencyAt builds the simulation of the first point of a file on threads.
func latencyAt(t testing.TB, text string, threads int) (*latencySimulation, *latencyConfig) {
	t.Helper()
	f := load(t, text, experiments.Options{})
	c := f.Points[0].Config().(*latencyConfig)
	p, err := c.build(f.Points[0].Seed)
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.simulation(p, &experiments.Run{Seed: f.Points[0].Seed, Threads: threads})
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

// bytesOf is the state.
func (s *latencySimulation) bytesOf(t testing.TB) []byte {
	t.Helper()
	a := snapshot.Writer()
	if err := s.state(a); err != nil {
		t.Fatal(err)
	}
	return a.Bytes()
}

// through goes on to the end, and tells what has come of it.
func (s *latencySimulation) through(t testing.TB) string {
	t.Helper()
	for more := true; more; {
		var err error
		if more, err = s.slice(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	all := fmt.Sprintf("%+v %v", s.row(), s.fabric.ChannelFlits())
	for i := range s.loop.groups {
		all += fmt.Sprintln(s.loop.groups[i].latency)
	}
	return all
}

// TestMulticastGoesOn: from a state of any moment, written and read by any number of
// threads, messages take the times that they take without a break; and who writes one is
// not disturbed. With flits and with packets as the unit.
func TestMulticastGoesOn(t *testing.T) {
	divideAlways(t)
	for n, network := range groupNetworks {
		for m, messages := range groupMessages {
			for u, unit := range []string{"", "hold = true\n[fabric]\nunit = \"packet\"\n"} {
				if os.Getenv("SOAK_TIME") == "" && (n != m%3 || u != m%2) {
					continue
				}
				text := strings.Replace(stateFile(network.text, messages.text), "buffer_flits = 80\n", "buffer_flits = 80\n"+unit, 1)
				checkGoesOn(t, messages.name+" on "+network.name+" "+unit, text, uint64(10*n+m))
			}
		}
	}
}

func checkGoesOn(t *testing.T, name, text string, seed uint64) {
	t.Helper()
	whole, c := latencyAt(t, text, 1)
	if err := whole.begin(c.Messages.Spread, nil); err != nil {
		t.Fatal(err)
	}
	want := whole.through(t)
	slices := int(whole.fabric.Cycle() / sliceCycles)
	random := sim.NewStream(seed, "moments", 0)
	for _, at := range []int{0, random.IntN(slices), random.IntN(slices), slices - random.IntN(3)} {
		first, _ := latencyAt(t, text, 1+random.IntN(3))
		if err := first.begin(c.Messages.Spread, nil); err != nil {
			t.Fatal(err)
		}
		for range at {
			if _, err := first.slice(); err != nil {
				t.Fatal(err)
			}
		}
		kept := first.bytesOf(t)
		if got := first.through(t); got != want {
			t.Errorf("%s: a state behind slice %d changes the run", name, at)
		}
		threads := 1 + random.IntN(3)
		s, _ := latencyAt(t, text, threads)
		if err := s.begin(c.Messages.Spread, snapshot.Reader(kept)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !bytes.Equal(s.bytesOf(t), kept) {
			t.Fatalf("%s: the state behind slice %d, read by %d threads, is written in another form", name, at, threads)
		}
		if got := s.through(t); got != want {
			t.Errorf("%s: from slice %d of %d on, %d threads come to\n%.300s\nwant\n%.300s", name, at, slices, threads, got, want)
		}
	}
}

// TestMulticastStatesAreWhole: no field is forgotten.
func TestMulticastStatesAreWhole(t *testing.T) {
	snapshottest.Check(t, func() *groupRoute { return &groupRoute{heard: make([]int64, 2), sent: make([]int64, 2)} },
		func(a *snapshot.Archive, r *groupRoute) { r.archive(a) }, "mlid", "vcs") // of the plan
	snapshottest.Names[loopGroup](t, "random", "sent", "posted", "latency", "members")
	snapshottest.Names[multicastLoop](t, "groups", "left", "latency", "sum", "longest", "first", "last",
		"kernel", "name", "carrier", "rotate", "think", "warmup", "wanted") // made before
	snapshottest.Names[hardwareCarrier](t, "routes", "parts", "hosts", "loop", "bytes", "packets")
	snapshottest.Names[hardwarePart](t, "delivered", "redundant", "hardwareCarrier",
		"heard", "groups") // have been taken over
	snapshottest.Names[softwareCarrier](t, "groups", "flows", "free", "parts", "ops", // the last counts within a call
		"kernel", "name", "heard", "hosts", "loop") // made before
	snapshottest.Names[softwarePart](t, "delivered", "softwareCarrier", "whole") // whole has been taken over
	snapshottest.Names[softwareGroup](t, "schedule", "sender", "ranks", "left", "last")
	snapshottest.Names[softwareRank](t, "round", "waiting", "early", "posted")
	snapshottest.Names[hosts](t, "nodes", "background", "sinks", "hostTable", "fabric", "clock", "flit", "incoming", "carrier") // what follows sinks is made before
	snapshottest.Names[host](t, "reading", "writing", "packets", "head")                                                        // head: those that have left are left out
	snapshottest.Names[hostPacket](t, "posted", "spec")
	snapshottest.Names[hostSink](t, "unicast", "hosts", "arrivals")
	snapshottest.Names[latencySimulation](t, "kernel", "fabric", "watch", "hosts", "loop", "hardware", "software", "thinned", "plan", "timings")
}
