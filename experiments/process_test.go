package experiments

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"
	"testing"

	"github.com/weft-sim/weft/sim/simtest"
)

// TestContentOf: a file that Go's linker has not named is known by its bytes, and an executable
// by what the linker called it, so that what stands behind that does not count.
func TestContentOf(t *testing.T) {
	text := []byte("no executable")
	path := filepath.Join(t.TempDir(), "file")
	simtest.Check(t, os.WriteFile(path, text, 0o666))
	want := sha256.Sum256(text)
	simtest.ErrorIf(t, !bytes.Equal(simtest.Must(contentOf(path))(t), want[:]), "a text is not known by its bytes")
	test := simtest.Must(os.Executable())(t)
	known := simtest.Must(contentOf(test))(t)
	program := append(simtest.Must(os.ReadFile(test))(t), text...)
	if hash := sha256.Sum256(program[:len(program)-len(text)]); bytes.Equal(known, hash[:]) {
		t.Skip("no executable in which Go's linker notes a name")
	}
	simtest.Check(t, os.WriteFile(path, program, 0o666))
	simtest.ErrorIf(t, !bytes.Equal(simtest.Must(contentOf(path))(t), known), "the same program has another name")
}

// TestGarbageShare: 16 MiB of garbage stand in any case, half of what lives, 128 MiB at most: 16 of
// 1 MiB are 1,600 %, as many of 16 100 %; half of 256 MiB are 128, and 128 of 1 GiB are 12.5 %. While
// many points are checked 192 stand: 120 % of 160 MiB.
func TestGarbageShare(t *testing.T) {
	for live, want := range map[uint64]int{0: 1600, 1: 1600, 16: 100, 32: 50, 256: 50, 1024: 12, 1 << 20: 1} {
		got := garbageShare(live<<20, leastGarbage)
		simtest.ErrorIf(t, got != want, "%d MiB live: %d %%, want %d", live, got, want)
	}
	if got := garbageShare(160<<20, checkGarbage); got != 120 {
		t.Errorf("160 MiB live, many points: %d %%, want 120", got)
	}
}
