package observe

import "github.com/weft-sim/weft/fabric/core"

// account is a time by parts, in cycles, but for the source queue and the
// wires: a number for each, three to a word. Sums and differences of accounts
// are those of their words, whatever is carried on the way, as long as each
// number of the result is from 0 to laneMask. 16 bytes.
type account [2]uint64

const (
	laneBits = 21
	laneMask = 1<<laneBits - 1
)

// lanes are the places of the parts: word and shift.
var lanes = [core.NumParts]struct{ word, shift uint8 }{
	core.PartSwitch: {0, 0}, core.PartVC: {0, laneBits}, core.PartRoute: {0, 2 * laneBits},
	core.PartSerial: {1, 0}, core.PartEjection: {1, laneBits}, core.PartCredit: {1, 2 * laneBits},
}

func (k *account) add(part core.Part, cycles int64) {
	lane := lanes[part]
	k[lane.word&1] += uint64(cycles) << (lane.shift & 63)
}

// addTo adds the account to parts. Spelled out: it is done for every packet.
func (k *account) addTo(p *core.Parts) {
	p[core.PartSwitch] += int64(k[0] & laneMask)
	p[core.PartVC] += int64(k[0] >> laneBits & laneMask)
	p[core.PartRoute] += int64(k[0] >> (2 * laneBits))
	p[core.PartSerial] += int64(k[1] & laneMask)
	p[core.PartEjection] += int64(k[1] >> laneBits & laneMask)
	p[core.PartCredit] += int64(k[1] >> (2 * laneBits))
}

// total is the sum of the parts.
func (k *account) total() int64 {
	sum := int64(0)
	for _, word := range k {
		sum += int64(word&laneMask + word>>laneBits&laneMask + word>>(2*laneBits))
	}
	return sum
}

// plus and minus bracket a packet's stay in a queue with a clock: its account
// is less the clock at its arrival.
func (k *account) plus(clock *account) {
	k[0] += clock[0]
	k[1] += clock[1]
}

func (k *account) minus(clock *account) {
	k[0] -= clock[0]
	k[1] -= clock[1]
}

// Accounts hold what came together in the last emptyAfter cycles, for more of
// which there is no room in them; what was before is kept elsewhere. Nothing
// longer than longWait, which may be known before it has passed, is added to
// them.
const (
	emptyAfter = 1 << (laneBits - 1)
	longWait   = 1 << (laneBits - 5)
)

// mark says what is known of a packet whose last flit is in the network.
type mark uint8

const (
	markMeasured mark = 1 << iota // without it all else is void
	markLong                      // some of its time is not in its account
)

// isMeasured is 1 for packets that are measured and whose last flit is in the
// network, otherwise 0.
func (b *Blame) isMeasured(id int32) uint32 { return uint32(*b.marks.At(id) & markMeasured) }

// begin opens the account of a packet.
func (b *Blame) begin(id int32, measured bool) {
	k, m, long := b.packets.Open(id), b.marks.Open(id), b.long.Open(id)
	if *m&markLong != 0 { // of a packet that was discarded
		*long = nil
	}
	*m = 0
	if measured {
		*m, *k = markMeasured, account{}
	}
}

// add adds any number of cycles to a packet's account.
func (b *Blame) add(id int32, part core.Part, cycles int64) {
	if cycles < longWait {
		b.packets.At(id).add(part, cycles)
	} else {
		b.longOf(id)[part] += cycles
	}
}

// longOf is what has been taken out of the account of a packet that is long on
// its way.
func (b *Blame) longOf(id int32) *core.Parts {
	p := b.long.At(id)
	if *p == nil {
		*p = &core.Parts{}
		*b.marks.At(id) |= markLong
	}
	return *p
}

// empty takes what they hold out of the accounts of all packets whose last flit is in
// the domain.
func (b *Blame) empty(d *core.Domain) {
	b.onClocks(d, (*account).plus)
	b.eachTail(d, func(id, _ int32) {
		k := b.packets.At(id)
		if *k == (account{}) {
			return
		}
		k.plus(&spares)
		b.takeOut(id, k)
	})
	b.onClocks(d, (*account).minus)
}

// The stages that every switch takes are missing where a clock has run: a number may be
// negative until the packet is delivered, by less than spare.
const spare = longWait

// spares is an account of spare of each.
var spares = func() (k account) {
	for part := core.PartRoute; part < core.PartWire; part++ {
		k.add(part, spare)
	}
	return k
}()

// takeOut takes what it holds, spares included, out of the account of a packet.
func (b *Blame) takeOut(id int32, k *account) {
	p := b.longOf(id)
	k.addTo(p)
	for part := core.PartRoute; part < core.PartWire; part++ {
		p[part] -= spare
	}
	*k = account{}
}

// spill takes what it holds out of the account of a packet that leaves a queue, if that is
// much. Where packets are the unit, [Blame.empty] finds only those that stand in queues.
func (b *Blame) spill(id int32) {
	k := *b.packets.At(id)
	k.plus(&spares)
	const much = 4 * spare
	const high = laneMask &^ (much - 1)
	if (k[0]|k[1])&(high|high<<laneBits|high<<(2*laneBits)) != 0 {
		*b.packets.At(id) = k
		b.takeOut(id, b.packets.At(id))
	}
}

// onClocks does something to the account of each measured packet whose last
// flit stands in a queue, and to the queue's clock, which then runs.
func (b *Blame) onClocks(d *core.Domain, do func(account, clock *account)) {
	b.eachTail(d, func(id, queue int32) {
		if queue >= 0 {
			do(b.packets.At(id), &b.synced(d, queue).clock)
		}
	})
}

// eachTail visits the measured packets whose last flit is in the domain: in a queue, or
// on a channel (-1), where flits are the unit.
func (b *Blame) eachTail(d *core.Domain, visit func(id, queue int32)) {
	visitTail := func(packet, queue int32) {
		if id := packet >> core.PacketBits; packet&core.TailFlit != 0 && b.isMeasured(id) != 0 {
			visit(id, queue)
		}
	}
	for _, s := range d.Mine {
		sw := &d.Switches[s]
		for local := range uint32(sw.Ports) * uint32(d.VCs()) {
			queue := sw.Queue0 + int32(local)
			d.EachQueued(sw.Queue(local), func(q *core.Queued) {
				if d.Unit == nil || d.Unit.Followed.HasWhole(d, q, queue) {
					visitTail(q.Packet, queue)
				}
			})
		}
	}
	if d.Unit != nil {
		return
	}
	for _, w := range d.Flits {
		if w != nil {
			w.Each(func(e core.Flit) { visitTail(e.Packet, -1) })
		}
	}
}
