package observe

import (
	"cmp"
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/lists"
)

// PacketTrace is the life of a packet. Cycles are points in time, as in [fabric.Delivery].
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
	// Waits are the times, in order, for which the head was asleep at the front of its queue.
	Waits []TraceWait
}

// TraceWait is a time for which a head could not even ask: for want of a credit (PartCredit) or,
// where heads get a virtual channel with the switch, of a free one (PartVC).
type TraceWait struct {
	From, To int64 // cycles; To is Never while it lasts
	Part     core.Part
}

// TraceStage is a stage of a packet's life.
type TraceStage int

// The stages of a packet's life, one after the other, which add up to its latency; the head's,
// until it arrives.
const (
	StageSource TraceStage = iota // at its terminal
	StageWire                     // latencies of channels
	StageBuffer                   // behind other packets of its virtual channel
	StageRoute                    // route computation
	StageVC                       // virtual-channel allocation, waiting included
	StageCredit                   // asleep for want of a credit
	StageSwitch                   // switch allocation, waiting for the grant included, and the crossbar
	StageOutput                   // behind the crossbar, waiting for the channel
	StageTail                     // from the arrival of the head to the arrival of the tail
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

// life is the record of a followed packet. Head and tail may be in different domains, which write
// to different crossings.
type life struct {
	PacketTrace
	path crossings
}

// crossings are a packet's crossings of switches, in order, and further ones. They never move: the
// head's domain adds to them while others use earlier ones.
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

// TracePlan chooses the packets whose lives are recorded, among a meter's. The choice does not
// depend on the order in which a cycle is simulated.
type TracePlan struct {
	Packets int  // at most so many; 0: none
	Every   int  // of each terminal's measured packets that match, each so-many-th; 0 counts as 1
	Slowest bool // those with the longest latency; otherwise those that enter the network first
	// Sources and Destinations are the ends of matching packets; nil: all (len = terminals).
	Sources, Destinations []bool
}

// Packets are the recorded packets that have arrived, by their entry into the network, then
// terminal.
func (tr *Tracer) Packets() []*PacketTrace {
	list := lists.Map(tr.best(), func(l *life) *PacketTrace { return &l.PacketTrace })
	slices.SortFunc(list, earlier)
	return list
}

// best are the packets of all domains that have arrived and are among the best so far.
func (tr *Tracer) best() []*life {
	var all []*life
	_, last := tr.starts()
	for _, p := range tr.parts {
		for _, l := range p.kept {
			if l.Inject <= last {
				all = append(all, l)
			}
		}
	}
	slices.SortFunc(all, tr.better)
	return all[:min(len(all), tr.plan.Packets)]
}

// starts are the cycles of the network's first packets, as many as are wanted, and the last of
// them: Never if there were fewer, or the slowest are wanted. Packets of later cycles, which a
// domain follows without knowing the others, do not count, nor replace discarded ones.
func (tr *Tracer) starts() (first []int64, last int64) {
	for _, p := range tr.parts {
		first = append(first, p.started...)
	}
	slices.Sort(first)
	if tr.plan.Slowest || len(first) < tr.plan.Packets {
		return first, fabric.Never
	}
	first = first[:tr.plan.Packets]
	return first, first[len(first)-1]
}

// earlier orders packets by entry into the network. A terminal has one at a time.
func earlier(a, b *PacketTrace) int {
	return cmp.Or(cmp.Compare(a.Inject, b.Inject), cmp.Compare(a.Src, b.Src))
}

// better orders packets by whether they are kept.
func (tr *Tracer) better(a, b *life) int {
	if tr.plan.Slowest {
		return cmp.Or(cmp.Compare(b.Cycle-b.Birth, a.Cycle-a.Birth), earlier(&a.PacketTrace, &b.PacketTrace))
	}
	return earlier(&a.PacketTrace, &b.PacketTrace)
}

// chooses tells whether a packet whose head enters the network in cycle c is to be followed.
func (tr *Tracer) chooses(p *core.Packet, dst int32, c int64) bool {
	if !tr.meter.Measures(p.Birth) {
		return false
	}
	tr.numbers[p.Src]++
	if tr.plan.Sources != nil && !tr.plan.Sources[p.Src] || tr.plan.Destinations != nil && !tr.plan.Destinations[dst] {
		return false
	}
	tr.matched[p.Src]++
	if (tr.matched[p.Src]-1)%max(1, tr.plan.Every) != 0 {
		return false
	}
	if tr.plan.Slowest || tr.OnPacket != nil {
		return true
	}
	// All packets of the last cycle are followed, and the first terminals' are kept.
	if n := len(tr.started); n >= tr.plan.Packets {
		return tr.started[n-1] == c
	}
	tr.started = append(tr.started, c)
	return true
}

// Division is a packet's latency by parts, in cycles, as its last flit has them.
type Division struct {
	// Way is the least: of the terminal, the channels, and switches without contention.
	Way int64
	// Serial is the least for the flits behind the first, on the slowest channel; on each, if
	// switches store packets.
	Serial int64
	Source int64   // waiting for the channel out of the terminal
	Waits  []int64 // waiting for the channel out of each switch (len = hops)
}

// Divide divides the latency of a followed packet, and overwrites d. Beyond 255 switches the path
// counts as way.
func (tr *Tracer) Divide(p *PacketTrace, d *Division) {
	n := tr.fabric
	behind := int64(p.Flits - 1)
	slowest := func(channel int32) int64 { return core.WholeCycle(behind * n.Pace(&n.Out[channel]).Interval) }
	body := p.InjectTail - p.Inject
	d.Serial = min(body, slowest(n.TerminalOut0+int32(p.Src)))
	queue := p.Inject - p.Birth
	d.Source = max(0, queue-tr.source) + body - d.Serial
	waited := d.Source
	d.Waits = d.Waits[:0]
	for i := range p.Path {
		h := &p.Path[i]
		stay := h.TailDepart - h.TailArrive
		stay -= min(stay, h.Routed-h.Front+min(h.Held-h.Routed, tr.given)+h.Ready-h.Cross)
		slower := slowest(int32(h.Out))
		if n.Config.Switch.Forwarding != fabric.StoreAndForward {
			slower = max(0, slower-d.Serial)
		}
		slower = min(stay, slower)
		d.Serial += slower
		d.Waits = append(d.Waits, stay-slower)
		waited += stay - slower
	}
	d.Way = p.Cycle - p.Birth - d.Serial - waited
}
