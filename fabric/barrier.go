package fabric

import (
	"sync"
	"sync/atomic"
)

// barrier lets n goroutines wait for each other: for a moment by looking again
// and again, then asleep.
type barrier struct {
	n       int32
	arrived atomic.Int32
	phase   atomic.Uint32
	mutex   sync.Mutex
	over    *sync.Cond
}

// barrierLooks is how often a goroutine looks before it sleeps: some tens of
// microseconds.
const barrierLooks = 20_000

func newBarrier(n int) *barrier {
	b := &barrier{n: int32(n)}
	b.over = sync.NewCond(&b.mutex)
	return b
}

// wait returns when all have come.
func (b *barrier) wait() {
	phase := b.phase.Load()
	if b.arrived.Add(1) == b.n {
		b.arrived.Store(0)
		b.mutex.Lock()
		b.phase.Add(1)
		b.mutex.Unlock()
		b.over.Broadcast()
		return
	}
	for range barrierLooks {
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
