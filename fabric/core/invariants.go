package core

import (
	"fmt"

	"github.com/weft-sim/weft/fabric/topology"
)

// The checked build (-tags weftcheck) checks what follows while it simulates. Wheels
// check their times themselves.

// checkPeriod is how many cycles pass, at least, from one check of a whole network to
// the next.
const checkPeriod = 64

// checkAll checks the whole network between cycles, if it has not been for a while: every
// place in a buffer is taken by a flit in it or on its way, or stands for a credit here or
// on its way; flits are where they came to or have left; what queues hold behind their
// fronts is all that there is in pools.
func (f *Fabric) checkAll() {
	if f.cycle < f.checkAt || f.unit != nil { // whose flits and credits are not single
		return
	}
	f.checkAt = f.cycle + checkPeriod
	first := f.domains[0]
	taken, inside, chunks := make([]int32, len(f.Queues)), int64(0), 0
	coming := make([]int32, len(f.OutVC)) // credits
	for _, d := range f.domains {
		for _, w := range d.Flits[:firstOutbox] {
			w.Each(func(e Flit) {
				inside++
				if e.Queue >= 0 {
					taken[e.Queue]++
				}
			})
		}
		d.credits[0].Each(func(ov int32) { coming[ov]++ })
		if d.held != nil {
			d.held.Each(func(h heldCredit) { coming[h.upstream]++ })
		}
		chunks += len(d.Pool.chunks) - 1
		for n := d.Pool.free; n != 0; n = d.Pool.follows[n] {
			chunks--
		}
	}
	for p := range f.in {
		for vc := range int32(f.vcs) {
			q, ov := f.queueOf(topology.PortID(p), int(vc)), f.in[p].upstream+vc
			count := f.Queues[q].Count
			inside += int64(count)
			if count > 1 {
				last := f.Queues[q].Last % chunkFlits
				chunks -= 1 + int(count+chunkFlits-3-last)/chunkFlits
			}
			if credits := f.OutVC[ov].credits; credits+coming[ov]+taken[q]+count != f.buffer {
				first.broken("queue %d: of %d places %d are taken, %d flits and %d credits are on their way, and %d credits are left",
					q, f.buffer, count, taken[q], coming[ov], credits)
			}
		}
	}
	if chunks != 0 {
		first.broken("pools have %d chunks more than queues hold behind their fronts", chunks)
	}
	if entered, left := f.InjectedFlits+f.ReplicatedFlits, f.DeliveredFlits+f.DiscardedFlits; entered-left != inside {
		first.broken("%d flits came to be in the network, %d have left it, and %d are in it", entered, left, inside)
	}
}

// Audit checks an empty network: every flit that entered it has left it or was
// discarded, every buffer is empty, every virtual channel free, every credit home.
func (f *Fabric) Audit() error {
	if f.InjectedFlits+f.ReplicatedFlits != f.DeliveredFlits+f.DiscardedFlits {
		return fmt.Errorf("audit: %d flits entered the network, %d more were made by replication, %d left it, %d were discarded",
			f.InjectedFlits, f.ReplicatedFlits, f.DeliveredFlits, f.DiscardedFlits)
	}
	if d := f.domains[0]; d.Unit != nil {
		d.Unit.comeHome(d)
	}
	for q := range f.Queues {
		if v := &f.Queues[q]; v.Count != 0 || v.Out >= 0 {
			return fmt.Errorf("audit: queue %d holds %d flits", q, v.Count)
		}
	}
	for ov := range f.OutVC {
		o := &f.OutVC[ov]
		want := f.buffer
		if int32(ov) < f.terminalOV0 {
			port := ov / f.vcs
			want = f.bufferOf(topology.PortID(port))
			if f.Out[port].free != 1<<f.vcs-1 {
				return fmt.Errorf("audit: a virtual channel of %s is still held", f.graph.PortName(topology.PortID(port)))
			}
		}
		if o.credits != want || o.waiting != 0 {
			return fmt.Errorf("audit: output virtual channel %d has %d credits, want %d, and %d flits waiting, want 0", ov, o.credits, want, o.waiting)
		}
	}
	return nil
}
