package mpi

import (
	"fmt"
	"slices"
	"sync"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/snapshot"
)

// Kind is what an operation does.
type Kind uint8

// The kinds, in the order in which operations released by the same event are taken.
const (
	Send Kind = iota
	Recv
	Calc
)

// String is the word for the kind, as GOAL has it.
func (k Kind) String() string { return [...]string{"send", "recv", "calc"}[k] }

// Any is the wildcard of a receive's source and of a tag.
const Any int32 = -1

// Op is one operation of one rank.
type Op struct {
	Size     int64 // in bytes; of a Calc a duration, in the time unit of the machine
	Ready    int64 // when the last operation was done that this one requires, in the machine's time unit
	ID       int32 // names the operation to its workload; unique among the rank's operations under way
	Peer     int32 // destination or source rank; a Recv may say Any
	Tag      int32 // equal on both sides, or Any on one of them
	Kind     Kind
	Protocol Protocol            // how a send travels; Auto except where a schedule asks for more
	Segment  collectives.Segment // how a send inside a node uses shared memory
	Control  bool                // a send without data of the program; counted with RTS, CTS and FIN
	Copy     bool                // a Calc that moves data inside the rank's memory
	Wait     bool                // a Calc that waits for a time, and is no work
	CPU, NIC uint8               // the rank's processing element and network interface
}

// String tells the operation with size in bytes, peer and tag; a Calc with its duration, in the
// machine's time unit.
func (op Op) String() string {
	switch op.Kind {
	case Send:
		return fmt.Sprintf("send %d B to %d tag %d", op.Size, op.Peer, op.Tag)
	case Recv:
		if op.Peer == Any {
			return fmt.Sprintf("recv %d B from any tag %d", op.Size, op.Tag)
		}
		return fmt.Sprintf("recv %d B from %d tag %d", op.Size, op.Peer, op.Tag)
	}
	return fmt.Sprintf("calc %d", op.Size)
}

// Workload is what ranks do: it hands out operations as they become possible. A machine calls it,
// in an order of the model only, and runs them. It holds the state of one run.
type Workload interface {
	// Ranks is the number of ranks.
	Ranks() int
	// CPUs and NICs are the largest numbers in use by any rank, plus one.
	CPUs() int
	NICs() int
	// Start appends the operations with which rank begins.
	Start(rank int32, dst []Op) []Op
	// Started and Done append the operations released by id's start and completion at time now.
	Started(rank, id int32, now int64, dst []Op) []Op
	Done(rank, id int32, now int64, dst []Op) []Op
	// Where tells for messages where operation id of rank comes from: a file and line, a round.
	Where(rank, id int32) string
	// Unreleased is the number of operations, if known, or else of ranks, that are still to come.
	Unreleased() int64
}

// Phased is a schedule that comes in phases (set-up, iterations), which are timed apart.
type Phased interface {
	collectives.Schedule
	// Phases is their number.
	Phases() int
	// Phase is a round's phase, which never sinks from round to round. Rounds of phase -1 are not
	// timed.
	Phase(rank, round int) int
}

// Iterated runs a body several times; every time is a phase.
type Iterated struct {
	collectives.Schedule              // the body
	rounds               *roundCounts // of the body
	timed                *roundCounts // the first of them, which are the operation
	times                int
}

// Iterate runs a body, which is one operation, the given number of times.
func Iterate(body collectives.Schedule, times int) *Iterated {
	n := newRoundCounts(body)
	return &Iterated{body, n, n, times}
}

// IterateApart repeats an operation and what keeps it apart from the next, such as a barrier.
func IterateApart(operation, apart collectives.Schedule, times int) *Iterated {
	body := collectives.Sequence(operation, apart)
	return &Iterated{body, newRoundCounts(body), newRoundCounts(operation), times}
}

// roundCounts are the rounds of each rank of a schedule, counted when they are first asked for.
type roundCounts struct {
	once  sync.Once
	count func()
	all   []uint32 // divisions are faster without a sign
}

func newRoundCounts(s collectives.Schedule) *roundCounts {
	c := &roundCounts{}
	c.count = func() {
		c.all = make([]uint32, s.Ranks())
		for r := range c.all {
			c.all[r] = uint32(s.Rounds(r))
		}
	}
	return c
}

func (c *roundCounts) of(rank int) uint32 {
	c.once.Do(c.count)
	return c.all[rank]
}

// Run starts a run on a machine with the given time unit.
func (s *Iterated) Run(unit sim.Time, costs Costs) Workload { return RunSchedule(s, costs, unit) }

// Rounds, Phases, Phase and Round implement [Phased]: the rounds of the body, once for each phase.
func (s *Iterated) Rounds(rank int) int       { return s.times * s.Schedule.Rounds(rank) }
func (s *Iterated) Phases() int               { return s.times }
func (s *Iterated) Phase(rank, round int) int { return int(uint32(round) / s.rounds.of(rank)) }
func (s *Iterated) Round(rank, round int, dst []collectives.Op) []collectives.Op {
	return s.Schedule.Round(rank, int(uint32(round)%s.rounds.of(rank)), dst)
}

// LocalWork holds the settings of what the local work of a schedule takes.
type LocalWork struct {
	CopyRate    sim.Rate `toml:"copy_rate" doc:"rate of a schedule's copies inside a rank's memory" min:"1kb/s"`
	CombineRate sim.Rate `toml:"combine_rate" doc:"rate of reducing received data" min:"1kb/s"`
	CallTime    sim.Time `toml:"call_time" doc:"CPU time of the library, beside protocol.send_overhead and recv_overhead, for a call: a round of a schedule that sends or receives" min:"0ns" max:"1000s"`
	BlockTime   sim.Time `toml:"block_time" doc:"CPU time for each block that a schedule's copies gather or scatter, beside its bytes; what lies in one piece is one block" min:"0ns" max:"1000s"`
}

// DefaultLocalWork goes with the cores of [DefaultProtocols].
var DefaultLocalWork = LocalWork{CopyRate: 40e9, CombineRate: 16e9}

// Costs is what the settings come to.
func (w *LocalWork) Costs() Costs {
	return Costs{Copy: w.CopyRate.PicosecondsFor(1), Combine: w.CombineRate.PicosecondsFor(1), Call: w.CallTime, Block: w.BlockTime}
}

// Costs says what the local work of a schedule takes.
type Costs struct {
	Copy    float64  // moving data inside a rank's memory, in picoseconds per byte
	Combine float64  // reducing received data, likewise
	Call    sim.Time // of the library, for a round that sends or receives
	Block   sim.Time // for each block of a copy that lies by itself
}

// RunSchedule returns a workload in which every rank runs its program of a schedule. unit is the
// machine's time unit: sim.Nanosecond for LogGOPS, sim.Picosecond for the runtime; local work is
// rounded down. Memory: 32 bytes a rank.
func RunSchedule(s collectives.Schedule, costs Costs, unit sim.Time) *ScheduleRun {
	w := &ScheduleRun{s: s, costs: costs, unit: unit, ranks: make([]rankProgress, s.Ranks()), left: int64(s.Ranks())}
	w.timed, _ = s.(Timed)
	if w.phased, _ = s.(Phased); w.phased != nil {
		w.phaseEnd = make([]int64, w.phased.Phases())
	}
	return w
}

// rankProgress is how far a rank has come. Times are in ps.
type rankProgress struct {
	round   int32
	open    int32 // operations of the round that are under way
	ready   int64 // when the last one so far was done
	combine int64 // bytes that the round has received to be reduced
	spent   int64 // in rounds that are timed, once they are over; none lies in two cache lines
}

// ScheduleRun is the state of one run of a schedule.
type ScheduleRun struct {
	s     collectives.Schedule
	costs Costs
	unit  sim.Time
	ranks []rankProgress
	ops   []collectives.Op
	left  int64

	timed    Timed  // nil if no operations are timed
	phased   Phased // nil if the schedule has no phases
	phaseEnd []int64
	// phaseOver, if not nil, is called when a rank is through with a phase.
	phaseOver func(rank int32, now int64)
	parts     []*ScheduleRun
}

// Part implements [Divisible].
func (w *ScheduleRun) Part() Workload {
	p := *w
	p.ops, p.left, p.phaseEnd = nil, 0, make([]int64, len(w.phaseEnd))
	w.parts = append(w.parts, &p)
	return &p
}

// PhaseEnds are the times, in the machine's unit, at which the last rank left each phase of a
// Phased schedule.
func (w *ScheduleRun) PhaseEnds() []int64 {
	for _, p := range w.parts {
		for i, end := range p.phaseEnd {
			w.phaseEnd[i] = max(w.phaseEnd[i], end)
		}
	}
	return w.phaseEnd
}

// Ranks, CPUs and NICs implement [Workload]: a rank of a schedule has one CPU and one NIC.
func (w *ScheduleRun) Ranks() int { return w.s.Ranks() }
func (w *ScheduleRun) CPUs() int  { return 1 }
func (w *ScheduleRun) NICs() int  { return 1 }

// Unreleased implements [Workload]: the sum over the parts of the run.
func (w *ScheduleRun) Unreleased() int64 {
	left := w.left
	for _, p := range w.parts { // which count down from 0
		left += p.left
	}
	return left
}

// Where implements [Workload]: operations are named by their round.
func (w *ScheduleRun) Where(rank, id int32) string { return fmt.Sprintf("round %d", id) }

// Start implements [Workload].
func (w *ScheduleRun) Start(rank int32, dst []Op) []Op { return w.enter(rank, dst) }

// Started releases nothing: a round starts as a whole.
func (w *ScheduleRun) Started(_, _ int32, _ int64, dst []Op) []Op { return dst }

// Done implements [Workload]. Behind a round's last operation the rank combines what it has
// received, and goes on.
func (w *ScheduleRun) Done(rank, _ int32, now int64, dst []Op) []Op {
	p := &w.ranks[rank]
	p.open--
	p.ready = max(p.ready, now)
	if p.open > 0 {
		return dst
	}
	if p.combine > 0 {
		cost := w.units(float64(p.combine) * w.costs.Combine)
		if p.combine = 0; cost > 0 {
			p.open = 1
			return append(dst, Op{ID: p.round, Kind: Calc, Size: cost, Ready: p.ready})
		}
	}
	if w.phased != nil {
		w.timePhase(rank, p)
	}
	if w.isTimed(rank, p) {
		p.spent += p.ready
	}
	p.round++
	return w.enter(rank, dst)
}

// timePhase notes that rank is through with a round.
func (w *ScheduleRun) timePhase(rank int32, p *rankProgress) {
	phase := w.phased.Phase(int(rank), int(p.round))
	if phase < 0 {
		return
	}
	w.phaseEnd[phase] = max(w.phaseEnd[phase], p.ready)
	if w.phaseOver != nil && w.phased.Phase(int(rank), int(p.round)+1) != phase {
		w.phaseOver(rank, p.ready)
	}
}

// enter releases the first round from the present one on that has work.
func (w *ScheduleRun) enter(rank int32, dst []Op) []Op {
	p := &w.ranks[rank]
	for rounds := w.s.Rounds(int(rank)); int(p.round) < rounds; p.round++ {
		w.ops = w.s.Round(int(rank), int(p.round), w.ops[:0])
		before := len(dst)
		if w.costs.Call > 0 && slices.ContainsFunc(w.ops, func(o collectives.Op) bool { return o.Kind <= collectives.Recv }) {
			dst = append(dst, Op{ID: p.round, Kind: Calc, Size: int64(w.costs.Call / w.unit), Ready: p.ready})
		}
		for i := range w.ops {
			w.checkOp(rank, p.round, &w.ops[i])
			dst = w.convert(p, &w.ops[i], dst)
		}
		if p.open = int32(len(dst) - before); p.open > 0 {
			if w.isTimed(rank, p) {
				p.spent -= p.ready
			}
			return dst
		}
	}
	w.left--
	return dst
}

// checkOp panics for an operation that no rank can have.
func (w *ScheduleRun) checkOp(rank, round int32, o *collectives.Op) {
	message, ranks := o.Kind <= collectives.Recv, len(w.ranks)
	peer := uint32(o.Peer) < uint32(ranks) || o.Peer == Any && o.Kind == collectives.Recv
	if o.Kind > collectives.Copy || o.Bytes < 0 || o.Time < 0 || message && !peer {
		panic(&param.Misuse{Of: "workload", By: w.s, Did: fmt.Sprintf("gives rank %d in round %d an operation of kind %d, peer %d, %d B and %v: want a kind from Send to Copy, a peer of 0 to %d, nothing negative",
			rank, round, o.Kind, o.Peer, o.Bytes, o.Time, ranks-1)})
	}
}

// units turns picoseconds into whole units of the machine, fewer than overflow.
func (w *ScheduleRun) units(time float64) int64 { return int64(min(time/float64(w.unit), 1<<62)) }

// convert appends an operation of the schedule as one of the machine, unless it takes no time.
func (w *ScheduleRun) convert(p *rankProgress, o *collectives.Op, dst []Op) []Op {
	if o.Kind == collectives.Copy && w.costs.Block > 0 {
		dst = append(dst, Op{ID: p.round, Kind: Calc, Size: w.units(float64(w.costs.Block) * float64(o.Blocks())), Ready: p.ready})
	}
	dst = append(dst, Op{})
	op := &dst[len(dst)-1]
	// Field by field: what has just been written that way is not copied faster.
	op.ID, op.Peer, op.Tag, op.Size, op.Protocol, op.Segment, op.Control, op.Ready = p.round, o.Peer, o.Tag, o.Bytes, o.Protocol, o.Segment, o.Control, p.ready
	switch o.Kind {
	case collectives.Send:
		op.Kind = Send
	case collectives.Recv:
		op.Kind = Recv
		if o.Combine {
			p.combine += o.Bytes
		}
	case collectives.Compute:
		op.Kind, op.Size = Calc, int64(o.Time/w.unit)
	case collectives.Copy:
		op.Kind, op.Copy, op.Size = Calc, true, w.units(float64(o.Bytes)*w.costs.Copy)
		if op.Size <= 0 {
			return dst[:len(dst)-1]
		}
	}
	return dst
}

// Archive implements [KeptWorkload]: how far each rank has come. Rounds follow from the schedule.
func (w *ScheduleRun) Archive(a *snapshot.Archive) {
	snapshot.Array(a, "ranks", w.ranks, snapshot.Value)
	ends := append([]int64(nil), w.PhaseEnds()...)
	snapshot.Array(a, "phases", ends, snapshot.Int)
	if !a.Reading() {
		return
	}
	copy(w.phaseEnd, ends)
	w.left = 0
	for r := range w.ranks {
		if w.ranks[r].open > 0 {
			w.left++
		}
	}
}

// The placements of ranks on nodes.
const (
	Block    = "block"    // ranks 0..p-1 on node 0, the next p on node 1, ...
	Cyclic   = "cyclic"   // rank r on node r mod nodes
	Random   = "random"   // blocks on a random permutation of the ranks
	Explicit = "explicit" // as listed
)

// Placement puts ranks on nodes, PerNode on each.
type Placement struct {
	Type    string `toml:"type" doc:"how ranks are put on nodes" choices:"block|cyclic|random|explicit"`
	PerNode int    `toml:"per_node" doc:"ranks on a node" unit:"ranks" min:"1"`
	Nodes   []int  `toml:"nodes" doc:"explicit: the node of each rank" min:"0"`
}

// NumNodes is the number of nodes of so many ranks, or the error of the placement.
func (p Placement) NumNodes(ranks int) (nodes int, err error) {
	switch {
	case p.Type == Explicit && len(p.Nodes) != ranks:
		return 0, &param.ParamError{Key: "nodes", Value: fmt.Sprintf("%d entries", len(p.Nodes)), Want: fmt.Sprintf("one for each of %d ranks", ranks)}
	case p.Type == Explicit:
		for r, n := range p.Nodes {
			if n < 0 || n > 1<<24 {
				return 0, &param.ParamError{Key: fmt.Sprintf("nodes[%d]", r), Value: n, Want: "0 to 16777216"}
			}
			nodes = max(nodes, n+1)
		}
		return nodes, nil
	case p.PerNode < 1:
		return 0, &param.ParamError{Key: "per_node", Value: p.PerNode, Want: "at least 1"}
	case p.Type != Block && p.Type != Random && p.Type != Cyclic:
		return 0, &param.ParamError{Key: "type", Value: p.Type, Want: "block, cyclic, random or explicit"}
	}
	return ceilDiv(ranks, p.PerNode), nil
}

// Place returns the node of each rank and the number of nodes.
func (p Placement) Place(ranks int, seed uint64) (nodeOf []int32, nodes int, err error) {
	if nodes, err = p.NumNodes(ranks); err != nil {
		return nil, 0, err
	}
	nodeOf = make([]int32, ranks)
	for r := range nodeOf {
		switch p.Type {
		case Explicit:
			nodeOf[r] = int32(p.Nodes[r])
		case Cyclic:
			nodeOf[r] = int32(r % nodes)
		default:
			nodeOf[r] = int32(r / p.PerNode)
		}
	}
	if p.Type == Random {
		s := sim.NewStream(seed, "mpi.placement", 0)
		sim.Shuffle(&s, nodeOf)
	}
	return nodeOf, nodes, nil
}
