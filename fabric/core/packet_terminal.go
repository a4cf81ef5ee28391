package core

import (
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/check"
)

// serve sends terminal t's next packet, if it has one and room for it, or, when the
// tail of the last one leaves, takes the next.
func (u *packetUnit) serve(d *domain, t int32, te *terminal, c int64) {
	o := &d.out[d.terminalOut0+t]
	if te.packet >= 0 && te.flags&begun != 0 {
		if tail := wholeCycle(o.nextFree - d.pace(o).interval); tail > c { // woken for a packet that is born now
			d.wakeAt(t, te, tail)
			return
		}
		u.sent(d, t, te, o)
		return
	}
	if te.packet < 0 && (d.busy(t, te, o, c) || !d.fetch(t, te, c)) {
		return
	}
	ovs := d.outVC[d.terminalOV(topology.TerminalID(t), 0):][:d.vcs]
	if shortOf(check.Of(ovs), 1<<d.vcs-1, te.left) != 0 {
		u.room(d, d.terminalOut0+t, 1<<d.vcs-1, te.left)
	}
	vc, ok := d.injectionVC(t, te, ovs)
	if !ok {
		te.flags |= blocked
		return
	}
	te.vc = vc
	te.flags |= begun
	n := te.left
	d.packet(te.packet).wait = uint32(c) - te.born
	if d.observer != nil {
		d.observer.injects(d, t)
	}
	ovs[vc].credits -= n
	ovs[vc].flits += uint32(n)
	d.InjectedFlits += int64(n)
	if wholeCycle(o.nextFree) < c { // idle since
		o.nextFree = c << intervalShift
	}
	pace := d.pace(o)
	tail, latency := wholeCycle(o.nextFree+int64(n-1)*pace.interval), int64(pace.latency)
	p := d.inflow(te.packet) // field by field: see cross
	p.head, p.tail, p.flits, p.pace, p.slow = o.nextFree+latency<<intervalShift, tail+latency, n, pace.slope, pace.slope
	e := d.flits[toSwitches].Place(c + latency)
	e.queue, e.packet, e.dst, e.state = o.dest+int32(vc), te.packet<<packetBits|headFlit|tailFlit, te.dst, te.state
	o.nextFree += int64(n) * pace.interval
	if n == 1 {
		u.sent(d, t, te, o)
	} else {
		d.wakeAt(t, te, tail)
	}
}

// sent has terminal t, the tail of whose packet leaves, take the next one.
func (u *packetUnit) sent(d *domain, t int32, te *terminal, o *outPort) {
	if d.observer != nil {
		d.observer.injected(d, t)
	}
	te.packet, te.flags = -1, 0
	d.succeed(t, te, o)
}
