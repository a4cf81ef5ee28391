package core

import (
	"github.com/weft-sim/weft/sim/check"
)

// holds says which ports of switches are held, under switch.hold: from the grant of
// a packet's head until its tail has crossed, nobody else crosses by its input port
// or its output port, on any virtual channel. Packets on a channel are then whole, one
// after the other.
//
// Allocators see heads only. The flits behind a head cross as they come, one in a
// step, without asking.
type holds struct {
	ports  []heldPort
	bodies []Request
}

// heldPort tells whether a port of a switch is held, and, where packets are the unit, who
// waits for that to end: queue + 1 of the first; 0: nobody. Where packets know until when they
// hold a port, that is in its records (inPort.until, outPort.until), and nobody is in a list. 12 bytes.
type heldPort struct {
	inputWaiters, outputWaiters int32
	input, output               bool // held
}

func newHolds(f *Fabric) *holds {
	return &holds{ports: make([]heldPort, len(f.in))}
}

// of is h for a domain: the ports are those of all.
func (h *holds) of(d *Domain) *holds {
	return &holds{ports: h.ports, bodies: make([]Request, 0, d.mostPorts)}
}

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

// whole tells whether all of the packet at the front of a queue, whose head is there, has
// come.
func (d *Domain) whole(v *InVC) bool {
	id := v.Packet >> PacketBits
	if d.Unit != nil {
		return d.inflow(id).tail <= d.Cycle
	}
	return v.Count >= d.Packet(id).Flits
}

// body sends the flits among some requests that follow a head through the crossbar
// and leaves the heads.
func (h *holds) body(d *Domain, sw *SwitchState, requests []Request, t *StepTime) (heads []Request) {
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

// crossing takes the ports of heads that cross, and gives back those of tails.
func (h *holds) crossing(sw *SwitchState, matches []Request) {
	for _, r := range matches {
		flags := sw.Queue(r.Local()).Packet & (HeadFlit | TailFlit)
		if flags == 0 || flags == HeadFlit|TailFlit {
			continue
		}
		held := flags == HeadFlit
		h.ports[sw.Port0+int32(r.Port())].input, h.ports[sw.Port0+int32(r.Output())].output = held, held
	}
}
