package mpi

import (
	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/sim"
)

// ledger notes, while a state is read, where messages and operations have been found: each
// must be where it can be, once. So what a damaged state leads to is an error, and not two
// ends of one message.
type ledger struct {
	sightings []sighting // by message
	steps     []uint8    // events of the end of CPU work, by rank
	moves     []uint8    // events of a copy, by rank
	underway  []Underway // operations
	ends      []bool     // by domain: its event that is not void
}

// sighting is what is known of a message.
type sighting struct {
	live    bool
	at      place
	main    uint8 // the times that it was found, but for its writing
	written uint8 // those that the end of its RDMA write was, for its sender
}

// place is where a message is found.
type place uint8

const (
	travelling place = iota // to be posted, on its way, or waiting for a connection
	posting                 // its sender's CPU is at work on it
	delivered               // to the rank that it is for, and not yet matched
	matching                // its receiver copies it, for a receive
	copiedOnly              // somebody copies it, for no receive
)

// see notes that a message is in a place. It fails, and returns false, where it cannot be.
func (x *archiver) see(id int32, at place) bool {
	ok := id >= 0 && int(id) < len(x.sightings) && x.sightings[id].live && x.sightings[id].main == 0
	if x.Check(ok, "message %d is not where it can be", id); !ok || x.Err() != nil {
		return false
	}
	s := &x.sightings[id]
	s.main, s.at = 1, at
	return true
}

// seeWritten is see for the end of a message's RDMA write.
func (x *archiver) seeWritten(id int32) bool {
	ok := id >= 0 && int(id) < len(x.sightings) && x.sightings[id].live && x.sightings[id].written == 0
	if x.Check(ok, "message %d cannot have been written", id); !ok || x.Err() != nil {
		return false
	}
	x.sightings[id].written = 1
	return true
}

// Transfer implements [Known].
func (x *archiver) Transfer(id, to int32, quiet bool) bool {
	if quiet {
		if !x.seeWritten(id) {
			return false
		}
	} else if !x.see(id, travelling) {
		return false
	}
	m := x.all.messages.At(id)
	return (to < 0 || x.all.nodeOf[m.hop] == to) && (!quiet || m.stage == stageFIN)
}

// Process implements [Known].
func (x *archiver) Process(rank, node int32) bool {
	return x.isRank(rank) && (node < 0 || x.all.nodeOf[rank] == node)
}

// fits checks all that has been read against each other, and lists the operations that are
// under way.
func (x *archiver) fits() {
	for id := range x.sightings {
		if s := &x.sightings[id]; s.live {
			m := x.all.messages.At(int32(id))
			x.Check(m.fits(s), "message %d in stage %d is %d and %d times in place %d, and open for %d sides", id, m.stage, s.main, s.written, s.at, m.open)
			x.operations(m, s)
		}
	}
	for r := range x.all.ranks {
		q := &x.all.ranks[r]
		var c copier
		if x.all.parts[0].copies != nil {
			c = x.all.parts[0].copies.ranks[r]
		}
		goesOn := c.held && (c.stepped || c.then <= thenWorked) // with its queue, behind the copy
		x.Check((x.steps[r] == 1) == (q.stepping && !goesOn) && x.steps[r] <= 1, "rank %d works: %v, and has %d ends of that", r, q.stepping, x.steps[r])
		x.Check((x.moves[r] == 1) == c.held && x.moves[r] <= 1, "rank %d copies: %v, and has %d ends of that", r, c.held, x.moves[r])
		leaves := c.held && c.then == thenLeave
		x.Check(q.posting < 0 || x.steps[r] == 1 || leaves, "rank %d posts a message without an end", r)
		x.Check(q.posting >= 0 || !leaves, "rank %d copies a message that there is not", r)
	}
	for i, has := range x.ends {
		x.Check(has == (len(x.all.parts[0].copies.memory.domains[i].copies) > 0), "memory domain %d has an end of its copies: %v", i, has)
	}
}

// fits tells whether a message is where it is by its stage.
func (m *message) fits(s *sighting) bool {
	type found struct {
		main, written uint8
		open          int32
	}
	has := found{s.main, s.written, m.open}
	oneSide, both := has == found{1, 0, 1}, has == found{1, 0, 2}
	switch {
	case m.stage == stageEager || m.stage >= stageRequest:
		return oneSide
	case s.at == matching || s.at == copiedOnly:
		return both && m.stage == stageData && s.at == copiedOnly // by a relay
	case m.stage == stageRTS || m.stage == stageCTS:
		return both
	case has == found{0, 1, 1}: // received
		return true
	case m.stage == stageFIN || s.at == delivered:
		return has == found{1, 1, 2} || oneSide
	}
	return both // data on their way
}

// operations lists what a message will end.
func (x *archiver) operations(m *message, s *sighting) {
	sends, receives := false, false
	switch {
	case m.stage == stageEager:
		sends, receives = s.at == posting, s.at == matching
	case m.stage >= stageRequest:
	case m.stage == stageRTS:
		sends = true
	default:
		sends = m.open == 2 || s.main == 0
		receives = s.main == 1 && m.protocol != collectives.Direct
	}
	if m.stage < stageRequest {
		x.underway = append(x.underway, Underway{m.from, m.sendID, !sends})
	}
	if receives {
		x.underway = append(x.underway, Underway{m.to, m.recvID, false})
	}
}

// event archives an event's argument and tells its part.
func (x *archiver) event(e *sim.Event, stater Stater) (part int) {
	first := x.all.parts[0]
	switch {
	case e.Handler == first.handler:
		return x.own(e)
	case first.copies != nil && e.Handler == first.copies.memory.handler:
		return x.domainEvent(e)
	}
	part = stater.Event(x.Archive, e)
	x.Check(part >= 0 && part < len(x.parts), "an event of part %d", part)
	return part
}
