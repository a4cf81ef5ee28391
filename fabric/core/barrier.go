package core

import "github.com/weft-sim/weft/sim"

// barrier lets the threads of a crew wait for each other.
type barrier struct {
	*sim.Barrier
	last func() // what the last one does before the others go on, where it is asked to
}

func newBarrier(n int, last func()) *barrier { return &barrier{sim.NewBarrier(n, sim.LongLook), last} }

// wait returns when all have come, and when the last one has done what it does if
// everyone asks for that.
func (b *barrier) wait(last bool) {
	if last {
		b.WaitThen(b.last)
	} else {
		b.Wait()
	}
}
