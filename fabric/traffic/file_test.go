package traffic

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
)

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pairs")
	if err := os.WriteFile(path, []byte("# pairs\n1\n0\r\n\n3\n2\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	got := pattern(t, "file", single(t, 4), func(c *FileConfig) { c.Path = path }).(fixed)
	if !slices.Equal(got, []topology.TerminalID{1, 0, 3, 2}) {
		t.Errorf("%v", got)
	}
	for _, c := range []struct {
		path string
		n    int
		want string
	}{
		{"", 4, "the path of a file"}, {"nowhere", 4, "a readable file"}, {path, 5, "4 destinations, want 5"}, {path, 3, `:5: "3", want a terminal, 0 to 2`},
	} {
		_, err := param.Make(Patterns, "file", Env{Topology: single(t, c.n)}, func(f *FileConfig) { f.Path = c.path })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q with %d terminals: %v", c.path, c.n, err)
		}
	}
}

func FuzzReadDestinations(f *testing.F) {
	f.Add([]byte("# x\n1\n0\n"))
	f.Add([]byte("-1\n7\nx\n\xff\xfe"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := readDestinations("f", data, 2)
		if err == nil && (len(got) != 2 || slices.Min(got) < 0 || slices.Max(got) > 1) {
			t.Errorf("%q: %v", data, got)
		}
	})
}
