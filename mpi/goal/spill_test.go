package goal

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"github.com/weft-sim/weft/mpi"
)

// A schedule that is too large for the heap is what a small one would be: it is written and
// read again. After n computations of 1 ns rank 0 sends, with an overhead of 100, to rank 1,
// which has it L = 1000 and an overhead later.
func TestSpilled(t *testing.T) {
	const n = 300_000 // 19 MB of operations in all
	b := NewBuilder("large", 2)
	for r := range int32(2) {
		b.Rank()
		last := int32(-1)
		for i := range n + 1 {
			kind := mpi.Calc
			if i == n {
				kind = []mpi.Kind{mpi.Send, mpi.Recv}[r]
			}
			id, err := b.Add(kind, 1, 1-r, 0)
			if err != nil {
				t.Fatal(err)
			}
			if last >= 0 {
				b.After(last, id)
			}
			last = id
		}
	}
	g, err := b.Schedule()
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "linux" && !g.memory.OnFile() {
		t.Error("not in a file")
	}
	var binary, again bytes.Buffer
	if err := g.WriteBinary(&binary); err != nil {
		t.Fatal(err)
	}
	h, err := Parse("again", bytes.NewReader(binary.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if err := h.WriteBinary(&again); err != nil || !bytes.Equal(binary.Bytes(), again.Bytes()) {
		t.Error("written again it is another", err)
	}
	result, err := (mpi.LogGOPS{L: 1000, Overhead: 100, Eager: 100}).Run(h.Replay(1), nil)
	if err != nil {
		t.Fatal(err)
	}
	if f := result.Finish; f[0] != n+100 || f[1] != n+1200 {
		t.Error(f)
	}
	// A cycle at its end is found.
	b = NewBuilder("cyclic", 1)
	b.Rank()
	for range 2 * n {
		if _, err := b.Add(mpi.Calc, 1, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
	b.After(2*n-2, 2*n-1)
	b.After(2*n-1, 2*n-2)
	if _, err := b.Schedule(); err == nil || !strings.Contains(err.Error(), "dependency cycle in rank 0") {
		t.Error(err)
	}
}
