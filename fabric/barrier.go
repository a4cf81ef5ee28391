package fabric

import "github.com/weft-sim/weft/sim"

// barrier lets the threads of a crew wait for each other.
type barrier struct{ *sim.Barrier }

func newBarrier(n int) *barrier { return &barrier{sim.NewBarrier(n)} }

func (b *barrier) wait() { b.Wait() }
