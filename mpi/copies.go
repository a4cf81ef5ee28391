package mpi

import (
	"github.com/weft-sim/weft/sim"
)

// Without a limit to a node's memory the end of a copy is known when it begins,
// and the CPU is booked until then. With one it is not: the CPU is held from the
// booking until the memory reports the end, what comes for the process meanwhile
// is put off, and the rest of what the copy was part of follows then.

// copies is what the runtime keeps for memory that is shared; nil without.
type copies struct {
	memory *memory
	ranks  []copier
}

// copier is a rank's CPU as it copies.
type copier struct {
	held    bool
	stepped bool // the queue of operations waits for the CPU
	then    afterCopy
	id      int32 // of the message or the operation that the copy is for
	began   sim.Time
	bytes   float64
	most    float64 // bytes a picosecond
	late    []int32 // put off: messages that want to be taken in; ^ those that are written
}

// afterCopy is what follows a copy.
type afterCopy uint8

const (
	thenLeave    afterCopy = iota // the message that the CPU works on leaves
	thenWorked                    // operation id of the schedule is done
	thenMatched                   // message id, whose receive was there, is taken in
	thenEarly                     // message id, whose receive was not, is
	thenUnpacked                  // message id is where its receive wants it
	thenRelay                     // message id is passed on
)

func newCopies(rt *runtime, nodes int) *copies {
	if rt.Memory.Bandwidth == 0 {
		return nil
	}
	if first := rt.parts[0].copies; first != nil {
		return &copies{first.memory.of(rt.kernel, rt.moved), first.ranks}
	}
	return &copies{newMemory(rt.kernel, &rt.Memory, rt.nodeOf, nodes, rt.moved), make([]copier, len(rt.ranks))}
}

// held tells whether the CPU of r copies, or is booked for a copy.
func (rt *runtime) held(r int32) bool { return rt.copies != nil && rt.copies.ranks[r].held }

// copy books the CPU of r for a time, from start or from when it is free, and for
// copying bytes after it, at most at a rate in bytes a picosecond; then follows. It
// returns false, and does nothing, where the end can be told at once.
func (rt *runtime) copy(r int32, start, fixed sim.Time, bytes, most float64, then afterCopy, id int32) bool {
	if rt.copies == nil || bytes <= 0 {
		return false
	}
	c := &rt.copies.ranks[r]
	if c.held {
		panic("mpi: a second copy of a CPU")
	}
	c.held, c.then, c.id, c.bytes, c.most = true, then, id, bytes, most
	rt.kernel.Schedule(rt.occupy(r, start, fixed), rt.handler, evCopy, r, messageAndPeer(-1, 0))
	return true
}

// copyMessage is copy for the bytes of a message.
func (rt *runtime) copyMessage(r int32, start, fixed sim.Time, bytes int64, then afterCopy, id int32) bool {
	return rt.copy(r, start, fixed, float64(bytes), bytesPerPicosecond(rt.Protocols.CopyRate), then, id)
}

// beginCopy is the end of the time that was booked before a copy.
func (rt *runtime) beginCopy(r int32, now sim.Time) {
	c := &rt.copies.ranks[r]
	c.began = now
	rt.copies.memory.copy(r, c.bytes, c.most)
}

// moved is told that a copy of r is in place. If a daemon had the CPU meanwhile,
// the copy is over so much later.
func (rt *runtime) moved(r int32) {
	c := &rt.copies.ranks[r]
	now := rt.kernel.Now()
	if end := rt.noise.end(r, c.began, now-c.began); end > now {
		rt.kernel.Schedule(end, rt.handler, evCopied, r, messageAndPeer(-1, 0))
		return
	}
	rt.copied(r, now)
}

// copied goes on after a copy: with what it was part of, with messages that were
// put off, with the queue of operations.
func (rt *runtime) copied(r int32, now sim.Time) {
	c, q := &rt.copies.ranks[r], &rt.ranks[r]
	c.held = false
	q.busy += q.copies(now - c.began)
	q.cpu = max(q.cpu, now)
	switch c.then {
	case thenLeave:
		c.stepped = true
		m := q.posting
		q.posting = -1
		rt.leave(m, now)
	case thenWorked:
		c.stepped = true
		rt.done(r, c.id, now)
	case thenMatched, thenEarly:
		m := rt.messages.At(c.id)
		rt.putBuffer(m, now)
		rt.taken(c.id, m, c.then == thenMatched, now)
	case thenUnpacked:
		rt.complete(c.id, rt.messages.At(c.id), now)
	case thenRelay:
		rt.passOn(c.id, rt.messages.At(c.id), now)
	}
	for len(c.late) > 0 && !c.held {
		id := c.late[0]
		if c.late = c.late[1:]; id < 0 {
			rt.written(^id, now)
		} else {
			rt.handle(id, rt.messages.At(id), now)
		}
	}
	if c.stepped && !c.held {
		c.stepped = false
		rt.advance(r, now)
	}
}

// putsOff tells whether the CPU of r has no time for a message (^ for one that is
// written) until a copy is over; then it is kept.
func (rt *runtime) putsOff(r, id int32) bool {
	if !rt.held(r) {
		return false
	}
	c := &rt.copies.ranks[r]
	c.late = append(c.late, id)
	return true
}

// stepsLater tells whether the queue of r's operations has to wait for a copy, and
// sees to it that it goes on behind it.
func (rt *runtime) stepsLater(r int32) bool {
	if !rt.held(r) {
		return false
	}
	rt.copies.ranks[r].stepped = true
	return true
}
