package fabric

import (
	"fmt"

	"github.com/weft-sim/weft/fabric/topology"
)

// Part is a part of a packet's latency.
type Part int

// The parts of a packet's latency. In the queues of switches it is the flit at the front of the queue that waits, for
// itself and for all behind it.
const (
	PartSource   Part = iota // at its terminal, until the head enters the channel
	PartRoute                // route computation
	PartVC                   // virtual-channel allocation
	PartSwitch               // switch allocation and the crossbar
	PartCredit               // no buffer free at the far end
	PartSerial               // flits in front on their way through the crossbar and onto channels between switches
	PartEjection             // waiting for the channel to the destination
	PartWire                 // latencies of channels
	NumParts     = iota
)

// PartNames are the names of the parts.
var PartNames = [NumParts]string{"source_queue", "route", "vc_allocation", "switch_allocation", "credit_stall", "serialisation", "ejection", "wire"}

// Parts is a time by parts, in cycles.
type Parts [NumParts]int64

// Total is the sum of the parts.
func (p *Parts) Total() int64 {
	sum := int64(0)
	for _, x := range p {
		sum += x
	}
	return sum
}

// Add adds other.
func (p *Parts) Add(other *Parts) {
	for i, x := range other {
		p[i] += x
	}
}

// Blame divides the latency of measured packets into its parts, to the cycle.
// It follows the last flit of each packet. While that stands in the queue of a
// switch, the time goes by what the front of the queue waits for, and is
// charged to the output that the front waits for: each queue has a clock of
// NumParts hands, one of which advances, and a packet's parts are the
// differences between its departure and its arrival. All sums are of whole
// cycles, so that any order of adding them gives the same.
type Blame struct {
	// OnPacket, if not nil, is told of each measured packet that arrives. It
	// must not keep its arguments.
	OnPacket func(d *Delivery, parts *Parts)

	// Links is what measured packets spent on each channel and waiting for
	// it: by port, then by terminal (len = ports+terminals).
	Links []Parts
	// Packets and Classes are the packets and their sums by class of traffic:
	// sent minimally, and not.
	Packets [2]int64
	Classes [2]Parts

	graph   *topology.Graph
	pairRow []int32 // by input port: first of its pairs
	meter   *Meter
	queues  []blameQueue  // by queue
	packets []blamePacket // by packet
	pairs   []int64       // by pair of ports of a switch, input*ports + output: cycles that packets behind the input waited for the output
	parts   Parts         // handed to OnPacket
}

// times are the parts but the source queue, in cycles, two to a word: a sum
// of times is the sum of the words, and so is a difference that has no negative
// part.
type times [4]uint64

func (t *times) add(part Part, cycles int64) {
	t[(part-1)>>1] += uint64(cycles) << ((part - 1) & 1 * 32)
}

func (t *times) part(part Part) int64 {
	return int64(t[(part-1)>>1] >> ((part - 1) & 1 * 32) & (1<<32 - 1))
}

// blameQueue is the clock of a queue. 64 bytes.
type blameQueue struct {
	clock times // its first three words
	since int64 // cycle up to which the clock has been advanced
	until int64 // cycle in which the front's present part changes from first to then
	tails int32 // measured packets whose last flit is in the queue
	out0  int32 // first port of the switch
	pair0 int32 // of its port, in Blame.pairs
	first uint8 // part
	then  uint8 // part
}

// blamePacket is a packet's account: while it stands in a queue, less the
// queue's clock at its arrival. 32 bytes.
type blamePacket struct{ times }

// measured, in the half of the last word that is free, marks packets that are
// measured.
const measured = 1 << 32

func (k *blamePacket) measured() bool { return k.times[3] >= measured }

// StartBlame makes the fabric divide the latency of the packets that meter
// measures. It must be called before Attach.
func (f *Fabric) StartBlame(meter *Meter) *Blame {
	b := &Blame{
		Links: make([]Parts, len(f.out)), meter: meter, graph: f.graph, pairRow: make([]int32, f.graph.NumPorts()),
		queues: make([]blameQueue, len(f.queues)),
	}
	pairs := int32(0)
	for s := range f.switches {
		sw := &f.switches[s]
		for local := range sw.ports * int32(f.vcs) {
			b.queues[sw.queue0+local].out0 = sw.port0
			b.queues[sw.queue0+local].pair0 = pairs + local/int32(f.vcs)*sw.ports
		}
		for port := range sw.ports {
			b.pairRow[sw.port0+port] = pairs + port*sw.ports
		}
		pairs += sw.ports * sw.ports
	}
	b.pairs = make([]int64, pairs)
	f.blame, f.observed = b, true
	return b
}

// sync advances the clock of a queue to cycle c.
func (b *Blame) sync(r *blameQueue, v *inVC, c int64) {
	if r.tails > 0 && r.since < c {
		from := r.since
		if r.until > from {
			from = min(c, r.until)
			b.charge(r, v, r.first, from-r.since)
		}
		if from < c {
			b.charge(r, v, r.then, c-from)
		}
	}
	r.since = c
}

// charge moves one hand of a clock on: every measured packet in the queue has
// waited for the output of the front.
func (b *Blame) charge(r *blameQueue, v *inVC, part uint8, cycles int64) {
	r.clock.add(Part(part), cycles)
	out := int32(v.hop >> 16)
	cycles *= int64(r.tails)
	b.Links[r.out0+out][part] += cycles
	if cycles > 1 { // otherwise no more than the present packet is held up, by one cycle
		b.pairs[r.pair0+out] += cycles
	}
}

// injected opens the account of a packet whose last flit enters the network.
func (b *Blame) injected(f *Fabric, t, id int32, o *outPort) {
	for len(b.packets) <= int(id) {
		b.packets = append(b.packets, blamePacket{})
	}
	p, k := f.packet(id), &b.packets[id]
	*k = blamePacket{}
	if !b.meter.measures(p.birth) {
		return
	}
	k.times[3] = measured
	body := f.cycle - p.birth - int64(p.wait)
	serial := min(body, wholeCycle(int64(p.flits-1)*f.pace(o).interval))
	link := &b.Links[f.terminalOut0+t]
	k.add(PartSerial, serial)
	k.add(PartCredit, body-serial)
	k.add(PartWire, int64(o.latency))
	link[PartSource] += int64(p.wait)
	link[PartSerial] += serial
	link[PartCredit] += body - serial
	link[PartWire] += int64(o.latency)
}

// arrived notes flits that have been put into their queues in this cycle.
func (b *Blame) arrived(f *Fabric, flits []flit) {
	c := f.cycle
	for i := range flits {
		e := &flits[i]
		r, v := &b.queues[e.queue], &f.queues[e.queue]
		if v.count == 1 {
			r.since, r.until, r.then = c, c, uint8(PartSwitch)
			if e.packet&headFlit != 0 {
				r.first, r.then = uint8(PartRoute), uint8(f.bidding())
				if f.routeDelay > 0 {
					r.until = f.steps.cycleOf(f.steps.firstStep(c) + int64(f.routeDelay))
				}
			}
		}
		if e.packet&tailFlit == 0 {
			continue
		}
		k := &b.packets[e.packet>>packetBits]
		if !k.measured() {
			continue
		}
		b.sync(r, v, c)
		r.tails++
		k.times[0] -= r.clock[0]
		k.times[1] -= r.clock[1]
		k.times[2] -= r.clock[2]
	}
}

// holds says what the front of a queue waits for from now on.
func (b *Blame) holds(f *Fabric, q int32, part Part) {
	r := &b.queues[q]
	b.sync(r, &f.queues[q], f.cycle)
	r.then = uint8(part)
}

// outputFull says that the flit at the front of a queue has no room behind the
// crossbar in this cycle.
func (b *Blame) outputFull(f *Fabric, q int32, o *outPort) {
	r := &b.queues[q]
	b.sync(r, &f.queues[q], f.cycle)
	r.first, r.until = uint8(queueing(o)), f.cycle+1
}

// queueing is the part that waiting for a channel is.
func queueing(o *outPort) Part {
	if o.bounded == 0 {
		return PartEjection
	}
	return PartSerial
}

// took notes the virtual channels that packets are given in a step.
func (b *Blame) took(f *Fabric, sw *switchState, matches []request, step uint32) {
	until := f.steps.cycleOf(f.steps.wide(step) + int64(f.vaDelay))
	for _, m := range matches {
		q := sw.queue0 + int32(m.local())
		r := &b.queues[q]
		b.sync(r, &f.queues[q], f.cycle)
		r.first, r.until, r.then = uint8(PartVC), until, uint8(PartSwitch)
	}
}

// crossing notes the flits that are about to cross a switch in a step.
func (b *Blame) crossing(f *Fabric, sw *switchState, matches []request, t *stepTime) {
	step := f.steps.wide(t.number)
	next := f.steps.cycleOf(step + 1)
	for _, m := range matches {
		q := sw.queue0 + int32(m.local())
		r, v, o := &b.queues[q], sw.queue(m.local()), sw.outPort(m.output())
		b.sync(r, v, f.cycle)
		tail := v.packet&tailFlit != 0
		if tail {
			if k := &b.packets[v.packet>>packetBits]; k.measured() {
				b.depart(k, r, &b.Links[sw.port0+int32(m.output())], o, f.cycle, t.depart)
			}
		}
		if v.count > 1 {
			r.first, r.until, r.then = uint8(PartSerial), next, uint8(PartSwitch)
			if tail {
				r.then = uint8(f.bidding())
				if f.routeDelay > 0 {
					r.first, r.until = uint8(PartRoute), f.steps.cycleOf(step+1+int64(f.routeDelay))
				}
			}
		}
	}
}

// depart closes a packet's stay in a queue, in cycle c, and adds what is known
// from then on: its way through the crossbar, which ends at ready, and onto
// the channel.
func (b *Blame) depart(k *blamePacket, r *blameQueue, link *Parts, o *outPort, c, ready int64) {
	r.tails--
	k.times[0] += r.clock[0]
	k.times[1] += r.clock[1]
	k.times[2] += r.clock[2]
	through := ready>>intervalShift - c
	wait := wholeCycle(max(ready, o.nextFree)) - c - through
	queue := queueing(o)
	k.add(PartSwitch, through)
	k.add(queue, wait)
	k.times[3] += uint64(o.latency) // wire
	link[PartSwitch] += through
	link[queue] += wait
	link[PartWire] += int64(o.latency)
}

// delivered closes the account of a packet that has arrived.
func (b *Blame) delivered(id int32, d *Delivery) {
	k := &b.packets[id]
	if !k.measured() {
		return
	}
	k.times[3] -= measured
	parts := &b.parts
	parts[PartSource] = d.Inject - d.Birth
	for i := PartSource + 1; i < NumParts; i++ {
		parts[i] = k.part(i)
	}
	if parts.Total() != d.Cycle-d.Birth {
		panic(fmt.Sprintf("fabric: a packet from terminal %d to %d took %d cycles, its parts %v", d.Src, d.Dst, d.Cycle-d.Birth, *parts))
	}
	class := 0
	if d.NonMinimal {
		class = 1
	}
	b.Packets[class]++
	b.Classes[class].Add(parts)
	if b.OnPacket != nil {
		b.OnPacket(d, parts)
	}
}

// measures tells whether a packet born in a cycle is measured, as far as is
// known when its last flit enters the network.
func (m *Meter) measures(birth int64) bool { return birth >= m.from && birth < m.to }

// wide is a step of the present cycle or soon after without its modulus.
func (s *stepTimes) wide(step uint32) int64 { return s.first + int64(int32(step-uint32(s.first))) }

// cycleOf is the cycle that step k belongs to.
func (s *stepTimes) cycleOf(k int64) int64 {
	if s.whole != 0 {
		return k / s.whole
	}
	c := s.cycleFrom(k)
	if s.firstStep(c) > k {
		c--
	}
	return c
}
