package kinds

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric/measure"
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
// so that each channel carries 3 terminals' packets and can take 1/3 flit of each:
// in steps of 0.02 the last load below that is 0.32, which is steady (a queue at
// 0.96 of its capacity), and no load above 1/3 is tried. A window ten times as long
// finds the same.
func TestFindSaturation(t *testing.T) {
	text := smallTorus + "find = \"saturation\"\nload_precision = 0.02\n"
	var found [2]float64
	for i, window := range []string{"window = 1000\n", "window = 10000\n"} {
		text := strings.Replace(strings.Replace(text, "load = 0.2\n", "", 1), "window = 1000\n", window, 1)
		o := execute(t, load(t, text, experiments.Options{}), experiments.Execution{})
		found[i] = numbers(t, o.Results, "offered_load")[0]
		if found[i] < 0.28 || found[i] > 1.0/3 || o.Results.State(0) != measure.Steady {
			t.Errorf("%sfound %v, %v; want 0.28 to 1/3, steady", window, found[i], o.Results.State(0))
		}
		search := o.Tables["search"]
		for i, tried := range numbers(t, search, "offered_load") {
			if tried > 1.0/3 {
				t.Errorf("tried %v: the channels carry 1/3", tried)
			}
			// An undecided load is tried again, with a window four times as long.
			if next := i + 1; search.State(i) == measure.Undecided && next < len(search.Rows) {
				windows, loads := numbers(t, search, "window_cycles"), numbers(t, search, "offered_load")
				if windows[i] < measure.DefaultBudget && (loads[next] != tried || windows[next] != min(4*windows[i], measure.DefaultBudget)) {
					t.Errorf("step %d is undecided in %v cycles, then load %v in %v", i, windows[i], loads[next], windows[next])
				}
			}
		}
		// The row is that of an ordinary point at the load and window found.
		last := search.Rows[0]
		for i, row := range search.Rows {
			if search.State(i) == measure.Steady {
				last = row
			}
		}
		at, err := search.Column("window_cycles")
		if err != nil {
			t.Fatal(err)
		}
		direct := execute(t, load(t, smallTorus, experiments.Options{Set: []string{"measure.window=" + last[at], "traffic.load=" + fmt.Sprint(found[i])}}), experiments.Execution{})
		if got, want := o.Results.Rows[0], direct.Results.Rows[0]; strings.Join(got, ",") != strings.Join(want, ",") {
			t.Errorf("row\n%v\nof a point\n%v", got, want)
		}
	}
	if math.Abs(found[0]-found[1]) >= 0.02 {
		t.Errorf("found %v, and %v with a window ten times as long", found[0], found[1])
	}
	if w := load(t, text, experiments.Options{}).Warnings; len(w) != 1 || w[0].Key != "traffic.load" {
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
`, experiments.Options{})
	o := execute(t, f, experiments.Execution{})
	if got := numbers(t, o.Results, "offered_load")[0]; got != 0.4 {
		t.Errorf("found %v\n%v", got, o.Tables["search"].Rows)
	}
}
