package routing

import (
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

func (k stageKey) number() uint64 {
	return uint64(k.at)<<32 | uint64(k.came)<<fabric.StateBits | uint64(k.state)
}

// stageWalk walks to goals of a stage, one after the other: it finds the heads that
// packets can have, what each may wait for, and the channels that lead to each.
type stageWalk struct {
	*walker
	stage   *Stage
	sample  []topology.TerminalID
	waiting []*arrivals
	ended   arrivals
	yield   Dependent
	err     error
	failed  int // goal

	found foundHeads
	heads []stageHead
	sets  []uint64 // wanted channels of the heads
	steps []stageStep
}

// stageHead is a head on the way to a goal.
type stageHead struct {
	stageKey
	in      topology.PortID // one that packets come by
	set     int32           // first word of the wanted channels
	waiting *arrival        // of one that has ended an earlier stage; else nil
}

// stageStep is a channel that leads to a head.
type stageStep struct {
	held   topology.Channel
	number int32
}

// to walks to a goal.
func (x *stageWalk) to(goal int) error {
	x.heads, x.sets, x.steps = x.heads[:0], x.sets[:0], x.steps[:0]
	x.found.reset()
	x.begin(goal)
	for i := 0; i < len(x.heads); i++ {
		if err := x.expand(goal, i); err != nil {
			return err
		}
	}
	for _, step := range x.steps {
		x.yield(step.held, x.wanted(&x.heads[step.number]))
	}
	for i := range x.heads {
		if h := &x.heads[i]; h.waiting != nil {
			h.waiting.wants(x.wanted(h))
		}
	}
	return nil
}

// begin lists the heads of packets that begin a stage.
func (x *stageWalk) begin(goal int) {
	if x.stage.Start != nil {
		x.eachSource(goal, func(s topology.SwitchID, in topology.PortID) {
			if state, ok := x.stage.Start(goal, s); ok {
				x.number(goal, stageKey{s, state, x.came(in)}, in)
			}
		})
	}
	x.eachEnded(goal, func(list []arrival) { x.enter(goal, list) })
}

// eachEnded visits the heads of packets that have ended an earlier stage and may be for a
// goal, those of a switch and stage together and in order.
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

// enter lists the heads of packets that have ended an earlier stage.
func (x *stageWalk) enter(goal int, ended []arrival) {
	for i := range ended {
		if a := &ended[i]; x.stage.Enters(goal, a.at, a.state) {
			port := x.graph.PortStart[a.at] + topology.PortID(a.firstIn()/x.vcs)
			x.found.apart(a.stageKey)
			x.heads = append(x.heads, stageHead{stageKey: a.stageKey, in: port, waiting: a})
		}
	}
}

// eachSource visits the switches with terminals that a goal can have packets of, and
// a port to a terminal of each.
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

// wants adds channels that a packet may go on by.
func (a *arrival) wants(wanted []uint64) {
	for i, set := range wanted {
		if word := &a.wanted[i]; set&^atomic.LoadUint64(word) != 0 {
			atomic.OrUint64(word, set)
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

// width is the number of words of a set of channels out of s.
func (w *walker) width(s topology.SwitchID) int { return (w.graph.Degree(s)*w.vcs + 63) / 64 }

func (x *stageWalk) wanted(h *stageHead) []uint64 { return x.sets[h.set:][:x.width(h.at)] }

func (x *stageWalk) came(in topology.PortID) uint8 {
	if x.stage.Came == nil {
		return 0
	}
	return x.stage.Came(in)
}

// number is that of a head, a new one if need be.
func (x *stageWalk) number(goal int, k stageKey, in topology.PortID) int32 {
	n, fresh := x.found.number(goal, k)
	if fresh {
		x.heads = append(x.heads, stageHead{stageKey: k, in: in})
	}
	return n
}

// expand follows what a packet at a head can do.
func (x *stageWalk) expand(goal, i int) (err error) {
	at := x.heads[i]
	set := len(x.sets)
	x.heads[i].set = int32(set)
	for range x.width(at.at) {
		x.sets = append(x.sets, 0)
	}
	wanted := x.sets[set:]
	first := x.graph.PortStart[at.at]
	h := fabric.Head{Switch: at.at, In: at.in}
	h.Dst, h.State = x.stage.Head(goal, at.at, at.state)
	x.e.Explore(x.vcs, h, func(hop fabric.Hop, state uint32, _ float64) {
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
		key, number := stageKey{next.Switch, state, x.came(next.In)}, int32(0)
		if goesOn {
			number = x.number(goal, key, next.In)
		}
		in := int(next.In-x.graph.PortStart[next.Switch]) * x.vcs
		for vcs := hop.VCs; vcs != 0; vcs &= vcs - 1 {
			vc := bits.TrailingZeros32(vcs)
			bit := int(hop.Port-first)*x.vcs + vc
			wanted[bit/64] |= 1 << (bit % 64)
			if goesOn {
				x.steps = append(x.steps, stageStep{topology.Channel{Port: hop.Port, VC: uint8(vc)}, number})
			}
			if ends {
				x.ended.at(key, x.width(next.Switch)).in[(in+vc)/64] |= 1 << ((in + vc) % 64)
			}
		}
	})
	return err
}
