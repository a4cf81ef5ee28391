package kinds

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/weft-sim/weft/experiments"
)

// TestCache: results and preflight are the same without a cache, when it is filled, when it
// is read, and when all that is in it is damaged. Two networks under one pattern are two
// certificates and two tables of loads.
func TestCache(t *testing.T) {
	const text = smallTorus + `
[sweep]
"topology.dims" = [[8], [4, 4]]
"traffic.load" = [0.1, 0.2]
`
	var warnings []string
	cache := &experiments.Cache{Dir: t.TempDir(), Limit: 1 << 20, Warn: func(m string) { warnings = append(warnings, m) }}
	run := func(c *experiments.Cache) string {
		f := load(t, text, experiments.Options{Cache: c})
		report, err := f.Preflight(true)
		if err != nil {
			t.Fatal(err)
		}
		said := ""
		for _, n := range report.Notes {
			said += n.Topic + n.Where + n.Text + "\n"
		}
		return said + fmt.Sprint(execute(t, f, experiments.Execution{}).Results.Rows)
	}
	want := run(nil)
	for _, when := range []string{"filled", "read", "damaged"} {
		paths, err := filepath.Glob(filepath.Join(cache.Dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		if when != "filled" && len(paths) != 4 {
			t.Fatalf("%s: %d entries, want 4", when, len(paths))
		}
		for _, path := range paths {
			if when == "damaged" {
				if err := os.Truncate(path, 50); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := run(cache); got != want {
			t.Errorf("%s:\n%s\nwithout a cache:\n%s", when, got, want)
		}
	}
	if len(warnings) != 4 {
		t.Errorf("warnings %q, want one for each damaged entry", warnings)
	}
}
