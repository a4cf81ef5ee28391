package fabric

import (
	"fmt"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/check"
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
// charged to the output that the front waits for: each queue has a clock with a
// hand for each part, one of which advances, and a packet's parts are the
// differences between its departure and its arrival. All sums are of whole
// cycles, so that any order of adding them gives the same.
//
// Most packets of one flit find their queue empty and are held up by nothing
// but allocation: what happened to them can be told from the step they were
// ready in. Their queues have no clock (see blame_passage.go). What every
// packet takes at such a switch is not put down for each, nor are the wires:
// they are what is left of a packet's latency.
//
// Every domain has a Blame of its own, the first that of the network. What belongs to a
// port, a queue or a packet they share; each touches what is in its domain.
type Blame struct {
	bystander

	// OnPacket, if not nil, is told of each measured packet that arrives, on the thread
	// of its destination. It must not keep its arguments.
	OnPacket func(d *Delivery, parts *Parts)

	// Packets and Classes are the packets and their sums by class of traffic:
	// sent minimally, and not.
	Packets [2]int64
	Classes [2]Parts
	// Levels are those by service level; nil unless the run tells them apart.
	Levels []LevelBlame

	whole      *Blame   // of the network
	parts      []*Blame // of the domains, with whole first; in whole only
	domain     *domain
	graph      *topology.Graph
	pairRow    []int32 // by input port: first of its pairs
	meter      *Meter
	links      []Parts // as of the last fold, but for what clocks have charged since
	queues     []blameQueue
	clocked    []uint64 // by queue / 64, the queues whose clock runs
	came       []uint32 // by queue without a clock, where virtual channels are given in a stage of their own: step in which the packet that has one arrived
	packets    packetRecords[account]
	marks      packetRecords[mark]
	long       packetRecords[*Parts]         // what is not in a packet's account
	under      int64                         // measured packets whose last flit has entered the network, less those that have arrived, here
	others     int64                         // packets that are not measured likewise
	elsewhere  struct{ under, others int64 } // sums over the other domains, as of the beginning of the window
	passed     []passage                     // the first pending of them are not yet added to the sums; len = passages+ports, at least
	pending    int
	late       []linkLate // by port
	queued     []int64    // by terminal: waits in the source queue beyond the least, not yet in links
	least      leastTimes
	foldAt     int64 // cycle in which what is not in links is added at the latest
	foldIn     int64 // cycles from one to the next
	emptyAt    int64 // cycle in which accounts are emptied
	emptyIn    int64
	perStep    uint64 // a cycle divided by the steps in it, in 2^-32, rounded up; 0 where that is no whole number
	roundUp    uint64 // steps in a cycle, less 1
	first      int64  // step that cycle firstCycle begins with
	firstCycle uint32
	pairs      []int64 // by pair of ports of a switch, input*ports + output: cycles that packets behind the input waited for the output
	handed     Parts   // to OnPacket
}

// blameQueue is the clock of a queue, valid while that runs. Cycles are modulo
// 2^32. 32 bytes.
type blameQueue struct {
	clock account
	since uint32 // cycle up to which the clock has been advanced
	until uint32 // cycle in which the front's present part changes from first to then
	tails int32  // measured packets whose last flit is in the queue
	first uint8  // part
	then  uint8  // part
}

// StartBlame makes the fabric divide the latency of the packets that meter
// measures. It must be called before Attach.
func (f *Fabric) StartBlame(meter *Meter) *Blame {
	d := f.domains[0]
	b := &Blame{
		domain: d, graph: d.graph, meter: meter, pairRow: make([]int32, d.graph.NumPorts()), links: make([]Parts, len(d.out)),
		queues: make([]blameQueue, len(d.queues)), clocked: make([]uint64, len(d.masks)),
		late: make([]linkLate, d.graph.NumPorts()), queued: make([]int64, len(d.terminals)), least: d.leastTimes(), emptyIn: emptyAfter,
	}
	if d.combined == 0 {
		b.came = make([]uint32, len(d.queues))
	}
	pairs, ports := int32(0), int32(0)
	for s := range d.switches {
		sw := &d.switches[s]
		for port := range sw.ports {
			b.pairRow[sw.port0+port] = pairs + port*sw.ports
		}
		pairs += sw.ports * sw.ports
		ports = max(ports, sw.ports)
	}
	b.passed = make([]passage, passages+ports)
	if whole := uint64(d.steps.whole); whole != 0 {
		b.perStep, b.roundUp = (1<<32+whole-1)/whole, whole-1
	}
	b.pairs = make([]int64, pairs)
	b.foldIn, b.emptyAt = b.foldCycles(d, ports), b.emptyIn
	if meter.levels != nil {
		b.Levels = make([]LevelBlame, len(meter.levels.tallies))
	}
	b.whole = b
	f.observe(b)
	return b
}

// part is the Blame of a domain.
func (b *Blame) part(d *domain) observer {
	b.parts = append(b.parts, b)
	if len(b.parts) == 1 {
		b.domain = d
		return b
	}
	if len(b.parts) == 2 {
		b.packets.divided()
		b.marks.divided()
		b.long.divided()
	}
	p := *b
	p.domain, p.parts = d, nil
	p.passed = make([]passage, len(b.passed))
	p.Levels = slices.Clone(b.Levels)
	b.parts[len(b.parts)-1] = &p
	return &p
}

// opens finds out how many packets there are elsewhere that may come here. Those that
// others see off in this window do not: they are too far away.
func (b *Blame) opens() {
	b.elsewhere.under, b.elsewhere.others = 0, 0
	for _, p := range b.whole.parts {
		if p != b {
			b.elsewhere.under += p.under
			b.elsewhere.others += p.others
		}
	}
}

// gather adds up what the domains have measured.
func (b *Blame) gather() {
	for _, p := range b.parts[min(1, len(b.parts)):] {
		for class := range b.Classes {
			b.Packets[class] += p.Packets[class]
			b.Classes[class].Add(&p.Classes[class])
		}
		p.Packets, p.Classes = [2]int64{}, [2]Parts{}
		for i := range p.Levels {
			b.Levels[i].add(&p.Levels[i])
		}
		clear(p.Levels)
	}
}

// LevelBlame is the packets of a service level and their sums.
type LevelBlame struct {
	Packets int64
	Parts   Parts
}

func (l *LevelBlame) add(other *LevelBlame) {
	l.Packets += other.Packets
	l.Parts.Add(&other.Parts)
}

// sync advances the clock of a queue to cycle c.
func (b *Blame) sync(d *domain, q int32, r *blameQueue, v *inVC, c uint32) {
	cycles := int32(c - r.since)
	if cycles <= 0 {
		return
	}
	if r.tails > 0 {
		first := min(max(int32(r.until-r.since), 0), cycles)
		if first > 0 {
			b.charge(d, q, r, v, r.first, int64(first))
		}
		if first < cycles {
			b.charge(d, q, r, v, r.then, int64(cycles-first))
		}
	}
	r.since = c
	if int32(r.until-r.since) < 0 { // lest it come again
		r.until = r.since
	}
}

// charge moves one hand of a clock on: every measured packet in the queue has
// waited for the output of the front.
func (b *Blame) charge(d *domain, q int32, r *blameQueue, v *inVC, part uint8, cycles int64) {
	r.clock.add(Part(part), cycles)
	sw, out := &d.switches[d.wordSwitch[q>>6]], int32(v.hop>>16)
	cycles *= int64(r.tails)
	b.links[sw.port0+out][part] += cycles
	if cycles > 1 { // otherwise no more than the present packet is held up, by one cycle
		b.pairs[b.pairRow[sw.port0+int32(d.matcher.places[q-sw.queue0].port)]+out] += cycles
	}
}

// injected opens the account of a packet whose last flit enters the network.
func (b *Blame) injected(d *domain, t int32) {
	id, o := d.terminals[t].packet, &d.out[d.terminalOut0+t]
	p := d.packet(id)
	measured := b.meter.measures(p.birth)
	b.begin(id, measured)
	if !measured {
		b.others++
		return
	}
	b.under++
	o.passed++
	if late := int64(p.wait&^wentAround) - b.least.source; late != 0 {
		b.queued[t] += late
	}
	if p.flits > 1 {
		link := &b.links[d.terminalOut0+t]
		body := d.cycle - p.birth - int64(p.wait&^wentAround)
		serial := min(body, wholeCycle(int64(p.flits-1)*d.pace(o).interval))
		b.add(id, PartSerial, serial)
		b.add(id, PartCredit, body-serial)
		link[PartSerial] += serial
		link[PartCredit] += body - serial
	}
}

// arrived notes the last flits of packets that have come behind others, of their own
// packet or of others.
func (b *Blame) arrived(d *domain, flits []flit) {
	for i := range flits {
		e := &flits[i]
		if e.packet&tailFlit == 0 || e.packet&headFlit != 0 && check.At(d.queues, uint32(e.queue)).count == 1 {
			continue
		}
		if id := e.packet >> packetBits; b.isMeasured(id) != 0 {
			r := b.synced(d, e.queue)
			r.tails++
			b.packets.at(id).minus(&r.clock)
		}
	}
}

// synced is the clock of a queue, running and advanced to the present cycle.
func (b *Blame) synced(d *domain, q int32) *blameQueue {
	r, v := &b.queues[q], &d.queues[q]
	if word, bit := &b.clocked[q>>6], uint64(1)<<(q&63); *word&bit == 0 {
		*word |= bit
		b.start(d, q, r, v)
	}
	b.sync(d, q, r, v, uint32(d.cycle))
	return r
}

// sleeps notes what the front of a queue waits for from now on.
func (b *Blame) sleeps(d *domain, q int32, part Part) { b.synced(d, q).then = uint8(part) }

// resumes notes the same.
func (b *Blame) resumes(d *domain, q int32, part Part) { b.synced(d, q).then = uint8(part) }

// blocked notes that the flit at the front of a queue has no room behind the
// crossbar in this cycle.
func (b *Blame) blocked(d *domain, q int32, o *outPort) {
	r := b.synced(d, q)
	r.first, r.until = uint8(queueing(o)), uint32(d.cycle+1)
}

// queueing is the part that waiting for a channel is.
func queueing(o *outPort) Part {
	if o.bounded == 0 {
		return PartEjection
	}
	return PartSerial
}

// grantedVC notes the virtual channels that packets are given in a step.
func (b *Blame) grantedVC(d *domain, sw *switchState, matches []request, step uint32) {
	until := b.cycleOf(d, step+d.vaDelay)
	for _, m := range matches {
		q := sw.queue0 + int32(m.local())
		if !b.isClocked(q) {
			b.came[q] = sw.queue(m.local()).ready - d.routeDelay
			continue
		}
		r := &b.queues[q]
		b.sync(d, q, r, &d.queues[q], uint32(d.cycle))
		r.first, r.until, r.then = uint8(PartVC), until, uint8(PartSwitch)
	}
}

// crosses notes the flit at the front of a queue with a clock, which is about to
// cross a switch in a step.
func (b *Blame) crosses(d *domain, sw *switchState, m request, t *stepTime) {
	q, v, o := sw.queue0+int32(m.local()), sw.queue(m.local()), sw.outPort(m.output())
	r := &b.queues[q]
	b.sync(d, q, r, v, uint32(d.cycle))
	tail := v.packet&tailFlit != 0
	if id := v.packet >> packetBits; tail && b.isMeasured(id) != 0 {
		b.depart(id, r, v, &b.links[sw.port0+int32(m.output())], o, d.cycle, t.depart)
	}
	if r.tails == 0 { // what comes to the front is what start makes of it
		b.clocked[q>>6] &^= 1 << (q & 63)
		return
	}
	r.first, r.until, r.then = uint8(PartSerial), b.cycleOf(d, t.number+1), uint8(PartSwitch)
	if tail {
		routed, ready, held := d.comes(q, t.number+1)
		part := PartRoute
		if held {
			part, routed = PartVC, ready
		} else {
			r.then = uint8(d.bidding())
		}
		if routed != t.number+1 {
			r.first, r.until = uint8(part), b.cycleOf(d, routed)
		}
	}
}

func (b *Blame) isClocked(q int32) bool { return b.clocked[q>>6]>>(q&63)&1 != 0 }

// depart closes a packet's stay in a queue, in cycle c, and adds what is known
// from then on: its way through the crossbar, which ends at ready, and onto
// the channel.
func (b *Blame) depart(id int32, r *blameQueue, v *inVC, link *Parts, o *outPort, c, ready int64) {
	r.tails--
	k := b.packets.at(id)
	k.plus(&r.clock)
	if counted(v) {
		k.minus(&b.least.account)
	}
	through := ready>>intervalShift - c
	wait := wholeCycle(max(ready, o.nextFree)) - c - through
	queue := queueing(o)
	k.add(PartSwitch, through)
	b.add(id, queue, wait)
	link[PartSwitch] += through
	link[queue] += wait
	link[PartWire] += int64(o.latency)
}

// counted tells whether a flit's next switch will be among the hops of its
// delivery.
func counted(v *inVC) bool { return v.state < maxHops<<hopShift }

// delivered closes the account of a packet that has arrived.
func (b *Blame) delivered(_ *domain, id int32, delivery *Delivery) {
	m := b.marks.at(id)
	if *m == 0 {
		b.others--
		return
	}
	long := *m&markLong != 0
	*m = 0
	b.under--
	k := b.packets.at(id)
	k[0] += uint64(delivery.Hops) * b.least.account[0]
	class := 0
	if delivery.NonMinimal {
		class = 1
	}
	b.Packets[class]++
	if b.OnPacket == nil && !long && b.Levels == nil {
		sums, source := &b.Classes[class], delivery.Inject-delivery.Birth
		k.addTo(sums)
		sums[PartSource] += source
		sums[PartWire] += b.wires(delivery, delivery.Cycle-delivery.Birth-source-k.total())
		return
	}
	p := &b.handed
	*p = Parts{}
	if long {
		*p = **b.long.at(id)
		*b.long.at(id) = nil
	}
	k.addTo(p)
	p[PartSource] = delivery.Inject - delivery.Birth
	p[PartWire] = b.wires(delivery, delivery.Cycle-delivery.Birth-p.Total())
	b.Classes[class].Add(p)
	if b.Levels != nil {
		b.Levels[b.meter.levels.of(delivery)].add(&LevelBlame{1, *p})
	}
	if b.OnPacket != nil {
		b.OnPacket(delivery, p)
	}
}

// wires checks what is left of a packet's latency for wires.
func (b *Blame) wires(delivery *Delivery, left int64) int64 {
	channels := int64(delivery.Hops + 1)
	// What is missing or too much may be no more than a few wires: Links finds that.
	if left < channels*b.least.wire || left > channels*b.least.longestWire && delivery.Hops < maxHops {
		panic(fmt.Sprintf("fabric: a packet from terminal %d to %d took %d cycles, %d of them on the wires of %d channels", delivery.Src, delivery.Dst, delivery.Cycle-delivery.Birth, left, channels))
	}
	return left
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
