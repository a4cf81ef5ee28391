package observe

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
)

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
