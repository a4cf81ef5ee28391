package command

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/weft-sim/weft/sim/simtest"
)

var update = flag.Bool("update", false, "rewrite golden files")

// TestGolden: the numbers of one small experiment, to the last digit. A change
// means that results have moved, which docs/CHANGELOG.md has to explain.
func TestGolden(t *testing.T) {
	var out, err bytes.Buffer
	status := Run(t.Context(), []string{"run", "testdata/golden.toml", "--out", "-", "--quiet", "--no-cache"}, &out, &err)
	simtest.FatalIf(t, status != ExitSuccess, "status %d: %s", status, &err)
	path := filepath.Join("testdata", "golden.csv")
	if *update {
		simtest.Check(t, os.WriteFile(path, out.Bytes(), 0o644))
	}
	want := simtest.Must(os.ReadFile(path))(t)
	simtest.ErrorIf(t, !bytes.Equal(out.Bytes(), want), "got\n%s\nwant\n%s", &out, want)
}
