package core

import (
	"math/bits"
	"unsafe"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/check"
	"github.com/weft-sim/weft/sim/mem"
)

// This file is the cycle of a domain and of a switch, from top to bottom: arrivals, routes, virtual
// channels, requests for the crossbar, filters, match, and crossing.

// tick simulates cycle c: d's moments, in their order ([Domain.chooseMoments]).
func (d *Domain) tick(c int64) {
	d.Cycle, d.worked = c, c
	for _, happens := range d.moments {
		happens(d, c)
	}
}

func (d *Domain) arriveCredits(c int64) {
	for batch := d.credits[0].Next(c); batch != nil; batch = d.credits[0].Next(c) {
		if d.large {
			mem.PrefetchEach(&batch[0], len(batch), 4, unsafe.Pointer(&d.OutVC[0]), unsafe.Sizeof(outVC{}))
		}
		if d.sensing != nil {
			d.sensing.returned(&d.network, batch, c)
		}
		for _, ov := range batch {
			o := check.At(d.OutVC, uint32(ov))
			o.credits++
			if check.On {
				d.checkCredits(ov)
			}
			if o.credits == 1 || d.roomy {
				d.creditReturned(o, ov)
			}
		}
	}
}

// arriveAtTerminals hands the flits that have come to the terminals.
func (d *Domain) arriveAtTerminals(c int64) {
	if d.Flits[toTerminals].Skip(c) {
		return
	}
	for batch := d.Flits[toTerminals].Next(c); batch != nil; batch = d.Flits[toTerminals].Next(c) {
		if d.packets.ids() > manyPackets {
			d.touched += d.touchPackets(batch)
		}
		for i := range batch {
			d.deliver(&batch[i])
		}
	}
}

// arriveAtSwitches puts the flits that have come into their queues.
func (d *Domain) arriveAtSwitches(c int64) {
	if d.Flits[toSwitches].Skip(c) {
		return
	}
	timed := d.Unit != nil && d.Unit.timed
	for batch := d.Flits[toSwitches].Next(c); batch != nil; batch = d.Flits[toSwitches].Next(c) {
		if d.large {
			mem.PrefetchEach(&batch[0].Queue, len(batch), unsafe.Sizeof(Flit{}), unsafe.Pointer(&d.Queues[0]), unsafe.Sizeof(InVC{}))
			if d.Unit != nil {
				d.prefetchInflows(batch)
			}
		}
		for i := range batch {
			e := &batch[i]
			v := check.At(d.Queues, uint32(e.Queue))
			if timed && v.Count == 1 { // its packet may have left
				d.Unit.follows(d, e.Queue, v)
			}
			hop := v.Hop // of the packet that a body flit belongs to
			if v.Count == 0 {
				v.Packet, v.dst, v.State = e.Packet, e.dst, e.State
			} else {
				hop = d.append(v, e)
			}
			v.Count++
			if check.On && v.Count > d.buffer {
				d.broken("queue %d takes %d flits", e.Queue, v.Count)
			}
			word, bit := e.Queue>>6, uint64(1)<<(e.Queue&63)
			if e.Packet&HeadFlit != 0 {
				check.At(d.Masks, uint32(word)).route |= bit
				d.activate(word)
				continue
			}
			if d.needs.Queues {
				d.countWaiting(word, hop)
			}
			if v.Count == 1 { // its packet holds an output already
				d.Masks[word].sa |= bit
				d.activate(word)
			}
		}
		if d.observer != nil {
			if d.Unit != nil {
				d.Unit.Followed.headsArrive(d, batch)
			} else {
				d.observer.Arrived(d, batch)
			}
		}
	}
}

// evaluatePlainly is evaluateAll for switches of at most 64 queues, with flits as unit, no
// multicast.
func (d *Domain) evaluatePlainly(sw *SwitchState, s topology.SwitchID) {
	m := &sw.masks[0]
	if m.route != 0 {
		d.routeArrivals(sw, s, 0)
		d.followRouting(sw)
	}
	for i := range d.Steps.n {
		if m.va != 0 {
			d.allocateVCs(sw, d.Steps.at[i].Number)
		}
		if m.sa != 0 {
			d.allocateSwitch(sw, &d.Steps.at[i])
		}
		m.sa |= m.next
		m.next = 0
		if m.va|m.sa == 0 {
			break // nothing is left to do in later steps
		}
	}
	word := sw.Queue0 >> 6
	if bit := uint64(1) << (word & 63); m.va|m.sa == 0 {
		d.active[word>>6] &^= bit
	} else {
		d.active[word>>6] |= bit
	}
	if check.On {
		d.checkSwitch(sw)
	}
}

// routeArrivals routes the packets that arrived in this cycle in the queues of mask word w, by
// input.
func (d *Domain) routeArrivals(sw *SwitchState, s topology.SwitchID, w int) {
	const routingBits = 1<<fabric.StateBits - 1
	m := &sw.masks[w]
	ready := d.Steps.at[0].Number + d.RouteDelay
	places, noted := check.Of(d.Matcher.Places), d.routeNoted
	left := m.route
	m.route = 0
	first := uint64(0) // queues whose front has come
	h := &d.head
	h.Switch = s
	for ; left != 0; left &= left - 1 {
		local := uint32(w<<6 + bits.TrailingZeros64(left))
		v, place := sw.Queue(local), places.At(local)
		h.In, h.VC = topology.PortID(sw.Port0+int32(place.Port)), uint8(place.vc)
		head, dst, state := &v.Queued, v.dst, v.State
		if v.Count == 1 {
			v.Ready = ready
			first |= 1 << (local & 63)
		} else {
			came := check.At(d.came, uint32(sw.Queue0)+local)
			head, dst, state = d.Pool.At(v.Last), came.dst, came.state
		}
		if dst < 0 {
			head.Hop = multicastHop
			if d.Upcoming != nil && v.Count > 1 {
				d.joins(sw, local, v, d.Steps.at[0].Number)
			}
			continue
		}
		h.Dst, h.State = topology.TerminalID(dst), state&routingBits
		hop := d.decides.Route(&d.view, h)
		port, vcs := uint32(hop.Port)-uint32(sw.Port0), hop.VCs&d.allVCs
		if port >= uint32(sw.Ports) || vcs == 0 {
			if hop == fabric.Discard && d.retry != nil {
				first &^= 1 << (local & 63)
				d.discard(head)
				continue
			}
			d.badHop(h, hop)
		}
		head.Hop = port<<16 | vcs
		head.State = state&^routingBits | h.State
		if vcs&(vcs-1) != 0 {
			d.singleVCs = false
		}
		if !noted {
			continue
		}
		if a := &d.Matcher; d.large {
			a.routedFrom[a.routed], a.routedTo[a.routed] = int32(place.Port), int32(port)
			a.routed++
		}
		if d.Upcoming != nil && v.Count > 1 {
			d.joins(sw, local, v, d.Steps.at[0].Number)
		}
		if d.needs.Queues {
			d.countDecision(sw, lowestOV(head.Hop, uint32(d.vcs)))
			if d.Unit != nil {
				d.Unit.expects(d, sw, head)
			}
		}
	}
	if d.Combined != 0 {
		m.sa |= first
	} else {
		m.va |= first
	}
}

// allocateVCs is virtual-channel allocation, one step: packets at the front of their queue ask for
// the free virtual channels that their routing allows; each grants the request nearest to its
// round-robin pointer, each packet accepts the grant nearest to its own (iSLIP with one iteration:
// McKeown 1999). Packets that find none free wait, unasked, until one is released.
//
// A packet whose virtual channels nobody else wants is granted all of them; round robins are played
// out among the others only.
func (d *Domain) allocateVCs(sw *SwitchState, step uint32) {
	if d.singleVCs {
		d.takeVCsAtOnce(sw, step)
		return
	}
	requests, several := d.requestVCs(sw, step)
	if several {
		requests = d.rivalVCs(d, sw, requests)
	}
	d.takeVCs(sw, requests, step)
}

// requestVCs lists the packets that find a virtual channel free in this step; the others wait.
// several: rivals must be found, as some packet asks for several, an observer is to be told who
// wins, the switch has more than 64, or packets put one forward.
func (d *Domain) requestVCs(sw *SwitchState, step uint32) (list []Request, several bool) {
	requests, n, choices := check.Of(d.Matcher.requests), uint32(0), d.allRivals
	for w := range sw.masks {
		left := sw.masks[w].va
		if len(d.asks) > 0 {
			left = d.whoAsks(sw, w, left, step)
		}
		sleep, seconds := uint64(0), uint64(0)
		for ; left != 0; left &= left - 1 { // calls nothing, so that all of it stays in registers
			local := uint32(w<<6 + bits.TrailingZeros64(left))
			v := sw.Queue(local)
			if v.Out >= 0 {
				seconds |= left & -left
				continue
			}
			if int32(v.Ready-step) > 0 {
				continue
			}
			hop := v.Hop
			free := hop & uint32(sw.OutPort(hop>>16).free)
			if free == 0 {
				sleep |= left & -left
				continue
			}
			*requests.At(n) = newRequest(local, hop&^(1<<16-1)|free)
			n++
			choices |= free & (free - 1)
		}
		for ; seconds != 0; seconds &= seconds - 1 {
			local := uint32(w<<6 + bits.TrailingZeros64(seconds))
			if !d.mayAsk(sw, local, sw.Queue(local), step) {
				continue
			}
			hop := d.Pool.At(d.behindFront(sw, local).head).Hop
			free := hop & uint32(sw.OutPort(hop>>16).free)
			if free == 0 {
				sleep |= seconds & -seconds
				continue
			}
			*requests.At(n) = newRequest(local, hop&^(1<<16-1)|free)
			n++
			choices |= free & (free - 1)
		}
		if sleep != 0 {
			d.sleepForVC(sw, w, sleep)
		}
	}
	list = d.Matcher.requests[:n]
	if d.roomy {
		list = d.withRoom(sw, list)
	}
	return list, choices != 0 || d.observer != nil || len(sw.masks) > 1
}

// whoAsks is the packets of mask word w, of those in a set with a route, that ask for a virtual
// channel in this step where they may have to wait for more than a free one.
func (d *Domain) whoAsks(sw *SwitchState, w int, set uint64, step uint32) (asks uint64) {
	for left := set; left != 0; left &= left - 1 {
		local := uint32(w<<6 + bits.TrailingZeros64(left))
		v := sw.Queue(local)
		if v.Out >= 0 || int32(v.Ready-step) <= 0 && d.may(d.asks, sw, local, v, step) { // Out: for the packet behind
			asks |= left & -left
		}
	}
	return asks
}

// allocateSwitch is switch allocation, one step: flits ask for their output port; each output
// grants the input port nearest to its round-robin pointer, each input accepts the output nearest
// to its own (iSLIP: McKeown 1999), and the matched flits cross. Of several virtual channels of an
// input that want the same output the round robin of the input decides. With the allocator
// input-first, each input puts forward only the virtual channel next in its round robin, and every
// grant is accepted. A flit without a credit goes to sleep until one comes. Other allocators are
// registered ones ([registered]).
//
// A flit alone at its input and its output crosses in any case; round robins are played out among
// the others only.
func (d *Domain) allocateSwitch(sw *SwitchState, t *StepTime) {
	requests := d.request(d, sw, t.Number)
	if mem.Prefetching && len(d.Pool.chunks) > deepPool {
		d.prefetchSeconds(sw, requests)
	}
	for _, leaves := range d.filters {
		requests = leaves(d, sw, requests, t)
	}
	d.match(d, sw, requests, t)
}

// requestPlainly is requestCrossbar for the usual case. Its loop calls nothing, so that the
// compiler keeps its variables in registers, and computes without branches what is unpredictable.
func (d *Domain) requestPlainly(sw *SwitchState, step uint32) []Request {
	requests, origins := check.Of(d.Matcher.requests), check.Of(d.Matcher.origins)
	combined, vcs, n := d.Combined, uint32(d.vcs), uint32(0)
	full := d.Cycle<<IntervalShift + d.leastWindow // before that, there is room behind the crossbar in any case
	for w := range sw.masks {
		asleep := uint64(0)
		for left := sw.masks[w].sa; left != 0; left &= left - 1 {
			local := uint32(w<<6 + bits.TrailingZeros64(left))
			v := sw.Queue(local)
			if int32(v.Ready-step) > 0 {
				continue
			}
			output := v.Hop >> 16
			o := sw.OutPort(output)
			if v.Packet&combined != 0 {
				free := v.Hop & uint32(o.free)
				first := output * vcs
				// Found without o.free, which may not be here from memory yet. A decision may allow
				// several, or none: then its packet waits.
				lov := first + uint32(bits.TrailingZeros32(v.Hop))
				if set := v.Hop & (1<<fabric.MaxVCs - 1); set^(set-1) <= set-1 {
					lov = first + uint32(bits.TrailingZeros32(free))
					several := free&(free-1) != 0
					if free &^= withoutCredit(sw.outVCs.From(first), vcs); free != 0 && several {
						lov = nextVC(check.At(d.acceptOV, uint32(sw.Queue0)+local), first, free)
					}
				} else if sw.outVC(lov).credits == 0 {
					free = 0
				}
				if free == 0 { // as sleepForVC
					asleep |= 1 << (local & 63)
					*check.At(d.waitNext, uint32(sw.Queue0)+local) = o.waiters
					o.waiters = sw.Queue0 + int32(local) + 1
					d.Matcher.refuse(local, lacking(v.Hop&uint32(o.free)))
					continue
				}
				v.Out = int32(lov)
			} else if sw.outVC(uint32(v.Out)).credits == 0 {
				asleep |= 1 << (local & 63)
				d.Matcher.refuse(local, PartCredit)
				continue
			}
			if o.NextFree >= full && o.NextFree-d.Pace(o).window >= d.Cycle<<IntervalShift { // no room behind the crossbar
				d.Matcher.refuse(local, PartSerial)
				continue
			}
			*requests.At(n) = *origins.At(local) | Request(output)
			n++
		}
		sw.masks[w].sa &^= asleep
	}
	if d.Matcher.refused > 0 {
		d.tellRefusals(sw)
	}
	return d.Matcher.requests[:n]
}

// matchRoundRobin sends the flits whose requests win the round robins through the crossbar.
func (d *Domain) matchRoundRobin(sw *SwitchState, requests []Request, t *StepTime) {
	if len(requests) < 2 || len(requests) == 2 && !requests[0].meets(requests[1]) {
		d.cross(d, sw, requests, t, true)
		return
	}
	rivalInputs, rivalOutputs := rivals(requests)
	if rivalInputs|rivalOutputs == 0 {
		d.cross(d, sw, requests, t, true)
		return
	}
	d.allocateRivals(sw, requests, rivalInputs, rivalOutputs, t)
}

// notify tells those of flits that cross who are to know before they do.
func (d *Domain) notify(sw *SwitchState, matches []Request, t *StepTime) {
	for _, tell := range d.notices {
		tell(d, sw, matches, t)
	}
}

// crossFlits sends the flits at the front of some queues, of different inputs to
// different outputs, through the crossbar onto their channels and their
// credits upstream, and moves the round-robin pointers behind them where told
// to. With a packet's last flit its output virtual channel is released.
func (d *Domain) crossFlits(sw *SwitchState, matches []Request, t *StepTime, advance bool) {
	if len(d.notices) > 0 {
		d.notify(sw, matches, t)
	}
	d.FlitHops += int64(len(matches))
	vcs, timed := uint32(d.vcs), d.crossTimed
	if timed {
		d.findLate(sw, matches, t)
	}
	// Nothing is called but at the end, so that most of this stays in registers.
	for i, r := range matches {
		local, port, output := r.Local(), r.Port(), r.Output()
		v, o, in := sw.Queue(local), sw.OutPort(output), sw.inPort(port)
		vcIn := local - port*vcs
		if advance {
			o.grant, in.accept, in.vc = uint16(port+1), uint16(output+1), uint16(vcIn+1)
		}
		if !timed || d.late[i] == 0 {
			// As sendCredit.
			send := latest(t.credit, in.nextCredit)
			in.nextCredit = send + d.creditInterval
			back := send>>IntervalShift + int64(in.delay)
			if credits := d.credits[in.wheel]; credits.HasRoom(back) {
				*credits.Fill(back) = in.upstream + int32(vcIn)
			} else {
				d.unfiled.creditWheel, d.unfiled.back, d.unfiled.any = in.wheel, back, true
				d.unfiled.credit = in.upstream + int32(vcIn)
			}
		}

		// The output queue is not simulated: the channel's next free time is.
		depart, pace := latest(t.Depart, o.NextFree), d.Pace(o)
		o.NextFree = depart + pace.Interval
		arrival := (depart + pace.travel) >> IntervalShift
		e := &d.unfiled.flit
		if flits := d.Flits[o.wheel]; flits.HasRoom(arrival) {
			e = flits.Fill(arrival)
		} else {
			d.unfiled.flitWheel, d.unfiled.arrival, d.unfiled.any = o.wheel, arrival, true
		}
		lov := uint32(v.Out)
		ov, vc := sw.outVC(lov), lov-output*vcs
		e.Queue, e.Packet, e.dst, e.State = o.dest+int32(vc)*int32(o.Bounded), v.Packet, v.dst, v.State+1<<HopShift
		if v.State >= MaxHops<<HopShift {
			e.State = v.State
			d.unfiled.hop, d.unfiled.any = true, true
		}
		ov.Flits++
		ov.credits -= int32(o.Bounded)
		if check.On {
			d.checkCredits(sw.Port0*int32(vcs) + v.Out)
		}
		v.Count--
		first, waiters := v.Packet&d.Combined, int32(0) // first: the packet holds no virtual channel yet
		if v.Packet&TailFlit == 0 {
			if first != 0 {
				ov.owner = sw.Queue0 + int32(local)
				o.free &^= 1 << (vc & 15)
			}
		} else {
			v.Out = -1
			if first == 0 {
				ov.owner = ^ov.owner
				o.free |= 1 << (vc & 15)
				waiters = o.waiters
			}
		}
		if v.Count|waiters == 0 && !timed {
			sw.mask(local).sa &^= 1 << (local & 63)
			if d.unfiled.any {
				d.file(v)
			}
			continue
		}
		d.finishCrossing(sw, i, r, lov, depart, t)
	}
}
