package mpi

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/weft-sim/weft/sim/input"
)

const pairGOAL = "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from 0\n}\n"

// TestGOALCompressed: a schedule is the same from a gzip or a zstd file, whatever
// its name.
func TestGOALCompressed(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(pairGOAL)); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	standard, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	want, err := ParseGOAL("f", strings.NewReader(pairGOAL))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"plain.zst": []byte(pairGOAL), "a.goal": packed.Bytes(), "b.goal": standard.EncodeAll([]byte(pairGOAL), nil)} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
		p, err := Skeletons.Build("goal", &GoalFile{File: path}, SkeletonEnv{})
		if err != nil {
			t.Fatal(err)
		}
		g := p.(*Goal)
		if g.name = "f"; !reflect.DeepEqual(g, want) {
			t.Errorf("%s: %+v, want %+v", name, g, want)
		}
	}
}

// TestGOALBounds: a line without end and more operations than there is memory for
// are faults, found on the way. An operation takes 72 bytes while they grow in
// number: in 7200 bytes there is room for fewer than 100.
func TestGOALBounds(t *testing.T) {
	_, err := ParseGOAL("f", strings.NewReader("num_ranks 1\nrank 0 {\n"+strings.Repeat(" ", 1<<20+1)))
	if err == nil || !strings.Contains(err.Error(), "f:3: a line of more than 1048576 bytes") {
		t.Errorf("a long line: %v", err)
	}
	many := strings.NewReader("num_ranks 1\nrank 0 {\n" + strings.Repeat("calc 1\n", 100) + "}\n")
	before := debug.SetMemoryLimit(7200)
	_, err = ParseGOAL("f", many)
	debug.SetMemoryLimit(before)
	if err == nil || !strings.HasPrefix(err.Error(), "f:102: 100 operations so far take 7209 bytes") || input.Memory() <= 7200 {
		t.Errorf("many operations: %v", err)
	}
}
