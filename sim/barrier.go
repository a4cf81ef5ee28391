package sim

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Barrier lets n goroutines wait for each other: looking again and again for a moment, then asleep.
type Barrier struct {
	n       int32
	arrived atomic.Int32
	phase   atomic.Uint32
	look    atomic.Int64 // before sleeping, in nanoseconds
	mutex   sync.Mutex
	over    *sync.Cond
}

// How long a goroutine looks before it sleeps if every one has a processor: waking takes some tens
// of microseconds, and much more if the system then puts two goroutines on one processor. After a
// long sleep, when others seem to use the processors, it looks for ten microseconds only; after a
// short one for a little more again.
const (
	mostLook   = 400 * time.Microsecond
	leastLook  = 10 * time.Microsecond
	shortSleep = 500 * time.Microsecond
	longSleep  = 2 * time.Millisecond
)

// looksAtOnce is how often a goroutine looks between looks at the clock: about two microseconds.
const looksAtOnce = 2000

// NewBarrier makes a barrier for n goroutines.
func NewBarrier(n int) *Barrier {
	b := &Barrier{n: int32(n)}
	b.over = sync.NewCond(&b.mutex)
	if n <= runtime.GOMAXPROCS(0) {
		b.look.Store(int64(mostLook))
	}
	return b
}

// Wait returns when all have come.
func (b *Barrier) Wait() { b.WaitThen(nil) }

// WaitThen is Wait where the last to come does something, the same in each, before the others go
// on.
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
	look, came := b.look.Load(), time.Now()
	for look > 0 {
		for range looksAtOnce {
			if b.phase.Load() != phase {
				return
			}
		}
		if int64(time.Since(came)) > look {
			break
		}
	}
	began := time.Now()
	b.mutex.Lock()
	for b.phase.Load() == phase {
		b.over.Wait()
	}
	b.mutex.Unlock()
	if look == 0 {
		return
	}
	if slept := time.Since(began); slept < shortSleep {
		b.look.Store(min(int64(mostLook), look+int64(leastLook)/4))
	} else if slept > longSleep {
		b.look.Store(int64(leastLook))
	}
}
