package kinds

import (
	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/mpi"
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
	ops    []mpi.Op
}

// softwareGroup is a broadcast under way. Its ranks are the members in a circle
// from the sender on.
type softwareGroup struct {
	schedule collectives.Schedule // from rank 0
	sender   int
	run      *mpi.ScheduleRun
	met      map[softwarePair]int // messages that came before their receive; below 0: receives that wait
}

// softwarePair is the ranks of messages.
type softwarePair struct{ from, to int32 }

type softwareFlow struct {
	softwarePair
	group   int32
	packets int // still to come
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
		c.groups = append(c.groups, softwareGroup{schedule: bySize[n], met: map[softwarePair]int{}})
		c.groups[i].begin()
	}
	return c, nil
}

// begin prepares a broadcast.
func (g *softwareGroup) begin() { g.run = mpi.RunSchedule(g.schedule, mpi.Costs{}, sim.Picosecond) }

func (c *softwareCarrier) post(now sim.Time, group, sender int) {
	g := &c.groups[group]
	g.begin()
	g.sender = sender
	for rank := range int32(g.schedule.Ranks()) {
		c.ops = g.run.Start(rank, c.ops[:0])
		c.work(now, group, rank)
	}
}

// done ends an operation of a rank, and begins those that it releases.
func (c *softwareCarrier) done(now sim.Time, group int, rank int32) {
	run := c.groups[group].run
	c.ops = run.Done(rank, 0, int64(now), c.ops[:0])
	c.work(now, group, rank)
	if run.Unreleased() == 0 {
		c.loop.complete(group, now)
	}
}

// work begins the operations of a rank in c.ops, and those that they release at once.
func (c *softwareCarrier) work(now sim.Time, group int, rank int32) {
	g := &c.groups[group]
	for i := 0; i < len(c.ops); i++ {
		switch op := c.ops[i]; op.Kind {
		case mpi.Send:
			read := c.send(now, group, softwarePair{rank, op.Peer}, op.Size)
			c.kernel.Schedule(read, c.name, softwareOver, int32(group), int64(rank))
		case mpi.Recv:
			pair := softwarePair{op.Peer, rank}
			if g.met[pair]--; g.met[pair] >= 0 {
				c.ops = g.run.Done(rank, 0, int64(now), c.ops)
			}
		case mpi.Calc:
			c.kernel.Schedule(now+sim.Time(op.Size), c.name, softwareOver, int32(group), int64(rank))
		}
	}
}

// send sends a message, and returns when the adapter has read it.
func (c *softwareCarrier) send(now sim.Time, group int, pair softwarePair, bytes int64) (read sim.Time) {
	id := int32(len(c.flows))
	if n := len(c.free); n > 0 {
		id, c.free = c.free[n-1], c.free[:n-1]
	} else {
		c.flows = append(c.flows, softwareFlow{})
	}
	c.flows[id] = softwareFlow{pair, int32(group), c.hosts.packetsOf(bytes)}
	return c.hosts.send(now, c.terminal(group, pair.from), fabric.PacketSpec{Dst: c.terminal(group, pair.to)}, bytes, id)
}

// terminal is that of a rank.
func (c *softwareCarrier) terminal(group int, rank int32) topology.TerminalID {
	members := c.loop.groups[group].members
	return members[(c.groups[group].sender+int(rank))%len(members)]
}

func (c *softwareCarrier) Handle(k *sim.Kernel, e sim.Event) {
	if e.Kind == softwareOver {
		c.done(k.Now(), int(e.Target), int32(e.Arg))
		return
	}
	f := c.flows[e.Target]
	c.free = append(c.free, e.Target)
	met := c.groups[f.group].met
	if met[f.softwarePair]++; met[f.softwarePair] <= 0 {
		c.done(k.Now(), int(f.group), f.to)
	}
}

// member implements carrier.
func (c *softwareCarrier) member(int32, topology.TerminalID) (int, bool) { return 0, true }

func (c *softwareCarrier) arrived(a arrival) {
	f := &c.flows[a.message]
	if f.packets--; f.packets == 0 {
		c.kernel.Schedule(a.done, c.heard, softwareArrived, a.message, 0)
	}
}
