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

// broken ends the program: an invariant does not hold.
func (d *Domain) broken(format string, args ...any) {
	panic(fmt.Sprintf("core: in cycle %d, ", d.Cycle) + fmt.Sprintf(format, args...))
}

// checkCredits checks that an output virtual channel has no less than no credit and no
// more than there is room for.
func (d *Domain) checkCredits(ov int32) {
	depth := d.buffer
	if ov < d.terminalOV0 {
		port := topology.PortID(ov / int32(d.vcs))
		depth = d.bufferOf(port)
		if d.Unit != nil {
			d.Unit.look(d, port)
		}
	}
	if o := &d.OutVC[ov]; o.credits < 0 || o.credits > depth || o.waiting < 0 {
		d.broken("output virtual channel %d has %d credits for %d places, and %d flits waiting", ov, o.credits, depth, o.waiting)
	}
}

// checkSwitch checks, behind the last step of a cycle, that the masks of a switch go by
// its queues, and that a virtual channel is free if no packet holds it.
func (d *Domain) checkSwitch(sw *SwitchState) {
	for w := range sw.masks {
		m := &sw.masks[w]
		if m.route|m.next != 0 {
			d.broken("mask word %d of the switch with port %d has packets left to route, %#x, or for a next step, %#x", w, sw.Port0, m.route, m.next)
		}
		word := sw.Queue0>>6 + int32(w)
		if m.va|m.sa != 0 && d.active[word>>6]>>(word&63)&1 == 0 {
			d.broken("mask word %d of the switch with port %d has work and is not active", w, sw.Port0)
		}
	}
	for local := range uint32(sw.Ports) * uint32(d.vcs) {
		v, m := sw.Queue(local), sw.mask(local)
		if v.Count < 0 || v.Count > d.buffer {
			d.broken("queue %d holds %d flits", sw.Queue0+int32(local), v.Count)
		}
		if v.Count == 0 && (m.va|m.sa)>>(local&63)&1 != 0 {
			d.broken("queue %d is empty and wants something", sw.Queue0+int32(local))
		}
		o, vc := sw.OutPort(local/uint32(d.vcs)), local%uint32(d.vcs)
		if owner := sw.outVC(local).owner; owner >= 0 == (o.free>>vc&1 != 0) {
			d.broken("output virtual channel %d of port %d has owner %d, and those free are %#b", vc, sw.Port0+int32(local)/int32(d.vcs), owner, o.free)
		}
		d.checkCredits(sw.Port0*int32(d.vcs) + int32(local))
	}
}

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
	taken, inside, buffered := make([]int32, len(f.Queues)), int64(0), 0
	coming := make([]int32, len(f.OutVC)) // credits
	for _, d := range f.domains {
		for _, w := range d.Flits {
			if w == nil {
				continue
			}
			w.Each(func(e Flit) {
				inside++
				if e.Queue >= 0 {
					taken[e.Queue]++
				}
			})
		}
		for _, w := range d.credits {
			if w != nil {
				w.Each(func(ov int32) { coming[ov]++ })
			}
		}
		if d.held != nil {
			d.held.Each(func(h heldCredit) { coming[h.upstream]++ })
		}
		buffered += len(d.Pool)
		for n := d.poolFree; n != 0; n = d.Pool[n-1].Next {
			buffered--
		}
	}
	for p := range f.in {
		for vc := range int32(f.vcs) {
			q, ov := f.queueOf(topology.PortID(p), int(vc)), f.in[p].upstream+vc
			count := f.Queues[q].Count
			inside += int64(count)
			buffered -= int(max(0, count-1))
			if credits := f.OutVC[ov].credits; credits+coming[ov]+taken[q]+count != f.buffer {
				first.broken("queue %d: of %d places %d are taken, %d flits and %d credits are on their way, and %d credits are left",
					q, f.buffer, count, taken[q], coming[ov], credits)
			}
		}
	}
	if buffered != 0 {
		first.broken("pools have %d flits more than queues hold behind their fronts", buffered)
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

// Rest audits a fabric that a kernel has driven until nothing was left to do:
// packets still in it are deadlocked, otherwise all flits and credits must be
// accounted for.
func (f *Fabric) Rest() error {
	if f.InFlight() > 0 {
		return f.deadlock(stallCycles)
	}
	return f.Audit()
}
