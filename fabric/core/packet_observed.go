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
	tails   *sim.Wheel[Flit] // that arrive in queues
	seen    []Flit           // heads of a batch
	polls   bool             // the heads at the front of queues ask in every step, as flits do: others of their queue may be asleep
}

// passing is a packet whose head has crossed a switch and whose tail has not. 16 bytes.
type passing struct {
	granted int64 // step
	first   int64 // when the head leaves by the channel, in cycles << intervalShift
}

// follow has the unit of each domain tell observers.
func (f *Fabric) follow() {
	if f.unit == nil || f.observer == nil {
		return
	}
	all := make([]passing, len(f.Queues))
	for _, d := range f.domains {
		d.Unit.Followed = &followed{passing: all, tails: sim.NewWheel[Flit](f.horizon), polls: d.Upcoming != nil}
	}
}

// headsArrive tells the observer of packets that have been put into queues, one each at
// most, and files their tails.
func (w *followed) headsArrive(d *Domain, batch []Flit) {
	w.seen = w.seen[:0]
	for _, e := range batch {
		if p := d.inflow(e.Packet >> PacketBits); p.flits > 1 {
			*w.tails.Place(p.tail) = Flit{e.Queue, e.Packet &^ HeadFlit, e.dst, e.State}
			e.Packet &^= TailFlit
		}
		w.seen = append(w.seen, e)
	}
	d.observer.Arrived(d, w.seen)
}

// tailsArrive tells the observer of the tails that arrive in cycle c.
func (w *followed) tailsArrive(d *Domain, c int64) {
	for batch := w.tails.Next(c); batch != nil; batch = w.tails.Next(c) {
		d.observer.Arrived(d, batch)
	}
}

// tailCrosses tells the observer that the tail of the packet at the front of a queue
// crosses to an output.
func (w *followed) tailCrosses(d *Domain, sw *SwitchState, local, output uint32, step uint32) {
	o := sw.OutPort(output)
	d.observer.TailCrosses(d, sw, newRequest(local, uint32(d.Matcher.Places[local].Port)<<16|output), &d.Steps.at[d.Steps.Wide(step)-d.Steps.First], o.NextFree-d.Pace(o).Interval)
}

// heed sees to it that those who wait for a port look when its next credit comes, as they
// do with flits as the unit, so that what they wait for is the same.
func (u *packetUnit) heed(d *Domain, port int32) {
	u.settle(d, port)
	if r := &u.credits[port]; r.ov >= 0 {
		if at := r.time(u, r.done); at < r.roomAt {
			r.roomAt = at
			u.at(at, creditsCome, port, 0)
		}
	}
}

// HeldUp is in how many cycles from one to another the last thing that happens to a
// packet on its way out of a queue, whose flits are all there, is that there is no room
// for its next flit behind the crossbar.
func (w *followed) HeldUp(d *Domain, queue int32, o *OutPort, from, to int64) (cycles int64) {
	pace, s, p := d.Pace(o), &d.Steps, &w.passing[queue]
	if pace.window == fabric.Never {
		return 0
	}
	flit := int64(0)
	crosses := func() int64 {
		return max(p.granted+flit, s.FirstStep((p.first+flit*pace.Interval-pace.window)>>IntervalShift+1))
	}
	for c := from; c < to; c++ {
		last := s.FirstStep(c+1) - 1
		for crosses() < last {
			flit++
		}
		if crosses() > last {
			cycles++
		}
	}
	return cycles
}
