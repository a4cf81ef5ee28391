package core

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/check"
	"github.com/weft-sim/weft/sim/wheel"
)

// A run of flits is body flits of one packet that follow each other in every cycle: one
// record for all of them, on a channel, through a switch, and for the credits that come
// back.
//
// A terminal sends one when it has several body flits left and credits for them. At a
// switch it passes, if its queue is empty, no other packet is on its way through the same
// output, and there are credits: each flit crosses in the first step of the cycle in which
// it comes, and nobody bids for it. As soon as a flit of another queue asks for the input or
// the output that the run of flits passes by, the rest of it comes into its queue flit by flit,
// and the next switch and the one before are told. So it is where a run of flits cannot pass,
// until it can.
//
// All that others can see is what it would be flit by flit, in every cycle: what is in
// queues, free virtual channels, credits of those, round robins, counters. What nobody but
// the flits themselves would look at is brought up to date when the run of flits stops: when
// channel and credit wires are free, and the credits of a virtual channel that is held, of
// which all that the run of flits announced are taken when it starts.
//
// Runs of flits are within a domain, over channels of a flit a cycle, in switches of a whole
// number of steps a cycle whose requests are plain ([domain.requestsPlainly]) and which
// nobody looks into (routings that read queues or credits, observers, faults).
type flitRun struct {
	Flit           // one of them; queue: where they arrive
	left     int32 // flits that have not arrived when it last stopped
	ov       int32 // while it passes: output virtual channel; -1: it does not pass
	from     int64 // cycle in which the first of the flits that it announced crosses
	until    int64 // the last of them
	depart   int64 // when the first of them may use the channel, in cycles << intervalShift
	credit   int64 // when its credit leaves, likewise
	in, port int32 // that it passes by
	number   int32 // in flitRuns.arriving
}

// flitRunNews tells, in the cycle in which its first flit would arrive, that a run of flits of so
// many flits begins; 0: that the present one ends before.
type flitRunNews struct {
	Flit
	flits int32
}

// creditRun is credits that come back one a cycle to an output virtual channel; as news,
// 0 of them: that the present one ends.
type creditRun struct{ ov, left int32 }

// fewestFlits is the number of flits from which on a run of flits is worth its records.
const fewestFlits = 4

// flitRuns is what a domain knows of them.
type flitRuns struct {
	begun    bool      // there has been one
	all      []flitRun // in use and free
	free     []int32   // records of all
	arriving []int32   // those whose flits come into queues
	passing  int64     // how many pass
	reaching int64     // how many reach their terminal, where a flit a cycle leaves the network
	credits  []creditRun
	leaving  []creditRun // flits that terminals send, by their ov
	// Numbers in all and in credits, + 1; of all domains.
	at       []int32 // by queue, then by terminal
	creditAt []int32 // by ov

	news       *wheel.Wheel[flitRunNews]
	creditNews *wheel.Wheel[creditRun]
	ends       *wheel.Wheel[int32] // queue of a run of flits that passes, or reaches its terminal, no longer, unless it has stopped before
}

// neverFlitRuns, which only tests set, lets every flit go by itself.
var neverFlitRuns bool

// takesFlitRuns tells whether nothing in f looks at single flits.
func (f *Fabric) takesFlitRuns() bool {
	return !neverFlitRuns && f.domains[0].requestsPlainly() && !f.domains[0].cutThrough && f.unit == nil && f.observer == nil && f.Faults == nil && f.multicast == nil && f.escape == nil &&
		f.sensing == nil && f.hold == nil && f.lanes == nil && f.laneQueues == nil && !f.receives() && f.allocators == nil &&
		!f.needs.Queues && !f.needs.Credits && f.domains[0].Steps.Whole > 0 && f.creditInterval <= oneCycle
}

const oneCycle = 1 << IntervalShift

// openFlitRuns lets the domains have runs of flits, if nothing is against it.
func (f *Fabric) openFlitRuns() {
	if !f.takesFlitRuns() {
		return
	}
	at, creditAt := make([]int32, len(f.Queues)+len(f.Terminals)), make([]int32, len(f.OutVC))
	for _, d := range f.domains {
		d.flitRuns = &flitRuns{
			at: at, creditAt: creditAt,
			news: wheel.New[flitRunNews](f.horizon), creditNews: wheel.New[creditRun](f.horizon), ends: wheel.New[int32](min(f.horizon, 256)),
		}
	}
}

// place is the number of where flits arrive.
func (c *flitRuns) place(d *Domain, queue int32) *int32 {
	if queue < 0 {
		queue = int32(len(d.Queues)) + ^queue
	}
	return check.At(c.at, uint32(queue))
}

// next is the first cycle after one in which anything of runs of flits happens.
func (c *flitRuns) next(now int64) int64 {
	if len(c.arriving)+len(c.credits)+len(c.leaving) > 0 || c.passing+c.reaching > 0 {
		return now + 1
	}
	return sooner(sooner(sooner(fabric.Never, c.news), c.creditNews), c.ends)
}

// arrive lets everything that belongs to runs of flits come that comes in a cycle.
func (c *flitRuns) arrive(d *Domain, cycle int64) {
	for batch := c.ends.Next(cycle); batch != nil; batch = c.ends.Next(cycle) {
		for _, queue := range batch {
			c.end(d, queue)
		}
	}
	for batch := c.news.Next(cycle); batch != nil; batch = c.news.Next(cycle) {
		for i := range batch {
			c.hear(d, &batch[i])
		}
	}
	for batch := c.creditNews.Next(cycle); batch != nil; batch = c.creditNews.Next(cycle) {
		for _, run := range batch {
			c.hearCredits(run)
		}
	}
	c.bringFlits(d)
	c.bringCredits(d)
	c.send(d)
}

// end ends the passing of a run of flits of which all that it announced have crossed.
func (c *flitRuns) end(d *Domain, queue int32) {
	number := c.place(d, queue)
	if *number == 0 {
		return
	}
	cv := &c.all[*number-1]
	if cv.until != d.Cycle-1 {
		return // it has stopped before, and another one has begun, perhaps
	}
	if queue < 0 {
		c.reaching--
		c.release(number)
	} else if cv.ov >= 0 {
		c.stop(d, cv, cv.until)
	}
}

// hear begins a run of flits, or ends the present one.
func (c *flitRuns) hear(d *Domain, n *flitRunNews) {
	number := c.place(d, n.Queue)
	if check.On && (n.flits > 0) != (*number == 0) {
		d.broken("a run of %d flits comes to queue %d, where there is number %d", n.flits, n.Queue, *number)
	}
	if n.flits == 0 {
		cv := &c.all[*number-1]
		switch {
		case n.Queue < 0:
			c.reaching--
			c.release(number)
			return
		case cv.ov >= 0:
			c.stop(d, cv, min(cv.until, d.Cycle-1))
		}
		if *number != 0 {
			c.leaves(cv)
			c.release(number)
		}
		return
	}
	if len(c.free) == 0 {
		c.all = append(c.all, flitRun{})
		c.free = append(c.free, int32(len(c.all)))
	}
	*number = c.free[len(c.free)-1]
	c.free = c.free[:len(c.free)-1]
	cv := &c.all[*number-1]
	*cv = flitRun{Flit: n.Flit, left: n.flits, ov: -1}
	if n.Queue < 0 {
		c.reaching++
		cv.until = d.Cycle + int64(n.flits) - 1
		*c.ends.Place(cv.until + 1) = n.Queue
		return
	}
	c.comes(cv)
}

// comes adds a run of flits to those whose flits come into their queues, and leaves takes it away.
func (c *flitRuns) comes(cv *flitRun) {
	cv.number = int32(len(c.arriving))
	c.arriving = append(c.arriving, c.at[cv.Queue]-1)
}

func (c *flitRuns) leaves(cv *flitRun) {
	last := c.arriving[len(c.arriving)-1]
	c.arriving[cv.number] = last
	c.all[last].number = cv.number
	c.arriving = c.arriving[:len(c.arriving)-1]
}

// release frees the record of a run of flits that is over.
func (c *flitRuns) release(number *int32) {
	c.free = append(c.free, *number)
	*number = 0
}

// bringFlits lets a flit of each run of flits arrive that does not begin to pass.
func (c *flitRuns) bringFlits(d *Domain) {
	d.FlitHops += c.passing
	d.DeliveredFlits += c.reaching
	ready := uint32(d.Steps.FirstStep(d.Cycle))
	for i := 0; i < len(c.arriving); {
		cv := &c.all[c.arriving[i]]
		v := check.At(d.Queues, uint32(cv.Queue))
		if v.Count == 0 && int32(v.Ready-ready) <= 0 && cv.left >= fewestFlits && v.Packet>>PacketBits == cv.Packet>>PacketBits && c.pass(d, cv, v) {
			d.FlitHops++
			continue
		}
		d.arriveBody(&cv.Flit)
		if cv.left--; cv.left > 0 {
			i++
			continue
		}
		c.leaves(cv)
		c.release(&c.at[cv.Queue])
	}
}

// arriveBody puts a body flit into its queue.
func (d *Domain) arriveBody(e *Flit) {
	v := check.At(d.Queues, uint32(e.Queue))
	if v.Count == 0 { // its packet holds an output already
		v.Packet, v.dst, v.State = e.Packet, e.dst, e.State
		d.Masks[e.Queue>>6].sa |= 1 << (e.Queue & 63)
		d.activate(e.Queue >> 6)
	} else {
		d.append(v, e)
	}
	v.Count++
	if check.On && v.Count > d.buffer {
		d.broken("queue %d takes %d flits", e.Queue, v.Count)
	}
}

// leave sends the next body flits of a terminal, which has just sent a flit, as a run of flits,
// if it has several and credits for them.
func (c *flitRuns) leave(d *Domain, t int32, te *terminal, o *OutPort) {
	number := d.terminalOV(topology.TerminalID(t), int(te.VC))
	ov := &d.OutVC[number]
	flits := min(te.left-1, ov.credits)
	if flits < fewestFlits || d.Pace(o).Interval != oneCycle {
		return
	}
	*c.news.Place(WholeCycle(o.NextFree) + d.Latency(o)) = flitRunNews{
		Flit{Queue: o.dest + int32(te.VC), Packet: te.Packet << PacketBits, dst: te.Dst, State: te.state}, flits}
	c.begun = true
	c.leaving = append(c.leaving, creditRun{number, flits})
	ov.credits -= flits
	te.left -= flits
	o.NextFree += int64(flits) << IntervalShift
}

// hearCredits begins a run of credits, or ends the present one.
func (c *flitRuns) hearCredits(run creditRun) {
	number := check.At(c.creditAt, uint32(run.ov))
	if *number == 0 {
		c.credits = append(c.credits, run)
		*number = int32(len(c.credits))
		return
	}
	c.endCredits(int(*number) - 1)
}

// endCredits removes a run of credits.
func (c *flitRuns) endCredits(i int) {
	c.creditAt[c.credits[i].ov] = 0
	last := len(c.credits) - 1
	if i < last {
		c.credits[i] = c.credits[last]
		c.creditAt[c.credits[i].ov] = int32(i) + 1
	}
	c.credits = c.credits[:last]
}

// bringCredits lets a credit of each run come back.
func (c *flitRuns) bringCredits(d *Domain) {
	for i := 0; i < len(c.credits); {
		run := &c.credits[i]
		o := check.At(d.OutVC, uint32(run.ov))
		o.credits++
		if check.On {
			d.checkCredits(run.ov)
		}
		if o.credits == 1 {
			d.creditReturned(o, run.ov)
		}
		if run.left--; run.left == 0 {
			c.endCredits(i)
		} else {
			i++
		}
	}
}

// send lets a flit of each run of flits leave its terminal.
func (c *flitRuns) send(d *Domain) {
	d.InjectedFlits += int64(len(c.leaving))
	for i := 0; i < len(c.leaving); {
		l := &c.leaving[i]
		d.OutVC[l.ov].Flits++
		if l.left--; l.left > 0 {
			i++
			continue
		}
		c.leaving[i] = c.leaving[len(c.leaving)-1]
		c.leaving = c.leaving[:len(c.leaving)-1]
	}
}
