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

// Staged is implemented by routings whose packets make for one goal after another, such as an
// intermediate group, the destination's group, the destination, and on the way look at nothing but
// the goal. Their dependencies follow from walks to goals: a dragonfly of 8,192 switches in 256
// groups takes 256 walks to intermediate groups and as many to destinations' groups, where
// following each destination would take 8,192 walks, each over all intermediate groups.
//
// Decisions at a switch must depend on how a packet came there as far as [Stage].Came tells, and
// not on its source. The conformance suite compares with the walk of [Dependencies].
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
	// Switches lists those for which Start or Enters may be true; nil: all.
	Switches func(goal int) []topology.SwitchID
	// Start is the state in which packets born at s may begin this stage; not ok if none do. s has
	// terminals.
	Start func(goal int, s topology.SwitchID) (state uint32, ok bool)
	// Enters tells whether a packet that has ended an earlier stage at s in some state may have
	// this goal. It may be true where there is no such packet.
	Enters func(goal int, s topology.SwitchID, state uint32) bool
	// Head is a destination that stands for all that packets at s for this goal may have, and their
	// whole state, given the reduced one.
	Head func(goal int, s topology.SwitchID, state uint32) (dst topology.TerminalID, whole uint32)
	// Ends tells whether the stage ends for packets that come to s, and whether it goes on for
	// some.
	Ends func(goal int, s topology.SwitchID) (ends, goesOn bool)
	// Reduce takes out of a state what the goal tells and what no later decision needs; nil:
	// nothing.
	Reduce func(state uint32) uint32
	// Came is what decisions depend on of the port that a packet has come in by; nil: nothing.
	Came func(in topology.PortID) uint8
	// Counts tells that states count hops, which makes walks faster; nil: they do not.
	Counts *Counts
}

// toDestination is Ends of a stage that ends with the delivery.
func toDestination(int, topology.SwitchID) (ends, goesOn bool) { return false, true }

// headsFor is Head of a stage whose goals stand for destinations.
func headsFor(goals []topology.TerminalID) func(int, topology.SwitchID, uint32) (topology.TerminalID, uint32) {
	return func(goal int, _ topology.SwitchID, state uint32) (topology.TerminalID, uint32) {
		return goals[goal], state
	}
}

// Dependent is told of a channel and of the channels that its holders may wait for, out of the next
// switch: bit local*vcs + vc for virtual channel vc of its local-th port. Several goroutines call
// it at once.
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
		for i := range ended.list {
			x := &ended.list[i]
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
	return true, nil
}

// arrivals are the heads of packets that have ended a stage.
type arrivals struct {
	index map[uint64]int32
	list  []arrival
	start []int32 // by switch: its first in list, once that is sorted
}

// arrival is one of them: the channels by which such packets come, and those that they may wait
// for.
type arrival struct {
	stageKey
	in     []uint64 // bit local*vcs + vc of the port that packets come in by
	wanted []uint64
}

// at is the arrival with a key, a new one with sets of width words if need be.
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

func (a *arrivals) join(b *arrivals) {
	for i := range b.list {
		x := &b.list[i]
		mine := a.at(x.stageKey, len(x.in))
		for j, set := range x.in {
			mine.in[j] |= set
		}
	}
}

func (w *walker) stage(stage *Stage, sample []topology.TerminalID, waiting []*arrivals, yield Dependent) (*arrivals, error) {
	var next atomic.Int64
	var threads sync.WaitGroup
	var counted *countedPairs
	if stage.Counts != nil {
		counted = newCountedPairs(w.graph, stage.Counts, w.vcs)
	}
	walks := make([]*stageWalk, min(stage.Goals, runtime.GOMAXPROCS(0)))
	for i := range walks {
		walk := &stageWalk{walker: w, stage: stage, pairs: counted, sample: sample, waiting: waiting, yield: yield, found: newHeadNumbers(w.graph.Switches(), 1), failed: stage.Goals}
		if counted != nil {
			walk.mask = stage.Counts.Bits
		}
		walk.each = walk.enterStep
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

// Counts says of a [Stage] that the lowest bits of its states are a count, mostly of hops made,
// which decides on the virtual channels of a hop and on nothing else. A walk then comes to each
// switch once, with the set of counts that packets can have there.
type Counts struct {
	Bits uint32 // mask of the count
	// Step is the hop of a packet with a count below 32: its virtual channels (none: discarded),
	// and its next count.
	Step func(vcs int, count uint32) (set, after uint32)
}

// countedPairs gathers which channel comes after which, for all goals and counts.
type countedPairs struct {
	graph  *topology.Graph
	vcs    int
	known  [32]countedHop // by count
	width  int            // bits of a set: 1, 2, 4, ... 32, for the counts with which a hop can be followed by another
	lowest []int32        // len = switches: the first port that leads to a switch
	start  []int          // len = ports+1: number of a port's first set
	sets   []uint32       // for each port behind it, from its switch's lowest on: counts on leaving by the first; side by side
}

// countedHop is what a count decides on.
type countedHop struct{ vcs, after uint32 }

// newCountedPairs works out the hops of every count.
func newCountedPairs(g *topology.Graph, counts *Counts, vcs int) *countedPairs {
	c := &countedPairs{graph: g, vcs: vcs, lowest: make([]int32, g.Switches()), start: make([]int, g.NumPorts()+1)}
	for count := range c.known {
		hop := &c.known[count]
		if hop.vcs, hop.after = counts.Step(vcs, uint32(count)); hop.after > 31 {
			hop.vcs, hop.after = 0, 0 // nobody has so many classes
		}
	}
	c.width = 1
	for count, hop := range c.known {
		for count >= c.width && hop.vcs != 0 && c.known[hop.after].vcs != 0 {
			c.width *= 2
		}
	}
	length := make([]int, g.Switches())
	for s := range length {
		first, end := g.Ports(topology.SwitchID(s))
		c.lowest[s] = int32(end)
		for p := first; p < end; p++ {
			if _, ok := g.PeerPort(p); ok {
				c.lowest[s] = min(c.lowest[s], int32(p))
				length[s] = int(p) + 1 - int(c.lowest[s])
			}
		}
	}
	for p := range topology.PortID(g.NumPorts()) {
		c.start[p+1] = c.start[p]
		if peer, ok := g.PeerPort(p); ok {
			c.start[p+1] += length[g.PortSwitch[peer]]
		}
	}
	c.sets = make([]uint32, (c.start[g.NumPorts()]*c.width+31)/32)
	return c
}

func (c *countedPairs) counted() uint32 { return uint32(1<<c.width - 1) }

func (c *countedPairs) set(number int) uint32 {
	return c.sets[number*c.width/32] >> (number * c.width % 32) & c.counted()
}

// add notes that packets which leave by p with counts next may leave s, the next switch, by another
// port.
func (c *countedPairs) add(p topology.PortID, s topology.SwitchID, next topology.PortID, counts uint32) {
	bit := (c.start[p] + int(next) - int(c.lowest[s])) * c.width
	counts = counts & c.counted() << (bit % 32)
	if sets := &c.sets[bit/32]; counts&^atomic.LoadUint32(sets) != 0 { // mostly all are there
		atomic.OrUint32(sets, counts)
	}
}

func (c *countedPairs) yieldAll(yield Dependent) {
	var rows [32][]uint64
	for p := range topology.PortID(c.graph.NumPorts()) {
		peer, ok := c.graph.PeerPort(p)
		if !ok {
			continue
		}
		s, all := c.graph.PortSwitch[peer], uint32(0)
		width := (c.graph.Degree(s)*c.vcs + 63) / 64
		for i := range c.start[p+1] - c.start[p] {
			local := int(c.lowest[s]) - int(c.graph.PortStart[s]) + i
			for set := c.set(c.start[p] + i); set != 0; set &= set - 1 {
				count := bits.TrailingZeros32(set)
				if all>>count&1 == 0 {
					all |= 1 << count
					rows[count] = append(rows[count][:0], make([]uint64, width)...)
				}
				for vcs := c.known[c.known[count].after].vcs; vcs != 0; vcs &= vcs - 1 {
					bit := local*c.vcs + bits.TrailingZeros32(vcs)
					rows[count][bit/64] |= 1 << (bit % 64)
				}
			}
		}
		for ; all != 0; all &= all - 1 {
			count := bits.TrailingZeros32(all)
			for vcs := c.known[count].vcs; vcs != 0; vcs &= vcs - 1 {
				yield(topology.Channel{Port: p, VC: uint8(bits.TrailingZeros32(vcs))}, rows[count])
			}
		}
	}
}

// after is the set of counts behind a hop of packets that leave with the counts of a set.
func (c *countedPairs) after(set uint32) (all uint32) {
	for ; set != 0; set &= set - 1 {
		if hop := &c.known[bits.TrailingZeros32(set)]; hop.vcs != 0 {
			all |= 1 << hop.after
		}
	}
	return all
}
