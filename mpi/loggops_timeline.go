package mpi

import (
	"errors"

	"github.com/weft-sim/weft/sim"
)

// Timelines of the LogGOPS machine have a rank for each CPU of a rank, those of a rank
// one after the other. Its times are taken for nanoseconds.

var errTimelineTooLong = errors.New("a timeline has no room for times beyond 53 days")

// timelineOf is the rank of a CPU in timelines.
func (m *loggopsMachine) timelineOf(rank int32, cpu uint8) int32 { return rank*m.cpus + int32(cpu) }

// books enters what a CPU did, for the message of an operation, -1 for none. ended is what it had
// waited for, if it had.
func (m *loggopsMachine) books(of int32, from, to int64, what What, message int32, ended *wait) {
	if to > int64(latest/sim.Nanosecond) {
		m.err = errTimelineTooLong
		return
	}
	a := Activity{sim.Time(from) * sim.Nanosecond, sim.Time(to) * sim.Nanosecond, what, -1, -1, -1}
	if message >= 0 {
		x := &m.sent[message]
		a.Sender, a.Number, a.Peer = x.sender, x.number, x.sender
		if a.Peer == of {
			send := &m.live[message]
			a.Peer = m.timelineOf(send.Peer, send.CPU)
		}
	}
	if err := m.Timeline.book(of, a, ended); err != nil {
		m.err = err
	}
}

// computed enters a computation.
func (m *loggopsMachine) computed(op *liveOp, from, to int64) {
	what := Computing
	switch {
	case op.Wait:
		what = Pausing
	case op.Copy:
		what = Copying
	}
	m.books(m.timelineOf(op.rank, op.CPU), from, to, what, -1, nil)
}

// posted enters a send and begins the way of its message.
func (m *loggopsMachine) posted(id int32, from, to int64) {
	op := &m.live[id]
	of := m.timelineOf(op.rank, op.CPU)
	for len(m.sent) <= int(id) {
		m.sent = append(m.sent, wait{})
	}
	l := &m.Timeline.ranks[of]
	sent, latency := sim.Time(from+m.Overhead)*sim.Nanosecond, sim.Time(m.L)*sim.Nanosecond
	m.sent[id] = wait{departure{number: l.messages, from: of, sent: sent}, landing{sent + latency, Passage{Propagation: latency}}, of, Adapter}
	l.messages++
	m.books(of, from, to, Sending, id, nil)
}

// cleared lets a sender go on that has waited until its message met its receive at a time.
func (m *loggopsMachine) cleared(send int32, cpu uint8, receiver int32, now int64) {
	of := m.timelineOf(m.live[send].rank, cpu)
	at := sim.Time(now) * sim.Nanosecond
	if at <= m.Timeline.ranks[of].end() {
		return
	}
	w := m.sent[send]
	w.from, w.sent, w.landing, w.late = receiver, at, landing{at: at}, Acknowledgement
	m.books(of, now, now, Sending, send, &w)
}
