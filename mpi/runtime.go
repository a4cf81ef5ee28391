package mpi

import (
	"errors"
	"fmt"
	"slices"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/mem"
)

// Config is all that a run needs besides its workload.
type Config struct {
	Placement   Placement
	Protocols   Protocols
	Connections Connections
	Noise       Noise
	Memory      Memory
	Adapter     hca.Config   // gives the CPU times of connecting and the RNR delay
	Transport   NewTransport // unless Divide is there
	Divide      Divide       // nil, or makes a network whose parts threads simulate side by side
	Seed        uint64
	// Progress, if not nil, is called now and then with the number of events; the run ends with
	// ErrStopped if it is true.
	Progress   Progress
	Checkpoint Checkpoint // keeps the state of the run; not of one with a timeline
	Timeline   *Timeline  // nil, or filled by the run
}

// Progress is told how many events a run has handled and may stop it.
type Progress func(events int64) (stop bool)

// ErrStopped is the error of a run that its Progress stopped.
var ErrStopped = errors.New("stopped")

// progressInterval is the number of events between calls of Progress, and of Checkpoint.Save.
const progressInterval = 1 << 16

// Result is what a run yields.
type Result struct {
	Finish  []sim.Time // when each rank's CPU is done (len = ranks)
	Elapsed sim.Time   // the largest of them
	CPU     []CPUTime  // len = ranks
	Stats   Stats
	HCA     hca.Stats
}

// CPUTime is what the CPU of a rank spent until it was done; the rest of the time it waited.
type CPUTime struct {
	Busy   sim.Time // with computations, calls, copies and the kernel, interruptions included
	Copies sim.Time // of Busy, moving data inside the node
}

// add adds the counts of another part.
func (s *Stats) add(o *Stats) {
	s.Messages += o.Messages
	s.Bytes += o.Bytes
	s.Shared += o.Shared
	s.Rendezvous += o.Rendezvous
	s.Control += o.Control
	s.NotReady += o.NotReady
	s.Handshakes += o.Handshakes
	s.Relayed += o.Relayed
	s.Connecting += o.Connecting
	s.QPs += o.QPs
	s.QPsClosed += o.QPsClosed
	s.QPsPeak = max(s.QPsPeak, o.QPsPeak)
	s.KernelTime += o.KernelTime
	s.ConnectWait += o.ConnectWait
}

// latest is how far a run goes, 53 days: later events are not handled, and all sums of times fit. A message
// has at most maxMessage bytes, and takes at most longest by itself.
const (
	latest     = sim.MaxTime / 2
	longest    = latest / 64
	maxMessage = 1 << 40
)

// ErrTooLate is the error of a run that goes on beyond what is counted.
var ErrTooLate = errors.New("the program ends after more than 53 days of simulated time, or on a fabric 6.6e12 cycles of fabric.clock: that is as far as times are counted")

// Run executes a workload whose times are in picoseconds.
func (c Config) Run(w Workload) (Result, error) {
	m, err := c.begin(w)
	if err != nil {
		return Result{}, err
	}
	if c.Checkpoint.From != nil {
		if err := m.restore(c.Checkpoint.From); err != nil {
			return Result{}, err
		}
	} else {
		for _, rt := range m.parts {
			for r := range rt.own() {
				rt.ready = rt.work.Start(r, rt.ready[:0])
				rt.release(r)
			}
		}
	}
	m.network.Run(m.kernels(), m)
	if !m.stopped {
		m.err = m.save(true)
	}
	return m.result(w)
}

// runtime is the state of a part of a run. A rank has one CPU, which computes, posts and takes in
// messages in turn; it makes progress on messages whenever it does not compute.
type runtime struct {
	shared
	number    int // of the part
	kernel    *sim.Kernel
	handler   sim.HandlerID
	work      Workload
	transport Transport
	match     matcher
	freeMsg   int32   // list of free messages, by number+1
	newMsg    int32   // first of the messages that nobody had, and of those behind them
	endMsg    int32   // likewise
	recvBytes []int64 // of posted receives, by node of match
	connect   connector
	staged    map[uint64]sim.Time // when the last message is made ready, by sender and receiver
	ready     []Op
	costs     Costs   // of its local work
	copies    *copies // nil: memory without limit
	failure   failure
	pause     int // events of its own until the run pauses, of one in one part
	stats     Stats
	sent      [2][][]acknowledgement // for other parts, by their number: of this window, on the side so called, and of the last, which they may still be reading
	side      int
	nextSent  sim.Time // the time of the first of this window's

	// For the timeline: the message of the event at hand, and numbers of unused transits.
	waking                 wait
	wakesUp                bool
	newTransit, endTransit int32
}

// shared is what a run's parts share. A part touches its own ranks' and messages' only.
type shared struct {
	Config
	pauseEvery int // see runtime.pause; 0: the run does not pause
	parts      []*runtime
	partOf     []uint8 // by node
	nodeOf     []int32
	most       int64 // bytes of a message
	places     places
	ranks      []rank
	messages   *mem.Records[message]
	inOrder    bool
	jobs       *JobsRun // the workload, if it is one
	queues     []Op     // the first memory of ranks' queues, shortQueue each
	noise      *noise   // nil: none
}

// rank is the state of a process.
type rank struct {
	cpu           sim.Time  // free from then on
	posting       int32     // message that the CPU is working on; -1: none
	stepping      bool      // the CPU is at work on the queue, and a step event is to come
	posted, early matchList `snap:"-"`
	queue         []Op      `snap:"-"` // released operations that wait for the CPU
	head          int32     `snap:"-"` // of queue
	connected     int32     // QPs made on demand that are open
	inbox         inbox
	busy          sim.Time // the CPU, up to cpu
	copying       sim.Time // of busy
}

// shortQueue is the number of operations that a rank's queue has memory for from the start.
const shortQueue = 2

// Events of the runtime.
const (
	evStep    uint16 = iota // target rank: the CPU is through with an operation
	evPost                  // target rank, argument message: a message leaves
	evArrive                // target rank, argument message: a message arrives
	evRelay                 // target rank, argument message: a relay passes a message on
	evWritten               // target rank, argument message: an RDMA write is complete at its sender
	evCopy                  // target rank: a copy begins
	evCopied                // target rank: a copy is over
	evReady                 // target rank, argument another: its connection there is ready
	evAgain                 // target rank, argument another: what it sent and found no receive buffer comes again
)

// release queues the operations in rt.ready for r's CPU. A schedule's round keeps its order; of
// others, which are concurrent, sends go first and calcs last, as on the LogGOPS machine.
func (rt *runtime) release(r int32) {
	if len(rt.ready) == 0 {
		return
	}
	if !rt.inOrder && (rt.jobs == nil || !rt.jobs.jobs[rt.jobs.jobOf[r]].schedule) {
		slices.SortStableFunc(rt.ready, func(a, b Op) int { return int(a.Kind) - int(b.Kind) })
	}
	q := &rt.ranks[r]
	if q.stepping {
		q.wait(rt.ready)
		return
	}
	q.stepping = true
	now := rt.kernel.Now()
	if !rt.inOrder || rt.held(r) {
		q.wait(rt.ready)
		rt.advance(r, now)
		return
	}
	// A round that finds the CPU idle skips the queue. Nothing is released, and rt.ready stays,
	// until it is done.
	ops := rt.ready
	for i := range ops {
		if rt.occupies(r, q, &ops[i], now) {
			q.wait(ops[i+1:])
			return
		}
	}
	rt.advance(r, now)
}

// wait appends operations to the queue.
func (q *rank) wait(ops []Op) {
	if int(q.head) == len(q.queue) {
		q.queue, q.head = q.queue[:0], 0
	}
	q.queue = append(q.queue, ops...)
}

func (rt *runtime) Handle(k *sim.Kernel, e sim.Event) {
	if rt.pause--; rt.pause == 0 {
		rt.pause = rt.pauseEvery
		k.Stop()
	}
	switch id := int32(e.Arg); e.Kind {
	case evStep:
		rt.step(e.Target, k.Now())
	case evPost:
		rt.post(id, rt.messages.At(id), k.Now())
	case evArrive:
		rt.delivered(id)
	case evRelay:
		m := rt.messages.At(id)
		_, to := m.ends()
		rt.transmit(id, m, e.Target, to)
	case evWritten:
		if !rt.putsOff(e.Target, ^id) {
			rt.written(id, k.Now())
		}
	case evCopy:
		c := &rt.copies.ranks[e.Target]
		c.began = k.Now()
		rt.copies.memory.copy(e.Target, c.bytes, c.most)
	case evCopied:
		rt.copied(e.Target, k.Now())
	case evReady:
		rt.connect.ready(e.Target, id, k.Now())
	case evAgain:
		rt.connect.comesAgain(e.Target, id)
	}
}

// step is the end of what the CPU of r was working on.
func (rt *runtime) step(r int32, now sim.Time) {
	q := &rt.ranks[r]
	if m := q.posting; m >= 0 {
		q.posting = -1
		rt.leave(m, now)
	}
	rt.advance(r, now)
}

// advance starts the operations of r up to the first that takes CPU time. The CPU may be busy until
// later; what it then takes up can start now, as messages that arrive meanwhile wait for the CPU
// too.
func (rt *runtime) advance(r int32, now sim.Time) {
	q := &rt.ranks[r]
	if q.posting >= 0 { // there are more pieces of it
		if !rt.stepsLater(r) {
			rt.prepare(r, now, rt.Protocols.SegmentOverhead+rt.noise.call(r), rt.messages.At(q.posting), q.posting)
		}
		return
	}
	for int(q.head) < len(q.queue) {
		if rt.stepsLater(r) {
			return
		}
		op := q.queue[q.head]
		q.head++
		if rt.occupies(r, q, &op, now) {
			return
		}
	}
	q.stepping = false
}

// occupies starts an operation of r and tells whether it takes CPU time; then its end is scheduled.
func (rt *runtime) occupies(r int32, q *rank, op *Op, now sim.Time) bool {
	start := max(now, q.cpu, sim.Time(op.Ready))
	if !rt.inOrder { // else nothing is released
		rt.ready = rt.work.Started(r, op.ID, int64(start), rt.ready[:0])
	}
	switch op.Kind {
	case Recv:
		if !rt.inOrder {
			rt.release(r)
		}
		rt.receive(r, op, start)
		return rt.stepsLater(r)
	case Calc:
		if op.Copy && rt.copy(r, start, 0, float64(op.Size)/rt.costs.Copy, 1/rt.costs.Copy, thenWorked, op.ID) {
			return true
		}
		t := min(sim.Time(op.Size), latest)
		if !op.Copy && !op.Wait {
			t += rt.noise.compute(r, t)
		}
		q.cpu = rt.noise.end(r, start, t)
		what := Computing
		if !op.Wait {
			q.busy += q.cpu - start
		} else {
			what = Pausing
		}
		if op.Copy {
			q.copying += q.cpu - start
			what = Copying
		}
		if rt.Timeline != nil {
			rt.books(r, start, q.cpu, what, -1)
		}
		if rt.inOrder {
			rt.ready = rt.ready[:0]
		}
		rt.ready = rt.work.Done(r, op.ID, int64(q.cpu), rt.ready)
		rt.release(r)
		rt.kernel.Schedule(q.cpu, rt.handler, evStep, r, 0)
	case Send:
		if op.Size > rt.most {
			rt.fail(r, fmt.Errorf("%s (%s): want a message of at most %d bytes, 2^40 or as many as take 20 hours", *op, rt.work.Where(r, op.ID), rt.most))
			return true
		}
		if !rt.inOrder {
			rt.release(r)
		}
		q.posting = rt.newMessage(r, op)
		m := rt.messages.At(q.posting)
		t := rt.Protocols.overhead(m.shared, rt.Protocols.SendOverhead) + rt.noise.call(r)
		if m.stage != stageEager {
			t += rt.Protocols.register(op.Size)
		}
		if m.stage == stageEager && !m.shared && op.Size > int64(rt.Adapter.InlineLimit) || rt.Protocols.tells(m.protocol) {
			t += rt.Protocols.BufferTime
		}
		rt.prepare(r, start, t, m, q.posting)
	}
	return true
}

// prepare spends r's CPU time on a message or its next piece: a fixed time, and a copy's.
func (rt *runtime) prepare(r int32, start, fixed sim.Time, m *message, id int32) {
	q, bytes := &rt.ranks[r], rt.pieceBytes(m, m.pieces.made)
	if rt.isCopied(m, collectives.Out) {
		if rt.copyMessage(r, start, fixed, bytes, m, thenLeave, id) {
			return
		}
		fixed += q.copies(copyTime(bytes, rt.rateOf(m)))
	}
	rt.occupy(r, start, fixed, Sending, id)
	rt.kernel.Schedule(q.cpu, rt.handler, evStep, r, 0)
}

// done completes operation id of r at time at, which may lie ahead.
func (rt *runtime) done(r, id int32, at sim.Time) {
	rt.ready = rt.work.Done(r, id, int64(at), rt.ready[:0])
	rt.release(r)
}

// occupy keeps r's CPU busy for a time, from now or when it is free, and returns the end. what and
// id (a message, -1: none) are for the timeline.
func (rt *runtime) occupy(r int32, now, t sim.Time, what What, id int32) sim.Time {
	q := &rt.ranks[r]
	start := max(q.cpu, now)
	q.cpu = rt.noise.end(r, start, t)
	q.busy += q.cpu - start
	if rt.Timeline != nil {
		rt.books(r, start, q.cpu, what, id)
	}
	return q.cpu
}

// copies counts the time of a copy, and returns it.
func (q *rank) copies(t sim.Time) sim.Time {
	q.copying += t
	return t
}
