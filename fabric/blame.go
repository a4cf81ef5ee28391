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
//
// Most packets of one flit find their queue empty and are held up by nothing
// but allocation: what happened to them can be told from the step they were
// ready in. Their queues have no clock (see blame_passage.go).
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
	clocked []uint64      // by queue / 64, the queues whose clock runs
	arrived []uint32      // by queue without a clock, where virtual channels are given in a stage of their own: step in which the packet that has one arrived
	packets []blamePacket // by packet
	open    int           // measured packets in the network whose last flit is under way
	passed  []passage     // the first pending of them are not yet added to the sums; len = passages+ports, at least
	pending int
	sums    []linkSums // as Links, to which they have not been added yet
	foldAt  int64      // cycle in which they are added at the latest
	perStep uint64     // a cycle divided by the steps in it, in 2^-32, rounded up; 0 where that is no whole number
	roundUp uint64     // steps in a cycle, less 1
	pairs   []int64    // by pair of ports of a switch, input*ports + output: cycles that packets behind the input waited for the output
	parts   Parts      // handed to OnPacket
}

// times are the parts but the source queue, in cycles, two to a word: a sum
// of times is the sum of the words, and so is a difference that has no negative
// part.
type times [4]uint64

func (t *times) add(part Part, cycles int64) {
	t[(part-1)>>1] += uint64(cycles) << ((part - 1) & 1 * 32)
}

// total is the sum of the parts, which fits into half a word.
func (t *times) total() int64 {
	sum := t[0] + t[1] + t[2] + t[3]
	return int64(sum&(1<<32-1) + sum>>32)
}

// addTo adds the times to parts. Spelled out: it is done for every packet.
func (t *times) addTo(p *Parts) {
	const half = 1<<32 - 1
	p[PartRoute] += int64(t[0] & half)
	p[PartVC] += int64(t[0] >> 32)
	p[PartSwitch] += int64(t[1] & half)
	p[PartCredit] += int64(t[1] >> 32)
	p[PartSerial] += int64(t[2] & half)
	p[PartEjection] += int64(t[2] >> 32)
	p[PartWire] += int64(t[3] & half)
}

// blameQueue is the clock of a queue, valid while that runs. 64 bytes.
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
		queues: make([]blameQueue, len(f.queues)), clocked: make([]uint64, len(f.masks)), sums: make([]linkSums, len(f.out)),
	}
	if f.combined == 0 {
		b.arrived = make([]uint32, len(f.queues))
	}
	pairs, ports := int32(0), int32(0)
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
		ports = max(ports, sw.ports)
	}
	b.passed = make([]passage, passages+ports)
	if whole := uint64(f.steps.whole); whole != 0 {
		b.perStep, b.roundUp = (1<<32+whole-1)/whole, whole-1
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
	b.open++
	k.times[3] = measured
	k.times[3] += uint64(o.latency) // wire
	sums := &b.sums[f.terminalOut0+t]
	sums.packets++
	sums.queue += uint64(p.wait)
	if p.flits > 1 {
		link := &b.Links[f.terminalOut0+t]
		body := f.cycle - p.birth - int64(p.wait)
		serial := min(body, wholeCycle(int64(p.flits-1)*f.pace(o).interval))
		k.add(PartSerial, serial)
		k.add(PartCredit, body-serial)
		link[PartSerial] += serial
		link[PartCredit] += body - serial
	}
}

// joins notes the last flit of a packet that arrives in a queue behind others
// of its own packet or of others.
func (b *Blame) joins(f *Fabric, e *flit) {
	k := &b.packets[e.packet>>packetBits]
	if !k.measured() {
		return
	}
	r := b.synced(f, e.queue)
	r.tails++
	k.enter(r)
}

// enter and leave bracket a packet's stay in a queue with a clock.
func (k *blamePacket) enter(r *blameQueue) {
	k.times[0] -= r.clock[0]
	k.times[1] -= r.clock[1]
	k.times[2] -= r.clock[2]
}

func (k *blamePacket) leave(r *blameQueue) {
	k.times[0] += r.clock[0]
	k.times[1] += r.clock[1]
	k.times[2] += r.clock[2]
}

// synced is the clock of a queue, running and advanced to the present cycle.
func (b *Blame) synced(f *Fabric, q int32) *blameQueue {
	r, v := &b.queues[q], &f.queues[q]
	if word, bit := &b.clocked[q>>6], uint64(1)<<(q&63); *word&bit == 0 {
		*word |= bit
		b.start(f, q, r, v)
	}
	b.sync(r, v, f.cycle)
	return r
}

// holds says what the front of a queue waits for from now on.
func (b *Blame) holds(f *Fabric, q int32, part Part) { b.synced(f, q).then = uint8(part) }

// outputFull says that the flit at the front of a queue has no room behind the
// crossbar in this cycle.
func (b *Blame) outputFull(f *Fabric, q int32, o *outPort) {
	r := b.synced(f, q)
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
		if !b.isClocked(q) {
			b.arrived[q] = sw.queue(m.local()).ready - f.routeDelay
			continue
		}
		r := &b.queues[q]
		b.sync(r, &f.queues[q], f.cycle)
		r.first, r.until, r.then = uint8(PartVC), until, uint8(PartSwitch)
	}
}

// crosses notes the flit at the front of a queue with a clock, which is about to
// cross a switch in a step.
func (b *Blame) crosses(f *Fabric, sw *switchState, m request, t *stepTime) {
	q, v, o := sw.queue0+int32(m.local()), sw.queue(m.local()), sw.outPort(m.output())
	r := &b.queues[q]
	b.sync(r, v, f.cycle)
	tail := v.packet&tailFlit != 0
	if tail {
		if k := &b.packets[v.packet>>packetBits]; k.measured() {
			b.depart(k, r, &b.Links[sw.port0+int32(m.output())], o, f.cycle, t.depart)
		}
	}
	if r.tails == 0 { // what comes to the front is what start makes of it
		b.clocked[q>>6] &^= 1 << (q & 63)
		return
	}
	step := f.steps.wide(t.number)
	r.first, r.until, r.then = uint8(PartSerial), f.steps.cycleOf(step+1), uint8(PartSwitch)
	if tail {
		r.then = uint8(f.bidding())
		if f.routeDelay > 0 {
			r.first, r.until = uint8(PartRoute), f.steps.cycleOf(step+1+int64(f.routeDelay))
		}
	}
}

func (b *Blame) isClocked(q int32) bool { return b.clocked[q>>6]>>(q&63)&1 != 0 }

// depart closes a packet's stay in a queue, in cycle c, and adds what is known
// from then on: its way through the crossbar, which ends at ready, and onto
// the channel.
func (b *Blame) depart(k *blamePacket, r *blameQueue, link *Parts, o *outPort, c, ready int64) {
	r.tails--
	k.leave(r)
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
	b.open--
	k.times[3] -= measured
	if source, total := d.Inject-d.Birth, d.Cycle-d.Birth; source+k.total() != total {
		panic(fmt.Sprintf("fabric: a packet from terminal %d to %d took %d cycles, its parts %d of source queue and %x", d.Src, d.Dst, total, source, k.times))
	}
	class := 0
	if d.NonMinimal {
		class = 1
	}
	b.Packets[class]++
	b.Classes[class][PartSource] += d.Inject - d.Birth
	k.addTo(&b.Classes[class])
	if b.OnPacket != nil {
		b.parts = Parts{PartSource: d.Inject - d.Birth}
		k.addTo(&b.parts)
		b.OnPacket(d, &b.parts)
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
