package experiments

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/snapshot"
)

// TestBrokenSnapshot: a point that breaks with a snapshot names the file.
func TestBrokenSnapshot(t *testing.T) {
	dir := t.TempDir()
	f := load(t, "kind = \"toy\"\n[traffic]\nmode = \"break\"\n")
	key := f.Points[0].Hash + ".0"
	path := filepath.Join(dir, "snapshots", key+".weft")
	simtest.Check(t, os.MkdirAll(filepath.Dir(path), 0o777))
	state := simtest.Must(os.Create(path))(t)
	simtest.Check(t, errors.Join(snapshot.Write(state, build(), key, func(a *snapshot.Archive) error { snapshot.Blob(a, &[]byte{1}); return nil }), state.Close()))
	_, _, err := f.NewRun(f.Points[0], Circumstances{Dir: dir, SnapshotEvery: time.Hour}).Compute(t.Context())
	want := "went on from " + path + ", and broke; with --resume it begins again\ninternal error, please report it: told to break\n"
	simtest.FatalIf(t, err == nil || !strings.HasPrefix(err.Error(), want), "failed by %v, want %q", err, want)
}

// TestMisuse: what is registered and breaks its contract is called by its name in the file,
// without a stack.
func TestMisuse(t *testing.T) {
	f := load(t, "kind = \"toy\"\n[shape]\ntype = \"ring\"\n[traffic]\nmode = \"misuse\"\n")
	_, _, err := f.NewRun(f.Points[0], Circumstances{}).Compute(t.Context())
	simtest.ErrorIf(t, fmt.Sprint(err) != `shape "ring" reads what it has not declared`, "%v", err)
}

// TestInterruptible: what does not end by itself is left behind; what is done is
// returned though the context has ended.
func TestInterruptible(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	begun, forever := make(chan bool), make(chan bool)
	defer close(forever)
	go func() { <-begun; cancel() }()
	x, err := Interruptible(ctx, func() (int, error) { begun <- true; <-forever; return 3, nil })
	simtest.ErrorIf(t, x != 0 || !errors.Is(err, ErrInterrupted), "%d, %v", x, err)
	x, err = interruptible(ctx, time.Hour, func() (int, error) { return 3, nil })
	simtest.ErrorIf(t, x != 3 || err != nil, "%d, %v", x, err)
}

// TestInsideAPoint: a point tells how far it is, in what its kind counts; where the end
// is known, it is reached.
func TestInsideAPoint(t *testing.T) {
	const torus = "[topology]\ntype = \"torus\"\ndims = [4]\n[routing]\ntype = \"dor\"\n[traffic]\nload = 0.2\n"
	for _, c := range []struct {
		name, text string
		want       PointProgress
	}{
		// Two replications of 100 + 300 cycles, then a drain that does not count.
		{"fixed", torus + "[measure]\nwarmup = 100\nwindow = 300\nreplications = 2\n", PointProgress{Done: 800, Total: 800, Unit: "cycles"}},
		{"found", torus + "[measure]\nbudget = 20000\n", PointProgress{Done: -1, Total: 20000, Unit: "cycles", AtMost: true}},
		{"search", torus + "[measure]\nwarmup = 100\nwindow = 300\nbudget = 300\nfind = \"saturation\"\nload_precision = 0.5\n", PointProgress{Done: -1, Total: 0, Unit: "cycles at load 1"}}, // 0.5 is undecided
		// 32 terminals (a fat tree of 2 levels of 8-port switches), 31 packets each.
		{"exchange", "kind = \"exchange\"\n[topology]\nk = 8\nn = 2\n", PointProgress{Done: 32 * 31, Total: 32 * 31, Unit: "packets"}},
		// One group of 4 terminals, 20 measured messages.
		{"multicast", "kind = \"multicast-latency\"\n[groups]\ncount = 1\n[messages]\ncount = 20\n", PointProgress{Done: 20, Total: 20, Unit: "messages"}},
		// The pattern makes 64 groups.
		{"trees", "kind = \"multicast-routing\"\n[groups]\npattern = \"random-fixed-size\"\ncount = 64\n", PointProgress{Done: 64, Total: 64, Unit: "groups"}},
		// Theorem 2 on two cascades of m = 3: m^k sessions.
		{"sessions", "kind = \"sessions\"\n", PointProgress{Done: 9, Total: 9, Unit: "sessions"}},
		{"mpi", "kind = \"mpi\"\n[job]\nranks = 4\n", PointProgress{Done: -1, Total: 0, Unit: "events"}},
	} {
		f := simtest.Must(Load(c.name+".toml", c.text, Options{}))(t)
		run := f.NewRun(f.Points[0], Circumstances{})
		_, _, err := run.Compute(t.Context())
		simtest.Check(t, err)
		got := run.way
		if c.want.Done < 0 && got.Done > 0 {
			got.Done = -1
		}
		simtest.ErrorIf(t, got != c.want, "%s: %+v, want %+v", c.name, got, c.want)
	}
}
