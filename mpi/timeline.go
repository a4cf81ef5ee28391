package mpi

import (
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/mem"
)

// Timeline is what the ranks of a run do, and wait for, at which time. A rank's activities follow
// each other from 0 to its finish, without a gap. [NewTimeline] makes it, one run fills it. Memory:
// 56 bytes an activity, 100 a wait, and 8 for every cable that a message waited at.
type Timeline struct {
	ranks    []rankTimeline
	cpus     int // of a rank, where each has an entry of its own
	most     int // activities of a rank
	transits mem.Records[transit]
}

// NewTimeline is an empty timeline, of at most so many activities a rank.
func NewTimeline(most int) *Timeline { return &Timeline{most: most} }

// rankTimeline belongs to the part of its rank.
type rankTimeline struct {
	activities []Activity
	waits      []wait
	messages   int32 // that it has posted
}

// What is something that a rank does or waits for.
type What uint8

// What ranks do, and the parts of a message's time.
const (
	Computing       What = iota
	Copying              // moving data inside the rank's memory
	Sending              // CPU time of posting a message
	Receiving            // CPU time of taking one in
	Relaying             // passing on a message between other ranks
	Connecting           // making queue pairs, asking for them
	Pausing              // for no message: until a start, a time that the program names, a connection that another rank closes
	Waiting              // for a message, or the completion of one
	Staging              // an eager message is made ready for the adapter
	Adapter              // requests and contexts of adapters, and other messages that they are busy with
	Serialisation        // the message's own bytes
	Propagation          // latencies of adapters, channels and switches
	Cable                // behind other packets, for a channel
	SharedMemory         // from process to process of a node
	ReceiveBuffer        // no receive buffer was posted
	Acknowledgement      // that a write is complete
	numWhat         = iota
)

var whatNames = [numWhat]string{"compute", "copy", "send", "receive", "relay", "connect", "pause", "wait", "staging", "adapter", "serialisation", "propagation", "cable", "shared_memory", "receive_buffer", "acknowledgement"}

// String is the word for it in the column what of timeline.csv.
func (w What) String() string { return whatNames[w] }

// Activity is what a rank does for a time, or a part of the time of a message that it waits for.
type Activity struct {
	Start, End sim.Time
	What       What
	Rank       int32
	Peer       int32 // the rank at the other end of the message; -1: no message
	Sender     int32 // of the message
	Number     int32 // of it among its sender's messages, from 0 on; -1: of the runtime's own
	Cable      int32 // that a packet of the message waits for; -1: none
	wait       int32 // number of what the rank has waited for before it, + 1; 0: nothing
}

// alone is an activity without a message.
func alone(rank int32, start, end sim.Time, what What) Activity {
	return Activity{Start: start, End: end, What: what, Rank: rank, Peer: -1, Sender: -1, Number: -1, Cable: -1}
}

// transit is the way of the present stage of a message.
type transit struct {
	departure
	bytes    int64
	in, data landing // of the stage, and of the data before a FIN
}

// departure is when a stage of a message left a rank.
type departure struct {
	number int32 // of the message
	from   int32
	staged sim.Time // of the time before that, in which it was made ready
	sent   sim.Time // handed to the transport
	local  bool     // inside a node
}

// landing is when a transfer was in memory, and how the time until then divides.
type landing struct {
	at sim.Time
	Passage
}

// Passage divides the time of a transfer.
type Passage struct {
	Serialisation sim.Time // at least, of its bytes on the slowest channel
	Propagation   sim.Time // at least, of the rest of its way
	Waits         []CableWait
}

// CableWait is a time for which the last packet of a transfer waited for a channel.
type CableWait struct {
	Cable int32 // as the network numbers channels
	Time  sim.Time
}

// Divider is a transport that can divide the time of the transfer that its sink is being told of;
// bytes are those sent, with what went before on its behalf.
type Divider interface{ Passage(bytes int64) Passage }

// wait is the message that ended a rank's wait.
type wait struct {
	departure
	landing
	sender int32
	late   What // why it did not end the wait as it landed
}

func (t *Timeline) open(ranks, cpus int) { t.ranks, t.cpus = make([]rankTimeline, ranks*cpus), cpus }

// transit is the way of a message, kept for later messages with the same number.
func (rt *runtime) transit(m *message) *transit {
	all := &rt.Timeline.transits
	if m.transit == 0 {
		if rt.newTransit == rt.endTransit {
			rt.newTransit, rt.endTransit = all.Take(1024)
		}
		rt.newTransit++
		m.transit = rt.newTransit
	}
	return all.At(m.transit - 1)
}

// sends notes that a stage of a message leaves a rank.
func (rt *runtime) sends(m *message, from int32, bytes int64, local bool) {
	x, now := rt.transit(m), rt.kernel.Now()
	*x = transit{departure: departure{x.number, from, x.staged, now, local}, bytes: bytes}
	x.in.at = now + rt.places.way(&rt.Config, from, m.hop) // where no transport says otherwise
}

// arrives notes when the transport delivers a stage, or the data before a FIN.
func (rt *runtime) arrives(m *message, at sim.Time, quiet bool) {
	x := rt.transit(m)
	in, bytes := landing{at: at}, x.bytes
	if quiet {
		bytes = m.bytes
	}
	if d, ok := rt.transport.(Divider); ok {
		in.Passage = d.Passage(bytes)
	}
	if quiet || m.stage == stageData {
		x.data = in
	}
	if !quiet {
		x.in = in
	}
}

// delivered is what a rank does about a message, which may end a wait of it.
func (rt *runtime) delivered(id int32) {
	if rt.Timeline == nil {
		rt.takes(id)
		return
	}
	m := rt.messages.At(id)
	x := rt.transit(m)
	rt.waking, rt.wakesUp = wait{x.departure, x.in, m.from, ReceiveBuffer}, true
	rt.takes(id)
	rt.wakesUp = false
}

// completed is that a message is written, for which its sender may have waited.
func (rt *runtime) completed(id int32, m *message, at sim.Time) {
	x := rt.transit(m)
	rt.waking, rt.wakesUp = wait{x.departure, x.data, m.from, Acknowledgement}, true
	rt.books(m.from, at, at, Sending, id)
	rt.wakesUp = false
}

// books enters an activity of r, and the wait before it, if any; id is its message's ID, or -1.
func (rt *runtime) books(r int32, start, end sim.Time, what What, id int32) {
	a := alone(r, start, end, what)
	if id >= 0 {
		m := rt.messages.At(id)
		a.Peer, a.Sender, a.Number = m.to, m.from, rt.transit(m).number
		if a.Peer == r {
			a.Peer = m.from
		}
	}
	var ended *wait
	if rt.wakesUp {
		ended = &rt.waking
	}
	if err := rt.Timeline.book(a, ended); err != nil {
		rt.fail(r, err)
	}
}

// book enters an activity, and what its rank has waited for before it, if it has.
func (t *Timeline) book(a Activity, ended *wait) error {
	l := &t.ranks[a.Rank]
	free := l.end()
	if a.Start == free && a.End == free {
		return nil
	}
	if a.Start > free && ended != nil {
		l.waits = append(l.waits, *ended)
		a.wait = int32(len(l.waits))
	}
	if l.activities = append(l.activities, a); len(l.activities) > t.most {
		return fmt.Errorf("the timeline of rank %d has more than %d activities, which is more than memory has room for", a.Rank, t.most)
	}
	return nil
}

func (l *rankTimeline) end() sim.Time {
	if len(l.activities) == 0 {
		return 0
	}
	return l.activities[len(l.activities)-1].End
}

// Ranks is their number.
func (t *Timeline) Ranks() int { return len(t.ranks) }

// Of yields the activities of a rank in order, waits among them.
func (t *Timeline) Of(rank int, yield func(Activity)) {
	l := &t.ranks[rank]
	free := sim.Time(0)
	for i := range l.activities {
		a := &l.activities[i]
		if a.Start > free {
			w := alone(a.Rank, free, a.Start, t.idles(a))
			if a.wait > 0 {
				x := &l.waits[a.wait-1]
				w.What, w.Peer, w.Sender, w.Number = Waiting, x.from, x.sender, x.number
			}
			yield(w)
		}
		if a.End > a.Start {
			yield(*a)
		}
		free = a.End
	}
}

// idles is what a rank does before an activity without waiting for a message: another of its CPUs
// has to be done, its adapter is busy, or it pauses.
func (t *Timeline) idles(a *Activity) What {
	switch {
	case t.beside(a.Rank, a.Start) >= 0:
		return Waiting
	case a.What == Sending:
		return Adapter
	}
	return Pausing
}

// beside is the CPU of the same rank on which something ends at a time; -1: none.
func (t *Timeline) beside(rank int32, at sim.Time) int32 {
	first := rank - rank%int32(t.cpus)
	for other := first; other < first+int32(t.cpus); other++ {
		l := t.ranks[other].activities
		i := sort.Search(len(l), func(i int) bool { return l[i].End >= at })
		if other != rank && i < len(l) && l[i].End == at && (l[i].Start < at || l[i].wait > 0) {
			return other
		}
	}
	return -1
}

// Last is the first of the ranks whose activities end last.
func (t *Timeline) Last() (last int) {
	for r := range t.ranks {
		if t.ranks[r].end() > t.ranks[last].end() {
			last = r
		}
	}
	return last
}

// CriticalPath is the chain of activities and messages that led to the end of a rank's work at a
// time. Its steps begin when the ones before end, the first at 0: what a rank did, or if it waited,
// the message that ended the wait, and then what its sender did. Cost: the steps times the
// logarithm of a rank's activities.
func (t *Timeline) CriticalPath(rank int, end sim.Time) []Activity {
	p := &path{Timeline: t, rank: int32(rank), at: end}
	for p.at > 0 {
		l := &t.ranks[p.rank]
		i := sort.Search(len(l.activities), func(i int) bool { return l.activities[i].End >= p.at })
		free := sim.Time(0)
		if i > 0 {
			free = l.activities[i-1].End
		}
		switch {
		case i < len(l.activities) && l.activities[i].Start < p.at:
			p.step(l.activities[i].Start, l.activities[i])
		case i < len(l.activities) && l.activities[i].wait > 0 && l.activities[i].Start == p.at:
			p.message(&l.waits[l.activities[i].wait-1])
		default:
			if other := t.beside(p.rank, p.at); other >= 0 {
				p.rank = other
				continue
			}
			what := Pausing
			if i < len(l.activities) {
				what = t.idles(&l.activities[i])
			}
			p.step(free, alone(p.rank, 0, 0, what))
		}
	}
	slices.Reverse(p.steps)
	return p.steps
}

// path is a critical path under way, backwards.
type path struct {
	*Timeline
	rank  int32
	at    sim.Time
	steps []Activity
}

// step goes back to a time.
func (p *path) step(from sim.Time, a Activity) {
	if from >= p.at {
		return
	}
	a.Start, a.End = from, p.at
	p.steps = append(p.steps, a)
	p.at = from
}

// message goes back to when the sender of a message was through with it, and to the sender.
func (p *path) message(w *wait) {
	part := func(from sim.Time, what What, cable int32) {
		p.step(from, Activity{What: what, Rank: p.rank, Peer: w.from, Sender: w.sender, Number: w.number, Cable: cable})
	}
	part(w.landing.at, w.late, -1)
	if w.local {
		part(w.sent, SharedMemory, -1)
	}
	for i := len(w.Waits) - 1; i >= 0; i-- {
		part(max(w.sent, p.at-w.Waits[i].Time), Cable, w.Waits[i].Cable)
	}
	part(max(w.sent, p.at-w.Propagation), Propagation, -1)
	part(max(w.sent, p.at-w.Serialisation), Serialisation, -1)
	part(w.sent, Adapter, -1)
	part(w.sent-w.staged, Staging, -1)
	p.rank = w.from
}

// Timelines of the LogGOPS machine have a rank for each CPU, a rank's CPUs side by side. Times
// count as nanoseconds.

var errTimelineTooLong = errors.New("a timeline has no room for times beyond 53 days")

// timelineOf is the rank of a CPU in timelines.
func (m *loggopsMachine) timelineOf(rank int32, cpu uint8) int32 { return rank*m.cpus + int32(cpu) }

// books enters what a CPU did, for an operation's message (-1: none), and what it had waited for,
// if anything.
func (m *loggopsMachine) books(of int32, from, to int64, what What, message int32, ended *wait) {
	if to > int64(latest/sim.Nanosecond) {
		m.err = errTimelineTooLong
		return
	}
	a := alone(of, sim.Time(from)*sim.Nanosecond, sim.Time(to)*sim.Nanosecond, what)
	if message >= 0 {
		x := &m.sent[message]
		a.Sender, a.Number, a.Peer = x.sender, x.number, x.sender
		if a.Peer == of {
			send := &m.live[message]
			a.Peer = m.timelineOf(send.Peer, send.CPU)
		}
	}
	if err := m.Timeline.book(a, ended); err != nil {
		m.err = err
	}
}

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
