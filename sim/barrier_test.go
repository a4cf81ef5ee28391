package sim

import (
	"runtime"
	"sync"
	"testing"
)

// Nobody passes a barrier before all have come, and what the last one does is done
// once, before anyone goes on; with a processor for everyone and without.
func TestBarrier(t *testing.T) {
	for _, n := range []int{1, 2, 3 * runtime.GOMAXPROCS(0)} {
		b := NewBarrier(n)
		come, opened := make([]int, n), 0
		var all sync.WaitGroup
		for me := range n {
			all.Go(func() {
				for round := range 200 {
					come[me]++
					b.WaitThen(func() { opened++ })
					for other := range come {
						if come[other] != round+1 || opened != round+1 {
							t.Errorf("%d of %d: round %d, %d has come %d times, the last one has acted %d times", me, n, round, other, come[other], opened)
						}
					}
					b.Wait()
				}
			})
		}
		all.Wait()
	}
}
