package core

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/sim"
)

// followed is what observers want to know of packets beyond what a [packetUnit] itself
// goes by: they are told the same as with flits as the unit, but for the flits between
// head and tail.
type followed struct {
	passing []passing        // by queue; of all domains
	tails   *sim.Wheel[flit] // that arrive in queues
	seen    []flit           // heads of a batch
	polls   bool             // the heads at the front of queues ask in every step, as flits do: others of their queue may be asleep
}

// passing is a packet whose head has crossed a switch and whose tail has not. 24 bytes.
type passing struct {
	granted int64 // step
	first   int64 // when the head leaves by the channel, in cycles << intervalShift
	tail    int64 // cycle in which the tail arrives, or has arrived, in the queue
}

// follow has the unit of each domain tell observers.
func (f *Fabric) follow() {
	if f.unit == nil || f.observer == nil {
		return
	}
	all := make([]passing, len(f.queues))
	for _, d := range f.domains {
		d.unit.followed = &followed{passing: all, tails: sim.NewWheel[flit](f.horizon), polls: d.upcoming != nil}
	}
}

// headsArrive tells the observer of packets that have been put into queues, one each at
// most, and files their tails.
func (w *followed) headsArrive(d *domain, batch []flit) {
	w.seen = w.seen[:0]
	for _, e := range batch {
		if p := d.inflow(e.packet >> packetBits); p.flits > 1 {
			*w.tails.Place(p.tail) = flit{e.queue, e.packet &^ headFlit, e.dst, e.state}
			e.packet &^= tailFlit
		}
		w.seen = append(w.seen, e)
	}
	d.observer.arrived(d, w.seen)
}

// tailsArrive tells the observer of the tails that arrive in cycle c.
func (w *followed) tailsArrive(d *domain, c int64) {
	for batch := w.tails.Next(c); batch != nil; batch = w.tails.Next(c) {
		d.observer.arrived(d, batch)
	}
}

// tailCrosses tells the observer that the tail of the packet at the front of a queue
// crosses to an output.
func (w *followed) tailCrosses(d *domain, sw *switchState, local, output uint32, step uint32) {
	o := sw.outPort(output)
	d.observer.tailCrosses(d, sw, newRequest(local, uint32(d.matcher.places[local].port)<<16|output), &d.steps.at[d.steps.wide(step)-d.steps.first], o.nextFree-d.pace(o).interval)
}

// heed sees to it that those who wait for a port look when its next credit comes, as they
// do with flits as the unit, so that what they wait for is the same.
func (u *packetUnit) heed(d *domain, port int32) {
	u.settle(d, port)
	if r := &u.credits[port]; r.ov >= 0 {
		if at := r.time(u, r.done); at < r.roomAt {
			r.roomAt = at
			u.at(at, creditsCome, port, 0)
		}
	}
}

// hasWhole tells whether the tail of a packet in a queue stands there.
func (w *followed) hasWhole(d *domain, q *queued, queue int32) bool {
	if q == &d.queues[queue].queued && d.isStreaming(queue) {
		return w.passing[queue].tail <= d.cycle
	}
	return d.inflow(q.packet>>packetBits).tail <= d.cycle
}

// heldUp is in how many cycles from one to another the last thing that happens to a
// packet on its way out of a queue, whose flits are all there, is that there is no room
// for its next flit behind the crossbar.
func (w *followed) heldUp(d *domain, queue int32, o *outPort, from, to int64) (cycles int64) {
	pace, s, p := d.pace(o), &d.steps, &w.passing[queue]
	if pace.window == fabric.Never {
		return 0
	}
	flit := int64(0)
	crosses := func() int64 {
		return max(p.granted+flit, s.firstStep((p.first+flit*pace.interval-pace.window)>>intervalShift+1))
	}
	for c := from; c < to; c++ {
		last := s.firstStep(c+1) - 1
		for crosses() < last {
			flit++
		}
		if crosses() > last {
			cycles++
		}
	}
	return cycles
}
