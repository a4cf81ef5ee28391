package enginetest

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/snapshot"
)

// keepsSlice keeps the state in front of a slice of a run, the first of which is 0, in
// kept, and counts slices.
func keepsSlice(at int, kept *[]byte, slices *int) func(bool, func(*snapshot.Archive) error) error {
	return func(_ bool, state func(*snapshot.Archive) error) error {
		if *slices++; *slices != at+1 {
			return nil
		}
		b, err := snapshot.Encode(state)
		*kept = bytes.Clone(b)
		return err
	}
}

// CheckGoesOn checks that a simulation, of which through tells what has come when it was run on threads,
// comes to the same from states of some moments on, which are written again as they were.
func CheckGoesOn(t *testing.T, name string, trial int, through func(threads int, plan measure.ToEnd) string) {
	t.Helper()
	slices := 0
	want := through(1, measure.ToEnd{Snapshot: keepsSlice(-1, nil, &slices)})
	random := sim.NewStream(1, "moments", trial)
	for i, at := range append(simtest.Some(t, trial, 0, slices-1-random.IntN(3)), random.IntN(slices)) {
		var kept, again []byte
		seen, threads := 0, simtest.Some(t, trial+i, 1, 2, 3)[0]
		if got := through(1+random.IntN(3), measure.ToEnd{Snapshot: keepsSlice(at, &kept, &seen)}); got != want {
			t.Errorf("%s: a state behind slice %d changes the run", name, at)
		}
		seen = 0
		got := through(threads, measure.ToEnd{From: snapshot.Reader(kept), Snapshot: keepsSlice(0, &again, &seen)})
		if !bytes.Equal(again, kept) {
			t.Errorf("%s: the state behind slice %d, read by %d threads, is written in another form", name, at, threads)
		}
		if got != want {
			t.Errorf("%s: from slice %d of %d on, %d threads come to\n%.300s\nwant\n%.300s", name, at, slices, threads, got, want)
		}
	}
}

// DivideAlways lets points on networks of any size run on threads.
func DivideAlways(t *testing.T) {
	busy, open := network.WorthBusy, network.WorthOpen
	network.WorthBusy, network.WorthOpen = 0, 1
	t.Cleanup(func() { network.WorthBusy, network.WorthOpen = busy, open })
}

// SameOnThreads runs a file on several numbers of threads: the rows of its results and of
// the tables named, which may not be empty, must not differ. If divided is set, no point may keep
// to one thread. It returns the last outcome.
func SameOnThreads(t *testing.T, what string, f *experiments.File, threads []int, divided bool, tables ...string) (o *engine.Outcome) {
	t.Helper()
	var first string
	for _, n := range threads {
		o = Execute(t, f, engine.Execution{Jobs: 1, Threads: n})
		all := []any{o.Results.Rows}
		for _, name := range tables {
			if o.Tables[name] == nil || len(o.Tables[name].Rows) == 0 {
				t.Fatalf("%s, %d threads: no rows of table %s", what, n, name)
			}
			all = append(all, o.Tables[name].Rows)
		}
		if got := fmt.Sprint(all...); first == "" {
			first = got
		} else if got != first {
			t.Errorf("%s, %d threads:\n%.2000s\none:\n%.2000s", what, n, got, first)
		}
		if divided && len(o.OnOneThread) > 0 {
			t.Errorf("%s, %d threads: %v", what, n, o.OnOneThread)
		}
	}
	return o
}
