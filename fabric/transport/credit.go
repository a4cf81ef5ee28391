package transport

import (
	"cmp"
	"math"

	"github.com/weft-sim/weft/fabric/congestion"
	"github.com/weft-sim/weft/fabric/shared"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

const (
	creditUnit    = 256 // bytes
	grantUnits    = 64  // of a turn
	emptyTurn     = 1024
	paceShare     = 0.99 // of its link, which a receiver grants
	pullEntropies = 128  // that pulls count through
)

// creditSender is the credit of a connection at its sender: receiver-credit congestion control
// (RCCC) of Ultra Ethernet (UEC 1.0, 2025).
type creditSender struct {
	bytes       int64 // may be below 0 by a packet
	granted     int64 // units, in all
	speculating bool  // nothing has come back yet
}

// speculates ends the time in which a sender sends on credit that nobody granted.
func (c *creditSender) speculates(does bool) {
	if c.speculating && !does {
		c.bytes, c.speculating = min(c.bytes, 0), false
	}
}

// target is what a sender tells its receiver: the units granted so far, and those that it still
// wants, shared with the connections that may send now from its terminal.
func (c *connection) target() int64 {
	t, credit := &c.system.timing, &c.credit
	want := c.backlog
	if c.window != nil {
		want = min(want, c.window.Window()+t.Packet)
	}
	want = min(want, t.BDP*3/2) - credit.bytes
	if credit.speculating && c.backlog > 0 {
		want = max(want, t.Packet)
	}
	if n := int64(c.system.hosts[c.src].active.Len()) + 1; n > 1 {
		want /= n
	}
	return credit.granted + int64(math.Ceil(float64(want)/creditUnit))
}

// pulled takes a pull, with the units granted so far.
func (c *connection) pulled(granted int64) {
	c.credit.speculates(false)
	if granted > c.credit.granted {
		c.credit.bytes = min(c.credit.bytes+(granted-c.credit.granted)*creditUnit, c.system.timing.BDP*3/2)
		c.credit.granted = granted
	}
	c.goOn()
}

// wantsCredit tells whether nothing but a pull has the connection go on, which may have been lost.
func (c *connection) wantsCredit() bool {
	return c.awaited == 0 && c.backlog > 0 && c.system.config.hasCredit() && c.credit.bytes <= 0
}

// request asks the receiver for credit.
func (c *connection) request(now int64) {
	c.requested = now
	id, p := c.system.control(c.dst, 2*c.number)
	p.Kind, p.Bytes, p.Entropy = request, c.target(), c.spray.next(now)
	c.system.Counts.Requests++
	c.system.sendControl(c.src, id)
}

// creditReceiver is the other end.
type creditReceiver struct {
	target, granted int64 // units
	wants           bool  // waits for a turn of its terminal
}

// pacer grants the connections that end at a terminal credit in turn, as fast as its link can
// take what they send for it.
type pacer struct {
	demand, idle sim.FIFO[int32] // connections
	busy         bool
	entropy      uint16
	rate         float64 // share of the pace, 1 unless slowed

	// Since the last time that rate was looked at.
	packets, whole, marked, trims int64
	congested                     float64 // g
	raises                        int
	stream                        sim.Stream
	slows                         bool
}

// demands takes the pull target of a data packet or a request. A connection that wants more than
// before has a turn, in which nothing is granted if idle turns have granted as much.
func (c *connection) demands(target int64, trimmed bool) {
	r := &c.receiver.credit
	h := &c.system.hosts[c.dst]
	advanced := target > r.target
	r.target = max(r.target, target)
	if (advanced || trimmed) && !r.wants {
		r.wants = true
		h.pacer.demand.Put(c.number)
	}
	if !h.pacer.busy {
		c.system.grant(c.dst)
	}
}

// grant is a turn of a terminal's pacer. Where no connection wants credit, one that did, and may have ended,
// gets some in advance. As in htsim, it stands among these as often as it has had what it wanted.
func (s *System) grant(t topology.TerminalID) {
	p := &s.hosts[t].pacer
	p.busy = false
	switch {
	case p.demand.Len() > 0:
		c := s.connections[p.demand.Take()]
		r := &c.receiver.credit
		n := min(max(r.target-r.granted, 0), grantUnits)
		r.granted += n
		if r.wants = r.target > r.granted; r.wants {
			p.demand.Put(c.number)
		} else {
			p.idle.Put(c.number)
		}
		s.pull(c, n)
	case p.idle.Len() > 0:
		c := s.connections[p.idle.Take()]
		r := &c.receiver.credit
		r.granted += grantUnits
		if ahead := r.granted - r.target; ahead >= 0 && ahead*creditUnit < s.timing.BDP*3/2 {
			p.idle.Put(c.number)
		}
		s.pull(c, grantUnits)
	}
}

// pull tells a sender of credit, and lets the pacer wait.
func (s *System) pull(c *connection, units int64) {
	pacer := &s.hosts[c.dst].pacer
	id, p := s.control(c.src, 2*c.number+1)
	p.Kind, p.Bytes, p.Entropy = pull, c.receiver.credit.granted, pacer.entropy%pullEntropies
	pacer.entropy++
	s.Counts.Pulls++
	s.sendControl(c.dst, id)
	bytes := cmp.Or(units*creditUnit, emptyTurn)
	pacer.busy = true
	wait := s.timing.Rate.PicosecondsFor(sim.Bytes(bytes)) / (paceShare * pacer.rate)
	s.kernel.After(sim.Time(wait), s.id, grantEvent, int32(c.dst), 0)
}

// seen counts a packet that has arrived at a terminal, for the pace.
func (h *host) seen(trimmed, marked, lastHop bool) {
	p := &h.pacer
	p.packets++
	switch {
	case trimmed && !lastHop:
		p.trims++
	case !trimmed:
		p.whole++
		if marked {
			p.marked++
		}
	}
}

// slow changes the pace of a terminal where the network is narrower than the terminals are
// together, and senders have no window.
func (s *System) slow(t topology.TerminalID) {
	p := &s.hosts[t].pacer
	if p.whole > 0 {
		p.congested = p.congested/2 + float64(p.marked)/float64(p.whole)/2
	} else {
		p.congested /= 2
	}
	if p.trims > 0 {
		p.rate -= float64(p.trims) / float64(p.packets)
	}
	if p.congested > 0.3 {
		p.rate *= 1 - 0.5*(p.congested-0.3)
	}
	switch {
	case p.trims > 0 || p.congested > 0.3:
		p.raises = 0
	case p.marked == 0:
		p.rate += 0.01 * float64(int64(1)<<min(p.raises, 20))
		p.raises++
	default:
		p.rate += 0.01
		p.raises = 0
	}
	p.rate = min(max(p.rate, 0.01, 0.9/s.timing.Oversubscription), 1)
	p.packets, p.whole, p.marked, p.trims = 0, 0, 0, 0
	s.paceLater(t)
}

// paceLater has the pace of a terminal looked at again.
func (s *System) paceLater(t topology.TerminalID) {
	p := &s.hosts[t].pacer
	wait := 1.5 * float64(s.timing.RTT) * (0.75 + 0.5*p.stream.Float64())
	s.kernel.After(sim.Time(wait), s.id, paceEvent, int32(t), 0)
}

// receiver is the end of a connection that packets arrive at.
type receiver struct {
	got      bitmap
	expected int32 // all below have arrived
	whole    int   // messages of which all has
	beyond   int   // packets that have arrived above
	most     int32 // highest that has arrived
	bytes    int64
	since    int64 // bytes since the last acknowledgement
	owes     bool  // an acknowledgement when the last hole is filled
	refused  int32 // going back: packet + 1 that has been asked for again
	notices  congestion.NotificationPoint
	credit   creditReceiver
}

// bitmap tells which packets have arrived, in words of 64. Of words before the first all have.
type bitmap struct {
	words sim.FIFO[uint64]
	first int32 // number of a word
}

// word has the bits of packets 64 i to 64 i + 63.
func (b *bitmap) word(i int32) uint64 {
	switch at := int(i - b.first); {
	case at < 0:
		return math.MaxUint64
	case at < b.words.Len():
		return *b.words.At(at)
	}
	return 0
}

func (b *bitmap) has(seq int32) bool { return b.word(seq>>6)>>(seq&63)&1 != 0 }

func (b *bitmap) set(seq int32) {
	at := int(seq>>6 - b.first)
	for b.words.Len() <= at {
		b.words.Put(0)
	}
	*b.words.At(at) |= 1 << (seq & 63)
}

// forget gives up what is below a packet, all of which has arrived.
func (b *bitmap) forget(seq int32) {
	for ; b.first < seq>>6; b.first++ {
		b.words.Take()
	}
}

// arrivedData takes a data packet of a connection, whole or trimmed.
func (c *connection) arrivedData(p *shared.Packet) {
	s, r := c.system, &c.receiver
	if s.config.hasCredit() {
		s.hosts[c.dst].seen(p.Trimmed, p.Marked, p.LastHop)
		c.demands(p.Bytes, p.Trimmed)
	}
	if p.Trimmed {
		s.Counts.Trimmed++
		if r.got.has(p.Seq) {
			c.acknowledge(p, true)
			return
		}
		c.answer(refusal, p)
		return
	}
	if p.Marked && c.rate != nil {
		if r.notices.OnMarked(s.kernel.Now(), &s.config.DCQCN) {
			s.Counts.Notified++
			c.answer(notification, p)
		}
	}
	if r.got.has(p.Seq) {
		s.Counts.Duplicates++
		c.acknowledge(p, true)
		return
	}
	if s.goesBack && p.Seq > r.expected {
		s.Counts.Reordered++
		if r.refused != r.expected+1 { // once a gap
			r.refused = r.expected + 1
			c.answer(refusal, p).Seq = r.expected
		}
		return
	}
	first := r.bytes == 0
	r.got.set(p.Seq)
	r.bytes += int64(p.Size)
	r.since += int64(p.Size)
	if p.Seq < r.most {
		s.Counts.Reordered++
	}
	r.most = max(r.most, p.Seq)
	if r.beyond++; p.Seq == r.expected {
		for r.got.has(r.expected) {
			r.expected++
			r.beyond--
		}
		r.got.forget(r.expected)
		for ; r.whole < c.begun && r.expected >= c.messages[r.whole].end; r.whole++ {
			s.fire(s.flows[c.messages[r.whole].flow].Arrives)
		}
	}
	filled := r.owes && r.beyond == 0
	r.owes = r.beyond > 0 && (r.owes || p.Ask)
	if first || p.Marked || p.Ask || filled || r.since >= int64(s.config.AckBytes) {
		c.acknowledge(p, p.Marked || p.Ask)
	}
}

// acknowledge answers a packet; own tells that the map begins with it.
func (c *connection) acknowledge(p *shared.Packet, own bool) {
	r := &c.receiver
	r.since = 0
	a := c.answer(acknowledgement, p)
	a.Cum, a.Bytes, a.Ask = r.expected, r.bytes, own
	base := a.Base()
	word, shift := base>>6, uint(base&63)
	a.Map = r.got.word(word)>>shift | r.got.word(word+1)<<(64-shift)
	c.system.Counts.Acknowledged++
}

// answer sends a control packet about a data packet back, on its entropy.
func (c *connection) answer(kind uint8, p *shared.Packet) *shared.Packet {
	id, a := c.system.control(c.src, 2*c.number+1)
	a.Kind, a.Seq, a.Entropy, a.Again = kind, p.Seq, p.Entropy, p.Again
	a.Marked, a.LastHop = p.Marked, p.LastHop
	if kind == refusal {
		c.system.Counts.Refused++
	}
	c.system.sendControl(c.dst, id)
	return a
}
