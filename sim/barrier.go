package sim

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Barrier lets n goroutines wait for each other: for a moment by looking again
// and again, then asleep.
type Barrier struct {
	n       int32
	arrived atomic.Int32
	phase   atomic.Uint32
	looks   int // before sleeping
	mutex   sync.Mutex
	over    *sync.Cond
}

// barrierLooks is how often a goroutine looks before it sleeps where every one
// has a processor: for about ten microseconds.
const barrierLooks = 10_000

// NewBarrier makes a barrier for n goroutines.
func NewBarrier(n int) *Barrier {
	b := &Barrier{n: int32(n)}
	b.over = sync.NewCond(&b.mutex)
	if n <= runtime.GOMAXPROCS(0) {
		b.looks = barrierLooks
	}
	return b
}

// Wait returns when all have come.
func (b *Barrier) Wait() { b.WaitThen(nil) }

// WaitThen is Wait where the last one to come does something, the same whoever it is,
// before the others go on.
func (b *Barrier) WaitThen(do func()) {
	phase := b.phase.Load()
	if b.arrived.Add(1) == b.n {
		if do != nil {
			do()
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
