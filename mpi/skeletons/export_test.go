package skeletons

import (
	"bytes"
	"slices"
	"testing"

	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/goal"
	"github.com/weft-sim/weft/mpi/trace"
	"github.com/weft-sim/weft/sim"
)

// counted counts what a program hands out, by kind of operation.
func counted(w mpi.Workload) (n, size [3]int64) {
	for r := range int32(w.Ranks()) {
		for ops := w.Start(r, nil); len(ops) > 0; {
			op := ops[0]
			n[op.Kind]++
			size[op.Kind] += op.Size
			ops = w.Done(r, op.ID, 0, w.Started(r, op.ID, 0, ops[1:]))
		}
	}
	return n, size
}

// checkExport: the schedule of a program has its messages, is the same from text and from
// binary, and goes to its end on the LogGOPS machine; it returns when its ranks do.
func checkExport(t *testing.T, programs []trace.Program) []int64 {
	t.Helper()
	g, _, err := trace.Export("x", programs)
	if err != nil {
		t.Fatal(err)
	}
	var text, again, binary, binaryAgain bytes.Buffer
	if _, err := g.WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	if err := g.WriteBinary(&binary); err != nil {
		t.Fatal(err)
	}
	fromText, err := goal.Parse("text", bytes.NewReader(text.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	fromBinary, err := goal.Parse("binary", bytes.NewReader(binary.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fromBinary.WriteTo(&again); err != nil || again.String() != text.String() {
		t.Errorf("the binary form is another schedule (%v)", err)
	}
	if err := fromText.WriteBinary(&binaryAgain); err != nil || !bytes.Equal(binaryAgain.Bytes(), binary.Bytes()) {
		t.Errorf("the text is another schedule (%v)", err)
	}
	var n, size [3]int64
	for _, p := range programs {
		for range p.Repeat {
			a, b := counted(p.Run())
			for k := range n {
				n[k] += a[k]
				size[k] += b[k]
			}
		}
	}
	for _, kind := range []mpi.Kind{mpi.Send, mpi.Recv} {
		if a, b := fromText.Count(kind); a != n[kind] || b != size[kind] {
			t.Errorf("%d %vs of %d B, want %d of %d", a, kind, b, n[kind], size[kind])
		}
	}
	r, err := mpi.DefaultLogGOPS.Run(fromText.Replay(1), nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Messages != n[mpi.Send] {
		t.Errorf("%d messages in the replay, want %d", r.Messages, n[mpi.Send])
	}
	return r.Finish
}

// TestExport: every skeleton becomes a schedule that ends when the skeleton does, to the
// nanosecond, but for traffic: it sends at times of its own, which the time of earlier messages
// moves in a schedule.
func TestExport(t *testing.T) {
	for _, name := range Registry.Names() {
		t.Run(name, func(t *testing.T) {
			program := sample(t, name)
			run := func() mpi.Workload { return program.Run(sim.Nanosecond, mpi.Costs{Combine: 500}) }
			finish := checkExport(t, []trace.Program{{Run: run, Repeat: 1}})
			want, err := mpi.DefaultLogGOPS.Run(run(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if name != "traffic" && !slices.Equal(finish, want.Finish) {
				t.Errorf("ends at %v, want %v", finish, want.Finish)
			}
		})
	}
}

// TestExportOfJobs: jobs follow each other in ranks, begin at their times, and each rank
// repeats its program when it is through with it.
func TestExportOfJobs(t *testing.T) {
	var programs []trace.Program
	for i, name := range []string{"halo", "goal", "traffic"} {
		program := sample(t, name)
		programs = append(programs, trace.Program{Run: func() mpi.Workload { return program.Run(sim.Nanosecond, mpi.Costs{}) }, Start: int64(1000 * i), Repeat: 1 + i})
	}
	checkExport(t, programs)
}
