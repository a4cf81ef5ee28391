package routing

import (
	"cmp"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// Staged is implemented by routings whose packets make for one goal after another, such
// as an intermediate group, the destination's group, the destination, and on the way look
// at nothing but the goal. Their dependencies follow from walks to goals: a dragonfly of
// 8,192 switches in 256 groups takes 256 walks to intermediate groups and as many to
// destinations' groups, where following each destination would take 8,192 walks, each over
// all intermediate groups.
//
// Decisions at a switch must depend on how a packet came there as far as [Stage].Came
// tells, and not on its source. The conformance suite compares with the walk of
// [Dependencies].
type Staged interface {
	// Stages lists the parts of paths in the order in which packets pass them, some of
	// them left out; nil where paths have no such parts. wide is the routing itself, or
	// one that lists its decisions and more.
	Stages() (wide fabric.Routing, stages []Stage)
}

// Stage is a part of the paths of a [Staged] routing. Functions may be called from several
// goroutines at a time.
type Stage struct {
	Goals int
	// Switches lists those that Start and Enters can say yes of; nil: all.
	Switches func(goal int) []topology.SwitchID
	// Start is the state with which packets that are born at s may begin in this stage;
	// ok is false where none do. s has terminals.
	Start func(goal int, s topology.SwitchID) (state uint32, ok bool)
	// Enters tells whether a packet that has ended an earlier stage at s in some state
	// may be one for this goal. It may say yes where there is no such packet.
	Enters func(goal int, s topology.SwitchID, state uint32) bool
	// Head is a destination that stands for all that packets at s for this goal may
	// have, and their whole state, of which Reduce has left one.
	Head func(goal int, s topology.SwitchID, state uint32) (dst topology.TerminalID, whole uint32)
	// Ends tells whether the stage ends for packets that come to s, and whether it goes
	// on for some.
	Ends func(goal int, s topology.SwitchID) (ends, goesOn bool)
	// Reduce takes out of a state what the goal tells, and what no decision depends on
	// any more; nil: nothing.
	Reduce func(state uint32) uint32
	// Came is what decisions depend on of the port that a packet has come in by; nil:
	// nothing.
	Came func(in topology.PortID) uint8
	// Counts tells that states count hops, which makes walks faster; nil: they do not.
	Counts *Counts
}

// toDestination is Ends of a stage that ends with the delivery.
func toDestination(int, topology.SwitchID) (ends, goesOn bool) { return false, true }

// Dependent is told of channels, and what those that hold them may wait for: channels out of
// the next switch, bit local*vcs + vc for virtual channel vc of its local-th port. It is
// called by several goroutines at a time.
type Dependent func(held topology.Channel, wanted []uint64)

// StagedDependencies yields the dependencies of r on g with vcs virtual channels, and
// possibly some more, which belong to no packet: without a cycle among them r is free from
// deadlock. ok is false where r has no stages. Cost: for each goal, a call of Explore at each
// switch and state. Several goroutines share the goals.
func StagedDependencies(g *topology.Graph, r fabric.Routing, vcs int, yield Dependent) (ok bool, err error) {
	staged, is := r.(Staged)
	if !is {
		return false, nil
	}
	wide, stages := staged.Stages()
	if stages == nil {
		return false, nil
	}
	w, err := newWalker(g, wide, vcs)
	if err != nil {
		return false, err
	}
	_, sample := numberLeaves(g)
	var waiting []*arrivals // by the stage that has ended
	for i := range stages {
		ended, err := w.stage(&stages[i], sample, waiting, yield)
		if err != nil {
			return false, err
		}
		ended.sort(g)
		waiting = append(waiting, ended)
	}
	for _, ended := range waiting {
		ended.yieldAll(w, yield)
	}
	return true, nil
}

// arrivals are the heads of packets that have ended a stage.
type arrivals struct {
	index map[uint64]int32
	list  []arrival
	start []int32 // by switch: its first in list, once that is sorted
}

// arrival is one of them: the channels by which packets come there, and those that they
// may go on by.
type arrival struct {
	stageKey
	in     []uint64 // bit local*vcs + vc of the port that packets come in by
	wanted []uint64
}

func (a *arrivals) at(k stageKey, width int) *arrival {
	i, known := a.index[k.number()]
	if !known {
		if a.index == nil {
			a.index = map[uint64]int32{}
		}
		i = int32(len(a.list))
		a.index[k.number()] = i
		a.list = append(a.list, arrival{k, make([]uint64, width), make([]uint64, width)})
	}
	return &a.list[i]
}

// sort puts the list in order. Nothing can be added any more.
func (a *arrivals) sort(g *topology.Graph) {
	a.index = nil
	slices.SortFunc(a.list, func(x, y arrival) int { return cmp.Compare(x.number(), y.number()) })
	a.start = make([]int32, g.Switches()+1)
	for i := range a.list {
		a.start[a.list[i].at+1] = int32(i + 1)
	}
	for s := range g.Switches() {
		a.start[s+1] = max(a.start[s], a.start[s+1])
	}
}

// join adds the packets of b.
func (a *arrivals) join(b *arrivals) {
	for i := range b.list {
		x := &b.list[i]
		mine := a.at(x.stageKey, len(x.in))
		for j, set := range x.in {
			mine.in[j] |= set
		}
	}
}

// yieldAll yields what packets that have ended a stage wait for.
func (a *arrivals) yieldAll(w *walker, yield Dependent) {
	for i := range a.list {
		x := &a.list[i]
		first := w.graph.PortStart[x.at]
		for word, set := range x.in {
			for ; set != 0; set &= set - 1 {
				bit := 64*word + bits.TrailingZeros64(set)
				held, _ := w.graph.PeerPort(first + topology.PortID(bit/w.vcs))
				yield(topology.Channel{Port: held, VC: uint8(bit % w.vcs)}, x.wanted)
			}
		}
	}
}

// stage walks to all goals of a stage.
func (w *walker) stage(stage *Stage, sample []topology.TerminalID, waiting []*arrivals, yield Dependent) (*arrivals, error) {
	var next atomic.Int64
	var threads sync.WaitGroup
	var counted *countedPairs
	if stage.Counts != nil {
		counted = newCountedPairs(w.graph, stage.Counts, w.vcs)
	}
	walks := make([]*stageWalk, min(stage.Goals, runtime.GOMAXPROCS(0)))
	for i := range walks {
		walk := &stageWalk{walker: w, stage: stage, pairs: counted, sample: sample, waiting: waiting, yield: yield, found: foundHeads{slots: make([]stageSlot, w.graph.Switches())}, failed: stage.Goals}
		if counted != nil {
			walk.mask = stage.Counts.Bits
		}
		walks[i] = walk
		threads.Go(func() {
			for walk.err == nil {
				goal := int(next.Add(1) - 1)
				if goal >= stage.Goals {
					return
				}
				if walk.err = walk.to(goal); walk.err != nil {
					walk.failed = goal
				}
			}
		})
	}
	threads.Wait()
	if counted != nil {
		counted.yieldAll(yield)
	}
	ended, failed := &arrivals{}, stage.Goals
	var err error
	for _, walk := range walks {
		if walk.failed < failed {
			failed, err = walk.failed, walk.err
		}
		ended.join(&walk.ended)
	}
	return ended, err
}
