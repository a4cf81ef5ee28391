package observe

import (
	"cmp"
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
)

// TracePlan chooses the packets whose lives are recorded, among those that a
// meter measures. Which they are does not depend on the order in which a cycle
// is simulated.
type TracePlan struct {
	Packets int  // at most so many; 0: none
	Every   int  // of each terminal's measured packets that match, each so-many-th; 0 counts as 1
	Slowest bool // those with the longest latency; otherwise those that enter the network first
	// Sources and Destinations, by terminal, are the ends of packets that
	// match; nil: all (len = terminals).
	Sources, Destinations []bool
}

// Packets are the packets recorded that have arrived, by the time at which they
// entered the network, then by terminal.
func (tr *Tracer) Packets() []*PacketTrace {
	var list []*PacketTrace
	for _, l := range tr.best() {
		list = append(list, &l.PacketTrace)
	}
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

// starts are the cycles in which packets were begun with first in all of the network, as
// many as are wanted, and the last of them: Never if there have not been as many, or the
// slowest are wanted. Packets of later cycles, which a domain follows because it does not
// know of the others, do not count: also not in place of packets that have been discarded.
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

// earlier orders packets by the time at which they entered the network. A
// terminal has one at a time.
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

// chooses tells whether a packet whose head enters the network in cycle c is to
// be followed.
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
	// Of the last cycle all are followed, and those of the first terminals kept.
	if n := len(tr.started); n >= tr.plan.Packets {
		return tr.started[n-1] == c
	}
	tr.started = append(tr.started, c)
	return true
}

// Division is a packet's latency by parts, in cycles, as its last flit has them: they add up
// to the latency.
type Division struct {
	// Way is the least: of the terminal, of the channels, and of switches in which nothing
	// else wants the same.
	Way int64
	// Serial is the least for the flits behind the first, on the slowest of the channels; on
	// each where packets are stored at switches.
	Serial int64
	Source int64   // waiting for the channel out of the terminal
	Waits  []int64 // waiting for the channel out of each switch (len = hops)
}

// Divide divides the latency of a packet that the tracer has followed. It writes over what d
// holds. Of a path of more than 255 switches the rest counts as way.
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
