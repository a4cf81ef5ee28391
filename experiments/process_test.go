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
	if want := sha256.Sum256(text); !bytes.Equal(simtest.Must(contentOf(path))(t), want[:]) {
		t.Error("a text is not known by its bytes")
	}
	test := simtest.Must(os.Executable())(t)
	known := simtest.Must(contentOf(test))(t)
	program := append(simtest.Must(os.ReadFile(test))(t), text...)
	if hash := sha256.Sum256(program[:len(program)-len(text)]); bytes.Equal(known, hash[:]) {
		t.Skip("no executable in which Go's linker notes a name")
	}
	simtest.Check(t, os.WriteFile(path, program, 0o666))
	if !bytes.Equal(simtest.Must(contentOf(path))(t), known) {
		t.Error("the same program has another name")
	}
}
