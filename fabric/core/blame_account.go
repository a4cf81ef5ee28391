package core

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
var lanes = [NumParts]struct{ word, shift uint8 }{
	PartSwitch: {0, 0}, PartVC: {0, laneBits}, PartRoute: {0, 2 * laneBits},
	PartSerial: {1, 0}, PartEjection: {1, laneBits}, PartCredit: {1, 2 * laneBits},
}

func (k *account) add(part Part, cycles int64) {
	lane := lanes[part]
	k[lane.word&1] += uint64(cycles) << (lane.shift & 63)
}

// addTo adds the account to parts. Spelled out: it is done for every packet.
func (k *account) addTo(p *Parts) {
	p[PartSwitch] += int64(k[0] & laneMask)
	p[PartVC] += int64(k[0] >> laneBits & laneMask)
	p[PartRoute] += int64(k[0] >> (2 * laneBits))
	p[PartSerial] += int64(k[1] & laneMask)
	p[PartEjection] += int64(k[1] >> laneBits & laneMask)
	p[PartCredit] += int64(k[1] >> (2 * laneBits))
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
func (b *Blame) isMeasured(id int32) uint32 { return uint32(*b.marks.at(id) & markMeasured) }

// begin opens the account of a packet.
func (b *Blame) begin(id int32, measured bool) {
	k, m, long := b.packets.open(id), b.marks.open(id), b.long.open(id)
	if *m&markLong != 0 { // of a packet that was discarded
		*long = nil
	}
	*m = 0
	if measured {
		*m, *k = markMeasured, account{}
	}
}

// add adds any number of cycles to a packet's account.
func (b *Blame) add(id int32, part Part, cycles int64) {
	if cycles < longWait {
		b.packets.at(id).add(part, cycles)
	} else {
		b.longOf(id)[part] += cycles
	}
}

// longOf is what has been taken out of the account of a packet that is long on
// its way.
func (b *Blame) longOf(id int32) *Parts {
	p := b.long.at(id)
	if *p == nil {
		*p = &Parts{}
		*b.marks.at(id) |= markLong
	}
	return *p
}

// empty takes what they hold out of the accounts of all packets whose last flit is in
// the domain.
func (b *Blame) empty(d *domain) {
	b.onClocks(d, (*account).plus)
	b.eachTail(d, func(id, _ int32) {
		k := b.packets.at(id)
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
	for part := PartRoute; part < PartWire; part++ {
		k.add(part, spare)
	}
	return k
}()

// takeOut takes what it holds, spares included, out of the account of a packet.
func (b *Blame) takeOut(id int32, k *account) {
	p := b.longOf(id)
	k.addTo(p)
	for part := PartRoute; part < PartWire; part++ {
		p[part] -= spare
	}
	*k = account{}
}

// spill takes what it holds out of the account of a packet that leaves a queue, if that is
// much. Where packets are the unit, [Blame.empty] finds only those that stand in queues.
func (b *Blame) spill(id int32) {
	k := *b.packets.at(id)
	k.plus(&spares)
	const much = 4 * spare
	const high = laneMask &^ (much - 1)
	if (k[0]|k[1])&(high|high<<laneBits|high<<(2*laneBits)) != 0 {
		*b.packets.at(id) = k
		b.takeOut(id, b.packets.at(id))
	}
}

// onClocks does something to the account of each measured packet whose last
// flit stands in a queue, and to the queue's clock, which then runs.
func (b *Blame) onClocks(d *domain, do func(account, clock *account)) {
	b.eachTail(d, func(id, queue int32) {
		if queue >= 0 {
			do(b.packets.at(id), &b.synced(d, queue).clock)
		}
	})
}

// eachTail visits the measured packets whose last flit is in the domain: in a queue, or
// on a channel (-1), where flits are the unit.
func (b *Blame) eachTail(d *domain, visit func(id, queue int32)) {
	visitTail := func(packet, queue int32) {
		if id := packet >> packetBits; packet&tailFlit != 0 && b.isMeasured(id) != 0 {
			visit(id, queue)
		}
	}
	for _, s := range d.mine {
		sw := &d.switches[s]
		for local := range uint32(sw.ports) * uint32(d.vcs) {
			queue := sw.queue0 + int32(local)
			d.eachQueued(sw.queue(local), func(q *queued) {
				if d.unit == nil || d.unit.followed.hasWhole(d, q, queue) {
					visitTail(q.packet, queue)
				}
			})
		}
	}
	if d.unit != nil {
		return
	}
	for _, w := range d.flits {
		if w != nil {
			w.Each(func(e flit) { visitTail(e.packet, -1) })
		}
	}
}
