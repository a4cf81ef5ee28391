// Package adapters carries package mpi's messages between host channel adapters on a fabric's
// terminals.
package adapters

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/arbitration"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/fabric/observe"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/mem"
	"github.com/weft-sim/weft/sim/stats"
)

// Network carries the messages of package mpi through the flit-level fabric: the node with number n
// is on the first terminal of host n. The sending engine of an adapter cuts each burst into packets
// of an MTU; a packet is born send_latency after the engine has begun to read it, and the engine
// takes up the next burst when it has read this one and the network keeps up with it (see
// sender.behind). The receiving engine takes in packets whole. A message is complete when all of
// its packets have arrived; messages between two QPs complete in the order in which they were sent.
//
// A packet's bytes travel in whole flits, without headers, which an adapter's link rate leaves out,
// too.
//
// It has a part for each domain of the fabric, with the adapters there. The parts at both ends
// share flights, and the orders of flights between two QPs, and have fields of their own in them.
type Network struct {
	fabric  *core.Fabric
	adapter *hca.Config
	clock   sim.Time
	delay   int64    // cycles from a packet's birth until it can enter the network
	flit    int64    // bytes
	full    sim.Time // of an engine for a full packet
	nodes   []sender
	at      []topology.TerminalID // len = nodes
	partOf  []uint8               // likewise
	nodeAt  []int32               // len = terminals; -1: none
	jobs    *Jobs                 // nil: one program on level 0, whose messages are not timed
	flights mem.Records[flight]
	orders  mem.Records[qpOrder]
	parts   []*transport
	tracer  *observe.Tracer // of all packets, for a timeline; nil: none
	state   *networkState   // the last that was written or read
	Ran     bool            // the run has begun, or gone on
}

// transport is a part of a Network.
type transport struct {
	*Network
	number   uint8
	kernel   *sim.Kernel
	handler  sim.HandlerID
	sink     mpi.Sink
	adapters []hca.HCA                  // nodes hold copies of them
	free     []int32                    // of flights
	order    struct{ first, end int32 } // numbers, below end, of orders that nobody had
	over     []int32                    // orders that can be had again
	last     int64                      // cycle in which a packet was delivered last
	orderOf  map[qpPair]int32

	passages passages

	manyOrders int // in orderOf, from which on those without flights are given up

	latency []stats.Histogram // of messages, by job, in picoseconds
}

// Jobs says of processes which job they belong to.
type Jobs struct {
	Of     []uint16 // by process
	Count  int
	Levels []uint8 // service level, by job; nil: all have 0
}

// sender is a node's adapter, with the packets of the present burst.
type sender struct {
	hca.HCA
	packets []outgoing // head first
	head    int
	enough  int          // packets that wait for the network and hold up the engine
	waking  bool         // an event is to come when the engine is free
	lanes   *senderLanes // nil: bursts go out in the order in which they are taken up
}

// outgoing is a packet that waits for the network.
type outgoing struct {
	birth int64 // cycle
	dst   topology.TerminalID
	flits int32
	tag   uint64 // flight << 32 | bytes
}

// Events of the transport.
const (
	engineFree       uint16 = iota // target node
	messageDelivered               // target process, argument flight
)

// New puts an adapter on the first terminal of each of the first nodes hosts of f, which is divided
// by then; flit is in bytes, and jobs is nil for one program. Channels to terminals must not be
// faster than the adapters (hca.Config.Rate). Errors: more nodes than hosts, and faults, which
// kernels cannot handle.
func New(f *core.Fabric, flit sim.Bytes, adapter *hca.Config, nodes int, jobs *Jobs) (*Network, error) {
	hosts := f.Graph().Hosts()
	if f.Faults != nil {
		return nil, fmt.Errorf("adapters do not run on a network with faults")
	}
	if nodes > len(hosts) {
		return nil, fmt.Errorf("the ranks take %d nodes, but the topology has %d hosts", nodes, len(hosts))
	}
	t := &Network{
		fabric: f, adapter: adapter, jobs: jobs, clock: f.Clock(), delay: f.InjectionCycles(), flit: int64(flit), full: adapter.TimeOf(int64(adapter.MTU)),
		nodes: make([]sender, nodes), nodeAt: slices.Repeat([]int32{-1}, f.Graph().Terminals()),
	}
	for i, rails := range hosts[:nodes] {
		t.at = append(t.at, rails[0])
		t.nodeAt[rails[0]] = int32(i)
		t.partOf = append(t.partOf, uint8(f.DomainOf(rails[0])))
	}
	return t, nil
}

// Parts implements mpi.Division.
func (t *Network) Parts() int { return t.fabric.Domains() }

// PartOf implements mpi.Division.
func (t *Network) PartOf(node int32) int { return int(t.partOf[node]) }

// Transport implements mpi.Division.
func (t *Network) Transport(part int, k *sim.Kernel, sink mpi.Sink) (mpi.Transport, error) {
	p := &transport{Network: t, number: uint8(part), kernel: k, sink: sink, orderOf: map[qpPair]int32{}}
	if t.tracer != nil {
		p.passages.of = map[int32]passage{}
	}
	if t.jobs != nil {
		p.latency = make([]stats.Histogram, t.jobs.Count)
	}
	own := lists.Places(len(t.nodes), func(node int) bool { return t.PartOf(int32(node)) == part })
	p.adapters = hca.New(t.adapter, len(own))
	// So many full packets does the link carry in the time from the engine to the network.
	enough := int(max(1, (t.adapter.Delay(int64(t.adapter.MTU))+max(1, t.full)-1)/max(1, t.full)))
	for i, node := range own {
		n := &t.nodes[node]
		n.HCA, n.enough = p.adapters[i], enough
		if tables := t.fabric.TerminalTables(t.at[node]); tables != nil {
			// Without lanes a packet more is enough, which the terminal has taken.
			n.lanes = &senderLanes{arbiter: arbitration.New(tables), tables: tables, enough: 1 + int32(n.enough)}
		}
	}
	p.handler = k.Register(p)
	k.RegisterClocked(t.fabric.Clocked(part))
	if t.parts = append(t.parts, p); len(t.parts) < t.Parts() {
		return p, nil
	}
	return p, t.fabric.Attach(t)
}

// Part implements [fabric.Host].
func (t *Network) Part(domain int) fabric.Ends {
	return fabric.Ends{Source: t.parts[domain], Sink: t.parts[domain]}
}

// Run implements mpi.Division.
func (t *Network) Run(kernels []*sim.Kernel, m mpi.Meeting) {
	t.Ran = true
	t.fabric.RunKernels(kernels, m)
}

func (t *transport) Send(x mpi.Transfer) {
	order, id := t.orderFor(qpPair{x.QP, x.PeerQP}), t.newFlight()
	level := uint8(0)
	if t.jobs != nil && t.jobs.Levels != nil {
		level = t.jobs.Levels[t.jobs.Of[x.Process]]
	}
	q, lane := t.orders.At(order), t.laneOf(x.From, x.To, level)
	*t.flights.At(id) = flight{
		id: x.ID, from: x.From, to: x.To, process: x.Process, order: order, number: q.sent, peer: x.PeerQP, lane: lane, level: level, quiet: x.Quiet, source: x.Source, posted: t.kernel.Now(), missing: x.Bytes,
	}
	q.sent++
	t.nodes[x.From].Post(hca.Request{QP: x.QP, Bytes: x.Bytes, Mark: hca.Mark{ID: id, Lane: lane, Source: x.Source}})
	t.serve(t.kernel.Now(), x.From)
}

// behind tells whether enough packets wait at a time that the network could have taken before.
// Packets that are on their way for send_latency do not count, or the link would idle: what waits
// keeps it busy until the next burst's first packet comes.
func (t *transport) behind(n *sender, at sim.Time) bool {
	last := n.head + n.enough - 1
	return last < len(n.packets) && sim.Time(n.packets[last].birth+t.delay)*t.clock < at
}

// serve begins a node's next burst if its engine is free and the network keeps up, or tries again
// when both are so.
func (t *transport) serve(now sim.Time, node int32) {
	n := &t.nodes[node]
	if n.lanes != nil {
		t.serveByLane(now, node)
		return
	}
	if !n.waking && n.Waiting() && !n.Busy(now) && !t.behind(n, now) {
		b, first, end, _ := n.Next(now)
		t.fabric.WakeAt(t.at[node], t.cut(n, *b, first, end)[0].birth)
	}
	t.goOn(n, node)
}

// goOn has a node with work look for it when its engine is free, unless the network will be behind.
func (t *transport) goOn(n *sender, node int32) {
	if !n.waking && n.Waiting() && !t.behind(n, max(n.BusyUntil(), t.kernel.Now())) {
		t.wakeWhenFree(n, node)
	}
}

// wakeWhenFree has a node look for work when its engine is free.
func (t *transport) wakeWhenFree(n *sender, node int32) {
	n.waking = true
	t.kernel.Schedule(max(n.BusyUntil(), t.kernel.Now()), t.handler, engineFree, node, 0)
}

// cut makes the packets of a burst that the engine reads from time first to end, and returns them.
func (t *transport) cut(n *sender, b hca.Burst, first, end sim.Time) []outgoing {
	f := t.flights.At(b.ID)
	dst := t.at[f.to]
	if 2*n.head >= len(n.packets) {
		n.packets, n.head = n.packets[:copy(n.packets, n.packets[n.head:])], 0
	}
	before, mtu := len(n.packets), int64(n.Config().MTU)
	delay := n.Depart(&b, first, end) + n.Config().PacketTime // headers go first
	first, end = first+delay, end+delay
	for offset := int64(0); offset == 0 || offset < b.Size; offset += mtu {
		bytes := min(mtu, b.Size-offset)
		begin := first
		if b.Size > 0 {
			begin += sim.Time(float64(end-first) * float64(offset) / float64(b.Size))
		}
		n.packets = append(n.packets, outgoing{
			birth: int64((begin + t.clock - 1) / t.clock), dst: dst,
			flits: t.flitsOf(bytes), tag: uint64(b.ID)<<32 | uint64(bytes),
		})
	}
	return n.packets[before:]
}

// Over is the cycle after the last packet's delivery. Credits may come back later, by whether flits
// went one by one.
func (t *Network) Over() (cycle int64) {
	return lists.Most(0, t.parts, func(p *transport) int64 { return p.last + 1 })
}

func (t *Network) flitsOf(bytes int64) int32 { return int32(max(1, (bytes+t.flit-1)/t.flit)) }

func (t *transport) Next(terminal topology.TerminalID, until int64, spec *fabric.PacketSpec) bool {
	spec.Birth = fabric.Never
	node := t.nodeAt[terminal]
	if node < 0 {
		return false
	}
	n := &t.nodes[node]
	if n.head == len(n.packets) {
		return false
	}
	p := &n.packets[n.head]
	if p.birth > until {
		spec.Birth = p.birth
		return false
	}
	n.head++
	*spec = fabric.PacketSpec{Birth: p.birth, Dst: p.dst, Flits: p.flits, Tag: p.tag}
	if n.lanes != nil || t.jobs != nil && t.jobs.Levels != nil {
		f := t.flights.At(int32(p.tag >> 32))
		if spec.Level = f.level; n.lanes != nil {
			n.lanes.waiting[f.lane]++
			return true
		}
	}
	t.goOn(n, node)
	return true
}

func (t *transport) Deliver(d *fabric.Delivery) {
	id, bytes := int32(d.Tag>>32), int64(uint32(d.Tag))
	f := t.flights.At(id)
	n := &t.nodes[f.to].HCA
	t.last = d.Cycle
	now := sim.Time(d.Cycle) * t.clock
	// The packet has been coming in for as long as the engine needs: channels to terminals have its
	// pace.
	takes := t.full
	if bytes != int64(t.adapter.MTU) {
		takes = t.adapter.TimeOf(bytes)
	}
	in := n.Receive(f.peer, bytes, now-takes, now)
	if f.missing -= bytes; f.missing == 0 {
		f.done = in + n.Config().RecvLatency
		t.complete(id)
	}
}

// complete delivers a message that is all there, and those that waited behind it, unless an earlier
// one is missing.
func (t *transport) complete(id int32) {
	f := t.flights.At(id)
	q := t.orders.At(f.order)
	expected := q.expected.Load()
	if f.number != expected {
		f.next, q.ahead = q.ahead, id+1
		return
	}
	for {
		t.kernel.Schedule(max(f.done, t.kernel.Now()), t.handler, messageDelivered, f.process, int64(id))
		f.order = -1
		expected++
		link := &q.ahead
		for *link != 0 && t.flights.At(*link-1).number != expected {
			link = &t.flights.At(*link - 1).next
		}
		if *link == 0 {
			q.expected.Store(expected)
			return
		}
		before := id
		id = *link - 1
		next := t.flights.At(id)
		*link = next.next
		if f.done >= next.done {
			next.done = f.done
			t.passages.held(id, before)
		}
		f = next
	}
}

func (t *transport) Handle(k *sim.Kernel, e sim.Event) {
	if e.Kind == messageDelivered {
		flight := int32(e.Arg)
		f := t.flights.At(flight)
		id, quiet := f.id, f.quiet
		if t.jobs != nil {
			t.latency[t.jobs.Of[f.process]].Add(int64(k.Now() - f.posted))
		}
		t.free = append(t.free, flight)
		t.passages.tells(flight)
		if quiet {
			t.sink.Written(id, k.Now())
		} else {
			t.sink.Delivered(id)
		}
		return
	}
	t.nodes[e.Target].waking = false
	t.serve(k.Now(), e.Target)
}

func (t *transport) Stats() hca.Stats {
	if len(t.adapters) == 0 {
		return hca.Stats{}
	}
	return t.adapters[0].Stats()
}

// Latencies are the times of messages from request until in memory, by job, in picoseconds.
func (t *Network) Latencies() []stats.Histogram {
	all := make([]stats.Histogram, t.jobs.Count)
	for _, p := range t.parts {
		for j := range p.latency {
			all[j].Merge(&p.latency[j])
		}
	}
	return all
}

// senderLanes makes an adapter choose between virtual lanes, where the fabric's terminals do
// ([core.Fabric.TerminalTables]): its sending engine takes up bursts by the same arbitration, as
// many packets of a lane as its turn allows, but none of a lane with packets enough behind the
// engine. So a lane without credits holds up no other.
type senderLanes struct {
	arbiter arbitration.Arbiter
	tables  *arbitration.Tables
	turns   hca.LaneTurns
	enough  int32                           // packets that wait for the network
	waiting [arbitration.MaxLanes + 1]int32 // packets that were born and have not begun to enter the network, by lane
}

// laneOf is the lane of a service level from node to node: of several that the routing leaves open,
// the first with turns.
func (t *transport) laneOf(from, to int32, level uint8) uint8 {
	n := t.nodes[from].lanes
	if n == nil {
		return 0
	}
	return uint8(bits.TrailingZeros32(t.fabric.InjectionLanes(t.at[from], t.at[to], level) & n.tables.Lanes()))
}

// serveByLane begins the next burst of a node, if its engine is free and a lane with requests is.
func (t *transport) serveByLane(now sim.Time, node int32) {
	n := &t.nodes[node]
	if n.waking || !n.Waiting() {
		return
	}
	if n.Busy(now) {
		t.wakeWhenFree(n, node)
		return
	}
	l := n.lanes
	ready := n.Lanes()
	for lanes := ready; lanes != 0; lanes &= lanes - 1 {
		if lane := bits.TrailingZeros32(lanes); l.waiting[lane] >= l.enough {
			ready &^= 1 << lane
		}
	}
	choice, ok := l.arbiter.Choose(ready)
	if !ok {
		return // until a lane's packets have departed
	}
	mtu := int64(n.Config().MTU)
	b, first, end := n.NextOn(now, choice.Lane, mtu*l.arbiter.Packets(choice, ready, mtu), &l.turns)
	packets := t.cut(n, *b, first, end)
	for _, p := range packets {
		choice, _ = l.arbiter.Choose(ready)
		l.arbiter.Send(choice, int64(p.flits)*t.flit)
	}
	t.fabric.WakeAt(t.at[node], packets[0].birth)
	if n.Waiting() {
		t.wakeWhenFree(n, node)
	}
}

func (t *transport) Departed(terminal topology.TerminalID, tag uint64) {
	node := t.nodeAt[terminal]
	n := &t.nodes[node]
	lane := t.flights.At(int32(tag >> 32)).lane
	if n.lanes.waiting[lane]--; n.lanes.waiting[lane] == n.lanes.enough-1 && n.Waiting() && !n.waking {
		t.wakeWhenFree(n, node)
	}
}
