package transport

import (
	"math/bits"
	"slices"

	"github.com/weft-sim/weft/fabric/congestion"
	"github.com/weft-sim/weft/fabric/shared"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// Kinds of packets.
const (
	data = iota
	acknowledgement
	refusal // a negative acknowledgement of a trimmed packet
	pull
	request      // to send: for a credit or a window that is used up
	notification // of congestion: RoCE's CNP
)

// record is a packet of a connection that has been sent, at its sender.
type record struct {
	sent  int64 // ps, last
	size  int32
	times uint8 // sent
	state uint8
}

// States of a record.
const (
	outstanding = iota
	lost        // waits to be sent again
	done
)

// message is a flow's part of a connection's packets.
type message struct {
	flow int32
	end  int32 // packet behind its last
	last int32 // bytes of its last packet; all others are full
}

// connection carries flows from one terminal to another: its sender, and its receiver. What each packet needs stands
// together, in cache lines of 64 bytes: the first five are the sender's, the next two the receiver's.
type connection struct {
	system   *System
	number   int32
	src, dst topology.TerminalID
	active   bool    // in the round robin of its terminal
	packets  int32   // of the flows that have begun
	next     int32   // to be sent for the first time
	cum      int32   // all below have arrived
	again    []int32 // lost

	messages []message
	unsent   int   // message that next is of
	backlog  int64 // bytes on the wire that have not been sent, or are lost
	inFlight int64
	window   *congestion.NSCCWindow
	constant int64 // window; 0: none

	rate     *congestion.ReactionPoint
	records  sim.FIFO[record] // of packets in flight, from cum to next
	awaited  int              // of records, outstanding
	timerAt  int64            // pending event; 0: none
	received int64            // at the receiver, as far as is known

	order  sim.FIFO[sending] // outstanding, in order of sending, where packets can be late
	credit creditSender
	open   int // first message that has not ended

	spray     spraying
	begun     int   // messages that have begun, which stand first
	requested int64 // last request
	rateAt    int64 // when a packet may go
	rateEvent bool  // is pending

	receiver receiver
}

type sending struct {
	seq int32
	at  int64
}

// PacketsOf is the number of packets of a flow of so many bytes, and the bytes of the last on the wire.
func (c *Config) PacketsOf(bytes int64) (packets, last int64) {
	payload := int64(c.Packet - c.Header)
	packets = max(1, (bytes-1)/payload+1)
	return packets, bytes - (packets-1)*payload + int64(c.Header)
}

// add appends a flow's packets.
func (c *connection) add(flow int32, bytes int64) {
	packets, last := c.system.config.PacketsOf(bytes)
	c.packets += int32(packets)
	for i := range c.messages {
		if c.messages[i].flow == flow {
			c.messages[i], c.messages[c.begun] = c.messages[c.begun], message{flow, c.packets, int32(last)}
			c.begun++
			break
		}
	}
	c.backlog += (packets-1)*c.system.timing.Packet + last
}

// record finds what is kept of a packet that has been sent; nil: all up to it have arrived.
func (c *connection) record(seq int32) *record {
	if seq < c.cum || seq >= c.next {
		return nil
	}
	return c.records.At(int(seq - c.cum))
}

// size is how many bytes the packet to be sent next has; 0: there is none.
func (c *connection) size() int64 {
	for len(c.again) > 0 {
		if r := c.record(c.again[0]); r != nil && r.state == lost {
			return int64(r.size)
		}
		c.again = c.again[1:]
	}
	switch {
	case c.next == c.packets:
		return 0
	case c.next+1 == c.messages[c.unsent].end:
		return int64(c.messages[c.unsent].last)
	}
	return c.system.timing.Packet
}

// may tells whether the next packet may go.
func (c *connection) may() bool {
	size := c.size()
	return size > 0 && c.allows(size)
}

func (c *connection) allows(size int64) bool {
	switch {
	case c.window != nil && c.inFlight+size > c.window.Window(),
		c.constant > 0 && c.inFlight+size > c.constant,
		c.system.config.hasCredit() && c.credit.bytes <= 0,
		c.rate != nil && c.rateAt > int64(c.system.kernel.Now()):
		return false
	}
	return true
}

// send makes the next packet, which is of so many bytes.
func (c *connection) send(size int64) int32 {
	s, now := c.system, int64(c.system.kernel.Now())
	seq := c.next
	if len(c.again) > 0 {
		seq = c.again[0]
		c.again = c.again[1:]
	} else {
		c.records.Put(record{size: int32(size)})
		if c.next++; c.next == c.messages[c.unsent].end {
			c.unsent++
		}
	}
	r := c.record(seq)
	id, p := s.net.Take()
	p.Size, p.Dst, p.Flow = int32(size), c.dst, 2*c.number
	p.Kind, p.Seq, p.Again = data, seq, r.times > 0
	p.Entropy = c.spray.next(now)
	c.inFlight += size
	p.Ask = r.times > 0 || len(c.again) == 0 && c.next == c.packets ||
		c.window != nil && c.inFlight+s.timing.Packet >= c.window.Window() || c.constant > 0 && c.inFlight+s.timing.Packet >= c.constant
	c.backlog -= size
	if s.config.hasCredit() {
		c.credit.bytes -= size
		p.Ask = p.Ask || c.credit.bytes <= 0
		p.Bytes = c.target()
	}
	if c.rate != nil {
		c.rateAt = now + int64(c.rate.OnSent(sim.Time(now), size))
	}
	s.Counts.Sent++
	if r.times > 0 {
		s.Counts.Again++
	}
	r.state, r.sent, r.times = outstanding, now, min(r.times+1, 200)
	c.awaited++
	if s.timing.timeout > 0 {
		c.order.Put(sending{seq, now})
		if c.timerAt == 0 {
			c.setTimer(now + s.timing.timeout)
		}
	}
	return id
}

// goOn has the terminal send, if the connection may.
func (c *connection) goOn() {
	s := c.system
	h := &s.hosts[c.src]
	switch {
	case c.active:
	case c.may():
		c.active = true
		h.active.Put(c.number)
		s.net.Wake(c.src)
	case c.rate != nil && !c.rateEvent && c.size() > 0:
		c.rateEvent = true
		s.kernel.Schedule(sim.Time(c.rateAt), s.id, rateEvent, c.number, 0)
	case c.timerAt == 0 && s.timing.timeout > 0 && c.wantsCredit():
		c.setTimer(int64(s.kernel.Now()) + s.timing.timeout)
	}
}

// roundTrip is what an answer to a packet shows of it, in ps; 0: nothing, since it is not known which
// transmission is answered (Karn and Partridge, SIGCOMM 1987).
func (r *record) roundTrip(p *shared.Packet, now int64) int64 {
	if r == nil {
		return 0
	}
	if r.state == outstanding && (r.times == 1 || r.times == 2 && p.Again) {
		return now - r.sent
	}
	return 0
}

// answered takes an acknowledgement or a refusal.
func (c *connection) answered(p *shared.Packet) {
	now, s := int64(c.system.kernel.Now()), c.system
	r := c.record(p.Seq)
	rtt := r.roundTrip(p, now)
	c.credit.speculates(false)
	if p.Kind == refusal {
		c.refused(p, r, rtt, now)
		return
	}
	bytes := max(p.Bytes-c.received, 0)
	c.received += bytes
	c.inFlight = max(c.inFlight-bytes, 0)
	for ; c.cum < p.Cum; c.cum++ {
		c.arrived(c.records.At(0))
		c.records.Take()
	}
	for base, m := p.Base(), p.Map; m != 0; m &= m - 1 {
		if r := c.record(base + int32(bits.TrailingZeros64(m))); r != nil {
			c.arrived(r)
		}
	}
	if c.window != nil {
		c.window.OnAck(sim.Time(now), sim.Time(rtt), p.Marked, bytes, c.inFlight)
	}
	signal := pathGood
	if p.Marked {
		signal = pathMarked
	}
	c.spray.heard(p.Entropy, signal)
	for c.open < c.begun && c.cum >= c.messages[c.open].end && (!s.config.Share || c.cum == c.packets) {
		s.ended(c.messages[c.open].flow)
		c.open++
	}
	c.goOn()
}

// arrived notes that a packet has reached the receiver.
func (c *connection) arrived(r *record) {
	switch r.state {
	case outstanding:
		c.settle()
	case lost:
		c.backlog -= int64(r.size)
	}
	r.state = done
}

// settle takes a packet from those that are outstanding. Behind the last one nothing is in flight,
// although packets that were counted as received and taken for lost until then were sent again.
func (c *connection) settle() {
	if c.awaited--; c.awaited == 0 {
		c.inFlight = 0
	}
}

// refused takes a refusal.
func (c *connection) refused(p *shared.Packet, r *record, rtt, now int64) {
	switch {
	case c.system.goesBack:
		c.goBack(p.Seq)
	case r != nil && r.state == outstanding:
		c.lose(p.Seq)
		if c.window != nil {
			c.window.OnNack(sim.Time(now), sim.Time(rtt), int64(r.size), p.LastHop, c.inFlight+int64(r.size))
		}
	}
	signal := pathTrimmed
	if p.LastHop {
		signal = pathTrimmedLast
	}
	c.spray.heard(p.Entropy, signal)
	c.goOn()
}

// goBack has all packets from one on sent again.
func (c *connection) goBack(seq int32) {
	for i := max(seq, c.cum); i < c.next; i++ {
		if c.record(i).state == outstanding {
			c.lose(i)
		}
	}
	slices.Sort(c.again)
}

// lose has a packet sent again.
func (c *connection) lose(seq int32) {
	r := c.record(seq)
	r.state = lost
	c.inFlight = max(c.inFlight-int64(r.size), 0)
	c.settle()
	c.backlog += int64(r.size)
	c.again = append(c.again, seq)
	if t := c.system.timing.timeout; c.timerAt == 0 && t > 0 {
		c.setTimer(int64(c.system.kernel.Now()) + t)
	}
}

func (c *connection) setTimer(at int64) {
	c.timerAt = at
	c.system.kernel.Schedule(sim.Time(at), c.system.id, timerEvent, c.number, 0)
}

// timer is the retransmission timer, on the packet sent longest ago that is outstanding.
func (c *connection) timer() {
	now, s := int64(c.system.kernel.Now()), c.system
	c.timerAt = 0
	for c.order.Len() > 0 {
		o := *c.order.At(0)
		r := c.record(o.seq)
		stale := r == nil || r.state != outstanding || r.sent != o.at
		if due := o.at + s.timing.timeout; !stale && due > now {
			c.setTimer(due)
			break
		}
		if c.order.Take(); stale {
			continue
		}
		s.Counts.Timeouts++
		if c.lose(o.seq); s.goesBack {
			c.goBack(o.seq)
		}
		c.spray.expired(now)
		if c.window != nil {
			c.window.OnTimeout(int64(r.size))
		}
		if others := len(c.again) > 1; (others || !c.allows(int64(r.size))) && now-c.requested >= s.timing.RTT {
			c.request(now)
		}
		c.goOn()
	}
	if size := c.size(); size > 0 && !c.allows(size) && (len(c.again) > 0 || c.wantsCredit()) {
		// The pull that it waits for may be a turn still to come, or lost: its sender cannot tell. (htsim's asks again only
		// for what was lost, and waits in debt until its receiver has no other work.)
		if s.config.hasCredit() && now-c.requested >= s.timing.timeout {
			c.request(now)
		}
		if c.timerAt == 0 {
			c.setTimer(now + s.timing.timeout)
		}
	}
}

// spraying chooses the entropies of a connection's packets, below n, a power of 2.
type spraying struct {
	n        uint32
	turn, by uint32 // index, and what it is mixed with
	upper    uint16 // of all entropies
	stream   sim.Stream
	penalty  []uint8          // by entropy; nil unless bitmap
	good     sim.FIFO[uint16] // entropies of unmarked acknowledgements
	reps     bool
	recycles bool
	frozen   int64 // reps: until
}

const (
	mostPenalty   = 15
	repsRing      = 8
	repsFrozenFor = 10_000_000_000 // ps
)

func newSpraying(kind string, n int, seed uint64, connection int) spraying {
	s := spraying{n: uint32(n), stream: sim.NewStream(seed, "spraying", connection)}
	x := s.stream.Uint64()
	s.by, s.upper = uint32(x)&(s.n-1), uint16(x>>32)&^uint16(n-1)
	switch kind {
	case "single":
		s.n = 1
		s.upper = uint16(x >> 32)
	case "bitmap":
		s.penalty = make([]uint8, n)
	case "reps":
		s.reps, s.recycles = true, true
	case "mixed":
		s.penalty, s.recycles = make([]uint8, n), true
	}
	return s
}

// next is the entropy of the next packet.
func (s *spraying) next(now int64) uint16 {
	if s.n == 1 {
		return s.upper
	}
	if s.good.Len() > 0 {
		e := s.good.Take()
		if s.reps && now < s.frozen {
			s.good.Put(e)
		}
		return e
	}
	if s.reps {
		return s.upper | uint16(s.stream.IntN(int(s.n)))
	}
	e := s.inTurn()
	if s.penalty == nil {
		return s.upper | uint16(e)
	}
	lowered := false
	for range s.n {
		if s.penalty[e] == 0 {
			break
		}
		if !lowered {
			s.penalty[e]--
			lowered = true
		}
		e = s.inTurn()
	}
	return s.upper | uint16(e)
}

func (s *spraying) inTurn() uint32 {
	e := s.turn ^ s.by
	if s.turn++; s.turn == s.n {
		s.turn, s.by = 0, uint32(s.stream.Uint64())&(s.n-1)
	}
	return e
}

// Signals that come back about an entropy.
const (
	pathGood = iota
	pathMarked
	pathTrimmed
	pathTrimmedLast // at the queue to the terminal, which no other path avoids
)

func (s *spraying) heard(entropy uint16, signal int) {
	if s.n == 1 {
		return
	}
	if s.penalty != nil {
		p := &s.penalty[uint32(entropy)&(s.n-1)]
		switch signal {
		case pathMarked:
			*p = min(*p+1, mostPenalty)
		case pathTrimmed:
			*p = min(*p+4, mostPenalty)
		}
	}
	if s.recycles && (signal == pathGood || signal == pathTrimmedLast) {
		if s.reps && s.good.Len() >= repsRing {
			s.good.Take()
		}
		s.good.Put(entropy)
	}
}

// expired takes a timeout, which tells nothing of an entropy.
func (s *spraying) expired(now int64) {
	if s.penalty != nil {
		s.penalty[0] = mostPenalty
	}
	if s.reps {
		s.frozen = now + repsFrozenFor
	}
}
