package mpi

import (
	"errors"
	"math"
	"math/bits"

	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/snapshot"
)

// LogGOPS is the machine model of Hoefler, Schneider, Lumsdaine (LogGOPSim, LSAP 2010): latency,
// overhead, gap, gap per byte, overhead per byte and rendezvous threshold. Times are in one unit,
// also of the schedule's calc operations: by convention nanoseconds.
type LogGOPS struct {
	L        int64   `toml:"latency" doc:"L: latency of the first byte, CPU to CPU" unit:"ns" min:"0"`
	Overhead int64   `toml:"overhead" doc:"o: CPU time per message, at the sender and at the receiver" unit:"ns" min:"0"`
	Gap      int64   `toml:"gap" doc:"g: least interval between messages of a NIC, sending and receiving apart" unit:"ns" min:"0"`
	GapByte  float64 `toml:"gap_per_byte" doc:"G: time per byte on the wire, to a millionth; of a message whole ns count" unit:"ns" min:"0" max:"1e9"`
	OverByte float64 `toml:"overhead_per_byte" doc:"O: CPU time per byte, likewise" unit:"ns" min:"0" max:"1e9"`
	Eager    int64   `toml:"eager_limit" doc:"S: largest size that goes eagerly; larger messages use rendezvous" unit:"bytes" min:"0"`
	// Compatible makes the machine follow LogGOPSim where that is wrong: a dependency between
	// operations on different CPUs of a rank keeps their order but does not carry the time, a
	// message of 0 bytes refunds the cost of one, a late receive chooses rendezvous by its own size.
	// With one CPU and equal sizes from 1 byte on, both settings agree.
	Compatible bool `toml:"loggopsim" doc:"repeat LogGOPSim's errors (time does not cross CPUs, 0 bytes refund one)"`
	// Atlahs is the variant of ATLAHS (Shen et al. 2025; its LogGOPSim.cpp at 7026039): see loggops_queue.go.
	Atlahs bool `toml:"atlahs" doc:"count as ATLAHS's simulator: G delays the message at its sender and nothing else, so that messages to one rank do not share its link; a message takes g and o where it finds its receive, not before; a receive that finds its message waits for the NIC to have sent"`
	// Timeline, if not nil, is filled by a run of neither variant that keeps no state.
	Timeline *Timeline `toml:"-"`
}

// DefaultLogGOPS is LogGOPSim's default parameter set.
var DefaultLogGOPS = LogGOPS{L: 2500, Overhead: 1500, Gap: 1000, GapByte: 6, OverByte: 0, Eager: 65535}

// LogGOPSResult is what a run on the LogGOPS machine yields.
type LogGOPSResult struct {
	Finish   []int64 // when the last of each rank's CPUs gets free (len = ranks)
	Messages int64
	Events   int64
}

// Run executes a workload. It fails with a *StuckError if ranks wait for each other, receives or
// messages find no partner, or operations never get ready. progress may be nil. Cost: about 3
// events a message, each O(log of its delay), however many receives wait.
func (p LogGOPS) Run(w Workload, progress Progress) (LogGOPSResult, error) {
	return p.RunKept(w, progress, Checkpoint{})
}

// RunKept is Run with a checkpoint.
func (p LogGOPS) RunKept(w Workload, progress Progress, checkpoint Checkpoint) (LogGOPSResult, error) {
	m := p.machine(w)
	if checkpoint.From != nil {
		if m.err = m.restore(checkpoint.From); m.err != nil {
			return LogGOPSResult{}, m.err
		}
	} else {
		for r := range int32(w.Ranks()) {
			m.ready = w.Start(r, m.ready[:0])
			m.release(r)
		}
	}
	for left := pauseEvery; m.queue.size > 0 && m.err == nil; {
		m.handle(m.queue.pop())
		m.result.Events++
		if left--; left == 0 && m.err == nil {
			left = pauseEvery
			told := progress != nil && progress(m.result.Events)
			m.err = m.save(false, checkpoint) // a run that is told to end is kept before it does
			if m.err == nil && told {
				m.err = ErrStopped
			}
		}
	}
	if m.err == nil {
		m.err = m.save(true, checkpoint)
	}
	if m.err == nil {
		m.err = m.stuck()
	}
	if m.err != nil {
		return LogGOPSResult{}, m.err
	}
	m.result.Finish = make([]int64, m.work.Ranks())
	for r := range m.result.Finish {
		for _, t := range m.clocks[r*int(m.stride):][:m.cpus] {
			m.result.Finish[r] = max(m.result.Finish[r], t)
		}
		if m.result.Finish[r] >= farFuture {
			return LogGOPSResult{}, errTimeOverflow
		}
	}
	return m.result, nil
}

func (p LogGOPS) machine(w Workload) *loggopsMachine {
	m := &loggopsMachine{
		LogGOPS: p, work: w,
		cpus: int32(w.CPUs()), nics: int32(w.NICs()),
		lists: make([]rankLists, w.Ranks()),
	}
	if m.cpus == 1 && m.nics == 1 {
		m.groups = make([]parkGroup, 3*w.Ranks())
	}
	m.gapByte, m.overByte = perByte(p.GapByte), perByte(p.OverByte)
	m.queue.anyTime = p.Compatible && m.cpus > 1
	m.stride = m.cpus + 2*m.nics
	if m.Timeline != nil {
		m.Timeline.open(w.Ranks(), int(m.cpus))
	}
	m.clocks = make([]int64, int64(m.stride)*int64(w.Ranks()))
	return m
}

// rankLists are the posted receives and the early messages of a rank.
type rankLists struct{ posted, early matchList }

// liveOp is an operation that was released and is not over. A send lives until its message, for
// which it stands, is matched.
type liveOp struct {
	Op
	rank   int32 // -1 in the free list
	number int64 // of the event that is to come for the operation
	done   bool  // an eager send is complete before its message is matched
	at     uint8 // Atlahs: CPU of the receive that a message waits to be taken in by
	next   int32 // in the free list
}

// arrival is the kind of the event that brings a message to its receiver.
const arrival = Calc + 1

// loggopsMachine is the state of a run of the LogGOPS machine.
type loggopsMachine struct {
	LogGOPS    `snap:"-"`
	work       Workload `snap:"-"`
	gapByte    byteTime `snap:"-"`
	overByte   byteTime `snap:"-"`
	cpus, nics int32
	stride     int32
	clocks     []int64 // per rank: cpu[cpus], tx[nics], rx[nics] free times
	lists      []rankLists
	match      matcher
	queue      radixQueue
	groups     []parkGroup          // by rank and kind, with one CPU and NIC
	sparse     map[int64]*parkGroup `snap:"own"` // by rank, kind, CPU and NIC otherwise
	numbers    int64
	live       []liveOp
	free       int32 // list of free entries of live, by number+1
	ready      []Op  `snap:"-"` // released by the event at hand for one rank
	other      []Op  `snap:"-"` // the same for the second rank of a rendezvous
	result     LogGOPSResult
	err        error  `snap:"-"`
	sent       []wait `snap:"-"` // of the timeline: by operation, the way of its message
}

// cpu is when a CPU of a rank is next free.
func (m *loggopsMachine) cpu(rank int32, c uint8) *int64 {
	return &m.clocks[int64(rank)*int64(m.stride)+int64(c)]
}

// tx is when a NIC of a rank can next send.
func (m *loggopsMachine) tx(rank int32, n uint8) *int64 {
	return &m.clocks[int64(rank)*int64(m.stride)+int64(m.cpus)+int64(n)]
}

// rx is when a NIC of a rank can next receive.
func (m *loggopsMachine) rx(rank int32, n uint8) *int64 {
	return &m.clocks[int64(rank)*int64(m.stride)+int64(m.cpus+m.nics)+int64(n)]
}

// release puts the operations in m.ready into the queue: sends, then receives, then calcs.
func (m *loggopsMachine) release(rank int32) {
	if len(m.ready) == 0 {
		return
	}
	for kind := Send; kind <= Calc; kind++ {
		for i := range m.ready {
			if m.ready[i].Kind == kind {
				m.enqueue(rank, &m.ready[i])
			}
		}
	}
}

// enqueue puts an operation into the queue, at the time when its resources are free.
func (m *loggopsMachine) enqueue(rank int32, op *Op) {
	at := *m.cpu(rank, op.CPU)
	if m.Atlahs && op.Kind == Recv {
		at = op.Ready
	}
	if op.Kind == Send {
		at = max(at, *m.tx(rank, op.NIC))
	}
	if !m.Compatible {
		at = max(at, op.Ready)
	}
	m.push(at, op.Kind, m.keep(rank, op))
}

// push files an event for an operation, under the next number.
func (m *loggopsMachine) push(at int64, kind Kind, op int32) {
	m.queue.push(timedEvent{at, m.numbers, op, kind, false})
	m.live[op].number = m.numbers
	m.numbers++
}

func (m *loggopsMachine) keep(rank int32, op *Op) int32 {
	i := m.free - 1
	if i >= 0 {
		m.free = m.live[i].next
		m.live[i] = liveOp{Op: *op, rank: rank}
	} else {
		i = int32(len(m.live))
		m.live = append(m.live, liveOp{Op: *op, rank: rank})
	}
	return i
}

func (m *loggopsMachine) forget(i int32) {
	m.live[i].rank, m.live[i].number = -1, -1
	m.live[i].next = m.free
	m.free = i + 1
}

// bytes is the number of bytes that a message is charged for: all but the first.
func (m *loggopsMachine) bytes(size int64) int64 {
	if size == 0 && !m.Compatible {
		return 0
	}
	return size - 1
}

// Check finds times of a byte that the machine would count as none.
func (p LogGOPS) Check() error {
	small := func(key string, units float64) error {
		if units > 0 && perByte(units) == (byteTime{}) {
			return &param.ParamError{Key: key, Value: units, Want: "0 or half a millionth at least: the machine counts in millionths"}
		}
		return nil
	}
	return errors.Join(small("gap_per_byte", p.GapByte), small("overhead_per_byte", p.OverByte))
}

// byteTime is a time per byte: whole units and millionths.
type byteTime struct{ whole, millionths int64 }

// perByte divides a time a byte into whole units and millionths.
func perByte(units float64) byteTime {
	whole := math.Floor(units)
	return byteTime{int64(whole), int64(math.Round((units - whole) * million))}
}

const million = 1_000_000

// cost is count*each in whole units, checked.
func (m *loggopsMachine) cost(count int64, each byteTime) int64 {
	if count <= 0 {
		return count * each.whole
	}
	hi, lo := bits.Mul64(uint64(count), uint64(each.whole))
	if each.millionths > 0 {
		partHi, partLo := bits.Mul64(uint64(count), uint64(each.millionths)) // partHi < million
		part, _ := bits.Div64(partHi, partLo, million)
		var carry uint64
		lo, carry = bits.Add64(lo, part, 0)
		hi += carry
	}
	if hi != 0 || lo > farFuture {
		m.err = errTimeOverflow
		return 0
	}
	return int64(lo)
}

// farFuture bounds the times of a run, so that sums of a few cannot overflow: 36 years of ns.
const farFuture = 1 << 60

var errTimeOverflow = errors.New("the simulated time reaches 2^60 units (36 years of ns)")

// handle handles an event; what fails is kept in m.err.
func (m *loggopsMachine) handle(e timedEvent) {
	if e.time > farFuture {
		m.err = errTimeOverflow
		return
	}
	if m.live[e.op].number != e.number {
		return // it stood for a group, and the operation has gone ahead since
	}
	switch e.kind {
	case Calc:
		m.calc(e)
	case Send:
		m.send(e)
	case Recv:
		m.recv(e)
	case arrival:
		if m.Atlahs {
			m.arrives(e)
		} else {
			m.message(e)
		}
	}
}

func (m *loggopsMachine) calc(e timedEvent) {
	op := &m.live[e.op]
	rank, id := op.rank, op.ID
	cpu := m.cpu(rank, op.CPU)
	g := m.parkGroup(Calc, rank, op.CPU, 0)
	if !m.park(&e, g, *cpu) {
		return
	}
	*cpu = e.time + min(op.Size, farFuture)
	end := *cpu
	m.unpark(&e, g, end)
	if m.Timeline != nil {
		m.computed(op, e.time, end)
	}
	m.forget(e.op)
	m.ready = m.work.Started(rank, id, e.time, m.ready[:0])
	m.ready = m.work.Done(rank, id, end, m.ready)
	m.release(rank)
}

func (m *loggopsMachine) send(e timedEvent) {
	op := &m.live[e.op]
	rank := op.rank
	cpu, tx := m.cpu(rank, op.CPU), m.tx(rank, op.NIC)
	g := m.parkGroup(Send, rank, op.CPU, op.NIC)
	if !m.park(&e, g, max(*cpu, *tx)) {
		return
	}
	bytes := m.bytes(op.Size)
	*cpu = e.time + m.Overhead + m.cost(bytes, m.overByte)
	*tx = e.time + m.Gap + m.cost(bytes, m.gapByte)
	m.unpark(&e, g, max(*cpu, *tx))
	if m.Atlahs {
		m.push(*cpu+m.L+m.cost(bytes, m.gapByte), arrival, e.op)
	} else {
		m.push(e.time+m.Overhead+m.L, arrival, e.op)
	}
	if m.Timeline != nil {
		m.posted(e.op, e.time, *cpu)
	}
	m.result.Messages++
	m.ready = m.work.Started(rank, op.ID, e.time, m.ready[:0])
	if op.Size <= m.Eager {
		op.done = true
		m.ready = m.work.Done(rank, op.ID, *cpu, m.ready)
	}
	m.release(rank)
}

func (m *loggopsMachine) recv(e timedEvent) {
	op := &m.live[e.op]
	rank := op.rank
	m.ready = m.work.Started(rank, op.ID, e.time, m.ready[:0])
	lists := &m.lists[rank]
	if early, ok := m.match.take(&lists.early, op.Peer, op.Tag); ok {
		if m.Atlahs {
			m.takesEarly(e.op, early, e.time)
			return
		}
		// The message was received in full at the time that it left in Ready.
		m.matched(e.op, early, e.time, max(e.time, m.live[early].Ready), true)
		return
	}
	m.match.add(&lists.posted, op.Peer, op.Tag, e.op)
	m.release(rank)
}

func (m *loggopsMachine) message(e timedEvent) {
	send := &m.live[e.op]
	rank := send.Peer
	cpu, rx := m.cpu(rank, send.CPU), m.rx(rank, send.NIC)
	g := m.parkGroup(arrival, rank, send.CPU, send.NIC)
	if !m.park(&e, g, max(*cpu, *rx)) {
		return
	}
	bytes := m.bytes(send.Size)
	wire := m.cost(bytes, m.gapByte)
	// Of -1 bytes LogGOPSim takes the larger as numbers without sign: the larger refund of one byte, unless both are 0.
	*cpu = e.time + m.Overhead + int64(max(uint64(m.cost(bytes, m.overByte)), uint64(wire)))
	*rx = e.time + m.Gap + wire
	m.unpark(&e, g, max(*cpu, *rx))
	if m.Timeline != nil {
		m.books(m.timelineOf(rank, send.CPU), e.time, *cpu, Receiving, e.op, &m.sent[e.op])
	}
	lists := &m.lists[rank]
	m.ready = m.ready[:0]
	if posted, ok := m.match.take(&lists.posted, send.rank, send.Tag); ok {
		m.matched(posted, e.op, e.time, *cpu, false)
		return
	}
	send.Ready = *cpu
	m.match.add(&lists.early, send.rank, send.Tag, e.op)
}

// matched completes a receive whose message is in by time in, and a rendezvous send that waits for
// it. m.ready holds what the event has released for the receiver.
func (m *loggopsMachine) matched(recv, send int32, now, in int64, late bool) {
	r, s := &m.live[recv], &m.live[send]
	if s.Size > r.Size {
		m.err = TooLong(s.Size, s.rank, r.rank, s.Tag, r.Size, m.work.Where(r.rank, r.ID))
		return
	}
	rendezvous := !s.done
	if late && m.Compatible {
		rendezvous = r.Size > m.Eager
	}
	receiver, sender, recvID := r.rank, s.rank, r.ID
	m.other = m.other[:0]
	if rendezvous {
		c, n := s.CPU, s.NIC
		if late && m.Compatible {
			c, n = r.CPU, r.NIC
		}
		if m.Timeline != nil {
			receiving := s.CPU
			if late {
				receiving = r.CPU
			}
			m.cleared(send, c, m.timelineOf(receiver, receiving), now)
		}
		cpu, tx := m.cpu(sender, c), m.tx(sender, n)
		*cpu, *tx = max(*cpu, now), max(*tx, now-m.afterNIC(s.Size))
		if !s.done {
			if sender == receiver {
				m.ready = m.work.Done(sender, s.ID, now, m.ready)
			} else {
				m.other = m.work.Done(sender, s.ID, now, m.other)
			}
		}
	}
	m.forget(send)
	m.forget(recv)
	m.ready = m.work.Done(receiver, recvID, in, m.ready)
	if sender < receiver {
		m.releaseOther(sender)
		m.release(receiver)
	} else {
		m.release(receiver)
		m.releaseOther(sender)
	}
}

// releaseOther puts the operations in m.other into the queue.
func (m *loggopsMachine) releaseOther(rank int32) {
	m.ready, m.other = m.other, m.ready
	m.release(rank)
	m.ready, m.other = m.other, m.ready
}

func (m *loggopsMachine) archive(a *snapshot.Archive, work KeptWorkload) {
	a.Mark("machine")
	snapshot.Value(a, m)
	work.Archive(a)
}

func (m *loggopsMachine) save(done bool, checkpoint Checkpoint) error {
	work, kept := m.work.(KeptWorkload)
	if checkpoint.Save == nil || !kept {
		return nil
	}
	return checkpoint.Save(done, func(a *snapshot.Archive) error {
		m.archive(a, work)
		return a.Err()
	})
}

// restore makes a new machine go on from a state.
func (m *loggopsMachine) restore(a *snapshot.Archive) error {
	work, kept := m.work.(KeptWorkload)
	if !kept {
		return errors.New("the state of this program cannot be read")
	}
	m.archive(a, work)
	return a.End()
}
