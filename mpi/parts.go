package mpi

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/mem"
	"github.com/weft-sim/weft/sim/param"
)

// A run may be divided into parts that threads simulate side by side. A part is some nodes with
// their adapters and ranks, a kernel, and the runtime's state beyond ranks. Parts hear of each
// other by acknowledgements and by the network, which makes them. A rank's acts depend on the order
// of its own events only, and that on the model: any division gives the same results.

// Division is a network in parts that can be simulated side by side for some time.
type Division interface {
	// Parts is their number.
	Parts() int
	// PartOf is the part of a node.
	PartOf(node int32) int
	// Transport makes the transport of a part, which calls its sink in events of the part's kernel.
	Transport(part int, k *sim.Kernel, sink Sink) (Transport, error)
	// Run advances the parts' kernels (len = Parts) until nothing is left to do or the meeting ends
	// it.
	Run(kernels []*sim.Kernel, m Meeting)
}

// Meeting is what happens between the windows for which parts are simulated apart. Take and Next
// are called for a part by one thread at a time.
type Meeting interface {
	// Take lets a part take over what others have for it.
	Take(part int)
	// Next is the time of the first thing that a part has for others since the last call;
	// sim.MaxTime: none.
	Next(part int) sim.Time
	// Stop tells whether to end. It is called while no part is simulated.
	Stop() bool
}

// Divide makes the division of a network for so many nodes, apart for at most alone. If that is 0,
// there must be one part, and why says why.
type Divide func(nodes int, alone sim.Time, why string) (Division, error)

// undivided is a network in one piece.
type undivided struct {
	open  NewTransport
	nodes int
}

// Parts, PartOf, Transport and Run implement [Division].
func (u undivided) Parts() int       { return 1 }
func (u undivided) PartOf(int32) int { return 0 }

func (u undivided) Transport(_ int, k *sim.Kernel, sink Sink) (Transport, error) {
	return u.open(k, u.nodes, sink)
}

func (u undivided) Run(kernels []*sim.Kernel, m Meeting) {
	for kernels[0].Run(latest) && kernels[0].Next() <= latest && !m.Stop() {
	}
}

// Divisible is a workload whose ranks can be run by several threads.
type Divisible interface {
	Workload
	// Part is the same run for some of the ranks, which a thread of their own runs.
	Part() Workload
}

// alone is how long the parts of a run of w may be apart, and if that is 0, why.
func (c *Config) alone(w Workload) (sim.Time, string) {
	if _, ok := w.(Divisible); !ok {
		return 0, "the program keeps one state for all ranks"
	}
	if jobs, ok := w.(*JobsRun); ok && jobs.timed {
		return 0, "a job runs until a time or until the others are through, which all its ranks are told of in the same instant"
	}
	if c.Connections.TearDown {
		return 0, "connections.tear_down closes the queue pairs at both ends in the same instant"
	}
	return c.Protocols.Acknowledge, "protocol.acknowledge = 0ns lets a sender know in the same instant that a write is complete"
}

// meeting is what the parts of a run have in common.
type meeting struct {
	network    Division
	work       Workload
	parts      []*runtime
	progress   Progress
	checkpoint Checkpoint
	told       uint64 // events, when progress was last called
	windows    int    // of several parts, since then
	stopped    bool
	err        error // of checkpoint
}

// pauseEvery and pauseWindows are the events and windows after which a run pauses for progress and
// state. Tests change them.
var (
	pauseEvery   = progressInterval
	pauseWindows = 1024
)

// Take hands over what was sent before its last call for the sender, so it must be called for all
// parts in turn. What they send later is put aside: see runtime.sent.
func (m *meeting) Take(part int) {
	to := m.parts[part]
	side := to.side
	to.side ^= 1
	for i, from := range m.parts {
		if from == to {
			continue
		}
		to.sent[to.side][i] = to.sent[to.side][i][:0]
		sent := from.sent[side][part]
		for k := range sent {
			to.enter(&sent[k])
		}
	}
}

func (m *meeting) Next(part int) sim.Time {
	rt := m.parts[part]
	next := rt.nextSent
	rt.nextSent = sim.MaxTime
	return next
}

func (m *meeting) Stop() bool {
	if m.progress == nil && m.checkpoint.Save == nil {
		return false
	}
	handled := m.handled()
	if m.windows++; len(m.parts) > 1 && handled-m.told < uint64(pauseEvery) && m.windows < pauseWindows {
		return false
	}
	m.told, m.windows = handled, 0
	told := m.progress != nil && m.progress(int64(handled))
	m.err = m.save(false) // a run that is told to end is kept before it does
	m.stopped = m.err != nil || told
	return m.stopped
}

func (m *meeting) kernels() (all []*sim.Kernel) {
	return lists.Map(m.parts, func(rt *runtime) *sim.Kernel { return rt.kernel })
}

func (m *meeting) handled() (events uint64) {
	return lists.Sum(m.parts, func(rt *runtime) uint64 { return rt.kernel.Handled() })
}

// acknowledgement tells a sender that an RDMA write is in the memory of the receiver.
type acknowledgement struct {
	at      sim.Time
	to      int32
	message int32
	key     uint64 // see Kernel.ScheduleKeyed
}

// acknowledge sends an acknowledgement, also to another part, at most Protocols.Acknowledge ahead.
func (rt *runtime) acknowledge(a acknowledgement) {
	if len(rt.parts) > 1 {
		if part := rt.partOf[rt.nodeOf[a.to]]; int(part) != rt.number {
			sent := &rt.sent[rt.side][part]
			*sent = append(*sent, a)
			rt.nextSent = min(rt.nextSent, a.at)
			return
		}
	}
	rt.enter(&a)
}

func (rt *runtime) enter(a *acknowledgement) {
	rt.kernel.ScheduleKeyed(a.at, rt.handler, evWritten, a.to, int64(a.message), a.key)
}

func (rt *runtime) of(r int32) *runtime { return rt.parts[rt.partOf[rt.nodeOf[r]]] }

// fail ends the program of rank r with an error.
func (rt *runtime) fail(r int32, err error) {
	if rt.failure.err == nil {
		rt.failure = failure{rt.kernel.Now(), r, err}
	}
}

// failure is what a rank stopped at, in place of its next event.
type failure struct {
	at   sim.Time
	rank int32
	err  error
}

// firstFailure is the first that any rank stopped at; nil if none did.
func (m *meeting) firstFailure() error {
	var first failure
	for _, rt := range m.parts {
		f := &rt.failure
		if f.err != nil && (first.err == nil || f.at < first.at || f.at == first.at && f.rank < first.rank) {
			first = *f
		}
	}
	return first.err
}

// result sums up a run that has come to its end.
func (m *meeting) result(w Workload) (Result, error) {
	if m.err != nil {
		return Result{}, m.err
	}
	if m.stopped {
		return Result{}, ErrStopped
	}
	if err := m.firstFailure(); err != nil {
		return Result{}, err
	}
	ranks := m.parts[0].ranks
	goesOn := slices.ContainsFunc(m.parts, func(rt *runtime) bool { return rt.kernel.Next() < sim.MaxTime })
	if goesOn || slices.ContainsFunc(ranks, func(q rank) bool { return q.cpu > latest }) {
		return Result{}, ErrTooLate
	}
	if err := stuck(m.parts, w); err != nil {
		return Result{}, err
	}
	r := Result{Finish: make([]sim.Time, len(ranks)), CPU: make([]CPUTime, len(ranks))}
	for _, rt := range m.parts {
		r.Stats.add(&rt.stats)
		r.HCA.Add(rt.transport.Stats())
	}
	r.Stats.Events = m.handled()
	for i := range ranks {
		r.Finish[i], r.CPU[i] = ranks[i].cpu, CPUTime{ranks[i].busy, ranks[i].copying}
		r.Elapsed = max(r.Elapsed, ranks[i].cpu)
	}
	return r, nil
}

func (c Config) begin(w Workload) (*meeting, error) {
	if err := c.check(w); err != nil {
		return nil, err
	}
	nodeOf, nodes, err := c.Placement.Place(w.Ranks(), c.Seed)
	if err != nil {
		return nil, err
	}
	var network Division = undivided{c.Transport, nodes}
	if c.Divide != nil {
		alone, why := c.alone(w)
		if network, err = c.Divide(nodes, alone, why); err != nil {
			return nil, err
		}
	}
	s := shared{
		Config: c, parts: make([]*runtime, network.Parts()), partOf: make([]uint8, nodes), nodeOf: nodeOf, most: c.mostBytes(), places: c.Memory.places(nodeOf, nodes),
		ranks: mem.HugePages(make([]rank, w.Ranks())), messages: &mem.Records[message]{},
		queues: mem.HugePages(make([]Op, shortQueue*w.Ranks())), noise: newNoise(&c.Noise, c.Seed, w.Ranks()),
	}
	for node := range s.partOf {
		s.partOf[node] = uint8(network.PartOf(int32(node)))
	}
	_, s.inOrder = w.(*ScheduleRun)
	if s.jobs, _ = w.(*JobsRun); s.jobs != nil {
		s.inOrder = s.jobs.order
	}
	if len(s.parts) == 1 && (c.Progress != nil || c.Checkpoint.Save != nil) {
		s.pauseEvery = pauseEvery
	}
	if c.Timeline != nil {
		c.Timeline.open(w.Ranks(), 1)
	}
	for part := range s.parts {
		s.parts[part] = &runtime{shared: s, number: part, work: w, nextSent: sim.MaxTime, pause: s.pauseEvery, sent: [2][][]acknowledgement{make([][]acknowledgement, len(s.parts)), make([][]acknowledgement, len(s.parts))}}
		if len(s.parts) > 1 {
			s.parts[part].work = w.(Divisible).Part()
		}
		if err := s.parts[part].open(network, nodes); err != nil {
			return nil, err
		}
	}
	return &meeting{network: network, work: w, parts: s.parts, progress: c.Progress, checkpoint: c.Checkpoint}, nil
}

// mostBytes is the size of the largest message, of which nothing takes longer than longest.
func (c *Config) mostBytes() int64 {
	p, a := &c.Protocols, &c.Adapter
	each := float64(max(p.StagingPage, p.RegisterPage, a.PageTime)) / 4096
	each = max(each, float64(a.PacketTime)/float64(max(1, a.MTU)))
	for _, rate := range []sim.Rate{p.CopyRate, p.SharedRate, p.SingleCopyRate, c.Memory.Across, a.Rate(), a.InlineRate, a.FetchRate} {
		if rate > 0 {
			each = max(each, rate.PicosecondsFor(1))
		}
	}
	return int64(min(maxMessage, float64(longest)/each))
}

// check finds what is wrong with a configuration for a workload.
func (c *Config) check(w Workload) error {
	if err := cmp.Or(param.Validate(&c.Protocols), errors.Join(param.Validate(&c.Connections), c.Noise.Check(), c.Memory.check())); err != nil {
		return err
	}
	if c.Timeline != nil && (c.Checkpoint.From != nil || c.Checkpoint.Save != nil) {
		return errors.New("mpi: a run with a timeline keeps no state")
	}
	if w.CPUs() > 1 || w.NICs() > 1 {
		return fmt.Errorf("the program uses %d CPUs and %d NICs a rank; the runtime has one of each (the LogGOPS machine has them all)", w.CPUs(), w.NICs())
	}
	return nil
}

// open makes what a part has for itself.
func (rt *runtime) open(network Division, nodes int) (err error) {
	rt.kernel = sim.NewKernel()
	rt.handler = rt.kernel.Register(rt)
	if rt.transport, err = network.Transport(rt.number, rt.kernel, rt); err != nil {
		return err
	}
	rt.copies = newCopies(rt, nodes)
	rt.connect, rt.staged = newConnector(rt, nodes), map[uint64]sim.Time{}
	if rt.jobs != nil {
		rt.costs = rt.jobs.costs
	}
	if s, ok := rt.work.(*ScheduleRun); ok {
		rt.costs = s.costs
		if rt.Connections.TearDown {
			s.phaseOver = func(rank int32, now int64) { rt.connect.tearDown(rank, sim.Time(now)) }
		}
	}
	for r := range rt.own() {
		q := &rt.ranks[r]
		q.posting = -1
		q.cpu = rt.Noise.skew(rt.Seed, int(r))
		if rt.jobs != nil {
			rt.jobs.ranks[r].end = int64(q.cpu)
		} else if s, ok := rt.work.(*ScheduleRun); ok {
			s.ranks[r].ready = int64(q.cpu) // its operations are timed from there
		}
		if rt.Timeline != nil {
			rt.books(r, 0, q.cpu, Pausing, -1)
		}
		q.queue = rt.queues[shortQueue*r : shortQueue*r : shortQueue*(r+1)]
	}
	return nil
}

func (rt *runtime) own() iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for r := range int32(len(rt.ranks)) {
			if int(rt.partOf[rt.nodeOf[r]]) == rt.number && !yield(r) {
				return
			}
		}
	}
}
