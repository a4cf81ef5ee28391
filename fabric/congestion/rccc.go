package congestion

import (
	"slices"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/snapshot"
)

// RCCC holds the settings of the credit of Ultra Ethernet's receivers.
type RCCC struct {
	Grant            sim.Bytes `toml:"credit_grant" doc:"credit that a flow is granted in a turn, at most" min:"256B"`
	Rate             float64   `toml:"credit_rate" doc:"share of the rate of the adapter at which credit is granted" min:"0.01" max:"1"`
	Oversubscription float64   `toml:"oversubscription" doc:"bandwidth of the hosts of a switch over that of its uplinks: above 1, credit slows down with marks, and trimmed packets, from elsewhere than the last hop" min:"1"`
}

// DefaultRCCC holds htsim's values.
func DefaultRCCC() RCCC { return RCCC{Grant: 16384, Rate: 0.99, Oversubscription: 1} }

// creditUnit is what credit is counted in, in bytes.
const creditUnit = 256

func creditUnits(bytes int64) int64 { return (bytes + creditUnit - 1) / creditUnit }

// mostCredit is what a flow may have, and may be granted beyond its target.
func (p *Path) mostCredit() int64 { return int64(1.5 * p.product(p.RTT)) }

// Credit is what the sender of a flow may send under receiver-credit congestion control (Ultra
// Ethernet specification, 1.0, as htsim has it). Until something is heard of the receiver it
// speculates that it has a window of credit.
type Credit struct {
	path        *Path `snap:"-"`
	credit      int64 // in bytes; a packet may make it negative
	granted     int64 // in units, since the flow began
	speculating bool
}

// StartCredit is the credit of a flow that has sent nothing. Flows share the path.
func (p *Path) StartCredit() Credit {
	return Credit{path: p, credit: p.mostCredit(), speculating: true}
}

// Use gives a flow that has been read from an archive its path.
func (c *Credit) Use(p *Path) { c.path = p }

// MaySend tells whether a packet may leave, of any size.
func (c *Credit) MaySend() bool { return c.credit > 0 }

// OnSent takes a packet into account that leaves.
func (c *Credit) OnSent(size int64) { c.credit -= size }

// OnAnswer takes into account that the receiver has answered, be it that a packet was trimmed:
// credit that was speculated on is lost.
func (c *Credit) OnAnswer() {
	if c.speculating {
		c.speculating = false
		c.credit = min(c.credit, 0)
	}
}

// OnPull takes into account what the receiver has granted since the flow began, in units.
func (c *Credit) OnPull(granted int64) {
	c.OnAnswer()
	if more := granted - c.granted; more > 0 {
		c.granted = granted
		c.credit = min(c.credit+more*creditUnit, max(c.credit, c.path.mostCredit()))
	}
}

// Target is what a packet asks to be granted in all since the flow began, in units, when backlog
// bytes are yet to be sent, retransmissions among them, and so many flows of the adapter are
// active. window is that of the sender; 0: it has none.
func (c *Credit) Target(backlog, window int64, active int) int64 {
	wanted := min(backlog, c.path.mostCredit())
	if window > 0 {
		wanted = min(wanted, window+c.path.PacketBytes)
	}
	wanted = max(0, wanted-c.credit)
	if c.speculating && backlog > 0 {
		wanted = max(wanted, c.path.PacketBytes)
	}
	return c.granted + creditUnits(wanted/max(1, int64(active)))
}

// Where the pacer has a flow.
const (
	nowhere = iota
	demanding
	idle
)

// pulled is a flow as its receiver's pacer sees it; credit in units since it began.
type pulled struct {
	target, granted int64
	where           uint8
}

// Pacer grants credit to the flows of a receiver, one turn after another: to those that ask for
// more than they have, in turn, and if there is none to the idle ones, up to a window beyond what
// they asked for. A user numbers the flows from 0, tells of their targets and trimmed packets,
// and asks for a turn when no pause is on.
type Pacer struct {
	RCCC
	path Path
	pacing
}

// pacing is what changes of a pacer.
type pacing struct {
	flows   []pulled
	demand  fifo[int32]
	idle    fifo[int32]
	pause   fraction
	slowing slowing
}

// Pacer is that of a receiver; seed and terminal give it its stream of random numbers.
func (c RCCC) Pacer(p Path, seed uint64, terminal int) *Pacer {
	return &Pacer{RCCC: c, path: p, pacing: pacing{slowing: slowing{rate: 1, stream: sim.NewStream(seed, "credit", terminal)}}}
}

// flow is the record of a flow, which is made if need be.
func (p *Pacer) flow(number int) *pulled {
	for number >= len(p.flows) {
		p.flows = append(p.flows, pulled{})
	}
	return &p.flows[number]
}

// OnTarget takes into account what a packet of a flow asks for.
func (p *Pacer) OnTarget(flow int, target int64) {
	f := p.flow(flow)
	if target <= f.target {
		return
	}
	f.target = target
	switch {
	case f.target > f.granted:
		p.enter(flow, demanding)
	case f.where == nowhere:
		p.enter(flow, idle)
	}
}

// OnTrim has a flow get a turn, whose packet was trimmed, or whose sender asks for it.
func (p *Pacer) OnTrim(flow int, target int64) {
	p.OnTarget(flow, target)
	p.enter(flow, demanding)
}

// Remove forgets a flow's demand: it is complete.
func (p *Pacer) Remove(flow int) { p.enter(flow, nowhere) }

// enter moves a flow to a list, unless it is on it.
func (p *Pacer) enter(flow int, where uint8) {
	f := p.flow(flow)
	if f.where == where {
		return
	}
	switch f.where {
	case demanding:
		p.demand.remove(int32(flow))
	case idle:
		p.idle.remove(int32(flow))
	}
	switch f.where = where; where {
	case demanding:
		p.demand.push(int32(flow))
	case idle:
		p.idle.push(int32(flow))
	}
}

// Waiting tells whether a flow would get a turn.
func (p *Pacer) Waiting() bool { return p.demand.size()+p.idle.size() > 0 }

// Turn grants credit to the flow whose turn it is: it gets a PULL with all that it has been
// granted, in units, and the next turn is after a pause. There must be one that is [Pacer.Waiting].
func (p *Pacer) Turn(now sim.Time) (flow int, granted int64, pause sim.Time) {
	turn := int64(p.Grant) / creditUnit
	more := turn
	if p.demand.size() > 0 {
		flow = int(p.demand.pop())
		f := &p.flows[flow]
		f.where = nowhere
		more = min(turn, max(0, f.target-f.granted))
		f.granted += more
		if f.granted < f.target {
			p.enter(flow, demanding)
		} else {
			p.enter(flow, idle)
		}
	} else {
		flow = int(p.idle.pop())
		f := &p.flows[flow]
		f.where = nowhere
		f.granted += more
		if f.granted-f.target < p.path.mostCredit()/creditUnit {
			p.enter(flow, idle)
		}
	}
	wait := more * creditUnit
	if more == 0 {
		wait = 1024
	}
	rate := p.Rate * float64(p.path.Rate)
	if p.Oversubscription > 1 {
		rate *= p.slowing.at(now, p)
	}
	return flow, p.flows[flow].granted, p.pause.whole(float64(wait) * 8e12 / rate)
}

// OnPacket takes into account that a data packet has come, for what slows credit down: whole or
// trimmed, marked, its trim on the last hop. Pacers of networks without oversubscription need
// not be told.
func (p *Pacer) OnPacket(now sim.Time, marked, trimmed, lastHop bool) {
	s := &p.slowing
	s.at(now, p)
	s.all++
	switch {
	case trimmed && !lastHop:
		s.trims++
	case !trimmed:
		s.whole++
		if marked {
			s.marked++
		}
	}
}

// slowing is the share of its rate that a pacer uses where the network below it is
// oversubscribed. It changes after each one and a half round trips, give or take a quarter.
type slowing struct {
	stream                    sim.Stream
	rate                      float64
	marks                     float64 // moving mean of the share of packets marked
	increases                 int     // in a row
	next                      sim.Time
	all, whole, marked, trims int64 // of the interval; trims: not on the last hop
}

// at is the share at a time.
func (s *slowing) at(now sim.Time, p *Pacer) float64 {
	for s.next <= now {
		if s.next == 0 {
			s.next = now // the first interval begins
		} else {
			s.change(max(0.01, 0.9/p.Oversubscription))
		}
		s.next += sim.Time(1.5 * float64(p.path.RTT) * (0.75 + 0.5*s.stream.Float64()))
	}
	return s.rate
}

// change ends an interval.
func (s *slowing) change(least float64) {
	share := func(n, of int64) float64 { return float64(n) / float64(max(of, 1)) }
	s.marks = s.marks/2 + share(s.marked, s.whole)/2
	s.rate -= share(s.trims, s.all)
	if s.marks > 0.3 {
		s.rate *= 1 - 0.5*(s.marks-0.3)
	}
	switch {
	case s.trims > 0 || s.marks > 0.3:
		s.increases = 0
	case s.marked > 0:
		s.rate += 0.01
		s.increases++
	default:
		s.rate += 0.01 * float64(int64(1)<<min(s.increases, 10))
		s.increases++
	}
	s.rate = max(least, min(s.rate, 1))
	s.all, s.whole, s.marked, s.trims = 0, 0, 0, 0
}

// Archive writes the state of a pacer, or reads it into one of the same settings.
func (p *Pacer) Archive(a *snapshot.Archive) {
	snapshot.Value(a, &p.pacing)
	for _, list := range []struct {
		flows *fifo[int32]
		where uint8
	}{{&p.demand, demanding}, {&p.idle, idle}} {
		a.Check(list.flows.head >= 0 && list.flows.size() >= 0, "%d of %d flows have had their turn", list.flows.head, len(list.flows.items))
		for _, flow := range list.flows.all() {
			a.Check(flow >= 0 && int(flow) < len(p.flows) && p.flows[flow].where == list.where, "a pacer of %d flows has number %d on a list that it is not on", len(p.flows), flow)
		}
	}
}

// fifo is a queue of numbers.
type fifo[T comparable] struct {
	items []T
	head  int // items before it have been taken
}

func (q *fifo[T]) size() int { return len(q.items) - q.head }

// all is what is in the queue.
func (q *fifo[T]) all() []T { return q.items[min(max(q.head, 0), len(q.items)):] }

func (q *fifo[T]) push(x T) {
	if q.head > len(q.items)/2 {
		q.items, q.head = slices.Delete(q.items, 0, q.head), 0
	}
	q.items = append(q.items, x)
}

func (q *fifo[T]) pop() T {
	q.head++
	return q.items[q.head-1]
}

// remove takes x out, which is in the queue. It looks through all of it.
func (q *fifo[T]) remove(x T) {
	at := q.head + slices.Index(q.all(), x)
	q.items = slices.Delete(q.items, at, at+1)
}
