package skeletons

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/weft-sim/weft/mpi/goal"
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
	for name, content := range map[string][]byte{"plain.zst": []byte(pairGOAL), "a.goal": packed.Bytes(), "b.goal": standard.EncodeAll([]byte(pairGOAL), nil)} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
		p, err := Registry.Build("goal", &Goal{File: path}, Env{})
		if err != nil {
			t.Fatal(err)
		}
		want, err := goal.Parse(path, strings.NewReader(pairGOAL))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(p, Program(want)) {
			t.Errorf("%s: %+v, want %+v", name, p, want)
		}
	}
}
