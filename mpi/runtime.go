package mpi

import (
	"errors"
	"fmt"
	"slices"

	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/mem"
	"github.com/weft-sim/weft/sim/param"
)

// Config is all that a run needs besides its workload.
type Config struct {
	Placement   Placement
	Protocols   Protocols
	Connections Connections
	Noise       Noise
	Memory      Memory
	// Adapter gives the CPU times of connecting and the RNR delay.
	Adapter   hca.Config
	Transport NewTransport
	Seed      uint64
	// Progress, if not nil, is called now and then with the number of events
	// so far; the run ends with ErrStopped if it returns true.
	Progress Progress
}

// Progress is told how many events a run has handled and may stop it.
type Progress func(events int64) (stop bool)

// ErrStopped is the error of a run that its Progress stopped.
var ErrStopped = errors.New("stopped")

// progressInterval is the number of events between calls of Progress.
const progressInterval = 1 << 18

// Result is what a run yields.
type Result struct {
	// Finish is the time at which each rank's CPU is done (len = ranks).
	Finish []sim.Time
	// Elapsed is the largest of them.
	Elapsed sim.Time
	Stats   Stats
	HCA     hca.Stats
}

// Stats count what the runtime did.
type Stats struct {
	Messages    int64 // point-to-point messages of the program
	Bytes       int64 // of these
	Shared      int64 // of these, through shared memory
	Rendezvous  int64 // of these, by RTS and CTS
	Control     int64 // RTS, CTS and FIN sent, and what else only synchronises
	NotReady    int64 // arrivals that found no receive buffer
	Handshakes  int64 // connections made on demand
	Relayed     int64 // messages that a relay passed on
	Connecting  int64 // messages of handshakes, each way over a relay counted once per hop
	QPs         int64 // created on demand
	QPsClosed   int64 // of these
	QPsPeak     int64 // open at once, of the process with the most
	KernelTime  sim.Time
	ConnectWait sim.Time // of messages, for their connection, summed
	Events      uint64
}

// latest bounds the ends of computations, so that what follows them cannot
// overflow: 53 days. A message of maxMessage bytes takes less at 0.002 Gb/s.
const (
	latest     = sim.MaxTime / 2
	maxMessage = 1 << 40
)

var errTooLate = errors.New("a computation ends after more than 53 days of simulated time")

// Run executes a workload whose times are in picoseconds.
func (c Config) Run(w Workload) (Result, error) {
	k := sim.NewKernel()
	rt, err := newRuntime(k, c, w)
	if err != nil {
		return Result{}, err
	}
	rt.start()
	for more := k.Run(sim.MaxTime); more; more = k.Run(sim.MaxTime) {
		if c.Progress(int64(k.Handled())) {
			return Result{}, ErrStopped
		}
	}
	if rt.fault != nil {
		return Result{}, rt.fault
	}
	if err := rt.stuck(); err != nil {
		return Result{}, err
	}
	r := Result{Finish: make([]sim.Time, len(rt.ranks)), Stats: rt.stats, HCA: rt.transport.Stats()}
	r.Stats.Events = k.Handled()
	for i := range rt.ranks {
		r.Finish[i] = rt.ranks[i].cpu
		r.Elapsed = max(r.Elapsed, rt.ranks[i].cpu)
	}
	return r, nil
}

// runtime is the state of a run. Every rank has one CPU, which computes, posts
// and takes in messages one after another; it makes progress on messages
// whenever it does not compute.
type runtime struct {
	Config
	kernel    *sim.Kernel
	handler   sim.HandlerID
	work      Workload
	transport Transport
	nodeOf    []int32
	ranks     []rank
	match     matcher
	messages  []message
	freeMsg   int32   // list of free messages, by number+1
	recvBytes []int64 // of posted receives, by node of match
	connect   connector
	ready     []Op
	inOrder   bool
	schedule  *ScheduleRun // the workload, if it is one
	queues    []Op         // the first memory of ranks' queues, shortQueue each
	firstOwn  int32        // node of match, of rank 0
	noise     *noise       // nil: none
	copies    *copies      // nil: memory without limit
	expecter  expecter     // the transport, if it is one and rt looks ahead
	fault     error        // what a rank stopped at, in place of its next event
	handled   int          // of its own events
	stats     Stats
}

// rank is the state of a process, in two cache lines of 64 bytes.
type rank struct {
	cpu sim.Time // free from then on
	// posting is the message that the CPU is working on, -1 if none.
	posting       int32
	stepping      bool // the CPU is at work on the queue, and a step event is to come
	posted, early matchList
	inbox         inbox
	queue         []Op  // released operations that wait for the CPU
	head          int32 // of queue
	connected     int32 // QPs made on demand that are open
	waiting       waitingFor
	_             [20]byte
}

// shortQueue is the number of operations that a rank's queue has memory for from
// the start.
const shortQueue = 2

// Events of the runtime.
const (
	evStep    uint16 = iota // target rank, argument message or -1: the CPU is through with an operation
	evPost                  // target rank, argument message: a message leaves
	evArrive                // target rank, argument message: a message arrives
	evRelay                 // target rank, argument message: a relay passes a message on
	evWritten               // target rank, argument message: an RDMA write is complete at its sender
	evCopy                  // target rank: a copy begins
	evCopied                // target rank: a copy is over
)

func newRuntime(k *sim.Kernel, c Config, w Workload) (*runtime, error) {
	if err := param.Validate(&c.Protocols); err != nil {
		return nil, err
	}
	if err := errors.Join(param.Validate(&c.Connections), c.Noise.Check(), c.Memory.check()); err != nil {
		return nil, err
	}
	if w.CPUs() > 1 || w.NICs() > 1 {
		return nil, fmt.Errorf("the program uses %d CPUs and %d NICs a rank; the runtime has one of each (the LogGOPS machine has them all)", w.CPUs(), w.NICs())
	}
	nodeOf, nodes, err := c.Placement.Place(w.Ranks(), c.Seed)
	if err != nil {
		return nil, err
	}
	rt := &runtime{Config: c, kernel: k, work: w, nodeOf: nodeOf, ranks: mem.HugePages(make([]rank, w.Ranks()))}
	rt.handler = k.Register(rt)
	rt.noise = newNoise(&c.Noise, c.Seed, w.Ranks())
	if rt.transport, err = c.Transport(k, nodes, rt); err != nil {
		return nil, err
	}
	rt.copies = newCopies(rt, nodes)
	rt.connect = newConnector(rt, nodes)
	rt.firstOwn = rt.match.reserve(len(rt.ranks))
	rt.recvBytes = make([]int64, len(rt.match.nodes))
	rt.queues = mem.HugePages(make([]Op, shortQueue*len(rt.ranks)))
	if s, ok := w.(*ScheduleRun); ok {
		rt.inOrder, rt.schedule = true, s
		if c.Connections.TearDown {
			s.phaseOver = func(rank int32, now int64) { rt.connect.tearDown(rank, sim.Time(now)) }
		}
	}
	if rt.looksAhead() {
		k.LookAhead(rt.handler)
		if rt.expecter, _ = rt.transport.(expecter); rt.expecter != nil {
			rt.expecter.lookAhead(rt.expectArrival)
		}
	}
	for r := range rt.ranks {
		q := &rt.ranks[r]
		q.posting, q.posted.own = -1, rt.firstOwn+int32(r)*ownNodes
		q.cpu = c.Noise.skew(c.Seed, r)
		q.queue = rt.queues[shortQueue*r : shortQueue*r : shortQueue*(r+1)]
	}
	return rt, nil
}

func (rt *runtime) start() {
	for r := range rt.ranks {
		rt.ready = rt.work.Start(int32(r), rt.ready[:0])
		rt.release(int32(r))
	}
}

// release queues the operations in rt.ready for the CPU of r. Those of a
// schedule's round keep their order; of others, which are concurrent, sends go
// first and calcs last, as on the LogGOPS machine.
func (rt *runtime) release(r int32) {
	if len(rt.ready) == 0 {
		return
	}
	if !rt.inOrder {
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
	// A round that finds the CPU idle need not go through the queue. Nothing is
	// released, and rt.ready stays, until the last of it is done.
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
	if rt.handled++; rt.handled%progressInterval == 0 && rt.Progress != nil {
		k.Stop()
	}
	switch e.Kind {
	case evStep:
		rt.step(e.Target, k.Now())
	case evPost:
		rt.post(int32(e.Arg>>32), k.Now())
	case evArrive:
		rt.Delivered(int32(e.Arg >> 32))
	case evRelay:
		m := int32(e.Arg >> 32)
		_, to := rt.messages[m].ends()
		rt.transmit(m, e.Target, to)
	case evWritten:
		if id := int32(e.Arg >> 32); !rt.putsOff(e.Target, ^id) {
			rt.written(id, k.Now())
		}
	case evCopy:
		rt.beginCopy(e.Target, k.Now())
	case evCopied:
		rt.copied(e.Target, k.Now())
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

// advance starts the operations of r up to the first that takes CPU time. The
// CPU may be busy until later; what it takes up then can be started now, because
// messages that arrive meanwhile have to wait for the CPU too.
func (rt *runtime) advance(r int32, now sim.Time) {
	q := &rt.ranks[r]
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

// occupies starts an operation of r and tells whether it takes CPU time; then
// its end is scheduled.
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
		if op.Copy && rt.copy(r, start, 0, float64(op.Size)/rt.schedule.costs.Copy, 1/rt.schedule.costs.Copy, thenWorked, op.ID) {
			return true
		}
		t := min(sim.Time(op.Size), latest)
		if !op.Copy {
			t += rt.noise.compute(r, t)
		}
		q.cpu = rt.noise.end(r, start, t)
		if q.cpu >= latest {
			rt.fault = errTooLate
			return true
		}
		if rt.inOrder {
			rt.ready = rt.ready[:0]
		}
		rt.ready = rt.work.Done(r, op.ID, int64(q.cpu), rt.ready)
		rt.release(r)
		rt.kernel.Schedule(q.cpu, rt.handler, evStep, r, -1)
	case Send:
		if op.Size > maxMessage {
			rt.fault = fmt.Errorf("%s (%s): want a message of at most 2^40 bytes", *op, rt.work.Where(r, op.ID))
			return true
		}
		if !rt.inOrder {
			rt.release(r)
		}
		q.posting = rt.newMessage(r, op)
		t := rt.Protocols.SendOverhead + rt.noise.call(r)
		m := &rt.messages[q.posting]
		if m.stage != stageEager {
			t += rt.Protocols.register(op.Size)
		}
		if rt.copiedIn(m) {
			if rt.copyMessage(r, start, t, op.Size, thenLeave, q.posting) {
				return true
			}
			t += rt.copyTime(op.Size)
		}
		q.cpu = rt.noise.end(r, start, t)
		rt.kernel.Schedule(q.cpu, rt.handler, evStep, r, messageAndPeer(q.posting, op.Peer))
	}
	return true
}

// copyTime is the time for moving so many bytes inside a node.
func (rt *runtime) copyTime(bytes int64) sim.Time {
	return sim.Time(float64(bytes) * 8e12 / float64(rt.Protocols.CopyRate))
}

// done completes operation id of r at time at, which may lie ahead.
func (rt *runtime) done(r, id int32, at sim.Time) {
	rt.ready = rt.work.Done(r, id, int64(at), rt.ready[:0])
	rt.release(r)
}

// occupy keeps the CPU of r busy for a time from now, or from when it is free,
// and returns the end.
func (rt *runtime) occupy(r int32, now, t sim.Time) sim.Time {
	q := &rt.ranks[r]
	q.cpu = rt.noise.end(r, max(q.cpu, now), t)
	return q.cpu
}
