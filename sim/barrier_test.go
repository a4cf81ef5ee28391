package sim

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
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

// TestBarrierLost: goroutines that wait asleep for a slow one can be seen to, and each has
// lost the time when that comes.
func TestBarrierLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // its clock goes on when all are asleep
		n := runtime.GOMAXPROCS(0) + 1 // more than have a processor: they do not look before they sleep
		b := NewBarrier(n, LongLook)
		var others sync.WaitGroup
		for range n - 1 {
			others.Go(b.Wait)
		}
		time.Sleep(50 * time.Millisecond)
		if b.Waiting() != n-1 || b.Lost() != 0 {
			t.Errorf("%d wait, and %v are lost before the last one comes", b.Waiting(), b.Lost())
		}
		b.Wait()
		others.Wait()
		if want := time.Duration(n-1) * 50 * time.Millisecond; b.Waiting() != 0 || b.Lost() != want {
			t.Errorf("%d wait, and %v are lost, want %v", b.Waiting(), b.Lost(), want)
		}
	})
}
