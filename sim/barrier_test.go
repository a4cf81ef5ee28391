package sim

import (
	"runtime"
	"sync"
	"testing"
	"time"
)

// Nobody passes a barrier before all have come, and what the last one does is done
// once, before anyone goes on; with a processor for everyone and without.
func TestBarrier(t *testing.T) {
	for _, n := range []int{1, 2, 3 * runtime.GOMAXPROCS(0)} {
		b := NewBarrier(n, ShortLook)
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

// TestBarrierLost: a goroutine that waits for a slow one can be seen to, and has lost the
// time when that comes.
func TestBarrierLost(t *testing.T) {
	b := NewBarrier(2, LongLook)
	var other sync.WaitGroup
	other.Go(b.Wait)
	for b.Waiting() < 1 {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(50 * time.Millisecond)
	b.Wait()
	other.Wait()
	if b.Waiting() != 0 || b.Lost() <= 0 {
		t.Errorf("%d wait, and %v are lost", b.Waiting(), b.Lost())
	}
}
