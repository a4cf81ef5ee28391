package terminal

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/snapshot"
)

// InfiniBand holds the settings of program "infiniband".
type InfiniBand struct {
	CongestionControl
	Notification int `toml:"cnp_flits" doc:"size of a congestion notification packet" unit:"flits" min:"1" max:"1000000"`
}

func init() {
	param.Register(Registry, "infiniband", "packets are born as in open-loop, and a queue pair to each destination holds them back by InfiniBand's congestion control: a marked packet (switch.marking) is answered by a notification, which raises the queue pair's index into the table of delays between packets",
		InfiniBand{DefaultCongestionControl(), 1}, newInfiniBand)
}

// newInfiniBand makes adapters by the specification's annex A10 (InfiniBand Architecture
// Specification, volume 1). A notification goes before data (class High), one for each marked
// packet: the annex has no limit. A delay begins when the adapter has taken a packet and its
// time on the link has passed; queue pairs take turns, a packet each.
func newInfiniBand(c InfiniBand, env Env) (fabric.Workload, error) {
	process, err := env.Process(env.MeanFlits)
	if err != nil {
		return nil, err
	}
	delays, err := c.delays()
	if err != nil {
		return nil, err
	}
	return NewHost(env, false, []string{"packet", "notification", "index [entries]"}, func(t topology.TerminalID) Program {
		return &infiniBand{
			env: &env, process: process, delays: delays, notification: c.Notification,
			births: sim.NewStream(env.Seed, "birth", int(t)), contents: sim.NewStream(env.Seed, "packet", int(t)),
		}
	}), nil
}

// Measures of the program.
const (
	packetTime = iota // from its birth, the time in the queue pair among it
	notificationTime
	indexValue // of the table of delays, as notifications raise it
)

// infiniBand is the adapter of a terminal.
type infiniBand struct {
	env              *Env            `snap:"-"`
	process          measure.Process `snap:"-"`
	delays           *delayTable     `snap:"-"`
	notification     int             `snap:"-"` // flits
	births, contents sim.Stream
	state            uint32          // the process's
	next             int64           // cycle of the next birth
	index            congestionIndex // of all queue pairs together, if they share one
	pairs            []queuePair     // in order of their first packets
	turn             int             // pair that is asked first
	queued           bool            // a packet waits for the terminal to take it
}

// queuePair is the way to a destination.
type queuePair struct {
	dst   topology.TerminalID
	index congestionIndex
	from  sim.Time // when the next packet may begin
	waits []waiting
}

// waiting is a packet of a queue pair.
type waiting struct {
	born  int64 // cycle
	flits int
}

func (x *infiniBand) Start(p *Port) {
	x.next = -1 + x.process.NextGap(&x.births, &x.state)
	x.wait(p)
}

// Timer brings births, and the ends of delays.
func (x *infiniBand) Timer(p *Port) {
	for now := p.cycle(); x.next <= now; x.next += x.process.NextGap(&x.births, &x.state) {
		dst := x.env.Pattern.Destination(p.id, &x.contents)
		q := x.pair(dst)
		q.waits = append(q.waits, waiting{x.next, x.env.Sizes.Draw(&x.contents)})
	}
	x.send(p)
	x.wait(p)
}

// pair is the queue pair to a destination.
func (x *infiniBand) pair(dst topology.TerminalID) *queuePair {
	for i := range x.pairs {
		if x.pairs[i].dst == dst {
			return &x.pairs[i]
		}
	}
	x.pairs = append(x.pairs, queuePair{dst: dst})
	return &x.pairs[len(x.pairs)-1]
}

// send hands the terminal a packet of the next queue pair that may send, if it has none.
func (x *infiniBand) send(p *Port) {
	if x.queued {
		return
	}
	for i := range x.pairs {
		q := &x.pairs[(x.turn+i)%len(x.pairs)]
		if len(q.waits) == 0 || q.from > p.Now() {
			continue
		}
		w := q.waits[0]
		q.waits = q.waits[1:]
		x.turn, x.queued = (x.turn+i+1)%len(x.pairs), true
		p.Send(Packet{Dst: q.dst, Flits: w.flits, Tag: uint64(w.born) << 1})
		return
	}
}

// wait sets the timer to the next birth, or to the end of a delay before it.
func (x *infiniBand) wait(p *Port) {
	at := p.host.timeOf(x.next)
	if !x.queued {
		for i := range x.pairs {
			if q := &x.pairs[i]; len(q.waits) > 0 {
				at = min(at, q.from)
			}
		}
	}
	p.SetTimer(at)
}

// Departed implements [Sender].
func (x *infiniBand) Departed(p *Port, sent *Packet) {
	if sent.Class == High {
		return
	}
	x.queued = false
	q := x.pair(sent.Dst)
	onLink := p.LinkTime(sent.Flits)
	q.from = p.Now() + onLink + x.indexOf(q).delay(p.Now(), onLink, x.delays)
	x.send(p)
	x.wait(p)
}

func (x *infiniBand) indexOf(q *queuePair) *congestionIndex {
	if x.delays.perSL() {
		return &x.index
	}
	return &q.index
}

func (x *infiniBand) Arrived(p *Port, a *Arrival) {
	if a.Tag&1 != 0 {
		p.Record(notificationTime, a.Born)
		index := x.indexOf(x.pair(a.Src))
		index.onBECN(p.Now(), x.delays)
		p.Sample(indexValue, int64(index.at(p.Now(), x.delays)))
		return
	}
	p.Record(packetTime, p.host.timeOf(int64(a.Tag>>1)))
	if a.Marked {
		p.Send(Packet{Dst: a.Src, Flits: x.notification, Class: High, Tag: 1})
	}
}

// Pending implements [Program]: nothing waits for an answer, but packets may wait here.
func (x *infiniBand) Pending() sim.Time {
	oldest := sim.MaxTime
	for i := range x.pairs {
		if q := &x.pairs[i]; len(q.waits) > 0 {
			oldest = min(oldest, sim.Time(q.waits[0].born)*x.env.Clock)
		}
	}
	return oldest
}

// Archive implements [Program].
func (x *infiniBand) Archive(a *snapshot.Archive) { snapshot.Fields(a, x) }
