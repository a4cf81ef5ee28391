package fabric

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// barrier lets n goroutines wait for each other: for a moment by looking again
// and again, then asleep.
type barrier struct {
	n       int32
	arrived atomic.Int32
	phase   atomic.Uint32
	looks   int // before sleeping
	mutex   sync.Mutex
	over    *sync.Cond
	last    func() // what the last one does before the others go on, where it is asked to
}

// barrierLooks is how often a goroutine looks before it sleeps where every one
// has a processor: for about ten microseconds.
const barrierLooks = 10_000

func newBarrier(n int, last func()) *barrier {
	b := &barrier{n: int32(n), last: last}
	b.over = sync.NewCond(&b.mutex)
	if n <= runtime.GOMAXPROCS(0) {
		b.looks = barrierLooks
	}
	return b
}

// wait returns when all have come, and when the last one has done what it does if
// everyone asks for that.
func (b *barrier) wait(last bool) {
	phase := b.phase.Load()
	if b.arrived.Add(1) == b.n {
		if last {
			b.last()
		}
		b.arrived.Store(0)
		b.mutex.Lock()
		b.phase.Add(1)
		b.mutex.Unlock()
		b.over.Broadcast()
		return
	}
	for range b.looks {
		if b.phase.Load() != phase {
			return
		}
	}
	b.mutex.Lock()
	for b.phase.Load() == phase {
		b.over.Wait()
	}
	b.mutex.Unlock()
}
