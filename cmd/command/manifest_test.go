package command

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/weft-sim/weft/experiments"
)

// TestManifestSaysHow: the manifest holds the command line, what --set and --seed
// have changed, and whether the quick variant ran.
func TestManifestSaysHow(t *testing.T) {
	inFolder(t, map[string]string{"small.toml": small + "[quick]\nmeasure.window = 300\n", "none.toml": small})
	manifest := func(args ...string) experiments.Manifest {
		t.Helper()
		if status, _, stderr := weft(t, append([]string{"run", "--quiet", "--force", "--out", "o"}, args...)...); status != exitSuccess {
			t.Fatal(stderr)
		}
		text, err := os.ReadFile("o/manifest.json")
		if err != nil {
			t.Fatal(err)
		}
		var m experiments.Manifest
		if err := json.Unmarshal(text, &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	m := manifest("small.toml", "--quick", "--set", "switch.vcs=4", "--set", "traffic.load=0.2", "--seed", "7")
	want := []string{"weft", "run", "small.toml", "--force=true", "--out=o", "--quick=true", "--quiet=true", "--seed=7", "--set=switch.vcs=4", "--set=traffic.load=0.2"}
	if !slices.Equal(m.Command, want) {
		t.Errorf("command %q\nwant %q", m.Command, want)
	}
	if want := []string{"switch.vcs=4", "traffic.load=0.2", "seed=7"}; !slices.Equal(m.Set, want) || !m.Quick {
		t.Errorf("set %q, quick %v", m.Set, m.Quick)
	}
	// Uniform traffic on a torus of 4x4: the bisection of 16 cables would carry more,
	// the terminals' own channels are full at a flit a cycle.
	if b := manifest("none.toml").Bounds; len(b) != 1 || math.Abs(b[0]-1) > 1e-9 {
		t.Errorf("bounds %v", b)
	}
	if m := manifest("none.toml", "--quick"); m.Quick || m.Set != nil {
		t.Errorf("a file without [quick]: quick %v, set %q", m.Quick, m.Set)
	}
}
