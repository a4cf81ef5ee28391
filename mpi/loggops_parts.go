package mpi

import (
	"errors"
	"math"
	"slices"
	"sync"

	"github.com/weft-sim/weft/sim"
)

// The LogGOPS machine on several threads. Each has a part of the ranks and simulates
// them for a window of L + o, the least time from the start of a send to what it does
// at another rank, without hearing of the others.
//
// What happens at a rank at one time happens in the order of the events' numbers, which
// count the events of all ranks in the order in which they were made. So that ties come
// out as on one thread, events made in a window have numbers of their part until its
// end, above all others, in which they compare as they will. Then one thread merges what
// the parts have kept of the events that made others, by time and number, which is the
// order on one thread, and numbers what they made.

// loggopsWindow is what a part of the machine has beyond those that are no parts.
type loggopsWindow struct {
	number int
	ends   []int32 // the first rank behind each part
	end    int64   // of the window
	made   int64   // events, in this window

	makers []eventMaker // events that made others, in their order
	final  []int64      // the numbers of those made
	later  []timedEvent // to be filed at the end of the window
	groups []*parkGroup // that got an event made in this window
	gone   int32        // the operation of a message to another part, -1: none
	at     int64        // when that arrives
	sent   [][]sentMessage

	next int64 // time of the part's first event
	_    [64]byte
}

// eventMaker is an event that made others.
type eventMaker struct {
	time, number int64
	made         int64
}

// sentMessage arrives in another part.
type sentMessage struct {
	time, number int64
	op           liveOp
}

// ofWindow is the first of the numbers that events have until the end of the window in
// which they are made.
const ofWindow int64 = 1 << 62

var errRendezvous = errors.New("a message between ranks of different threads is larger than loggops.eager_limit")

// worthParts, which only tests change, is the number of ranks from which a second thread
// pays for its barriers.
var worthParts = 4096

// RunOn is Run on so many threads, if the workload can be divided, which begin makes
// anew for every attempt. The result is that of Run. It returns the workload that has
// been run and, where one thread was enough or had to do it, why. The checkpoint's states
// are for any number of threads.
func (p LogGOPS) RunOn(threads int, begin func() (Workload, error), progress Progress, checkpoint Checkpoint) (r LogGOPSResult, w Workload, why string, err error) {
	if w, err = begin(); err != nil {
		return LogGOPSResult{}, nil, "", err
	}
	if why = p.undivided(w, threads); why == "" {
		if r, err = p.runParts(w.(Divisible), threads, progress, checkpoint); err == nil || errors.Is(err, ErrStopped) {
			return r, w, "", err
		}
		// One thread says what is wrong with the program, or goes on where several
		// cannot.
		why = err.Error()
		if w, err = begin(); err != nil {
			return LogGOPSResult{}, nil, "", err
		}
	}
	r, err = p.run(w, progress, checkpoint)
	return r, w, why, err
}

// undivided is why a workload is not run by several threads; "" if it is.
func (p *LogGOPS) undivided(w Workload, threads int) string {
	_, divisible := w.(Divisible)
	switch {
	case threads < 2:
		return "one was asked for"
	case !divisible:
		return "the program keeps one state for all ranks"
	case p.Compatible:
		return "loggops.loggopsim = true decides on rendezvous at the receiver, which holds up the sender in the same instant"
	case p.L+p.Overhead == 0:
		return "loggops.latency + loggops.overhead = 0: what a send does at another rank it does in the same instant"
	case w.Ranks() < worthParts:
		return "the ranks are too few to gain"
	}
	return ""
}

// runParts runs a workload on threads.
func (p LogGOPS) runParts(w Divisible, threads int, progress Progress, checkpoint Checkpoint) (LogGOPSResult, error) {
	whole := p.machine(w)
	run := &partsRun{whole: whole, parts: make([]*loggopsMachine, min(threads, w.Ranks())), progress: progress, checkpoint: checkpoint}
	run.barrier = sim.NewBarrier(len(run.parts), sim.ShortLook)
	ends := make([]int32, len(run.parts))
	for i := range run.parts {
		m := *whole
		m.work = w.Part()
		if m.sparse != nil {
			m.sparse = map[int64]*parkGroup{}
		}
		ends[i] = int32((i + 1) * w.Ranks() / len(ends))
		run.parts[i] = &m
		for r := int32(i * w.Ranks() / len(ends)); r < ends[i] && checkpoint.From == nil; r++ {
			m.numbers = run.numbers
			m.start(r)
			run.numbers = m.numbers
		}
		m.window = &loggopsWindow{number: i, ends: ends, gone: -1, sent: make([][]sentMessage, len(ends))}
	}
	if checkpoint.From != nil {
		if err := run.restore(checkpoint.From); err != nil {
			return LogGOPSResult{}, err
		}
	}
	for _, m := range run.parts {
		m.window.next = m.firstEvent()
	}
	var others sync.WaitGroup
	for i := 1; i < len(run.parts); i++ {
		others.Go(func() { run.simulate(i) })
	}
	run.simulate(0)
	others.Wait()
	if run.err == nil {
		run.err = run.save(true)
	}
	if run.err != nil {
		return LogGOPSResult{}, run.err
	}
	for _, m := range run.parts {
		whole.result.Messages += m.result.Messages
		whole.result.Events += m.result.Events
		for i := range m.live {
			if m.live[i].rank >= 0 {
				return LogGOPSResult{}, errors.New("the program cannot finish")
			}
		}
	}
	if w.Unreleased() > 0 {
		return LogGOPSResult{}, errors.New("the program cannot finish")
	}
	return whole.finish()
}

// partsRun is a run on several threads.
type partsRun struct {
	whole      *loggopsMachine // which has the memory of all
	parts      []*loggopsMachine
	barrier    *sim.Barrier
	numbers    int64 // given so far
	told       int64 // events, when progress was last called
	pauses     bool  // they were so many that the state is offered
	progress   Progress
	checkpoint Checkpoint
	err        error
}

// simulate is the work of the thread with part i.
func (run *partsRun) simulate(i int) {
	m := run.parts[i]
	for {
		run.barrier.WaitThen(run.pause) // all parts know their first event
		first := int64(math.MaxInt64)
		for _, other := range run.parts {
			first = min(first, other.window.next)
		}
		if run.err != nil || first == math.MaxInt64 {
			return
		}
		m.simulateUntil(first + m.L + m.Overhead)
		run.barrier.WaitThen(run.merge) // all are through with the window
		m.endWindow(run.parts)
		m.window.next = m.firstEvent()
	}
}

// firstEvent is the time of the first event; MaxInt64 without any.
func (m *loggopsMachine) firstEvent() int64 {
	if m.queue.size == 0 {
		return math.MaxInt64
	}
	return m.queue.first()
}

// simulateUntil handles the events before a time.
func (m *loggopsMachine) simulateUntil(end int64) {
	w := m.window
	w.end, w.made, w.makers = end, 0, w.makers[:0]
	for i := range w.sent {
		w.sent[i] = w.sent[i][:0] // taken over
	}
	for m.queue.size > 0 && m.err == nil && m.queue.first() < end {
		e := m.queue.pop()
		before := w.made
		m.handle(e)
		m.result.Events++
		if w.made > before {
			w.makers = append(w.makers, eventMaker{e.time, e.number, w.made - before})
		}
		if w.gone >= 0 {
			m.depart()
		}
	}
}

// pushInWindow is push with a number of the window.
func (m *loggopsMachine) pushInWindow(at int64, kind Kind, op int32) {
	w := m.window
	number := ofWindow + w.made
	w.made++
	m.live[op].number = number
	if to := m.live[op].Peer; kind == arrival && w.partOf(to) != w.number {
		w.gone, w.at = op, at
		return
	}
	m.put(timedEvent{at, number, op, kind, false})
}

// partOf is the part of a rank.
func (w *loggopsWindow) partOf(rank int32) int {
	part := 0
	for rank >= w.ends[part] {
		part++
	}
	return part
}

// depart gives the message that was just sent to the part of its receiver.
func (m *loggopsMachine) depart() {
	w := m.window
	op := &m.live[w.gone]
	if !op.done {
		m.err = errRendezvous
		return
	}
	part := w.partOf(op.Peer)
	w.sent[part] = append(w.sent[part], sentMessage{w.at, op.number, *op})
	m.forget(w.gone)
	w.gone = -1
}

// parked notes that an event has been put into a group.
func (w *loggopsWindow) parked(g *parkGroup, number int64) {
	if number >= ofWindow {
		w.groups = append(w.groups, g)
	}
}

// merge numbers the events that the parts have made in the window.
func (run *partsRun) merge() {
	events := int64(0)
	heads := make([]makerHead, len(run.parts))
	for i, m := range run.parts {
		w := m.window
		w.final = slices.Grow(w.final[:0], int(w.made))
		heads[i] = makerHead{w: w}
		heads[i].next()
		if events += m.result.Events; m.err != nil && run.err == nil {
			run.err = m.err
		}
	}
	for {
		first := &heads[0]
		for i := 1; i < len(heads); i++ {
			if h := &heads[i]; h.time < first.time || h.time == first.time && h.number < first.number {
				first = h
			}
		}
		if first.time == math.MaxInt64 {
			break
		}
		for range first.made {
			first.w.final = append(first.w.final, run.numbers)
			run.numbers++
		}
		first.next()
	}
	if events-run.told >= int64(pauseEvery) {
		run.told, run.pauses = events, true
	}
}

// pause offers the state, and tells of the progress, while no part is simulated.
func (run *partsRun) pause() {
	if !run.pauses || run.err != nil {
		return
	}
	run.pauses = false
	told := run.progress != nil && run.progress(run.told)
	run.err = run.save(false) // a run that is told to end is kept before it does
	if run.err == nil && told {
		run.err = ErrStopped
	}
}

// makerHead is the first of a part's makers that has not been merged.
type makerHead struct {
	eventMaker
	w     *loggopsWindow
	taken int
}

// next takes the next maker; those that it was made by have been merged before.
func (h *makerHead) next() {
	if h.taken == len(h.w.makers) {
		h.time = math.MaxInt64
		return
	}
	h.eventMaker = h.w.makers[h.taken]
	h.number = h.w.numberOf(h.number)
	h.taken++
}

// numberOf is the number that an event has from the end of the window on.
func (w *loggopsWindow) numberOf(number int64) int64 {
	if number >= ofWindow {
		return w.final[number-ofWindow]
	}
	return number
}

// endWindow files the events that are to come, under the numbers that they keep, in the
// order of those: that is how the queue wants them.
func (m *loggopsMachine) endWindow(parts []*loggopsMachine) {
	w := m.window
	for _, g := range w.groups {
		for i := range g.heap {
			g.heap[i].number = m.renumber(&g.heap[i])
		}
		g.first = w.numberOf(g.first)
	}
	w.groups = w.groups[:0]
	for i := range w.later {
		w.later[i].number = m.renumber(&w.later[i])
	}
	taken := make([]int, len(parts))
	for own := 0; ; {
		best, number := -1, int64(math.MaxInt64)
		if own < len(w.later) {
			best, number = w.number, w.later[own].number
		}
		for i, part := range parts {
			if sent := part.window.sent[w.number]; taken[i] < len(sent) {
				if n := part.window.numberOf(sent[taken[i]].number); n < number {
					best, number = i, n
				}
			}
		}
		switch best {
		case -1:
			w.later = w.later[:0]
			return
		case w.number:
			m.queue.push(w.later[own])
			own++
		default:
			m.takeOver(&parts[best].window.sent[w.number][taken[best]], number)
			taken[best]++
		}
	}
}

// renumber is numberOf for an event, and for its operation, if it has that number.
func (m *loggopsMachine) renumber(e *timedEvent) int64 {
	if e.number < ofWindow {
		return e.number
	}
	final := m.window.final[e.number-ofWindow]
	if op := &m.live[e.op]; op.number == e.number {
		op.number = final
	}
	return final
}

// takeOver files a message from another part.
func (m *loggopsMachine) takeOver(s *sentMessage, number int64) {
	op := m.keep(s.op.rank, &s.op.Op)
	m.live[op].done, m.live[op].number = true, number
	m.queue.push(timedEvent{s.time, number, op, arrival, false})
}
