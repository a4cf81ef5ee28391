package observe

import (
	"fmt"
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
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
	core.Unobserved

	// OnPacket, if not nil, is told of each measured packet that arrives, on the thread
	// of its destination. It must not keep its arguments.
	OnPacket func(d *fabric.Delivery, parts *core.Parts)

	// Sources, if not nil, are the terminals (len = terminals) whose packets are measured.
	Sources []bool

	// Packets and Classes are the packets and their sums by class of traffic:
	// sent minimally, and not.
	Packets [2]int64
	Classes [2]core.Parts
	// Levels are those by service level; nil unless the run tells them apart.
	Levels []LevelBlame

	whole      *Blame   // of the network
	parts      []*Blame // of the domains, with whole first; in whole only
	domain     *core.Domain
	graph      *topology.Graph
	pairRow    []int32 // by input port: first of its pairs
	meter      Window
	links      []core.Parts // as of the last fold, but for what clocks have charged since
	queues     []blameQueue
	clocked    []uint64 // by queue / 64, the queues whose clock runs
	came       []uint32 // by queue without a clock, where virtual channels are given in a stage of their own: step in which the packet that has one arrived
	packets    core.PacketRecords[account]
	marks      core.PacketRecords[mark]
	long       core.PacketRecords[*core.Parts] // what is not in a packet's account
	under      int64                           // measured packets whose last flit has entered the network, less those that have arrived, here
	others     int64                           // packets that are not measured likewise
	elsewhere  struct{ under, others int64 }   // sums over the other domains, as of the beginning of the window
	sent       []uint32                        // by port, then by terminal: measured packets sent and not yet in links
	passed     []passage                       // the first pending of them are not yet added to the sums; len = passages+ports, at least
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
	pairs      []int64    // by pair of ports of a switch, input*ports + output: cycles that packets behind the input waited for the output
	handed     core.Parts // to OnPacket
}

// Window says which packets are measured.
type Window interface {
	// Measures tells whether a packet born in a cycle is, as far as is known when its last
	// flit enters the network.
	Measures(birth int64) bool
	// NumLevels is the number of service levels that are told apart, of which Level is that
	// of a packet; 0: they are not.
	NumLevels() int
	Level(d *fabric.Delivery) int
}

// StartBlame makes the fabric divide the latency of the packets that meter
// measures. It must be called before Attach.
func StartBlame(f *core.Fabric, meter Window) *Blame {
	d := f.FirstDomain()
	b := &Blame{
		domain: d, graph: d.Graph(), meter: meter, pairRow: make([]int32, d.Graph().NumPorts()), links: make([]core.Parts, len(d.Out)), sent: make([]uint32, len(d.Out)),
		queues: make([]blameQueue, len(d.Queues)), clocked: make([]uint64, len(d.Masks)),
		late: make([]linkLate, d.Graph().NumPorts()), queued: make([]int64, len(d.Terminals)), least: leastTimesOf(d), emptyIn: emptyAfter,
	}
	if d.Combined == 0 {
		b.came = make([]uint32, len(d.Queues))
	}
	pairs, ports := int32(0), int32(0)
	for s := range d.Switches {
		sw := &d.Switches[s]
		for port := range sw.Ports {
			b.pairRow[sw.Port0+port] = pairs + port*sw.Ports
		}
		pairs += sw.Ports * sw.Ports
		ports = max(ports, sw.Ports)
	}
	b.passed = make([]passage, passages+ports)
	if whole := uint64(d.Steps.Whole); whole != 0 {
		b.perStep, b.roundUp = (1<<32+whole-1)/whole, whole-1
	}
	b.pairs = make([]int64, pairs)
	b.foldIn, b.emptyAt = b.foldCycles(d, ports), b.emptyIn
	if levels := meter.NumLevels(); levels > 0 {
		b.Levels = make([]LevelBlame, levels)
	}
	b.whole = b
	f.Observe(b)
	return b
}

// Part is the Blame of a domain.
func (b *Blame) Part(d *core.Domain) core.Observer {
	b.parts = append(b.parts, b)
	if len(b.parts) == 1 {
		b.domain = d
		return b
	}
	if len(b.parts) == 2 {
		b.packets.Divided()
		b.marks.Divided()
		b.long.Divided()
	}
	p := *b
	p.domain, p.parts = d, nil
	p.passed = make([]passage, len(b.passed))
	p.Levels = slices.Clone(b.Levels)
	b.parts[len(b.parts)-1] = &p
	return &p
}

// Opens finds out how many packets there are elsewhere that may come here. Those that
// others see off in this window do not: they are too far away.
func (b *Blame) Opens() {
	b.elsewhere.under, b.elsewhere.others = 0, 0
	for _, p := range b.whole.parts {
		if p != b {
			b.elsewhere.under += p.under
			b.elsewhere.others += p.others
		}
	}
}

// Gather adds up what the domains have measured.
func (b *Blame) Gather() {
	for _, p := range b.parts[min(1, len(b.parts)):] {
		for class := range b.Classes {
			b.Packets[class] += p.Packets[class]
			b.Classes[class].Add(&p.Classes[class])
		}
		p.Packets, p.Classes = [2]int64{}, [2]core.Parts{}
		for i := range p.Levels {
			b.Levels[i].add(&p.Levels[i])
		}
		clear(p.Levels)
	}
}

// Injected opens the account of a packet whose last flit enters the network.
func (b *Blame) Injected(d *core.Domain, t int32) {
	id, o := d.Terminals[t].Packet, &d.Out[d.TerminalOut0+t]
	p := d.Packet(id)
	measured := b.meter.Measures(p.Birth) && (b.Sources == nil || b.Sources[t])
	b.begin(id, measured)
	if !measured {
		b.others++
		return
	}
	b.under++
	b.sent[d.TerminalOut0+t]++
	if late := int64(p.Wait&^core.WentAround) - b.least.source; late != 0 {
		b.queued[t] += late
	}
	if p.Flits > 1 {
		link := &b.links[d.TerminalOut0+t]
		body := d.Cycle - p.Birth - int64(p.Wait&^core.WentAround)
		serial := min(body, core.WholeCycle(int64(p.Flits-1)*d.Pace(o).Interval))
		b.add(id, core.PartSerial, serial)
		b.add(id, core.PartCredit, body-serial)
		link[core.PartSerial] += serial
		link[core.PartCredit] += body - serial
	}
}

// Delivered closes the account of a packet that has arrived.
func (b *Blame) Delivered(_ *core.Domain, id int32, delivery *fabric.Delivery) {
	m := b.marks.At(id)
	if *m == 0 {
		b.others--
		return
	}
	long := *m&markLong != 0
	*m = 0
	b.under--
	k := b.packets.At(id)
	k[0] += uint64(delivery.Hops) * b.least.account[0]
	class := 0
	if delivery.NonMinimal {
		class = 1
	}
	b.Packets[class]++
	if b.OnPacket == nil && !long && b.Levels == nil {
		sums, source := &b.Classes[class], delivery.Inject-delivery.Birth
		k.addTo(sums)
		sums[core.PartSource] += source
		sums[core.PartWire] += b.wires(delivery, delivery.Cycle-delivery.Birth-source-k.total())
		return
	}
	p := &b.handed
	*p = core.Parts{}
	if long {
		*p = **b.long.At(id)
		*b.long.At(id) = nil
	}
	k.addTo(p)
	p[core.PartSource] = delivery.Inject - delivery.Birth
	p[core.PartWire] = b.wires(delivery, delivery.Cycle-delivery.Birth-p.Total())
	b.Classes[class].Add(p)
	if b.Levels != nil {
		b.Levels[b.meter.Level(delivery)].add(&LevelBlame{Packets: 1, Parts: *p})
	}
	if b.OnPacket != nil {
		b.OnPacket(delivery, p)
	}
}

// wires checks what is left of a packet's latency for wires.
func (b *Blame) wires(delivery *fabric.Delivery, left int64) int64 {
	channels := int64(delivery.Hops + 1)
	// What is missing or too much may be no more than a few wires: Links finds that.
	if left < channels*b.least.wire || left > channels*b.least.longestWire && delivery.Hops < core.MaxHops {
		panic(fmt.Sprintf("core: a packet from terminal %d to %d took %d cycles, %d of them on the wires of %d channels", delivery.Src, delivery.Dst, delivery.Cycle-delivery.Birth, left, channels))
	}
	return left
}

// EmptyEvery lets the accounts of packets be emptied after so many cycles, and then again; no
// result depends on it.
func (b *Blame) EmptyEvery(cycles int64) { b.emptyIn, b.emptyAt = cycles, cycles }

// FoldEvery lets the sums of channels be added after so many cycles, and then again; no result
// depends on it.
func (b *Blame) FoldEvery(cycles int64) { b.foldIn, b.foldAt = cycles, cycles }

// LevelBlame is the packets of a service level and their sums.
type LevelBlame struct {
	Packets int64
	Parts   core.Parts
}

func (l *LevelBlame) add(other *LevelBlame) {
	l.Packets += other.Packets
	l.Parts.Add(&other.Parts)
}
