package experiments

import (
	"math"
	"strings"
	"testing"
)

// TestBisect: for every number of steps and every place of the change, the
// last good step, in no more tries than bisection needs, none twice.
func TestBisect(t *testing.T) {
	for n := 1; n <= 70; n++ {
		for last := 0; last <= n; last++ {
			tried := map[int]bool{}
			got, err := bisect(n, func(k int) (int, error) {
				if tried[k] || k < 1 || k > n {
					t.Fatalf("n = %d: tried %d again or outside", n, k)
				}
				tried[k] = true
				return k, nil
			}, func(k int) bool { return k <= last })
			most := int(math.Ceil(math.Log2(float64(n + 1))))
			if err != nil || got != max(last, 1) || len(tried) > most {
				t.Fatalf("n = %d, change behind %d: got %d after %d tries, %v", n, last, got, len(tried), err)
			}
		}
	}
}

// TestFindSaturation: tornado on a ring of 8 sends everything 3 switches on,
// so that each channel carries 3 terminals' packets and the network saturates
// at 1/3 flit. A load counts as carried while 0.95 of it arrives, less what
// chance explains: up to 1/3/0.95 = 0.351, and with 8000 terminal-cycles
// 3*sqrt(0.36*8000)/8000 = 0.02 more.
func TestFindSaturation(t *testing.T) {
	text := smallTorus + "find = \"saturation\"\nload_precision = 0.02\n"
	f := load(t, strings.Replace(text, "load = 0.2\n", "", 1), Options{})
	o := execute(t, f, Execution{})
	found := numbers(t, o.Results, "offered_load")[0]
	if found < 0.32 || found > 0.38 {
		t.Errorf("found %v, want 1/3", found)
	}
	// The row is that of an ordinary point at the load found; the next load
	// is saturated.
	direct := execute(t, load(t, smallTorus+"[sweep]\n\"traffic.load\" = ["+formatCell(found)+", "+formatCell(found+0.02)+"]\n", Options{}), Execution{})
	got, want := o.Results.Rows[0][2:], direct.Results.Rows[0][3:]
	if strings.Join(got, ",") != strings.Join(want, ",") {
		t.Errorf("row\n%v\nof a point\n%v", got, want)
	}
	at, err := direct.Results.Column("saturated")
	if err != nil {
		t.Fatal(err)
	}
	if direct.Results.Rows[0][at] != "false" || direct.Results.Rows[1][at] != "true" {
		t.Errorf("saturated: %v", direct.Results.Rows)
	}
	// 50 steps take 5 or 6 tries, the first at half the range.
	search := o.Tables["search"]
	if n := len(search.Rows); n < 5 || n > 6 || numbers(t, search, "offered_load")[0] != 0.5 {
		t.Errorf("search %v", search.Rows)
	}
	if w := load(t, text, Options{}).Warnings; len(w) != 1 || w[0].Key != "traffic.load" {
		t.Errorf("warnings %v", w)
	}
}

// TestFindBounds: nothing beyond what the process can offer is tried: bursts
// of load 0.5 make averages below that, in steps of 0.1 up to 0.4. A single
// switch keeps up with all of them.
func TestFindBounds(t *testing.T) {
	f := load(t, `
[topology]
type = "single-switch"
[routing]
type = "table"
[traffic]
pattern = "neighbour"
process = "on-off"
peak = 0.5
[measure]
warmup = 500
window = 5000
find = "saturation"
load_precision = 0.1
`, Options{})
	o := execute(t, f, Execution{})
	if got := numbers(t, o.Results, "offered_load")[0]; got != 0.4 {
		t.Errorf("found %v\n%v", got, o.Tables["search"].Rows)
	}
}
