package kinds

import (
	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// softwareCarrier sends messages to groups by broadcasts of package collectives:
// unicast messages from member to member. A send is over when the adapter has
// read its message; a member goes on when it has the completion of what it waits
// for.
type softwareCarrier struct {
	kernel *sim.Kernel
	name   sim.HandlerID
	heard  sim.HandlerID // of arrivals: behind all else of the same time
	hosts  *hosts
	loop   *multicastLoop
	groups []softwareGroup
	flows  []softwareFlow
	free   []int32 // of flows
	ops    []collectives.Op
	parts  []*softwarePart
}

// softwarePart is what is heard in a domain of the fabric.
type softwarePart struct {
	*softwareCarrier
	whole     []wholeFlow // since the last take
	delivered int64       // packets
}

// wholeFlow is a message all packets of which have arrived.
type wholeFlow struct {
	flow int32
	done sim.Time
}

// softwareGroup is a broadcast under way. Its ranks are the members in a circle
// from the sender on.
type softwareGroup struct {
	schedule collectives.Schedule // from rank 0
	sender   int
	ranks    []softwareRank
	left     int // ranks that have not ended
	last     sim.Time
}

type softwareRank struct {
	round   int
	waiting int           // operations of the round
	early   map[int32]int // messages that came before their receive, by sender
	posted  map[int32]int // receives that wait for their message
}

type softwareFlow struct {
	group, from, to int32
	packets         int // still to come; the receiver's domain counts
}

// Events of the carrier.
const (
	softwareOver    uint16 = iota // an operation of rank arg of group target
	softwareArrived               // flow target
)

func newSoftwareCarrier(k *sim.Kernel, h *hosts, l *multicastLoop, algorithm string, bytes int64) (*softwareCarrier, error) {
	c := &softwareCarrier{kernel: k, hosts: h, loop: l}
	c.name, c.heard = k.Register(c), k.Register(c)
	config, err := collectives.Registry.Config(algorithm)
	if err != nil {
		return nil, err
	}
	bySize := map[int]collectives.Schedule{}
	for i := range l.groups {
		n := len(l.groups[i].members)
		if bySize[n] == nil {
			if bySize[n], err = collectives.Registry.Build(algorithm, config, collectives.Env{Ranks: n, PerNode: 1, Bytes: sim.Bytes(bytes)}); err != nil {
				return nil, err
			}
		}
		g := softwareGroup{schedule: bySize[n], ranks: make([]softwareRank, n)}
		for r := range g.ranks {
			g.ranks[r] = softwareRank{early: map[int32]int{}, posted: map[int32]int{}}
		}
		c.groups = append(c.groups, g)
	}
	return c, nil
}

func (c *softwareCarrier) post(now sim.Time, group, sender int) {
	g := &c.groups[group]
	g.sender, g.left, g.last = sender, len(g.ranks), 0
	for r := range g.ranks {
		g.ranks[r].round, g.ranks[r].waiting = -1, 0
	}
	for r := range g.ranks {
		c.proceed(now, group, r)
	}
}

// proceed enters the next round of a rank, and those after it that are over at
// once.
func (c *softwareCarrier) proceed(now sim.Time, group, rank int) {
	g := &c.groups[group]
	r := &g.ranks[rank]
	for r.waiting == 0 {
		if r.round++; r.round == g.schedule.Rounds(rank) {
			g.last = max(g.last, now)
			if g.left--; g.left == 0 {
				c.loop.complete(group, g.last)
			}
			return
		}
		c.ops = g.schedule.Round(rank, r.round, c.ops[:0])
		for i := range c.ops {
			c.begin(now, group, rank, &c.ops[i])
		}
	}
}

func (c *softwareCarrier) begin(now sim.Time, group, rank int, op *collectives.Op) {
	g := &c.groups[group]
	r := &g.ranks[rank]
	switch op.Kind {
	case collectives.Send:
		id := int32(len(c.flows))
		if n := len(c.free); n > 0 {
			id, c.free = c.free[n-1], c.free[:n-1]
		} else {
			c.flows = append(c.flows, softwareFlow{})
		}
		c.flows[id] = softwareFlow{int32(group), int32(rank), op.Peer, c.hosts.packetsOf(op.Bytes)}
		to := fabric.PacketSpec{Dst: c.member(group, int(op.Peer))}
		read := c.hosts.send(now, c.member(group, rank), to, op.Bytes, id)
		r.waiting++
		c.kernel.Schedule(read, c.name, softwareOver, int32(group), int64(rank))
	case collectives.Recv:
		if r.early[op.Peer] > 0 {
			r.early[op.Peer]--
			return
		}
		r.posted[op.Peer]++
		r.waiting++
	case collectives.Compute:
		r.waiting++
		c.kernel.Schedule(now+op.Time, c.name, softwareOver, int32(group), int64(rank))
	}
}

// member is the terminal of a rank.
func (c *softwareCarrier) member(group, rank int) topology.TerminalID {
	members := c.loop.groups[group].members
	return members[(c.groups[group].sender+rank)%len(members)]
}

func (c *softwareCarrier) Handle(k *sim.Kernel, e sim.Event) {
	group, rank := int(e.Target), int(e.Arg)
	if e.Kind == softwareArrived {
		f := c.flows[e.Target]
		c.free = append(c.free, e.Target)
		group, rank = int(f.group), int(f.to)
		r := &c.groups[group].ranks[rank]
		if r.posted[f.from] == 0 {
			r.early[f.from]++
			return
		}
		r.posted[f.from]--
	}
	c.groups[group].ranks[rank].waiting--
	c.proceed(k.Now(), group, rank)
}

func (c *softwareCarrier) part() arrivals {
	p := &softwarePart{softwareCarrier: c}
	c.parts = append(c.parts, p)
	return p
}

// keep implements arrivals.
func (p *softwarePart) keep(int32, topology.TerminalID) (int, bool) { return 0, true }

func (p *softwarePart) arrived(flow int32, _ int, done sim.Time) {
	p.delivered++
	if p.flows[flow].packets--; p.flows[flow].packets == 0 {
		p.whole = append(p.whole, wholeFlow{flow, done})
	}
}

func (c *softwareCarrier) take() {
	for _, p := range c.parts {
		for _, f := range p.whole {
			c.kernel.Schedule(f.done, c.heard, softwareArrived, f.flow, 0)
		}
		p.whole = p.whole[:0]
	}
}

// delivered is the number of packets that have arrived.
func (c *softwareCarrier) delivered() (packets int64) {
	for _, p := range c.parts {
		packets += p.delivered
	}
	return packets
}
