package kinds

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/snapshot"
)

// TestForgedStates: a snapshot that is damaged inside, under a checksum that fits, is refused
// with a reason, or leads to a run that ends. It breaks no invariant and loops nowhere. As many
// are tried as come in SOAK_TIME, divided among the runs.
func TestForgedStates(t *testing.T) {
	limit, err := time.ParseDuration(os.Getenv("SOAK_TIME"))
	if err != nil {
		t.Skip("needs SOAK_TIME: see make soak-forged")
	}
	for _, name := range slices.Sorted(maps.Keys(longRuns)) {
		t.Run(name, func(t *testing.T) {
			r := longRuns[name]
			checkForged(t, &r, name, limit/time.Duration(len(longRuns)))
		})
	}
}

func checkForged(t *testing.T, r *longRun, name string, limit time.Duration) {
	var options experiments.Options
	if r.kind == "traffic" {
		options.Set = []string{"measure.replications=1"}
	}
	f := load(t, r.text, options)
	f.Points = f.Points[:1]
	file, states := keptStates(t, f)
	tried, refused := 0, map[string]int{}
	until := time.Now().Add(limit)
	for random := sim.NewStream(1, "forged "+name, 0); time.Now().Before(until) && !t.Failed(); tried++ {
		state := states[len(states)-1] // a run from there on is short
		if tried%3 == 0 {
			state = states[random.IntN(len(states))]
		}
		state.Data = forge(&random, state.Data)
		dir := t.TempDir()
		write(t, (&snapshot.File{Build: file.Build, States: []snapshot.State{state}}).Encode(), dir, "snapshots", state.Key+".weft")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		o, err := f.Execute(ctx, experiments.Execution{Dir: dir, Jobs: 1, Threads: 1 + tried%2, Resume: true, SnapshotEvery: time.Hour})
		cancel()
		switch {
		case errors.Is(err, experiments.ErrInterrupted):
			t.Errorf("trial %d does not end", tried)
		case err != nil:
			t.Errorf("trial %d: %v", tried, err)
		default:
			for _, failure := range o.Failures {
				if refused[failure.Reason]++; strings.HasPrefix(failure.Reason, "internal error") {
					t.Errorf("trial %d: %s", tried, failure.Reason)
				}
			}
		}
	}
	t.Logf("%d states, %d damaged ones, of which refused by reasons: %d", len(states), tried, len(refused))
	if tried > 100 && len(refused) < 10 {
		t.Errorf("few are refused: %v", refused)
	}
}

// forge changes a byte or some of a state, puts others in or takes some away.
func forge(random *sim.Stream, state []byte) []byte {
	b := bytes.Clone(state)
	for range 1 + random.IntN(3) {
		at := random.IntN(len(b))
		switch random.IntN(6) {
		case 0:
			b = slices.Delete(b, at, min(len(b), at+1+random.IntN(20)))
		case 1:
			b = slices.Insert(b, at, make([]byte, 1+random.IntN(4))...)
		case 2:
			b[at] = []byte{0, 1, 0x7f, 0x80, 0xff}[random.IntN(5)]
		default:
			b[at] ^= 1 << random.IntN(8)
		}
		if len(b) == 0 {
			return b
		}
	}
	return b
}

// keptStates are snapshots of the first part of a point, in the order in which they were
// kept, with the file of one of them.
func keptStates(t *testing.T, f *experiments.File) (*snapshot.File, []snapshot.State) {
	t.Helper()
	dir := t.TempDir()
	var file *snapshot.File
	var states []snapshot.State
	look := func(int64) {
		names, err := filepath.Glob(filepath.Join(dir, "snapshots", "*.0.weft"))
		if err != nil {
			t.Error(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err == nil {
				file, err = snapshot.Decode(text, buildOf(text), 1<<30)
			}
			if err != nil {
				t.Error(err)
				continue
			}
			if n := len(states); n == 0 || !bytes.Equal(states[n-1].Data, file.States[0].Data) {
				states = append(states, file.States[0])
			}
		}
	}
	_, err := f.Execute(&moments{Context: t.Context(), at: look}, experiments.Execution{Dir: dir, Jobs: 1, SnapshotEvery: time.Nanosecond})
	if err != nil || t.Failed() || len(states) < 2 {
		t.Fatalf("%d states are kept (%v)", len(states), err)
	}
	return file, states
}

// buildOf is the program that wrote a snapshot, which the reader of one has to name.
func buildOf(text []byte) (build string) {
	const header = len("weft snapshot\n") + 1 + 8 + 32
	snapshot.String(snapshot.Reader(text[header:]), &build)
	return build
}

func write(t *testing.T, content []byte, path ...string) {
	t.Helper()
	name := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, content, 0o666); err != nil {
		t.Fatal(err)
	}
}
