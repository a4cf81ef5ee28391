package mpi

import (
	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/sim/snapshot"
)

// messages archives the messages that there are, by their numbers, and which numbers are
// free. Messages keep their numbers: the transport may serve them in the order of those,
// which is why a run in one part gives them out in the same order afterwards, too.
func (x *archiver) messages() {
	x.Mark("messages")
	var free, live []int32
	var fresh []span
	if !x.Reading() {
		free, fresh, live = x.numbers()
	}
	snapshot.List(x.Archive, &free, snapshot.Int)
	snapshot.List(x.Archive, &fresh, func(a *snapshot.Archive, s *span) {
		snapshot.Int(a, &s.first)
		snapshot.Int(a, &s.end)
	})
	snapshot.List(x.Archive, &live, snapshot.Int)
	if x.Reading() && !x.handOut(free, fresh, live) {
		return
	}
	for _, id := range live {
		x.message(x.all.messages.At(id))
	}
}

// span is the numbers from first on and below end.
type span struct{ first, end int32 }

// numbers are those of messages that are free, in the order in which they will be used, of
// those that nobody had, and of those in use, in ascending order.
func (x *archiver) numbers() (free []int32, fresh []span, live []int32) {
	out := make([]bool, x.all.messages.Used())
	for _, rt := range x.parts {
		if rt.newMsg < rt.endMsg {
			fresh = append(fresh, span{rt.newMsg, rt.endMsg})
		}
		for i := rt.freeMsg - 1; i >= 0; i = x.all.messages.At(i).next - 1 {
			free, out[i] = append(free, i), true
		}
		for i := rt.newMsg; i < rt.endMsg; i++ {
			out[i] = true
		}
	}
	for i := range out {
		if !out[i] {
			live = append(live, int32(i))
		}
	}
	return free, fresh, live
}

// handOut gives the numbers that have been read to the parts; false if they are not all
// from 0 on, each once.
func (x *archiver) handOut(free []int32, fresh []span, live []int32) bool {
	all := int64(len(free) + len(live))
	most := 2*all + 64 + 1024*int64(len(fresh)) // what is taken at once
	for _, s := range fresh {
		x.Check(s.first >= 0 && s.first < s.end, "message numbers %d to %d are free", s.first, s.end)
		all += int64(s.end) - int64(s.first)
	}
	x.Check(all <= most, "%d numbers of messages", all)
	if x.Err() != nil {
		return false
	}
	seen := make([]bool, all)
	see := func(id int32) bool {
		ok := id >= 0 && int64(id) < all && !seen[id]
		if x.Check(ok, "message %d of %d is there twice", id, all); ok {
			seen[id] = true
		}
		return ok
	}
	for _, ids := range [][]int32{free, live} {
		for _, id := range ids {
			if !see(id) {
				return false
			}
		}
	}
	for _, s := range fresh {
		for id := s.first; id < s.end; id++ {
			if !see(id) {
				return false
			}
		}
	}
	x.all.messages.Reserve(int32(all))
	for i, s := range fresh {
		if rt := x.parts[i%len(x.parts)]; i < len(x.parts) {
			rt.newMsg, rt.endMsg = s.first, s.end
		} else {
			for id := s.first; id < s.end; id++ {
				free = append(free, id)
			}
		}
	}
	for i := len(free) - 1; i >= 0; i-- {
		rt := x.parts[i%len(x.parts)]
		x.all.messages.At(free[i]).next = rt.freeMsg
		rt.freeMsg = free[i] + 1
	}
	x.sightings = make([]sighting, all)
	for _, id := range live {
		x.sightings[id].live = true
	}
	return true
}

// message archives what is known of a message. Whether it is shared follows, and the next
// one of a list is where the list is.
func (x *archiver) message(m *message) {
	a := x.Archive
	for _, rank := range []*int32{&m.from, &m.to, &m.hop} {
		snapshot.Int(a, rank)
		x.Check(x.isRank(*rank), "a message of rank %d", *rank)
	}
	snapshot.Int(a, &m.sendID)
	snapshot.Int(a, &m.recvID)
	snapshot.Int(a, &m.tag)
	snapshot.Int(a, &m.bytes)
	snapshot.Int(a, &m.ready)
	snapshot.Int(a, &m.stage)
	snapshot.Int(a, &m.protocol)
	snapshot.Int(a, &m.segment)
	snapshot.Int(a, &m.open)
	if !x.Reading() || x.Err() != nil {
		return
	}
	m.shared = x.all.nodeOf[m.from] == x.all.nodeOf[m.to]
	x.Check(m.bytes >= 0 && m.bytes <= maxMessage && m.ready >= 0 && m.ready <= latest, "a message of %d B at %d ps", m.bytes, int64(m.ready))
	x.Check(m.segment <= collectives.Out && m.stage <= stageReply && m.travels(), "a message by protocol %d in stage %d", m.protocol, m.stage)
}

// travels tells whether a message can be in its stage by its protocol.
func (m *message) travels() bool {
	if m.shared && m.stage != stageEager {
		return false
	}
	switch m.protocol {
	case collectives.Auto:
		return m.stage >= stageRequest
	case collectives.Eager:
		return m.stage == stageEager
	case collectives.Rendezvous:
		return m.stage >= stageRTS && m.stage <= stageFIN
	case collectives.Handshake:
		return m.stage >= stageRTS && m.stage <= stageData
	case collectives.Direct:
		return m.stage == stageData
	}
	return false
}

func (x *archiver) isRank(r int32) bool { return r >= 0 && int(r) < len(x.all.ranks) }
