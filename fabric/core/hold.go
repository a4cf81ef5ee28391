package core

import "github.com/weft-sim/weft/sim/check"

// holds says which ports of switches are held, under switch.hold: from the grant of
// a packet's head until its tail has crossed, nobody else crosses by its input port
// or its output port, on any virtual channel. Packets on a channel are then whole, one
// after the other.
//
// Allocators see heads only. The flits behind a head cross as they come, one in a
// step, without asking.
type holds struct {
	ports  []heldPort
	bodies []request
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
func (h *holds) of(d *domain) *holds {
	return &holds{ports: h.ports, bodies: make([]request, 0, d.mostPorts)}
}

// inputHeld tells whether the packet at the front of a queue may not bid because
// another one crosses from its input.
func (d *domain) inputHeld(sw *switchState, local uint32) bool {
	p := check.At(d.hold.ports, uint32(sw.port0)+uint32(check.At(d.matcher.places, local).port))
	if p.input && d.unit != nil {
		d.unit.sleep(d, sw, local, &p.inputWaiters)
	}
	return p.input
}

// outputHeld tells whether a packet may not bid because another one crosses to its
// output, or because there is no room behind the crossbar. (Both are asked before a
// virtual channel is chosen, which moves a round robin.)
func (d *domain) outputHeld(sw *switchState, local, output uint32, o *outPort) bool {
	if p := check.At(d.hold.ports, uint32(sw.port0)+output); p.output {
		if d.unit != nil {
			d.unit.sleep(d, sw, local, &p.outputWaiters)
		}
		return true
	}
	if full := o.nextFree - d.pace(o).window; full >= d.cycle<<intervalShift {
		if d.unit != nil {
			d.unit.sleepUntil(d, sw, local, full>>intervalShift+1)
		}
		return true
	}
	return false
}

// incomplete tells, where switches store and forward, whether a packet at the front
// of its queue has flits that are still to come.
func (d *domain) incomplete(sw *switchState, local uint32, v *inVC) bool {
	if v.packet&headFlit == 0 {
		return false
	}
	whole := d.whole(v)
	if !whole && d.unit != nil {
		d.unit.sleepUntil(d, sw, local, d.inflow(v.packet>>packetBits).tail)
	}
	return !whole
}

// whole tells whether all of the packet at the front of a queue, whose head is there, has
// come.
func (d *domain) whole(v *inVC) bool {
	id := v.packet >> packetBits
	if d.unit != nil {
		return d.inflow(id).tail <= d.cycle
	}
	return v.count >= d.packet(id).flits
}

// body sends the flits among some requests that follow a head through the crossbar
// and leaves the heads, with the ports, modulo 64, that several of them come from or
// want.
func (h *holds) body(d *domain, sw *switchState, requests []request, t *stepTime) (heads []request, rivalInputs, rivalOutputs uint64) {
	h.bodies, heads = h.bodies[:0], requests[:0]
	for _, r := range requests {
		if sw.queue(r.local()).packet&headFlit == 0 {
			h.bodies = append(h.bodies, r)
		} else {
			heads = append(heads, r)
		}
	}
	d.cross(sw, h.bodies, t, false)
	rivalInputs, rivalOutputs = rivals(heads)
	return heads, rivalInputs, rivalOutputs
}

// crossing takes the ports of heads that cross, and gives back those of tails.
func (h *holds) crossing(sw *switchState, matches []request) {
	for _, r := range matches {
		flags := sw.queue(r.local()).packet & (headFlit | tailFlit)
		if flags == 0 || flags == headFlit|tailFlit {
			continue
		}
		held := flags == headFlit
		h.ports[sw.port0+int32(r.port())].input, h.ports[sw.port0+int32(r.output())].output = held, held
	}
}
