package adapters

import (
	"github.com/weft-sim/weft/fabric/observe"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim"
)

// passages are the ways of the last packets of flights to a part, for timelines.
type passages struct {
	of    map[int32]passage // by flight; nil: nobody asks
	told  passage           // of the one that the sink is being told of
	parts observe.Division  // of a packet
}

// passage is how the time of a flight's last packet divides.
type passage struct {
	mpi.Passage
	last int64 // bytes of the packet
}

// Follow has a tracer of all packets tell of them. Call it before the parts are made.
func (t *Network) Follow(tracer *observe.Tracer) {
	t.tracer = tracer
	tracer.OnPacket = func(p *observe.PacketTrace) { t.parts[t.partOf[t.nodeAt[p.Dst]]].passes(p) }
}

// passes notes the way of a packet, if it is the last of its flight.
func (t *transport) passes(p *observe.PacketTrace) {
	id, bytes := int32(p.Tag>>32), int64(uint32(p.Tag))
	if t.flights.At(id).missing > bytes {
		return
	}
	d := &t.passages.parts
	t.tracer.Divide(p, d)
	cycles := func(n int64) sim.Time { return sim.Time(n) * t.clock }
	w := passage{mpi.Passage{Serialisation: cycles(d.Serial), Propagation: cycles(d.Way) + t.adapter.SendLatency + t.adapter.RecvLatency}, bytes}
	wait := func(channel int, n int64) {
		if n > 0 {
			w.Waits = append(w.Waits, mpi.CableWait{Cable: int32(channel), Time: cycles(n)})
		}
	}
	wait(t.fabric.Graph().NumPorts()+int(p.Src), d.Source)
	for i, n := range d.Waits {
		wait(int(p.Path[i].Out), n)
	}
	t.passages.of[id] = w
}

// held notes that a flight was complete when that before it was.
func (w *passages) held(id, before int32) {
	if w.of != nil {
		w.of[id] = w.of[before]
	}
}

// tells is called before the sink is told of a flight.
func (w *passages) tells(id int32) {
	if w.of != nil {
		w.told = w.of[id]
		delete(w.of, id)
	}
}

// Passage implements [mpi.Divider]. Bytes before those of the last packet went through the
// sending adapter one after the other.
func (t *transport) Passage(bytes int64) mpi.Passage {
	w := t.passages.told
	if bytes > w.last {
		w.Serialisation += t.adapter.TimeOf(bytes) - t.adapter.TimeOf(w.last)
	}
	return w.Passage
}
