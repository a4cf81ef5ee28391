package replay_test

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/goal"
	"github.com/weft-sim/weft/mpi/replay"
	"github.com/weft-sim/weft/mpi/skeletons"
	"github.com/weft-sim/weft/mpi/trace"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

const pairGOAL = "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from 0\n}\n"

// TestGOALCompressed: a schedule is the same from a gzip or a zstd file, whatever its name.
func TestGOALCompressed(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write([]byte(pairGOAL))
	simtest.FatalIf(t, err != nil || z.Close() != nil, "%v", err)
	standard := simtest.Must(zstd.NewWriter(nil))(t)
	for name, content := range map[string][]byte{"plain.zst": []byte(pairGOAL), "a.goal": packed.Bytes(), "b.goal": standard.EncodeAll([]byte(pairGOAL), nil)} {
		path := filepath.Join(t.TempDir(), name)
		simtest.Check(t, os.WriteFile(path, content, 0o666))
		p := simtest.Must(skeletons.Registry.Build("goal", &replay.Goal{File: path}, skeletons.Env{}))(t)
		want := simtest.Must(goal.Parse(path, strings.NewReader(pairGOAL)))(t)
		simtest.ErrorIf(t, !reflect.DeepEqual(p, skeletons.Program(want)), "%s: %+v, want %+v", name, p, want)
	}
}

// TestExport: a GOAL file is the same schedule as skeleton trace as it is as skeleton goal, and is written as it stands.
func TestExport(t *testing.T) {
	const file = "../testdata/goal/linear_alltoall_r8_64KiB.goal"
	c := replay.Default()
	c.File = file
	program := simtest.Must(skeletons.Registry.Build("trace", &c, skeletons.Env{Ranks: 16, PerNode: 4}))(t)
	plain := simtest.Must(skeletons.Registry.Build("goal", &replay.Goal{File: file}, skeletons.Env{Ranks: 16, PerNode: 4}))(t)
	simtest.ErrorIf(t, !reflect.DeepEqual(program.(*replay.Imported).Schedule, plain), "%+v, want %+v", program, plain)
	run := func() mpi.Workload { return program.Run(sim.Nanosecond, mpi.Costs{Combine: 500}) }
	g, report := simtest.Must2(trace.Export("x", []mpi.Job{{Program: run, Repeat: 1}}))(t)
	notes := report.Notes()
	simtest.ErrorIf(t, len(notes) > 0, "notes %v", notes)
	got := simtest.Must(mpi.DefaultLogGOPS.Run(g.Replay(1), nil))(t)
	want := simtest.Must(mpi.DefaultLogGOPS.Run(run(), nil))(t)
	simtest.ErrorIf(t, !slices.Equal(got.Finish, want.Finish) || got.Messages == 0, "ends at %v, want %v", got.Finish, want.Finish)
	// Beside another job, the ranks follow each other, and the start is a computation of 1000 ns more.
	both, _ := simtest.Must2(trace.Export("x", []mpi.Job{{Program: run, Repeat: 1}, {Program: run, Repeat: 1, Start: sim.Microsecond}}))(t)
	simtest.Equal(t, both.Ranks(), 2*g.Ranks(), "ranks:")
	count := func(g *goal.Schedule) [2]int64 {
		n, size := g.Count(mpi.Calc)
		return [2]int64{n, size}
	}
	one, two := count(g), count(both)
	simtest.Equal(t, two, [2]int64{2*one[0] + int64(g.Ranks()), 2*one[1] + 1000*int64(g.Ranks())}, "computations:")
}

// TestListOfRanks: SimGrid's list for -trace and smpirun -replay, a file a rank, is told from what is no trace by what the
// first file holds.
func TestListOfRanks(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"list": "r0\nr1\n", "r0": "0 init\n0 send 1 0 100 6\n0 finalize\n", "r1": "1 init\n1 recv 0 0 100 6\n1 finalize\n", "gone": "r2\nr1\n", "no": "no\n",
	} {
		simtest.Check(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	c := replay.Default()
	c.File = filepath.Join(dir, "list")
	s, _ := simtest.Must2(c.Read())(t)
	simtest.ErrorIf(t, s.Ranks() != 2, "%d ranks, want 2", s.Ranks())
	for _, name := range []string{"gone", "no"} {
		c.File = filepath.Join(dir, name)
		simtest.Refuse2(c.Read())(t, ":1: begins as no trace")
	}
}

// TestUnknown: what begins as no trace is called so, and is not read as the last format in a list; a
// schedule is told behind comments, whatever stands in it later.
func TestUnknown(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "x:1: begins as no trace",
		"hello world\n":                       "x:1: begins as no trace",
		`{"traceEvents": [{"ph": "X"}]}`:      "x:1: Kineto's events: ",
		`{"schema": "1.1.0", "nodes": []}`:    "x:1: PyTorch's execution trace: ",
		"MPI_Init entering at walltime 1.2":   "x:1: DUMPI as text: ",
		"\x00\x00\x00\x00":                    "x:1: begins as no trace",
		"/* a\nb */ // c\n\nnum_ranks x\n":    "num_ranks wants one number",
		"\xff\xfen\x00u\x00":                  "UTF-16",
		"{\"nodes\": []}\n":                   "x:1: begins as no trace",
		"\x7fELF\x02\x01\x01\x00\x00\x00\x00": "x:1: begins as no trace",
	} {
		c := replay.Default()
		c.File = filepath.Join(t.TempDir(), "x")
		simtest.Check(t, os.WriteFile(c.File, []byte(text), 0o666))
		simtest.Refuse2(c.Read())(t, want)
	}
}
