//go:build unix

package engine

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestPipesInFolders: what should be a file of a result folder and is a pipe is refused, not waited for.
func TestPipesInFolders(t *testing.T) {
	for _, name := range []string{manifestFile, results.File, journalFile} {
		dir := t.TempDir()
		simtest.Check(t, os.WriteFile(filepath.Join(dir, manifestFile), []byte("{}"), 0o666))
		os.Remove(filepath.Join(dir, name))
		simtest.Check(t, syscall.Mkfifo(filepath.Join(dir, name), 0o666))
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = ReadFolder(dir)
			_, _ = readFolderTable(dir, results.File)
			beingWritten(dir)
			FinishedPoints(nil, dir)
		}()
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Fatalf("%s is a pipe, and is waited for", name)
		}
	}
}

// TestMask: what is written can be read by those whom the user's mask lets.
func TestMask(t *testing.T) {
	for mask, want := range map[int]os.FileMode{0o077: 0o600, 0o022: 0o644, 0o002: 0o664} {
		path := filepath.Join(t.TempDir(), "f")
		before := syscall.Umask(mask)
		err := results.WriteFile(path, []byte("x"))
		syscall.Umask(before)
		simtest.Check(t, err)
		simtest.Equal(t, simtest.Must(os.Stat(path))(t).Mode().Perm(), want, "umask %o: mode", mask)
	}
}
