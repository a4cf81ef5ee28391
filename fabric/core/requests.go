package core

import (
	"math/bits"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/check"
)

func (e *escape) room(d *Domain, sw *SwitchState, port uint32, flits int32) uint32 {
	if d.creditsBack {
		flits = d.need(sw.OutPort(port), 0)
	} else if !d.cutThrough {
		flits = 1
	}
	free := uint32(sw.OutPort(port).free)
	whole := free & e.whole
	if whole != 0 {
		whole = d.withCredits(sw, port, whole, max(flits, d.buffer))
	}
	return whole | d.withCredits(sw, port, free&^e.whole, flits)
}

// escapes narrows a queue's front packet's decision to virtual channels that it can get in this
// step, with a new decision if need be; false if there are none.
func (d *Domain) escapes(sw *SwitchState, local uint32, v *InVC, _ uint32) bool {
	const routingBits = 1<<fabric.StateBits - 1
	e := d.escape
	flits := d.Packet(v.Packet >> PacketBits).Flits
	port := v.Hop >> 16
	if room := v.Hop & e.room(d, sw, port, flits); room != 0 {
		v.Hop = port<<16 | room
		return true
	}
	place, h := d.Matcher.Places[local], &d.head
	h.In, h.VC = topology.PortID(sw.Port0+int32(place.Port)), uint8(place.vc)
	h.Switch, h.Dst, h.Flits = d.graph.PortSwitch[h.In], topology.TerminalID(v.dst), flits
	h.State = v.State & routingBits
	if d.needs.Packets {
		d.describe(v.Packet>>PacketBits, h)
	}
	hop := e.routing.Reroute(&d.view, h)
	h.Flits, d.summed = 0, 0
	port, vcs := uint32(hop.Port)-uint32(sw.Port0), hop.VCs&d.allVCs
	if port >= uint32(sw.Ports) || vcs == 0 {
		d.badHop(h, hop)
	}
	v.State = v.State&^routingBits | h.State
	v.Hop = port<<16 | vcs
	if room := vcs & e.room(d, sw, port, flits); room != 0 {
		v.Hop = port<<16 | room
		return true
	}
	return false
}

// requestCrossbar lists the flits that may cross in this step. Flits without a credit go to sleep.
func (d *Domain) requestCrossbar(sw *SwitchState, step uint32) []Request {
	requests, origins := check.Of(d.Matcher.requests), check.Of(d.Matcher.origins)
	combined, roomy, vcs := d.Combined, d.roomy, uint32(d.vcs)
	n := uint32(0)
	now := d.Cycle << IntervalShift
	for w := range sw.masks {
		m := &sw.masks[w]
		for left := m.sa; left != 0; left &= left - 1 {
			local := uint32(w<<6 + bits.TrailingZeros64(left))
			v := sw.Queue(local)
			if int32(v.Ready-step) > 0 {
				continue
			}
			if v.Packet&HeadFlit != 0 && !d.may(d.bids, sw, local, v, step) {
				continue
			}
			output := v.Hop >> 16
			o := sw.OutPort(output)
			if v.Packet&combined != 0 {
				free := v.Hop & uint32(o.free)
				lov := output*vcs + uint32(bits.TrailingZeros32(free))
				if free&(free-1) == 0 && free != 0 && sw.outVC(lov).credits > 0 && !roomy {
					v.Out = int32(lov) // chooseVC in most cases
				} else if !d.chooseVC(sw, local, v, free) {
					d.sleepForVC(sw, w, left&-left)
					d.Matcher.refuse(local, lacking(free))
					continue
				}
			} else if sw.outVC(uint32(v.Out)).credits == 0 {
				m.sa &^= left & -left
				d.Matcher.refuse(local, PartCredit)
				continue
			}
			if o.NextFree-d.Pace(o).window >= now { // no room behind the crossbar
				d.Matcher.refuse(local, PartSerial)
				continue
			}
			*requests.At(n) = *origins.At(local) | Request(output)
			n++
		}
	}
	if d.Matcher.refused > 0 {
		d.tellRefusals(sw)
	}
	return d.Matcher.requests[:n]
}

// requestsPlainly tells whether requestPlainly serves: heads have a virtual channel, or take it as
// they cross with no more than a credit, and flits wait for nothing else.
func (d *Domain) requestsPlainly() bool {
	if d.Combined == 0 {
		return d.hold == nil && d.multicast == nil && !d.storeForward && !neverPlain
	}
	return !d.roomy && d.escape == nil && !neverPlain
}

// tellRefusals tells the observer, if any, of the step's refusals.
func (d *Domain) tellRefusals(sw *SwitchState) {
	refusals := d.Matcher.refusals[:d.Matcher.refused]
	d.Matcher.refused = 0
	if d.observer == nil {
		return
	}
	for _, r := range refusals {
		queue := sw.Queue0 + int32(r.local)
		if r.part != PartSerial {
			d.observer.Sleeps(d, queue, r.part)
		} else {
			d.observer.Blocked(d, queue, sw.OutPort(sw.Queue(r.local).Hop>>16))
		}
	}
}

// inputLets tells whether a queue's front packet may bid: no other crosses from its input.
func (d *Domain) inputLets(sw *SwitchState, local uint32, _ *InVC, _ uint32) bool {
	p := check.At(d.hold.ports, uint32(sw.Port0)+uint32(check.At(d.Matcher.Places, local).Port))
	if p.input && d.Unit != nil {
		d.Unit.sleep(d, sw, local, &p.inputWaiters)
	}
	return !p.input
}

// outputLets tells whether a packet may bid: no other crosses to its output, and there is room
// behind the crossbar. (Asked before a virtual channel is chosen, which moves a round robin.)
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
			d.Unit.sleepUntil(sw, local, full>>IntervalShift+1)
		}
		return false
	}
	return true
}

// isWhole tells, in store-and-forward switches, whether a queue's front packet has come entirely.
func (d *Domain) isWhole(sw *SwitchState, local uint32, v *InVC, _ uint32) bool {
	whole := d.whole(v)
	if !whole && d.Unit != nil {
		d.Unit.sleepUntil(sw, local, d.inflow(v.Packet>>PacketBits).tail)
	}
	return whole
}

// crossBodies sends requests' flits that follow a head through the crossbar, and leaves the heads.
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

// holdPorts takes ports for heads that cross, and frees them behind tails.
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

// arbitrateLanes keeps the requests of packets that their output port's arbitration lets go first,
// or that are crossing.
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

// crossedLanes notes packets that begin and end with flits crossing in this step.
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
