package core

import (
	"github.com/weft-sim/weft/sim/check"
)

// inputLets tells whether the packet at the front of a queue may bid: no other one crosses
// from its input.
func (d *Domain) inputLets(sw *SwitchState, local uint32, _ *InVC, _ uint32) bool {
	p := check.At(d.hold.ports, uint32(sw.Port0)+uint32(check.At(d.Matcher.Places, local).Port))
	if p.input && d.Unit != nil {
		d.Unit.sleep(d, sw, local, &p.inputWaiters)
	}
	return !p.input
}

// outputLets tells whether a packet may bid: no other one crosses to its output, and there is room
// behind the crossbar. (Both are asked before a virtual channel is chosen, which moves a round robin.)
func (d *Domain) outputLets(sw *SwitchState, local uint32, v *InVC, _ uint32) bool {
	output := v.Hop >> 16
	o := sw.OutPort(output)
	if p := check.At(d.hold.ports, uint32(sw.Port0)+output); p.output {
		if d.Unit != nil {
			d.Unit.sleep(d, sw, local, &p.outputWaiters)
		}
		return false
	}
	if full := o.NextFree - d.Pace(o).window; full >= d.Cycle<<IntervalShift {
		if d.Unit != nil {
			d.Unit.sleepUntil(d, sw, local, full>>IntervalShift+1)
		}
		return false
	}
	return true
}

// isWhole tells, where switches store and forward, whether all of the packet has come whose head is
// at the front of a queue.
func (d *Domain) isWhole(sw *SwitchState, local uint32, v *InVC, _ uint32) bool {
	whole := d.whole(v)
	if !whole && d.Unit != nil {
		d.Unit.sleepUntil(d, sw, local, d.inflow(v.Packet>>PacketBits).tail)
	}
	return whole
}

// crossBodies sends the flits among some requests that follow a head through the crossbar
// and leaves the heads.
func (d *Domain) crossBodies(sw *SwitchState, requests []Request, t *StepTime) (heads []Request) {
	h := d.hold
	h.bodies, heads = h.bodies[:0], requests[:0]
	for _, r := range requests {
		if sw.Queue(r.Local()).Packet&HeadFlit == 0 {
			h.bodies = append(h.bodies, r)
		} else {
			heads = append(heads, r)
		}
	}
	d.cross(d, sw, h.bodies, t, false)
	return heads
}

// holdPorts takes the ports of heads that cross, and gives back those of tails.
func (d *Domain) holdPorts(sw *SwitchState, matches []Request, _ *StepTime) {
	for _, r := range matches {
		flags := sw.Queue(r.Local()).Packet & (HeadFlit | TailFlit)
		if flags == 0 || flags == HeadFlit|TailFlit {
			continue
		}
		held := flags == HeadFlit
		d.hold.ports[sw.Port0+int32(r.Port())].input, d.hold.ports[sw.Port0+int32(r.Output())].output = held, held
	}
}

// arbitrateLanes keeps the requests of packets that the arbitration of their output
// port lets go first, and of those that are crossing.
func (d *Domain) arbitrateLanes(sw *SwitchState, requests []Request, _ *StepTime) []Request {
	vcs := uint32(d.vcs)
	ports := d.lanes[sw.Port0:][:sw.Ports]
	for _, r := range requests {
		p := &ports[r.Output()]
		p.open = false
		p.ready |= 1 << (uint32(sw.Queue(r.Local()).Out) - r.Output()*vcs)
	}
	kept := requests[:0]
	for _, r := range requests {
		p := &ports[r.Output()]
		if !p.open {
			p.open = true
			if p.holder < 0 && p.arbitrated {
				p.choice, p.ok = p.arbiter.Choose(p.ready)
			}
			p.ready = 0
		}
		switch {
		case p.holder >= 0:
			if uint32(p.holder) == r.Local() {
				kept = append(kept, r)
			}
		case !p.arbitrated || p.ok && uint32(p.choice.Lane) == uint32(sw.Queue(r.Local()).Out)-r.Output()*vcs:
			kept = append(kept, r)
		}
	}
	return kept
}

// crossedLanes notes the packets that begin and end with flits that cross in this
// step.
func (d *Domain) crossedLanes(sw *SwitchState, matches []Request, _ *StepTime) {
	for _, r := range matches {
		p := &d.lanes[uint32(sw.Port0)+r.Output()]
		v := sw.Queue(r.Local())
		if p.holder < 0 && p.arbitrated {
			flits := d.Packet(v.Packet >> PacketBits).Flits
			p.arbiter.Send(p.choice, int64(flits)*int64(d.Config.Fabric.FlitBytes))
			p.holder = int32(r.Local())
		}
		if v.Packet&TailFlit != 0 {
			p.holder = -1
		}
	}
}
