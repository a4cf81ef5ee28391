package mpi

import (
	"sync/atomic"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/sim"
)

// message is a point-to-point message under way, also one that makes a connection. It fills a cache
// line.
type message struct {
	from, to       int32
	sendID, recvID int32
	tag            int32
	hop            int32 // the rank that the present transfer goes to: the receiver or a relay
	next           int32 `snap:"-"` // in the free list, or of those that wait for a connection
	transit        int32 `snap:"-"` // of the timeline, + 1; 0: none
	bytes          int64
	ready          sim.Time // early: when it was taken in; queued for a connection: since when
	stage          stage
	protocol       Protocol
	shared         bool `snap:"-"` // through the memory of their node
	segment        collectives.Segment
	open           int32 // sides for which it is not over
	pieces         pieces
}

// stage is what the present transfer of a message is.
type stage uint8

const (
	stageEager   stage = iota
	stageRTS           // request to send
	stageCTS           // clear to send, with the receiver's address
	stageData          // RDMA write
	stageFIN           // tells the receiver that the data are in
	stageTold          // tells the sender so
	stageRequest       // of a connection
	stageReply         // to it
)

func (rt *runtime) newMessage(from int32, op *Op) int32 {
	i := rt.allocate()
	m := rt.messages.At(i)
	*m = message{transit: m.transit}
	m.from, m.to, m.sendID, m.tag, m.bytes, m.protocol, m.open = from, op.Peer, op.ID, op.Tag, op.Size, op.Protocol, 1
	if rt.Timeline != nil {
		l := &rt.Timeline.ranks[from]
		*rt.transit(m) = transit{departure: departure{number: l.messages}}
		l.messages++
	}
	if op.Control {
		rt.stats.Control++
	} else {
		rt.stats.Messages++
		rt.stats.Bytes += op.Size
	}
	if rt.nodeOf[from] == rt.nodeOf[op.Peer] {
		m.shared, m.segment, m.protocol = true, op.Segment, collectives.Eager
		rt.stats.Shared++
		if rt.inOneCopy(m) {
			m.open = 2
		}
		return i
	}
	m.protocol = rt.Protocols.of(op, rt.connect.datagrams)
	if (m.protocol == collectives.Rendezvous || m.protocol == collectives.Read) && rt.connect.proxied(from, op.Peer) {
		m.protocol = collectives.Handshake // data and FIN would have to be kept apart at the relay
	}
	switch m.protocol {
	case collectives.Rendezvous, collectives.Handshake, collectives.Read:
		m.stage, m.open = stageRTS, 2
		rt.stats.Rendezvous++
		rt.stats.Control++
	case collectives.Direct:
		m.stage, m.open = stageData, 2
	}
	if rt.acknowledged(m) {
		m.open = 2
	}
	if rt.Protocols.EagerSegment > 0 {
		rt.cutUp(m)
	}
	return i
}

// acknowledged tells whether the sender of an eager message waits until it has come.
func (rt *runtime) acknowledged(m *message) bool {
	return (rt.Protocols.EagerAcknowledged || rt.Protocols.fromPlace(m.bytes)) && m.stage == stageEager && !m.shared && !rt.connect.datagrams
}

// inOneCopy tells whether the receiver copies a message from the memory of its sender, who waits.
func (rt *runtime) inOneCopy(m *message) bool {
	return m.shared && rt.Protocols.inOneCopy(m.bytes, m.segment)
}

// rateOf is the rate of the copies of a message, in bit/s.
func (rt *runtime) rateOf(m *message) sim.Rate {
	return rt.places.rate(&rt.Config, m.from, m.to, m.bytes, m.shared, m.segment)
}

// isCopied tells whether a side's CPU copies the message: the sender's, unless it is in a segment
// from which it only goes Out, or the receiver's, unless it only goes In.
func (rt *runtime) isCopied(m *message, unless collectives.Segment) bool {
	if m.shared {
		return m.segment != unless && !(unless == collectives.Out && rt.inOneCopy(m))
	}
	if unless == collectives.Out { // the sender's
		return m.stage == stageEager && rt.Protocols.copiesOut(m.bytes)
	}
	return m.stage == stageEager && rt.Protocols.EagerCopies
}

func (rt *runtime) allocate() int32 {
	if i := rt.freeMsg - 1; i >= 0 {
		rt.freeMsg = rt.messages.At(i).next
		return i
	}
	if rt.newMsg == rt.endMsg {
		most := 0
		if len(rt.parts) > 1 {
			most = 1024
		}
		rt.newMsg, rt.endMsg = rt.messages.Take(most)
	}
	rt.newMsg++
	return rt.newMsg - 1
}

// close ends the message for one of its sides, which must not look at it any more.
func (rt *runtime) close(i int32, m *message) {
	var left int32 // sides for which it is not over, which may be in different parts
	if len(rt.parts) > 1 {
		left = atomic.AddInt32(&m.open, -1)
	} else {
		m.open--
		left = m.open
	}
	if left == 0 {
		m.next = rt.freeMsg
		rt.freeMsg = i + 1
	}
}

// leave posts a message of the program, on which the CPU has spent its time.
func (rt *runtime) leave(i int32, now sim.Time) {
	m := rt.messages.At(i)
	from, id, eager, done := m.from, m.sendID, m.stage == stageEager, !rt.acknowledged(m) && !rt.inOneCopy(m)
	if m.pieces.all > 0 {
		if rt.postPiece(i, m, now) {
			rt.ranks[from].posting = i
			return
		}
	} else {
		rt.stage(i, m, now)
	}
	if eager && done {
		rt.done(from, id, now)
	}
}

// stage posts a message when it is made ready, not before earlier ones to the same rank.
func (rt *runtime) stage(i int32, m *message, now sim.Time) {
	at := now
	if rt.Protocols.StagingPage > 0 && !m.shared {
		if m.stage == stageEager && m.pieces.all == 0 {
			at += sim.Time(float64(rt.Protocols.StagingPage) * float64(m.bytes) / 4096)
		}
		key := uint64(m.from)<<32 | uint64(m.to)
		if at = max(at, rt.staged[key]); at > now {
			rt.staged[key] = at
		}
	}
	if at == now {
		rt.post(i, m, now)
		return
	}
	if rt.Timeline != nil {
		rt.transit(m).staged = at - now
	}
	rt.kernel.Schedule(at, rt.handler, evPost, m.from, int64(i))
}

func (m *message) ends() (from, to int32) {
	if m.stage == stageCTS || m.stage == stageTold || m.stage == stageReply {
		return m.to, m.from
	}
	return m.from, m.to
}

// post sends a message's present stage on its way: straight, over a relay, or when a connection is
// ready.
func (rt *runtime) post(i int32, m *message, now sim.Time) {
	from, to := m.ends()
	if m.shared {
		m.hop = to
		if rt.Timeline != nil {
			rt.sends(m, from, m.bytes, true)
		}
		rt.kernel.Schedule(now+rt.places.way(&rt.Config, from, to), rt.handler, evArrive, to, int64(i))
		return
	}
	if hop, ok := rt.connect.route(i, from, to, now); ok {
		rt.transmit(i, m, from, hop)
	} else if rt.Timeline != nil {
		rt.transit(m).staged = 0 // it goes on when the rank has made the connection
	}
}

func (rt *runtime) transmit(i int32, m *message, from, hop int32) {
	if m.hop != hop { // of later pieces the receiver reads it
		m.hop = hop
	}
	bytes := rt.pieceBytes(m, m.pieces.sent)
	if m.stage != stageEager && m.stage != stageData {
		bytes = controlBytes
	}
	a, b := rt.nodeOf[from], rt.nodeOf[hop]
	local := a == b
	if rt.Timeline != nil {
		rt.sends(m, from, bytes, local)
	}
	if local {
		rt.kernel.After(rt.places.way(&rt.Config, from, hop), rt.handler, evArrive, hop, int64(i))
		return
	}
	t := Transfer{ID: i, From: a, To: b, Process: hop, Bytes: bytes}
	t.QP, t.PeerQP = rt.connect.pair(from, hop)
	if m.stage == stageData && m.protocol == collectives.Read {
		t.QP |= hca.Responder
	}
	switch {
	case rt.Protocols.tells(m.protocol) && (m.stage == stageRTS || m.stage == stageTold):
		t.Source = hca.Packed
	case m.stage == stageData && rt.Protocols.RegisterPage > 0:
		t.Source = hca.Registered
	}
	if m.stage == stageData && m.protocol == collectives.Rendezvous {
		t.Quiet = true // the FIN tells the receiver
		rt.transport.Send(t)
		rt.stats.Control++
		m.stage, t.Quiet, t.Source = stageFIN, false, hca.Anywhere
		if rt.Timeline != nil {
			rt.transit(m).bytes += controlBytes
		}
		t.Bytes = controlBytes // behind the data on the same QP
	}
	rt.transport.Send(t)
	if m.pieces.all > 0 {
		for m.pieces.sent++; m.pieces.sent < m.pieces.made; m.pieces.sent++ {
			t.Bytes = rt.pieceBytes(m, m.pieces.sent)
			rt.transport.Send(t)
		}
	}
}

// Written implements Sink: the data of message id are in the receiver's memory at a time.
func (rt *runtime) Written(id int32, at sim.Time) {
	m := rt.messages.At(id)
	if rt.Timeline != nil && m.protocol == collectives.Rendezvous {
		rt.arrives(m, at, true)
	}
	rt.tellSender(id, m, at+rt.Protocols.Acknowledge)
}

// tellSender has the sender of a message learn at a time that it has come.
func (rt *runtime) tellSender(id int32, m *message, at sim.Time) {
	rt.acknowledge(acknowledgement{
		at: at, to: m.from, message: id,
		// For the sender the messages of one operation to one rank are alike: any may be the first.
		key: uint64(uint32(m.sendID))<<31 | uint64(m.to),
	})
}

// Delivered implements Sink: message id's present stage is in the memory of its target node.
func (rt *runtime) Delivered(id int32) {
	if rt.Timeline != nil {
		rt.arrives(rt.messages.At(id), rt.kernel.Now(), false)
	}
	rt.delivered(id)
}

// takes follows a message's arrival: from the transport, through a node's memory, or again where
// there was no receive buffer.
func (rt *runtime) takes(id int32) {
	now := rt.kernel.Now()
	m := rt.messages.At(id)
	if m.stage == stageCTS && m.protocol == collectives.Read { // the adapter answers by itself
		m.stage = stageData
		rt.post(id, m, now)
		return
	}
	if !m.shared && rt.Protocols.LimitBuffers && rt.connect.turnsAway(id, m, now) {
		return
	}
	if m.hop == m.to && (m.stage == stageData && !rt.Protocols.tells(m.protocol) || rt.acknowledged(m)) {
		rt.Written(id, now)
	}
	if !rt.putsOff(m.hop, id) {
		rt.handle(id, m, now)
	}
}

// handle is what the CPU of the process does to which a message was delivered.
func (rt *runtime) handle(id int32, m *message, now sim.Time) {
	if _, to := m.ends(); m.hop != to {
		rt.relay(id, m, now)
		return
	}
	switch m.stage {
	case stageEager, stageRTS:
		rt.arrive(id, m, now)
	case stageCTS:
		m.stage = stageData
		at := rt.takeIn(m.from, m, now, rt.Protocols.RecvOverhead+rt.Protocols.SendOverhead, Sending, id)
		rt.kernel.Schedule(at, rt.handler, evPost, m.from, int64(id))
	case stageData:
		if m.protocol == collectives.Handshake || m.protocol == collectives.Read {
			rt.took(id, m, rt.occupy(m.to, now, rt.Protocols.PollOverhead+rt.noise.call(m.to), Receiving, id))
		} else {
			rt.arrive(id, m, now)
		}
	case stageTold:
		rt.written(id, rt.takeIn(m.from, m, now, rt.Protocols.RecvOverhead, Sending, id))
	case stageFIN:
		rt.complete(id, m, rt.takeIn(m.to, m, now, rt.Protocols.RecvOverhead, Receiving, id))
	default:
		rt.connect.arrive(id, now)
	}
}

// takeIn spends r's CPU time on a message in a receive buffer, and posts the buffer again.
func (rt *runtime) takeIn(r int32, m *message, now, t sim.Time, what What, id int32) sim.Time {
	at := rt.occupy(r, now, t+rt.noise.call(r), what, id)
	rt.putBuffer(m, at)
	return at
}

// putBuffer posts the receive buffer of a message again, if it had one.
func (rt *runtime) putBuffer(m *message, at sim.Time) {
	if !m.shared {
		rt.connect.putBuffer(m, at)
	}
}

// relay passes a message on: the relay's CPU takes it in and posts it again.
func (rt *runtime) relay(id int32, m *message, now sim.Time) {
	rt.stats.Relayed++
	t := rt.Protocols.RecvOverhead + rt.Protocols.SendOverhead + rt.noise.call(m.hop)
	if m.stage == stageEager || m.stage == stageData {
		if rt.copyMessage(m.hop, now, t, m.bytes, m, thenRelay, id) {
			return
		}
		t += rt.ranks[m.hop].copies(copyTime(m.bytes, rt.rateOf(m)))
	}
	rt.passOn(id, m, rt.occupy(m.hop, now, t, Relaying, id))
}

// passOn is the rest of relay, when the CPU is through at time at.
func (rt *runtime) passOn(id int32, m *message, at sim.Time) {
	if m.stage != stageData {
		rt.putBuffer(m, at)
	}
	rt.kernel.Schedule(at, rt.handler, evRelay, m.hop, int64(id))
}

// arrive matches a message that was not cleared: eager data, a request to send, a direct write.
func (rt *runtime) arrive(id int32, m *message, now sim.Time) {
	ok := rt.finds(m)
	var at sim.Time
	overhead, bytes := rt.places.fetch(&rt.Config, m.from, m.to, m.bytes, m.shared), rt.pieceBytes(m, m.pieces.taken)
	if m.pieces.taken > 0 {
		overhead = rt.Protocols.SegmentOverhead
	}
	switch {
	case !ok && rt.inOneCopy(m): // what comes is where the message lies
		at = rt.takeIn(m.to, m, now, overhead, Receiving, id)
	case m.stage == stageData:
		at = rt.occupy(m.to, now, rt.Protocols.PollOverhead+rt.noise.call(m.to), Receiving, id)
	case rt.isCopied(m, collectives.In):
		then := thenMatched
		if !ok {
			then = thenEarly
		}
		call := overhead + rt.noise.call(m.to) + rt.reach(m)
		if rt.copyMessage(m.to, now, call, bytes, m, then, id) {
			return
		}
		at = rt.occupy(m.to, now, call+rt.ranks[m.to].copies(copyTime(bytes, rt.rateOf(m))), Receiving, id)
		rt.putBuffer(m, at)
	default:
		at = rt.takeIn(m.to, m, now, overhead, Receiving, id)
	}
	rt.taken(id, m, ok, at)
}

// taken is the rest of arrive, when the message is taken in at time at.
func (rt *runtime) taken(id int32, m *message, matched bool, at sim.Time) {
	if m.pieces.all > 0 {
		if m.pieces.taken++; m.pieces.taken > 1 && !matched || m.pieces.taken < m.pieces.all && matched {
			m.ready = at
			return
		}
	}
	switch {
	case !matched:
		m.ready = at
		rt.match.add(&rt.ranks[m.to].early, m.from, m.tag, id)
	case m.stage == stageRTS:
		rt.clear(id, m, at)
	default:
		rt.complete(id, m, at)
	}
}

// receive posts a receive of r at time now, or matches it with an early message.
func (rt *runtime) receive(r int32, op *Op, now sim.Time) {
	q := &rt.ranks[r]
	early, ok := rt.match.take(&q.early, op.Peer, op.Tag)
	if !ok {
		rt.keepRecv(rt.match.add(&q.posted, op.Peer, op.Tag, op.ID), op.Size)
		return
	}
	m := rt.messages.At(early)
	m.recvID = op.ID
	rt.checkLength(m, op.Size)
	switch {
	case m.stage == stageRTS:
		rt.clear(early, m, max(now, m.ready))
	case rt.isCopied(m, collectives.In): // out of the unexpected queue
		start, bytes := max(now, m.ready), rt.inMemory(m)
		if !rt.copyMessage(r, start, rt.reach(m), bytes, m, thenUnpacked, early) {
			rt.unpacked(early, m, rt.occupy(r, start, rt.reach(m)+rt.ranks[r].copies(copyTime(bytes, rt.rateOf(m))), Receiving, early))
		}
	default:
		rt.complete(early, m, max(now, m.ready))
	}
}

// clear answers a request to send that is matched.
func (rt *runtime) clear(id int32, m *message, at sim.Time) {
	m.stage = stageCTS
	rt.stats.Control++
	post := rt.Protocols.SendOverhead
	if m.protocol == collectives.Read {
		post = rt.Protocols.ReadOverhead
	}
	at = rt.occupy(m.to, at, post+rt.Protocols.register(m.bytes)+rt.noise.call(m.to), Receiving, id)
	rt.kernel.Schedule(at, rt.handler, evPost, m.to, int64(id))
}

// took ends a message that the receiver has read at time at, and tells a sender whose CPU waits.
func (rt *runtime) took(id int32, m *message, at sim.Time) {
	tells, to := rt.Protocols.tells(m.protocol), m.to
	rt.complete(id, m, at)
	if tells {
		m.stage = stageTold
		rt.stats.Control++
		at = rt.occupy(to, at, rt.Protocols.SendOverhead+rt.Protocols.BufferTime+rt.noise.call(to), Receiving, id)
		rt.kernel.Schedule(at, rt.handler, evPost, to, int64(id))
	}
}

// reach is the time for getting at the memory of a message's sender.
func (rt *runtime) reach(m *message) sim.Time {
	if rt.inOneCopy(m) {
		return rt.Protocols.SingleCopyTime
	}
	return 0
}

func (rt *runtime) complete(id int32, m *message, at sim.Time) {
	to, recvID := m.to, m.recvID
	if rt.inOneCopy(m) {
		rt.tellSender(id, m, at+rt.places.way(&rt.Config, to, m.from))
	}
	rt.close(id, m)
	rt.done(to, recvID, at)
}

// written ends a message for its sender, who did not copy it.
func (rt *runtime) written(id int32, now sim.Time) {
	m := rt.messages.At(id)
	from, sendID := m.from, m.sendID
	at := max(now, rt.ranks[from].cpu)
	if rt.Timeline != nil {
		rt.completed(id, m, at)
	}
	rt.close(id, m)
	rt.done(from, sendID, at)
}
