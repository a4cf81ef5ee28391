package core

import (
	"fmt"
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

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
	unobserved

	// OnPacket, if not nil, is told of each measured packet that arrives, on the thread
	// of its destination. It must not keep its arguments.
	OnPacket func(d *fabric.Delivery, parts *Parts)

	// Sources, if not nil, are the terminals (len = terminals) whose packets are measured.
	Sources []bool

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
	sent       []uint32                      // by port, then by terminal: measured packets sent and not yet in links
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

// StartBlame makes the fabric divide the latency of the packets that meter
// measures. It must be called before Attach.
func (f *Fabric) StartBlame(meter *Meter) *Blame {
	d := f.domains[0]
	b := &Blame{
		domain: d, graph: d.graph, meter: meter, pairRow: make([]int32, d.graph.NumPorts()), links: make([]Parts, len(d.out)), sent: make([]uint32, len(d.out)),
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

// injected opens the account of a packet whose last flit enters the network.
func (b *Blame) injected(d *domain, t int32) {
	id, o := d.terminals[t].packet, &d.out[d.terminalOut0+t]
	p := d.packet(id)
	measured := b.meter.measures(p.birth) && (b.Sources == nil || b.Sources[t])
	b.begin(id, measured)
	if !measured {
		b.others++
		return
	}
	b.under++
	b.sent[d.terminalOut0+t]++
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

// delivered closes the account of a packet that has arrived.
func (b *Blame) delivered(_ *domain, id int32, delivery *fabric.Delivery) {
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
func (b *Blame) wires(delivery *fabric.Delivery, left int64) int64 {
	channels := int64(delivery.Hops + 1)
	// What is missing or too much may be no more than a few wires: Links finds that.
	if left < channels*b.least.wire || left > channels*b.least.longestWire && delivery.Hops < maxHops {
		panic(fmt.Sprintf("core: a packet from terminal %d to %d took %d cycles, %d of them on the wires of %d channels", delivery.Src, delivery.Dst, delivery.Cycle-delivery.Birth, left, channels))
	}
	return left
}
