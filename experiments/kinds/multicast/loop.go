package multicast

import (
	"fmt"
	"math"
	"slices"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/snapshot"
)

// multicastLoop is a closed loop: every group has one message under way, and
// sends the next when all members have the last, after a time to think. How a
// message reaches the members, or is summed over them first, is up to its carrier.
type multicastLoop struct {
	kernel   *sim.Kernel   `snap:"-"`
	name     sim.HandlerID `snap:"-"`
	carrier  carrier       `snap:"-"`
	groups   []loopGroup   `snap:"fixed"`
	rotate   bool          `snap:"-"` // members take turns at sending
	think    sim.Time      `snap:"-"` // mean of the pauses, which are exponential
	warmup   int           `snap:"-"` // messages of each group that are not measured
	wanted   int           `snap:"-"` // messages of each group that are
	left     int           // groups that have not had theirs
	measured int64         // messages
	first    sim.Time      // when the first measured message was posted
	last     sim.Time      // when the last one was complete
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
	members []topology.TerminalID `snap:"-"` // ascending
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

// groupRoute is how a group's packets go, and what has come of the message under way.
type groupRoute struct {
	mlid    int32    `snap:"-"`
	vcs     uint32   `snap:"-"`
	pending int      // packets that members have not got yet
	last    sim.Time // the latest completion so far
	heard   []int64  `snap:"fixed"` // by member: packets
	sent    []int64  `snap:"fixed"` // by member: messages
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
		all := lists.Total(r.sent)
		for i, heard := range r.heard {
			if want := (all - r.sent[i]) * int64(c.packets); heard != want {
				return fmt.Errorf("multicast: member %d of group %d heard %d packets, want %d", i, g, heard, want)
			}
		}
	}
	return nil
}

// hostTable is the [host] table: what lies between a process and the network.
type hostTable struct {
	SendOverhead    sim.Time  `toml:"send_overhead" doc:"from the post of a work request until the adapter begins to read the message" min:"0ns" max:"1s"`
	ReceiveOverhead sim.Time  `toml:"receive_overhead" doc:"from the last byte in memory until the process has the completion" min:"0ns" max:"1s"`
	DMARate         sim.Rate  `toml:"dma_rate" doc:"rate at which the adapter moves data: a packet is read whole before it is sent; one that arrives is written while it comes in" min:"1Mb/s"`
	MTU             sim.Bytes `toml:"mtu" doc:"payload of a full packet; longer messages are cut" min:"1B"`
}

// hosts are the adapters on the terminals of a fabric: they read messages, send them as packets,
// take packets in, and drop packets of groups that nobody behind them has joined. Sending and
// receiving are engines of their own, each one packet at a time. Bytes travel in whole flits;
// headers are not modelled: rates are those left to the payload.
type hosts struct {
	hostTable
	fabric     *core.Fabric
	clock      sim.Time
	flit       int64      // bytes
	incoming   []sim.Time // by terminal: time of a flit on its channel
	nodes      []host
	background *measure.OpenLoop // unicast packets beside the messages; may be nil
	carrier    carrier
	sinks      []*hostSink // by domain of the fabric
	before     hostTally   // of the state that it goes on from
}

// host is the adapter of a terminal.
type host struct {
	reading sim.Time // until then
	writing sim.Time // likewise
	packets sim.FIFO[hostPacket]
}

type hostPacket struct {
	posted int64 // cycle from which the terminal knows of it; not later than its birth
	spec   fabric.PacketSpec
}

// hostPacketBytes is the least that a packet takes while its message is sent.
const hostPacketBytes = 48

// arrival is a packet of a message that a member of its group has taken.
type arrival struct {
	message, member int32
	done            sim.Time // the process has it
}

// hostSink takes in what arrives at the terminals of a domain, on its thread.
type hostSink struct {
	*hosts
	arrivals []arrival // that the carrier has not been told of
	tally    hostTally
}

// hostTally counts packets that have arrived.
type hostTally struct {
	taken, redundant int64 // of messages: by members, and by terminals outside of the group
	unicast, latency int64 // of the background, with the sum of their latencies in cycles
}

// backgroundTag marks the background's packets; messages are numbered below.
const backgroundTag = 0

func newHosts(c hostTable, f *core.Fabric, flit sim.Bytes, timings []fabric.ChannelTiming) *hosts {
	g := f.Graph()
	h := &hosts{hostTable: c, fabric: f, clock: f.Clock(), flit: int64(flit), nodes: make([]host, g.Terminals())}
	h.incoming = lists.Make(g.Terminals(), func(t int) sim.Time {
		return sim.Time(timings[g.PortClass[g.TerminalPort[t]]].CyclesPerFlit * float64(h.clock))
	})
	return h
}

// packetsOf is the number of packets of a message.
func (c *hostTable) packetsOf(bytes int64) int {
	return int(max(1, (bytes+int64(c.MTU)-1)/int64(c.MTU)))
}

// send posts a message at time now and returns when its last byte has been read.
// to says where it goes; number comes back with its packets.
func (h *hosts) send(now sim.Time, src topology.TerminalID, to fabric.PacketSpec, bytes int64, number int32) (read sim.Time) {
	n := &h.nodes[src]
	first, posted := n.packets.Len(), int64((now+h.clock-1)/h.clock)
	n.reading = max(n.reading, now+h.SendOverhead)
	for left := bytes; ; left -= int64(h.MTU) {
		size := min(left, int64(h.MTU))
		n.reading += sim.Time(h.DMARate.PicosecondsFor(sim.Bytes(size)))
		to.Birth = int64((n.reading + h.clock - 1) / h.clock)
		to.Flits = int32(max(1, (size+h.flit-1)/h.flit))
		to.Tag = uint64(number+1)<<32 | uint64(size)
		n.packets.Put(hostPacket{posted, to})
		if left <= int64(h.MTU) {
			break
		}
	}
	h.fabric.WakeAt(src, n.packets.At(first).spec.Birth)
	return n.reading
}

// Next implements fabric.Source: messages first. A message may have been posted ahead of
// the terminal's time: it is not sent, in place of the background, before it is known.
func (h *hosts) Next(t topology.TerminalID, until int64, spec *fabric.PacketSpec) bool {
	n := &h.nodes[t]
	next := fabric.PacketSpec{Birth: fabric.Never}
	if n.packets.Len() > 0 {
		first := n.packets.At(0)
		if next = first.spec; next.Birth <= until && first.posted <= h.fabric.Present(t) {
			*spec = n.packets.Take().spec
			return true
		}
	}
	if h.background != nil {
		ok := h.background.Next(t, until, spec)
		if ok || spec.Birth < next.Birth {
			return ok
		}
	}
	*spec = next
	return false
}

func (h *hosts) Part(int) fabric.Ends {
	s := &hostSink{hosts: h}
	h.sinks = append(h.sinks, s)
	return fabric.Ends{Source: h, Sink: s}
}

// tally sums up what has arrived.
func (h *hosts) tally() hostTally {
	all := h.before
	for _, s := range h.sinks {
		all.taken += s.tally.taken
		all.redundant += s.tally.redundant
		all.unicast += s.tally.unicast
		all.latency += s.tally.latency
	}
	return all
}

// take tells the carrier what has arrived since it was last called, while no domain is simulated.
func (h *hosts) take() {
	for _, s := range h.sinks {
		for _, a := range s.arrivals {
			h.carrier.arrived(a)
		}
		s.arrivals = s.arrivals[:0]
	}
}

func (h *hostSink) Deliver(d *fabric.Delivery) {
	if d.Tag>>32 == backgroundTag {
		h.tally.unicast++
		h.tally.latency += d.Cycle - d.Birth
		return
	}
	message, bytes := int32(d.Tag>>32)-1, int64(uint32(d.Tag))
	member, takes := h.carrier.member(message, d.Dst)
	if !takes {
		h.tally.redundant++
		return
	}
	n := &h.nodes[d.Dst]
	now := sim.Time(d.Cycle) * h.clock
	begun := now - sim.Time(d.Flits-1)*h.incoming[d.Dst]
	n.writing = max(now, max(n.writing, begun)+sim.Time(h.DMARate.PicosecondsFor(sim.Bytes(bytes))))
	h.tally.taken++
	h.arrivals = append(h.arrivals, arrival{message, int32(member), n.writing + h.ReceiveOverhead})
}

// softwareCarrier carries messages to groups, or sums, by algorithms of package collectives:
// unicast messages from member to member. A send is over when the adapter has read its message; a
// member goes on when it has the completion of what it waits for.
type softwareCarrier struct {
	kernel *sim.Kernel
	name   sim.HandlerID
	heard  sim.HandlerID // of arrivals: behind all else of the same time
	hosts  *hosts
	loop   *multicastLoop
	ends   interface{ complete(group int, at sim.Time) } // the loop, unless the end is only part of what a carrier does
	first  int32                                         // number of the first flow's messages
	groups []softwareGroup
	flows  []softwareFlow
	free   []int32 // of flows
	ops    []mpi.Op
}

// softwareGroup is a collective under way. Its ranks are the members in a circle
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
	c := &softwareCarrier{kernel: k, hosts: h, loop: l, ends: l}
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

// begin prepares a collective.
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
		c.ends.complete(group, now)
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
	return c.hosts.send(now, c.terminal(group, pair.from), fabric.PacketSpec{Dst: c.terminal(group, pair.to)}, bytes, c.first+id)
}

// terminal is where a rank of the collective under way is: members in a circle from the sender on.
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

func (c *softwareCarrier) member(int32, topology.TerminalID) (int, bool) { return 0, true }

func (c *softwareCarrier) arrived(a arrival) {
	id := a.message - c.first
	f := &c.flows[id]
	if f.packets--; f.packets == 0 {
		c.kernel.Schedule(a.done, c.heard, softwareArrived, id, 0)
	}
}
