// Package observe looks on while a network is simulated ([core.Observer]), and changes nothing:
// [Blame] divides the latency of packets among the channels that they wait for, [Tracer] records
// the lives of some, and [ChannelSeries] what channels carry in the course of time.
package observe

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/check"
	"github.com/weft-sim/weft/sim/snapshot"
)

// Blame divides the latency of measured packets into its parts, to the cycle. It follows the last
// flit of each packet. While that stands in the queue of a switch, the time goes by what the front
// of the queue waits for, and is charged to the output that the front waits for: each queue has a
// clock with a hand for each part, one of which advances, and a packet's parts are the differences
// between its departure and its arrival. All sums are of whole cycles, so that any order of adding
// them gives the same.
//
// Every domain has a Blame; the first domain's is the network's. They share what belongs to ports,
// queues and packets; each touches its domain's.
type Blame struct {
	core.Unobserved

	// OnPacket, if not nil, is told of each measured packet that arrives, on its destination's
	// thread. It must not keep its arguments.
	OnPacket func(d *fabric.Delivery, parts *core.Parts)

	// Sources, if not nil, are the terminals (len = terminals) whose packets are measured.
	Sources []bool

	// Packets and Classes are packets and sums by class of traffic: minimal, and not.
	Packets [2]int64
	Classes [2]core.Parts
	// Levels has sums by service level; nil unless the run tells levels apart.
	Levels []LevelBlame

	parts   []*Blame // of the domains, with the network's first; in that only
	graph   *topology.Graph
	meter   Window
	links   []core.Parts // as of Links
	pairRow []int32      // by input port: first of its pairs
	pairs   []int64      // by pair of ports of a switch, input*ports + output: cycles that packets behind the input waited for the output
	clocks  []clock      // by queue
	packets core.PacketRecords[account]
	under   int64 // measured packets whose last flit has entered the network, less those that have arrived, here
}

// account is what a packet has spent so far; while its last flit is in a queue, less what the
// queue's clock has counted.
type account struct {
	core.Parts
	measured bool // and the last flit is in the network; otherwise all else is void
}

// Window says which packets are measured.
type Window interface {
	// Measures tells whether a packet born in a cycle is measured, as known when its last flit
	// enters.
	Measures(birth int64) bool
	// NumLevels is the number of service levels told apart (by Level); 0: they are not.
	NumLevels() int
	Level(d *fabric.Delivery) int
}

// StartBlame makes the fabric divide the latency of meter's packets. Call it before Attach.
func StartBlame(f *core.Fabric, meter Window) *Blame {
	b := &Blame{graph: f.Graph(), meter: meter, links: make([]core.Parts, len(f.Out)), pairRow: make([]int32, f.Graph().NumPorts()), clocks: make([]clock, len(f.Queues))}
	pairs := int32(0)
	for s := range f.Switches {
		sw := &f.Switches[s]
		for port := range sw.Ports {
			b.pairRow[sw.Port0+port] = pairs + port*sw.Ports
		}
		pairs += sw.Ports * sw.Ports
	}
	b.pairs = make([]int64, pairs)
	if levels := meter.NumLevels(); levels > 0 {
		b.Levels = make([]LevelBlame, levels)
	}
	f.Observe(b)
	return b
}

// Part is the Blame of a domain.
func (b *Blame) Part(*core.Domain) core.Observer {
	p := b
	if len(b.parts) > 0 {
		if len(b.parts) == 1 {
			b.packets.Divided()
		}
		own := *b
		own.parts, own.Levels = nil, slices.Clone(b.Levels)
		p = &own
	}
	b.parts = append(b.parts, p)
	return p
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

// Restart forgets all packets, also those under way, between cycles: the window begins anew.
func (b *Blame) Restart() {
	for _, p := range b.parts {
		p.Packets, p.Classes, p.under = [2]int64{}, [2]core.Parts{}, 0
		clear(p.Levels)
	}
	clear(b.links)
	clear(b.pairs)
	for i := range b.clocks {
		b.clocks[i].tails = 0
	}
	b.packets.Each(func(k *account) { k.measured = false })
}

// Injected opens the account of a packet whose last flit enters the network.
func (b *Blame) Injected(d *core.Domain, t int32) {
	id, channel := d.Terminals[t].Packet, d.TerminalOut0+t
	p, k, o := d.Packet(id), b.packets.Open(id), &d.Out[channel]
	*k = account{measured: b.meter.Measures(p.Birth) && (b.Sources == nil || b.Sources[t])}
	if !k.measured {
		return
	}
	b.under++
	source := int64(atomic.LoadUint32(&p.Wait) &^ core.WentAround) // the head may be arriving
	body := d.Cycle - p.Birth - source
	serial := min(body, core.WholeCycle(int64(p.Flits-1)*d.Pace(o).Interval))
	k.Parts = core.Parts{core.PartSource: source, core.PartSerial: serial, core.PartCredit: body - serial, core.PartWire: d.Latency(o)}
	b.links[channel].Add(&k.Parts)
}

// Delivered closes the account of a packet that has arrived.
func (b *Blame) Delivered(_ *core.Domain, id int32, delivery *fabric.Delivery) {
	k := b.packets.At(id)
	if !k.measured {
		return
	}
	k.measured = false
	b.under--
	if took := delivery.Cycle - delivery.Birth; k.Total() != took {
		panic(fmt.Sprintf("core: a packet from terminal %d to %d took %d cycles, and its parts are %v", delivery.Src, delivery.Dst, took, k.Parts))
	}
	class := 0
	if delivery.NonMinimal {
		class = 1
	}
	b.Packets[class]++
	b.Classes[class].Add(&k.Parts)
	if b.Levels != nil {
		b.Levels[b.meter.Level(delivery)].add(&LevelBlame{Packets: 1, Parts: k.Parts})
	}
	if b.OnPacket != nil {
		b.OnPacket(delivery, &k.Parts)
	}
}

// LevelBlame is the packets of a service level and their sums.
type LevelBlame struct {
	Packets int64
	Parts   core.Parts
}

func (l *LevelBlame) add(other *LevelBlame) {
	l.Packets += other.Packets
	l.Parts.Add(&other.Parts)
}

// Archive implements observer. The parts have been gathered.
func (b *Blame) Archive(x *core.Archiver) {
	a := x.Archive
	a.Mark("blame")
	snapshot.Value(a, &b.Packets)
	snapshot.Value(a, &b.Classes)
	snapshot.Array(a, "service levels", b.Levels, snapshot.Value)
	snapshot.Array(a, "channels", b.links, snapshot.Value)
	snapshot.Array(a, "pairs of ports", b.pairs, snapshot.Int)
	snapshot.Array(a, "queues", b.clocks, snapshot.Value)
	x.Packets.Each(a, func(id int32) {
		k := b.packets.Open(id)
		if snapshot.Bool(a, &k.measured); k.measured {
			snapshot.Value(a, &k.Parts)
		}
		if a.Reading() && k.measured {
			b.under++
		}
	})
}

// clock counts the cycles that a queue's front has waited while measured packets were there, by
// what it waited for.
type clock struct {
	core.Parts
	since int64 // cycle up to which the clock has been advanced
	until int64 // cycle in which what the front waits for changes from first to then
	first core.Part
	then  core.Part
	tails int32 // measured packets whose last flit is in the queue
}

// synced is the clock of a queue, advanced to the present cycle.
func (b *Blame) synced(d *core.Domain, q int32) *clock {
	k := check.At(b.clocks, uint32(q))
	if k.tails > 0 && k.since < d.Cycle {
		b.advance(d, q, k)
	}
	k.since = d.Cycle
	return k
}

// set says what the front of a queue waits for from now on.
func (k *clock) set(first core.Part, until int64, then core.Part) {
	k.first, k.until, k.then = first, until, then
}

// advance moves a clock's hands to the present cycle. While the front crosses as a whole, it does
// so a flit a step or as the channel makes room.
func (b *Blame) advance(d *core.Domain, q int32, k *clock) {
	cycles := d.Cycle - k.since
	sw, out := &d.Switches[d.WordSwitch[q>>6]], int32(d.Queues[q].Hop>>16)
	c := charges{k: k, link: &b.links[sw.Port0+out], pair: &b.pairs[b.pairRow[sw.Port0+int32(d.Matcher.Places[q-sw.Queue0].Port)]+out]}
	if d.IsStreaming(q) {
		o := &d.Out[sw.Port0+out]
		if part := queueing(o); part != core.PartSerial {
			n := d.Unit.Followed.HeldUp(d, q, o, k.since, d.Cycle)
			c.add(part, n, 1)
			cycles -= n
		}
		c.add(core.PartSerial, cycles, 1)
		return
	}
	if first := min(k.until-k.since, cycles); first > 0 {
		c.add(k.first, first, first)
		cycles -= first
	}
	c.add(k.then, cycles, cycles)
}

// charges are what is charged while one hand of a clock moves: every measured packet in the queue
// waits for the front's output.
type charges struct {
	k    *clock
	link *core.Parts
	pair *int64
}

// add charges some cycles, so many at a time.
func (c *charges) add(part core.Part, cycles, at int64) {
	c.k.Parts[part] += cycles
	all := cycles * int64(c.k.tails)
	c.link[part] += all
	if at*int64(c.k.tails) > 1 { // otherwise no more than the present packet is held up, by one cycle
		*c.pair += all
	}
}

// Arrived notes heads that come to the front of their queues, and measured packets' last flits.
func (b *Blame) Arrived(d *core.Domain, flits []core.Flit) {
	for i := range flits {
		e := &flits[i]
		if e.Packet&core.HeadFlit != 0 && check.At(d.Queues, uint32(e.Queue)).Count == 1 {
			routed := d.Cycle
			if d.RouteDelay > 0 {
				routed = d.Steps.CycleOf(d.Steps.FirstStep(d.Cycle) + int64(d.RouteDelay))
			}
			b.clocks[e.Queue].set(core.PartRoute, routed, d.Bidding())
		}
		if e.Packet&core.TailFlit == 0 {
			continue
		}
		if account := b.packets.At(e.Packet >> core.PacketBits); account.measured {
			k := b.synced(d, e.Queue)
			k.tails++
			account.Subtract(&k.Parts)
		}
	}
}

// Sleeps notes what the front of a queue waits for from now on.
func (b *Blame) Sleeps(d *core.Domain, q int32, part core.Part) { b.synced(d, q).then = part }

// Resumes notes the same.
func (b *Blame) Resumes(d *core.Domain, q int32, part core.Part) { b.synced(d, q).then = part }

// Blocked notes that a queue's front flit has no room behind the crossbar in this cycle.
func (b *Blame) Blocked(d *core.Domain, q int32, o *core.OutPort) {
	k := b.synced(d, q)
	k.first, k.until = queueing(o), d.Cycle+1
}

// queueing is the part that waiting for a channel is.
func queueing(o *core.OutPort) core.Part {
	if o.Bounded == 0 {
		return core.PartEjection
	}
	return core.PartSerial
}

// GrantedVC notes the virtual channels that packets are given in a step.
func (b *Blame) GrantedVC(d *core.Domain, sw *core.SwitchState, matches []core.Request, step uint32) {
	for _, m := range matches {
		b.synced(d, sw.Queue0+int32(m.Local())).set(core.PartVC, cycleOf(d, step+d.VADelay), core.PartSwitch)
	}
}

// GrantedSwitch notes the flits that are about to cross a switch in a step.
func (b *Blame) GrantedSwitch(d *core.Domain, sw *core.SwitchState, matches []core.Request, t *core.StepTime) {
	for _, m := range matches {
		b.crosses(d, sw, m, t, d.EndsPacket(sw.Queue(m.Local()).Packet), max(t.Depart, sw.OutPort(m.Output()).NextFree))
	}
}

// TailCrosses notes the last flit of a packet that is the unit.
func (b *Blame) TailCrosses(d *core.Domain, sw *core.SwitchState, m core.Request, t *core.StepTime, leaves int64) {
	b.crosses(d, sw, m, t, true, leaves)
}

// crosses notes that a queue's front flit is about to cross a switch in a step, and leaves by the
// channel at a time.
func (b *Blame) crosses(d *core.Domain, sw *core.SwitchState, m core.Request, t *core.StepTime, tail bool, leaves int64) {
	q, v := sw.Queue0+int32(m.Local()), sw.Queue(m.Local())
	k := b.synced(d, q)
	if id := v.Packet >> core.PacketBits; tail && b.packets.At(id).measured {
		account := b.packets.At(id)
		k.tails--
		account.Add(&k.Parts)
		channel := sw.Port0 + int32(m.Output())
		o := &d.Out[channel]
		// From now on all is known: the way through the crossbar, and onto the channel.
		through := t.Depart>>core.IntervalShift - d.Cycle
		wait, wire := core.WholeCycle(leaves)-d.Cycle-through, d.Latency(o)
		for _, sum := range [...]*core.Parts{&account.Parts, &b.links[channel]} {
			sum[core.PartSwitch] += through
			sum[queueing(o)] += wait
			sum[core.PartWire] += wire
		}
	}
	if v.Count < 2 {
		k.set(core.PartSwitch, d.Cycle, core.PartSwitch)
		return
	}
	k.set(core.PartSerial, cycleOf(d, t.Number+1), core.PartSwitch)
	if !tail {
		return
	}
	part, next := core.PartRoute, t.Number+1
	routed, ready, held := d.Comes(q, next)
	if held {
		part, routed = core.PartVC, ready
	} else {
		k.then = d.Bidding()
	}
	if routed != next {
		k.first, k.until = part, cycleOf(d, routed)
	}
}

// cycleOf is the cycle of a step of the present cycle or soon after.
func cycleOf(d *core.Domain, step uint32) int64 { return d.Steps.CycleOf(d.Steps.Wide(step)) }
