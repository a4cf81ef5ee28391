package kinds

import (
	"fmt"
	"testing"

	"github.com/weft-sim/weft/experiments"
)

// divideAlways lets message-passing programs on networks of any size run on threads.
func divideAlways(t *testing.T) {
	before := worthBusy
	worthBusy = 0
	t.Cleanup(func() { worthBusy = before })
}

// numbersOfThreads are the numbers of threads that are compared.
var numbersOfThreads = []int{1, 2, 3, 5}

// sameOnThreads runs a file on several numbers of threads: the rows of its results and of
// the tables named must not differ. If divided is set, no point may keep to one thread.
func sameOnThreads(t *testing.T, what string, f *experiments.File, threads []int, divided bool, tables ...string) {
	t.Helper()
	var first string
	for _, n := range threads {
		o := execute(t, f, experiments.Execution{Jobs: 1, Threads: n})
		all := []any{o.Results.Rows}
		for _, name := range tables {
			all = append(all, o.Tables[name].Rows)
		}
		if got := fmt.Sprint(all...); first == "" {
			first = got
		} else if got != first {
			t.Errorf("%s, %d threads:\n%.2000s\none:\n%.2000s", what, n, got, first)
		}
		if divided && len(o.OnOneThread) > 0 {
			t.Errorf("%s, %d threads: %v", what, n, o.OnOneThread)
		}
	}
}
