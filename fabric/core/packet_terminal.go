package core

import (
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/check"
)

// serve sends terminal t's next packet, if it has one and room for it, or, when the
// tail of the last one leaves, takes the next.
func (u *packetUnit) serve(d *Domain, t int32, te *terminal, c int64) {
	o := &d.Out[d.TerminalOut0+t]
	if te.Packet >= 0 && te.flags&begun != 0 {
		if tail := WholeCycle(o.NextFree - d.Pace(o).Interval); tail > c { // woken for a packet that is born now
			d.wakeAt(t, te, tail)
			return
		}
		u.sent(d, t, te, o)
		return
	}
	if te.Packet < 0 && (d.busy(t, te, o, c) || !d.fetch(t, te, c)) {
		return
	}
	ovs := d.OutVC[d.terminalOV(topology.TerminalID(t), 0):][:d.vcs]
	if shortOf(check.Of(ovs), 1<<d.vcs-1, te.left) != 0 {
		u.room(d, d.TerminalOut0+t, 1<<d.vcs-1, te.left)
	}
	vc, ok := d.injectionVC(t, te, ovs)
	if !ok {
		te.flags |= blocked
		return
	}
	te.VC = vc
	te.flags |= begun
	n := te.left
	d.Packet(te.Packet).Wait = uint32(c) - te.born
	if d.observer != nil {
		d.observer.Injects(d, t)
	}
	ovs[vc].credits -= n
	ovs[vc].Flits += uint32(n)
	d.InjectedFlits += int64(n)
	if WholeCycle(o.NextFree) < c { // idle since
		o.NextFree = c << IntervalShift
	}
	pace := d.Pace(o)
	tail, latency := WholeCycle(o.NextFree+int64(n-1)*pace.Interval), int64(pace.latency)
	p := d.inflow(te.Packet) // field by field: see cross
	p.head, p.tail, p.flits, p.pace, p.slow = o.NextFree+latency<<IntervalShift, tail+latency, n, pace.slope, pace.slope
	e := d.Flits[toSwitches].Place(c + latency)
	e.Queue, e.Packet, e.dst, e.State = o.dest+int32(vc), te.Packet<<PacketBits|HeadFlit|TailFlit, te.Dst, te.state
	o.NextFree += int64(n) * pace.Interval
	if n == 1 {
		u.sent(d, t, te, o)
	} else {
		d.wakeAt(t, te, tail)
	}
}

// sent has terminal t, the tail of whose packet leaves, take the next one.
func (u *packetUnit) sent(d *Domain, t int32, te *terminal, o *OutPort) {
	if d.observer != nil {
		d.observer.Injected(d, t)
	}
	te.Packet, te.flags = -1, 0
	d.succeed(t, te, o)
}
