package sim

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Barrier lets n goroutines wait for each other: for a moment by looking again
// and again, then asleep.
type Barrier struct {
	n       int32
	arrived atomic.Int32
	phase   atomic.Uint32
	looks   atomic.Int32 // before sleeping
	most    int32        // of looks
	mutex   sync.Mutex
	over    *sync.Cond
}

// A goroutine looks so often before it sleeps where every one has a processor, at about a
// nanosecond a look, since to be woken takes some tens of microseconds, and much more if the
// operating system then finds both goroutines a place on one processor. After a long
// sleep, others seem to use the processors, too, and it looks for ten microseconds only;
// after a short one for a little more again.
//
// ShortLooks suit work that allocates, whose collector wants a processor now and then;
// LongLooks work that does not.
const (
	ShortLooks = 100_000
	LongLooks  = 400_000
	leastLooks = 10_000
	shortSleep = 500 * time.Microsecond
	longSleep  = 2 * time.Millisecond
)

// NewBarrier makes a barrier for n goroutines that look most times before they sleep.
func NewBarrier(n int, most int32) *Barrier {
	b := &Barrier{n: int32(n), most: most}
	b.over = sync.NewCond(&b.mutex)
	if n <= runtime.GOMAXPROCS(0) {
		b.looks.Store(most)
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
	looks := b.looks.Load()
	for range looks {
		if b.phase.Load() != phase {
			return
		}
	}
	began := time.Now()
	b.mutex.Lock()
	for b.phase.Load() == phase {
		b.over.Wait()
	}
	b.mutex.Unlock()
	if looks == 0 {
		return
	}
	if slept := time.Since(began); slept < shortSleep {
		b.looks.Store(min(b.most, looks+leastLooks/4))
	} else if slept > longSleep {
		b.looks.Store(leastLooks)
	}
}
