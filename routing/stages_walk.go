package routing

import (
	"fmt"
	"math/bits"
	"sync/atomic"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// stageKey is what distinguishes the packets on their way to a goal.
type stageKey struct {
	at    topology.SwitchID
	state uint32
	came  uint8
}

// number tells keys apart.
func (k stageKey) number() uint64 {
	return uint64(k.at)<<32 | uint64(k.came)<<fabric.StateBits | uint64(k.state)
}

// stageWalk walks to the goals of a stage, one after the other: it finds packets' heads, what each
// may wait for, and the channels that lead to each. With [Counts], a head carries a set of counts;
// else a set of one.
type stageWalk struct {
	*walker
	stage   *Stage
	pairs   *countedPairs // nil: the stage has no Counts
	mask    uint32        // the bits of a count in a state
	sample  []topology.TerminalID
	waiting []*arrivals
	ended   arrivals
	yield   Dependent
	err     error
	failed  int // goal

	found *headNumbers // by switch
	heads []stageHead
	steps []stageStep
	sets  []uint64 // wanted channels of the heads, where nothing is counted
	expansion
}

// expansion is the head whose steps are being found.
type expansion struct {
	goal    int
	head    fabric.Head
	problem error
	each    func(fabric.Hop, uint32, float64) // enterStep; made once
}

// stageHead is a head on the way to a goal, of packets with all counts of a set.
type stageHead struct {
	stageKey
	in      topology.PortID // one that packets come by
	first   int32           // its steps
	end     int32
	set     int32     // first word of the wanted channels
	counts  uint32    // where nothing is counted: the set of 0
	fresh   uint32    // of these those that do not yet stand at the next heads
	waiting []arrival // one for each count, of those that have ended an earlier stage
}

// stageStep is a hop of a head, and the head that it leads to.
type stageStep struct {
	port   topology.PortID
	vcs    uint32 // where nothing is counted
	next   stageKey
	number int32 // -1: none in this stage
	ends   bool
}

func (x *stageWalk) to(goal int) error {
	x.heads, x.steps, x.sets = x.heads[:0], x.steps[:0], x.sets[:0]
	x.found.reset()
	x.begin(goal)
	for i := 0; i < len(x.heads); i++ {
		if err := x.expand(goal, i); err != nil {
			return err
		}
	}
	if x.pairs != nil && len(x.heads) > 0 {
		x.spread()
		x.check(goal, goal%len(x.heads))
	}
	for i := range x.heads {
		x.enter(&x.heads[i])
	}
	return nil
}

// begin lists the heads of packets that begin a stage.
func (x *stageWalk) begin(goal int) {
	if x.stage.Start != nil {
		x.eachSource(goal, func(s topology.SwitchID, in topology.PortID) {
			if state, ok := x.stage.Start(goal, s); ok {
				n := x.number(stageKey{s, state &^ x.mask, x.came(in)}, in)
				x.heads[n].counts |= 1 << (state & x.mask)
			}
		})
	}
	x.eachEnded(goal, func(list []arrival) {
		for len(list) > 0 { // sorted: those that differ by their count lie side by side
			n := 1
			for n < len(list) && list[n].at == list[0].at && list[n].came == list[0].came && list[n].state|x.mask == list[0].state|x.mask {
				n++
			}
			group := list[:n]
			list = list[n:]
			set := uint32(0)
			for i := range group {
				if x.stage.Enters(goal, group[i].at, group[i].state) {
					set |= 1 << (group[i].state & x.mask)
				}
			}
			if set == 0 {
				continue
			}
			key := group[0].stageKey
			key.state &^= x.mask
			port := x.graph.PortStart[key.at] + topology.PortID(group[0].firstIn()/x.vcs)
			x.found.count++ // nobody comes to this one
			x.heads = append(x.heads, stageHead{stageKey: key, in: port, counts: set, waiting: group})
		}
	})
}

// eachEnded visits the heads of packets that have ended an earlier stage and may have this goal,
// together and in order by switch and stage.
func (x *stageWalk) eachEnded(goal int, visit func(list []arrival)) {
	if x.stage.Enters == nil {
		return
	}
	for _, ended := range x.waiting {
		if x.stage.Switches == nil {
			visit(ended.list)
			continue
		}
		for _, s := range x.stage.Switches(goal) {
			visit(ended.list[ended.start[s]:ended.start[s+1]])
		}
	}
}

// eachSource visits the switches with terminals that send to a goal, with a port to a terminal of
// each.
func (x *stageWalk) eachSource(goal int, visit func(s topology.SwitchID, in topology.PortID)) {
	if x.stage.Switches == nil {
		for _, t := range x.sample {
			visit(x.graph.TerminalSwitch(t), x.graph.TerminalPort[t])
		}
		return
	}
	for _, s := range x.stage.Switches(goal) {
		first, end := x.graph.Ports(s)
		for p := first; p < end; p++ {
			if _, ok := x.graph.PeerTerminal(p); ok {
				visit(s, p)
				break
			}
		}
	}
}

// firstIn is one of the channels that packets come by.
func (a *arrival) firstIn() int {
	for i, set := range a.in {
		if set != 0 {
			return 64*i + bits.TrailingZeros64(set)
		}
	}
	panic("routing: a packet has come by no channel")
}

func (w *walker) width(s topology.SwitchID) int { return (w.graph.Degree(s)*w.vcs + 63) / 64 }

// wanted is the set of channels that a head may wait for.
func (x *stageWalk) wanted(h *stageHead) []uint64 { return x.sets[h.set:][:x.width(h.at)] }

// came is what the stage keeps of the port that a packet came in by.
func (x *stageWalk) came(in topology.PortID) uint8 {
	if x.stage.Came == nil {
		return 0
	}
	return x.stage.Came(in)
}

// number is the number of a head, a new one if need be.
func (x *stageWalk) number(k stageKey, in topology.PortID) int32 {
	n, known := x.found.number(int(k.at), uint32(k.came)<<fabric.StateBits|k.state)
	if !known {
		x.heads = append(x.heads, stageHead{stageKey: k, in: in})
		if x.pairs == nil {
			x.heads[n].counts = 1
		}
	}
	return n
}

func (x *stageWalk) expand(goal, i int) error {
	x.heads[i].first = int32(len(x.steps))
	x.goal, x.head, x.problem = goal, x.whole(goal, &x.heads[i], 0), nil
	x.e.Explore(x.vcs, x.head, x.each)
	x.heads[i].end = int32(len(x.steps))
	if x.pairs == nil {
		x.want(&x.heads[i])
	}
	return x.problem
}

// enterStep enters a hop of the head that is being expanded.
func (x *stageWalk) enterStep(hop fabric.Hop, state uint32, _ float64) {
	if x.problem != nil {
		return
	}
	next, arrived, err := x.follow(x.head, hop, state, 0)
	if x.problem = err; err != nil || arrived {
		return
	}
	ends, goesOn := x.stage.Ends(x.goal, next.Switch)
	if x.stage.Reduce != nil {
		state = x.stage.Reduce(state)
	}
	step := stageStep{hop.Port, hop.VCs, stageKey{next.Switch, state &^ x.mask, x.came(next.In)}, -1, ends}
	if goesOn {
		step.number = x.number(step.next, next.In)
	}
	x.steps = append(x.steps, step)
}

// want gathers the channels that packets at a head may wait for.
func (x *stageWalk) want(h *stageHead) {
	h.set = int32(len(x.sets))
	for range x.width(h.at) {
		x.sets = append(x.sets, 0)
	}
	wanted, first := x.wanted(h), x.graph.PortStart[h.at]
	for _, step := range x.steps[h.first:h.end] {
		for vcs := step.vcs; vcs != 0; vcs &= vcs - 1 {
			bit := int(step.port-first)*x.vcs + bits.TrailingZeros32(vcs)
			wanted[bit/64] |= 1 << (bit % 64)
		}
	}
}

// hop is what a packet with a count does by a step.
func (x *stageWalk) hop(step *stageStep, count uint32) countedHop {
	if x.pairs == nil {
		return countedHop{step.vcs, 0}
	}
	return x.pairs.known[count]
}

// whole is one of the packets at a head, with one count.
func (x *stageWalk) whole(goal int, head *stageHead, count uint32) fabric.Head {
	h := fabric.Head{Switch: head.at, In: head.in}
	h.Dst, h.State = x.stage.Head(goal, head.at, head.state|count)
	return h
}

// spread finds the counts that packets can have at each head.
func (x *stageWalk) spread() {
	for i := range x.heads {
		x.heads[i].fresh = x.heads[i].counts
	}
	for more := true; more; {
		more = false
		for i := range x.heads {
			h := &x.heads[i]
			fresh := h.fresh
			h.fresh = 0
			if fresh == 0 {
				continue
			}
			after := x.pairs.after(fresh)
			for _, step := range x.steps[h.first:h.end] {
				if step.number < 0 {
					continue
				}
				next := &x.heads[step.number]
				if set := after &^ next.counts; set != 0 {
					next.counts |= set
					next.fresh |= set
					more = true
				}
			}
		}
	}
}

// check compares the steps of a head with the routing's for each of its counts. A difference is an
// error of the routing's Stages.
func (x *stageWalk) check(goal, i int) {
	h := &x.heads[i]
	for set := h.counts; set != 0; set &= set - 1 {
		left, count := x.steps[h.first:h.end], bits.TrailingZeros32(set)
		x.e.Explore(x.vcs, x.whole(goal, h, uint32(count)), func(hop fabric.Hop, state uint32, _ float64) {
			if _, terminal := x.graph.PeerTerminal(hop.Port); terminal {
				return
			}
			for len(left) > 0 && left[0].port != hop.Port {
				left = left[1:] // discarded, or so it says
			}
			if len(left) > 0 {
				if want := x.pairs.known[count]; want.vcs == hop.VCs && want.after == state&x.mask {
					left = left[1:]
					return
				}
			}
			panic(fmt.Sprintf("routing: %T counts hops in another way than its stages say", x.e))
		})
	}
}

// enter notes what packets at a head, and on their steps from there, wait for.
func (x *stageWalk) enter(h *stageHead) {
	for i := range h.waiting {
		if a := &h.waiting[i]; h.counts>>(a.state&x.mask)&1 != 0 {
			x.wants(h, a)
		}
	}
	for i := range x.steps[h.first:h.end] {
		step := &x.steps[int(h.first)+i]
		if step.ends {
			x.end(step, h.counts)
		}
		if step.number < 0 {
			continue
		}
		next := &x.heads[step.number]
		if x.pairs == nil {
			for vcs := step.vcs; vcs != 0; vcs &= vcs - 1 {
				x.yield(topology.Channel{Port: step.port, VC: uint8(bits.TrailingZeros32(vcs))}, x.wanted(next))
			}
			continue
		}
		for i := range x.steps[next.first:next.end] {
			x.pairs.add(step.port, next.at, x.steps[int(next.first)+i].port, h.counts)
		}
	}
}

// wants adds to the channels that packets which have ended an earlier stage wait for.
func (x *stageWalk) wants(h *stageHead, a *arrival) {
	first := x.graph.PortStart[h.at]
	for i := range x.steps[h.first:h.end] {
		step := &x.steps[int(h.first)+i]
		for vcs := x.hop(step, a.state&x.mask).vcs; vcs != 0; vcs &= vcs - 1 {
			bit := int(step.port-first)*x.vcs + bits.TrailingZeros32(vcs)
			if word, set := &a.wanted[bit/64], uint64(1)<<(bit%64); set&^atomic.LoadUint64(word) != 0 {
				atomic.OrUint64(word, set)
			}
		}
	}
}

// end notes the packets of some counts that end the stage by a step.
func (x *stageWalk) end(step *stageStep, counts uint32) {
	peer, _ := x.graph.PeerPort(step.port)
	in := int(peer-x.graph.PortStart[step.next.at]) * x.vcs
	for ; counts != 0; counts &= counts - 1 {
		hop, key := x.hop(step, uint32(bits.TrailingZeros32(counts))), step.next
		key.state |= hop.after
		for vcs := hop.vcs; vcs != 0; vcs &= vcs - 1 {
			bit := in + bits.TrailingZeros32(vcs)
			x.ended.at(key, x.width(key.at)).in[bit/64] |= 1 << (bit % 64)
		}
	}
}
