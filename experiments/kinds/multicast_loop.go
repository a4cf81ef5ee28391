package kinds

import (
	"fmt"
	"math"
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/snapshot"
)

// multicastLoop is a closed loop: every group has one message under way, and
// sends the next when all members have the last, after a time to think. How a
// message reaches the members is up to its carrier.
type multicastLoop struct {
	kernel   *sim.Kernel
	name     sim.HandlerID
	carrier  carrier
	groups   []loopGroup
	rotate   bool     // members take turns at sending
	think    sim.Time // mean of the pauses, which are exponential
	warmup   int      // messages of each group that are not measured
	wanted   int      // messages of each group that are
	left     int      // groups that have not had theirs
	measured int64    // messages
	first    sim.Time // when the first measured message was posted
	last     sim.Time // when the last one was complete
}

// carrier brings a message of a group from a member to all others, and calls
// [multicastLoop.complete] when the last of them has it.
type carrier interface {
	post(now sim.Time, group, sender int)
	// member tells whether a terminal takes the packets of a message, and as which member
	// of its group. Several threads ask.
	member(message int32, t topology.TerminalID) (member int, takes bool)
	arrived(a arrival)
	archive(a *snapshot.Archive)
}

type loopGroup struct {
	members []topology.TerminalID // ascending
	random  sim.Stream
	sent    int // messages posted
	posted  sim.Time
	latency []sim.Time // of measured messages
}

// Events of the loop; the target is the group.
const (
	loopPost uint16 = iota
	loopDone
)

// register gives the loop its kernel.
func (l *multicastLoop) register(k *sim.Kernel) { l.kernel, l.name = k, k.Register(l) }

// start posts the first message of every group at a time within spread.
func (l *multicastLoop) start(spread sim.Time) {
	l.left = len(l.groups)
	l.first = sim.MaxTime
	for g := range l.groups {
		at := sim.Time(l.groups[g].random.Float64() * float64(spread))
		l.kernel.Schedule(at, l.name, loopPost, int32(g), 0)
	}
}

func (l *multicastLoop) Handle(k *sim.Kernel, e sim.Event) {
	g := &l.groups[e.Target]
	if e.Kind == loopPost {
		sender := 0
		if l.rotate {
			sender = g.sent % len(g.members)
		}
		g.sent++
		g.posted = k.Now()
		l.carrier.post(k.Now(), int(e.Target), sender)
		return
	}
	if g.sent > l.warmup && len(g.latency) < l.wanted {
		latency := k.Now() - g.posted
		g.latency = append(g.latency, latency)
		l.measured++
		l.first, l.last = min(l.first, g.posted), k.Now()
		if len(g.latency) == l.wanted {
			l.left--
		}
	}
	// Groups that are through go on, so that the others find the same load.
	if l.left > 0 {
		k.Schedule(k.Now()+l.pause(g), l.name, loopPost, e.Target, 0)
	}
}

func (l *multicastLoop) pause(g *loopGroup) sim.Time {
	if l.think == 0 {
		return 0
	}
	return sim.Time(-math.Log1p(-g.random.Float64()) * float64(l.think))
}

// complete ends a message at a time that has not passed.
func (l *multicastLoop) complete(group int, at sim.Time) {
	l.kernel.Schedule(max(at, l.kernel.Now()), l.name, loopDone, int32(group), 0)
}

// hardwareCarrier sends messages to multicast groups of the network.
type hardwareCarrier struct {
	hosts   *hosts
	loop    *multicastLoop
	routes  []groupRoute
	bytes   int64
	packets int // of a message
}

// groupRoute is how a group's packets go, and what has come of the message under
// way.
type groupRoute struct {
	mlid    int32
	vcs     uint32
	pending int      // packets that members have not got yet
	last    sim.Time // the latest completion so far
	heard   []int64  // by member: packets
	sent    []int64  // by member: messages
}

func (c *hardwareCarrier) post(now sim.Time, group, sender int) {
	r, members := &c.routes[group], c.loop.groups[group].members
	r.pending, r.last = c.packets*(len(members)-1), 0
	r.sent[sender]++
	c.hosts.send(now, members[sender], fabric.PacketSpec{VCs: r.vcs, MLID: r.mlid}, c.bytes, int32(group))
}

// member implements carrier: the MGID filter. A message is numbered as its group.
func (c *hardwareCarrier) member(group int32, t topology.TerminalID) (member int, takes bool) {
	return slices.BinarySearch(c.loop.groups[group].members, t)
}

func (c *hardwareCarrier) arrived(a arrival) {
	r := &c.routes[a.message]
	r.heard[a.member]++
	r.last = max(r.last, a.done)
	if r.pending--; r.pending == 0 {
		c.loop.complete(int(a.message), r.last)
	}
}

// verify finds members that did not hear every packet of the others once.
func (c *hardwareCarrier) verify() error {
	for g := range c.routes {
		r := &c.routes[g]
		all := int64(0)
		for _, n := range r.sent {
			all += n
		}
		for i, heard := range r.heard {
			if want := (all - r.sent[i]) * int64(c.packets); heard != want {
				return fmt.Errorf("multicast: member %d of group %d heard %d packets, want %d", i, g, heard, want)
			}
		}
	}
	return nil
}
