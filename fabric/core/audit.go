package core

import (
	"fmt"

	"github.com/weft-sim/weft/fabric/topology"
)

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

// Rest audits a fabric that a kernel has driven until nothing was left to do:
// packets still in it are deadlocked, otherwise all flits and credits must be
// accounted for.
func (f *Fabric) Rest() error {
	if f.InFlight() > 0 {
		return f.deadlock(stallCycles)
	}
	return f.Audit()
}
