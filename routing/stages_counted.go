package routing

import (
	"fmt"
	"math/bits"
	"sync/atomic"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// Counts says of a [Stage] that the lowest bits of its states are a count, mostly that of
// the hops made, which decides on the virtual channels of a hop and on nothing else. A walk
// then comes to each switch once, with the set of counts that packets can have there, and
// not once for each of them.
type Counts struct {
	Bits uint32 // those of the count
	// Step is for a packet with a count below 32: its virtual channels, none if it is
	// discarded, and its count after that.
	Step func(vcs int, count uint32) (set, after uint32)
}

// countedWalk is a [stageWalk] to the goals of a stage that has Counts. Heads carry no
// count but a set of them.
type countedWalk struct {
	*stageWalk
	*countedPairs
	heads []countedHead
	steps []countedStep
}

// countedPairs gathers which channel comes after which, for all goals and counts.
type countedPairs struct {
	graph  *topology.Graph
	counts *Counts
	vcs    int
	known  [32]countedHop // by count
	lowest []int32        // len = switches: the first port that leads to a switch
	start  []int          // len = ports+1: a port's first in sets
	sets   []uint32       // for each port behind it, from its switch's lowest on: counts on leaving by the first
}

// countedHop is what a count decides on.
type countedHop struct{ vcs, after uint32 }

func newCountedPairs(g *topology.Graph, counts *Counts, vcs int) *countedPairs {
	c := &countedPairs{graph: g, counts: counts, vcs: vcs, lowest: make([]int32, g.Switches()), start: make([]int, g.NumPorts()+1)}
	for count := range c.known {
		hop := &c.known[count]
		if hop.vcs, hop.after = counts.Step(vcs, uint32(count)); hop.after > 31 {
			hop.vcs, hop.after = 0, 0 // nobody has so many classes
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
	c.sets = make([]uint32, c.start[g.NumPorts()])
	return c
}

// add enters that packets which leave by a port with some counts may leave the next
// switch, s, by another.
func (c *countedPairs) add(p topology.PortID, s topology.SwitchID, next topology.PortID, counts uint32) {
	if set := &c.sets[c.start[p]+int(next)-int(c.lowest[s])]; counts&^atomic.LoadUint32(set) != 0 { // mostly all are there
		atomic.OrUint32(set, counts)
	}
}

// yieldAll yields the dependencies.
func (c *countedPairs) yieldAll(yield Dependent) {
	var rows [32][]uint64
	for p := range topology.PortID(c.graph.NumPorts()) {
		peer, ok := c.graph.PeerPort(p)
		if !ok {
			continue
		}
		s, all := c.graph.PortSwitch[peer], uint32(0)
		width := (c.graph.Degree(s)*c.vcs + 63) / 64
		for i, set := range c.sets[c.start[p]:c.start[p+1]] {
			local := int(c.lowest[s]) - int(c.graph.PortStart[s]) + i
			for ; set != 0; set &= set - 1 {
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

// countedHead is a head on the way to a goal, of packets with all counts of a set.
type countedHead struct {
	stageKey
	in      topology.PortID // one that packets come by
	first   int32           // its steps
	end     int32
	counts  uint32
	fresh   uint32    // of these those that do not yet stand at the next heads
	waiting []arrival // one for each count, of those that have ended an earlier stage
}

// countedStep is a channel out of a head, and the head that it leads to.
type countedStep struct {
	port   topology.PortID
	next   stageKey
	number int32 // -1: none in this stage
	ends   bool
}

// to walks to a goal.
func (x *countedWalk) to(goal int) error {
	x.heads, x.steps = x.heads[:0], x.steps[:0]
	x.found.reset()
	x.begin(goal)
	for i := 0; i < len(x.heads); i++ {
		if err := x.expand(goal, i); err != nil {
			return err
		}
	}
	x.spread()
	if len(x.heads) > 0 {
		x.check(goal, goal%len(x.heads))
	}
	for i := range x.heads {
		x.enter(&x.heads[i])
	}
	return nil
}

// begin lists the heads of packets that begin a stage.
func (x *countedWalk) begin(goal int) {
	counted := x.counts.Bits
	if x.stage.Start != nil {
		x.eachSource(goal, func(s topology.SwitchID, in topology.PortID) {
			if state, ok := x.stage.Start(goal, s); ok {
				n := x.number(goal, stageKey{s, state &^ counted, x.came(in)}, in)
				x.heads[n].counts |= 1 << (state & counted)
			}
		})
	}
	x.eachEnded(goal, func(list []arrival) {
		for len(list) > 0 { // sorted: those that differ by their count lie side by side
			n := 1
			for n < len(list) && list[n].at == list[0].at && list[n].came == list[0].came && list[n].state|counted == list[0].state|counted {
				n++
			}
			group := list[:n]
			list = list[n:]
			set := uint32(0)
			for i := range group {
				if x.stage.Enters(goal, group[i].at, group[i].state) {
					set |= 1 << (group[i].state & counted)
				}
			}
			if set == 0 {
				continue
			}
			key := group[0].stageKey
			key.state &^= counted
			port := x.graph.PortStart[key.at] + topology.PortID(group[0].firstIn()/x.vcs)
			x.found.apart(key)
			x.heads = append(x.heads, countedHead{stageKey: key, in: port, counts: set, waiting: group})
		}
	})
}

// number is that of a head, a new one if need be.
func (x *countedWalk) number(goal int, k stageKey, in topology.PortID) int32 {
	n, fresh := x.found.number(goal, k)
	if fresh {
		x.heads = append(x.heads, countedHead{stageKey: k, in: in})
	}
	return n
}

// expand finds the steps of a head.
func (x *countedWalk) expand(goal, i int) (err error) {
	x.heads[i].first = int32(len(x.steps))
	counted := x.counts.Bits
	x.explore(goal, &x.heads[i], 0, func(h fabric.Head, hop fabric.Hop, state uint32) {
		if err != nil {
			return
		}
		next, arrived, problem := x.follow(h, hop, state, 0)
		if err = problem; err != nil || arrived {
			return
		}
		ends, goesOn := x.stage.Ends(goal, next.Switch)
		if x.stage.Reduce != nil {
			state = x.stage.Reduce(state)
		}
		step := countedStep{hop.Port, stageKey{next.Switch, state &^ counted, x.came(next.In)}, -1, ends}
		if goesOn {
			step.number = x.number(goal, step.next, next.In)
		}
		x.steps = append(x.steps, step)
	})
	x.heads[i].end = int32(len(x.steps))
	return err
}

// explore visits the hops of a head with one count.
func (x *countedWalk) explore(goal int, head *countedHead, count uint32, visit func(fabric.Head, fabric.Hop, uint32)) {
	h := fabric.Head{Switch: head.at, In: head.in}
	h.Dst, h.State = x.stage.Head(goal, head.at, head.state|count)
	x.e.Explore(x.vcs, h, func(hop fabric.Hop, state uint32, _ float64) { visit(h, hop, state) })
}

// spread finds the counts that packets can have at each head.
func (x *countedWalk) spread() {
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
			after := x.after(fresh)
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

// after are the counts behind a hop of packets that leave with those of a set.
func (c *countedPairs) after(set uint32) (all uint32) {
	for ; set != 0; set &= set - 1 {
		if hop := &c.known[bits.TrailingZeros32(set)]; hop.vcs != 0 {
			all |= 1 << hop.after
		}
	}
	return all
}

// check compares the steps of a head with what the routing says of each of its counts. That
// they differ is an error of the routing's Stages.
func (x *countedWalk) check(goal, i int) {
	h := &x.heads[i]
	for set := h.counts; set != 0; set &= set - 1 {
		left, count := x.steps[h.first:h.end], bits.TrailingZeros32(set)
		x.explore(goal, h, uint32(count), func(_ fabric.Head, hop fabric.Hop, state uint32) {
			if _, terminal := x.graph.PeerTerminal(hop.Port); terminal {
				return
			}
			for len(left) > 0 && left[0].port != hop.Port {
				left = left[1:] // discarded, or so it says
			}
			if len(left) > 0 {
				if want := x.known[count]; want.vcs == hop.VCs && want.after == state&x.counts.Bits {
					left = left[1:]
					return
				}
			}
			panic(fmt.Sprintf("routing: %T counts hops in another way than its stages say", x.e))
		})
	}
}

// enter notes what packets at a head, and on their steps from there, wait for.
func (x *countedWalk) enter(h *countedHead) {
	for i := range h.waiting {
		if a := &h.waiting[i]; h.counts>>(a.state&x.counts.Bits)&1 != 0 {
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
		for i := range x.steps[next.first:next.end] {
			x.add(step.port, next.at, x.steps[int(next.first)+i].port, h.counts)
		}
	}
}

// wants adds to what packets wait for that have ended an earlier stage.
func (x *countedWalk) wants(h *countedHead, a *arrival) {
	first := x.graph.PortStart[h.at]
	for _, step := range x.steps[h.first:h.end] {
		for vcs := x.known[a.state&x.counts.Bits].vcs; vcs != 0; vcs &= vcs - 1 {
			bit := int(step.port-first)*x.vcs + bits.TrailingZeros32(vcs)
			if word, set := &a.wanted[bit/64], uint64(1)<<(bit%64); set&^atomic.LoadUint64(word) != 0 {
				atomic.OrUint64(word, set)
			}
		}
	}
}

// end notes the packets of some counts that end the stage by a step.
func (x *countedWalk) end(step *countedStep, counts uint32) {
	peer, _ := x.graph.PeerPort(step.port)
	in := int(peer-x.graph.PortStart[step.next.at]) * x.vcs
	for ; counts != 0; counts &= counts - 1 {
		hop, key := &x.known[bits.TrailingZeros32(counts)], step.next
		key.state |= hop.after
		for vcs := hop.vcs; vcs != 0; vcs &= vcs - 1 {
			bit := in + bits.TrailingZeros32(vcs)
			x.ended.at(key, x.width(key.at)).in[bit/64] |= 1 << (bit % 64)
		}
	}
}
