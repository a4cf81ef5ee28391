package observe

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/topology"
)

// PacketTrace is the life of a packet. Cycles are points in time, as in
// [fabric.Delivery].
type PacketTrace struct {
	fabric.Delivery
	Number     int   // of the packet among the measured ones of its terminal, from 1
	VC         int   // of the channel out of the terminal
	InjectTail int64 // the last flit entered the channel
	HeadCycle  int64 // the head arrived; Cycle is when the tail did
	Path       []TraceHop
}

// TraceHop is a packet's crossing of a switch.
type TraceHop struct {
	In     topology.PortID
	InVC   int
	Out    topology.PortID
	OutVC  int
	VCs    uint32 // set of virtual channels that the routing allowed
	Arrive int64  // the head entered the queue, and the routing decided
	Front  int64  // the head is at the front of the queue
	Routed int64  // end of route computation
	Held   int64  // end of virtual-channel allocation; without such a stage, Routed
	Cross  int64  // the head was granted the switch
	Ready  int64  // the head was through switch allocation and crossbar
	Depart int64  // the head entered the channel
	// The same of the tail.
	TailArrive, TailCross, TailDepart int64
	// Waits are the times, in order, for which the head was asleep at the
	// front of its queue.
	Waits []TraceWait
}

// TraceWait is a time for which a head could not even ask: for want of a credit
// (PartCredit) or, where heads are given a virtual channel as they win the
// switch, of a free one (PartVC).
type TraceWait struct {
	From, To int64 // cycles; To is Never while it lasts
	Part     core.Part
}

// TraceStage is a stage of a packet's life.
type TraceStage int

// The stages of a packet's life, which follow one another and add up to its
// latency. They are those of its head until that has arrived.
const (
	StageSource TraceStage = iota // at its terminal
	StageWire                     // latencies of channels
	StageBuffer                   // behind other packets of its virtual channel
	StageRoute                    // route computation
	StageVC                       // virtual-channel allocation, waiting included
	StageCredit                   // asleep for want of a credit
	StageSwitch                   // switch allocation, waiting for the grant included, and the crossbar
	StageOutput                   // behind the crossbar, waiting for the channel
	StageTail                     // from the arrival of the head to that of the tail
	NumStages   = iota
)

// StageNames are the names of the stages.
var StageNames = [NumStages]string{"source_queue", "wire", "buffer", "route", "vc_allocation", "credit_stall", "switch_allocation", "output_queue", "tail"}

// Stages divides the packet's latency, in cycles.
func (p *PacketTrace) Stages() (stages [NumStages]int64) {
	stages[StageSource] = p.Inject - p.Birth
	left := p.Inject
	for i := range p.Path {
		h := &p.Path[i]
		stages[StageWire] += h.Arrive - left
		stages[StageBuffer] += h.Front - h.Arrive
		stages[StageRoute] += h.Routed - h.Front
		stages[StageVC] += h.Held - h.Routed
		stages[StageSwitch] += h.Ready - h.Held
		stages[StageOutput] += h.Depart - h.Ready
		for _, w := range h.Waits {
			if w.From < h.Held { // for room for a whole packet, to be given a virtual channel
				stages[StageVC] -= w.To - w.From
			} else {
				stages[StageSwitch] -= w.To - w.From
			}
			if w.Part == core.PartCredit {
				stages[StageCredit] += w.To - w.From
			} else {
				stages[StageVC] += w.To - w.From
			}
		}
		left = h.Depart
	}
	stages[StageWire] += p.HeadCycle - left
	stages[StageTail] = p.Cycle - p.HeadCycle
	return stages
}

// life is the record of a packet that is followed. Its head and its tail may be in
// different domains, which then write to different crossings.
type life struct {
	PacketTrace
	path crossings
}

// crossings are some of a packet's crossings of switches, in order, and further ones. They
// never move: the domain of the head adds to them while others use those before.
type crossings struct {
	hops [8]TraceHop
	next *crossings
}

// at is crossing i, which comes next or has been before.
func (c *crossings) at(i int) *TraceHop {
	for ; i >= len(c.hops); i -= len(c.hops) {
		if c.next == nil {
			c.next = &crossings{}
		}
		c = c.next
	}
	return &c.hops[i]
}

// list is the crossings so far: those whose queues the head has entered.
func (c *crossings) list() (list []TraceHop) {
	for ; c != nil; c = c.next {
		for i := range c.hops {
			if c.hops[i].Arrive == 0 {
				return list
			}
			list = append(list, c.hops[i])
		}
	}
	return list
}
