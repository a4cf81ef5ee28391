package engine

import (
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"
)

// Executions that share a pool write what each would write alone; with one place no two points of
// theirs are computed at the same time, and a point that another has computed is not computed again.
func TestPool(t *testing.T) {
	loads := [][]string{{"sweep.traffic.load=[0.1, 0.2, 0.3]"}, {"sweep.traffic.load=[0.3, 0.2, 0.4]"}}
	pool, beside := NewPool(1), atomic.Int64{}
	outcomes := make([]*Outcome, len(loads))
	var all errgroup.Group
	for i, set := range loads {
		all.Go(func() (err error) {
			outcomes[i], err = Execute(t.Context(), load(t, toySweep, set...), Execution{Dir: t.TempDir(), Jobs: 2, Pool: pool, Progress: func(p Progress) {
				beside.Store(max(beside.Load(), int64(len(p.Running))))
			}})
			return err
		})
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
	for i, set := range loads {
		if got, want := written(t, outcomes[i].Results), written(t, outcomeOf(t, toySweep, set...).Results); got != want {
			t.Errorf("execution %d: %s\nwant %s", i, got, want)
		}
	}
	if n := beside.Load(); n > 1 {
		t.Errorf("%d points at a time, want 1", n)
	}
	// Two shapes at four loads: 8 points that differ, of 12.
	kept := 0
	pool.finished.Range(func(any, any) bool { kept++; return true })
	if kept != 8 {
		t.Errorf("the pool keeps %d points, want 8", kept)
	}
	var last Progress
	again := execute(t, load(t, toySweep, loads[0]...), Execution{Dir: t.TempDir(), Pool: pool, Progress: func(p Progress) { last = p }})
	if last.Events != 0 || last.Done != 6 || again.Finished != 6 {
		t.Errorf("points that are known: %d events, %d done, %d finished; want 0, 6, 6", last.Events, last.Done, again.Finished)
	}
}
