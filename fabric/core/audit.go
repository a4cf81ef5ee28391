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
	if d := f.domains[0]; d.unit != nil {
		d.unit.comeHome(d)
	}
	for q := range f.queues {
		if v := &f.queues[q]; v.count != 0 || v.out >= 0 {
			return fmt.Errorf("audit: queue %d holds %d flits", q, v.count)
		}
	}
	for ov := range f.outVC {
		o := &f.outVC[ov]
		want := f.buffer
		if int32(ov) < f.terminalOV0 {
			port := ov / f.vcs
			want = f.bufferOf(topology.PortID(port))
			if f.out[port].free != 1<<f.vcs-1 {
				return fmt.Errorf("audit: a virtual channel of %s is still held", f.graph.PortName(topology.PortID(port)))
			}
		}
		if o.credits != want || o.waiting != 0 {
			return fmt.Errorf("audit: output virtual channel %d has %d credits, want %d, and %d flits waiting, want 0", ov, o.credits, want, o.waiting)
		}
	}
	return nil
}
