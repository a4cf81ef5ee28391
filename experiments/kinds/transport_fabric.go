package kinds

import (
	"fmt"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim"
)

// fabricTransport carries the messages of package mpi through the flit-level
// fabric: the node with number n is on the first terminal of host n. The sending engine of an adapter
// cuts each burst into packets of an MTU; a packet is born when the engine begins
// to read it, and the engine takes up the next burst when it has read this one
// and the last packet of it has begun to enter the network. The
// receiving engine takes in packets whole. A message is complete when all of its
// packets have arrived, and messages of one QP complete in the order in which
// they were sent, whatever ways their packets took.
//
// A packet's bytes travel in whole flits; headers are not modelled (the link
// rate of an adapter leaves them out, too).
type fabricTransport struct {
	kernel  *sim.Kernel
	handler sim.HandlerID
	sink    mpi.Sink
	fabric  *fabric.Fabric
	clock   sim.Time
	flit    int64 // bytes
	nodes   []sender
	at      []topology.TerminalID // len = nodes
	nodeAt  []int32               // len = terminals; -1: none
	flights []flight
	free    []int32 // of flights
	queues  []qpOrder
	queueOf map[qpName]int32
}

// sender is a node's adapter, with the packets of the present burst.
type sender struct {
	hca.HCA
	packets []outgoing // head first
	head    int
	waking  bool         // an event is to come when the engine is free
	lanes   *senderLanes // nil: bursts go out in the order in which they are taken up
}

type outgoing struct {
	birth int64 // cycle
	dst   topology.TerminalID
	flits int32
	tag   uint64 // flight << 32 | bytes
}

// flight is a transfer under way.
type flight struct {
	id      int32 // the sink's name for it; it may have several under way by one name
	to      int32
	peer    hca.QP
	queue   int32    // of queues
	next    int32    // flight sent after it on the same QP; -1: none
	packets int32    // that have not arrived; negative until the last has been cut
	done    sim.Time // all in memory; 0: not yet
	lane    uint8
	quiet   bool
}

// qpOrder is what is under way on a QP, in order.
type qpOrder struct{ first, last int32 }

type qpName struct {
	node int32
	qp   hca.QP
}

// Events of the transport.
const (
	engineFree       uint16 = iota // target node
	messageDelivered               // target flight
)

// newFabricTransport puts adapters on the terminals of f. Channels to terminals
// must not be faster than the adapters: see adapterRate.
func newFabricTransport(k *sim.Kernel, f *fabric.Fabric, flit sim.Bytes, adapter *hca.Config, nodes int, sink mpi.Sink) (*fabricTransport, error) {
	hosts := f.Graph().Hosts()
	if nodes > len(hosts) {
		return nil, fmt.Errorf("the ranks take %d nodes, but the topology has %d hosts", nodes, len(hosts))
	}
	t := &fabricTransport{
		kernel: k, sink: sink, fabric: f, clock: f.Clock(), flit: int64(flit),
		nodes: make([]sender, nodes), nodeAt: make([]int32, f.Graph().Terminals()), queueOf: map[qpName]int32{},
	}
	for i := range t.nodeAt {
		t.nodeAt[i] = -1
	}
	for i, rails := range hosts[:nodes] {
		t.at = append(t.at, rails[0])
		t.nodeAt[rails[0]] = int32(i)
	}
	for i, h := range hca.New(adapter, nodes) {
		t.nodes[i].HCA, t.nodes[i].lanes = h, newSenderLanes(f.TerminalTables(t.at[i]), adapter)
	}
	t.handler = k.Register(t)
	if err := f.Attach(t, t); err != nil {
		return nil, err
	}
	k.RegisterClocked(f)
	return t, nil
}

// Send implements mpi.Transport.
func (t *fabricTransport) Send(x mpi.Transfer) {
	name := qpName{x.From, x.QP}
	q, ok := t.queueOf[name]
	if !ok {
		q = int32(len(t.queues))
		t.queues = append(t.queues, qpOrder{-1, -1})
		t.queueOf[name] = q
	}
	id := int32(len(t.flights))
	if n := len(t.free); n > 0 {
		id, t.free = t.free[n-1], t.free[:n-1]
	} else {
		t.flights = append(t.flights, flight{})
	}
	lane := t.laneOf(x.From, x.To)
	t.flights[id] = flight{id: x.ID, to: x.To, peer: x.PeerQP, queue: q, next: -1, packets: uncut, lane: lane, quiet: x.Quiet}
	order := &t.queues[q]
	if order.first < 0 {
		order.first = id
	} else {
		t.flights[order.last].next = id
	}
	order.last = id
	t.nodes[x.From].Post(hca.Request{QP: x.QP, Bytes: x.Bytes, Mark: hca.Mark{ID: id, Lane: lane}})
	t.serve(t.kernel.Now(), x.From)
}

// uncut is added to the number of a transfer's packets until all are cut.
const uncut = -1 << 30

// serve begins the next burst of a node, if its engine is free and the network
// has taken the one before; otherwise that is tried again when it is.
func (t *fabricTransport) serve(now sim.Time, node int32) {
	n := &t.nodes[node]
	if n.lanes != nil {
		t.serveByLane(now, node)
		return
	}
	if n.waking || n.head < len(n.packets) || !n.Waiting() {
		return
	}
	if n.Busy(now) {
		n.waking = true
		t.kernel.Schedule(n.BusyUntil(), t.handler, engineFree, node, 0)
		return
	}
	b, first, end, _ := n.Next(now)
	t.cut(n, *b, first, end)
	t.fabric.WakeAt(t.at[node], n.packets[0].birth)
}

// cut makes the packets of a burst that the engine reads from time first to end.
func (t *fabricTransport) cut(n *sender, b hca.Burst, first, end sim.Time) {
	f := &t.flights[b.ID]
	if n.head == len(n.packets) {
		n.packets, n.head = n.packets[:0], 0
	}
	mtu := int64(n.Config().MTU)
	first, end = first+n.Config().SendLatency, end+n.Config().SendLatency
	for offset := int64(0); offset == 0 || offset < b.Size; offset += mtu {
		bytes := min(mtu, b.Size-offset)
		begin := first
		if b.Size > 0 {
			begin += sim.Time(float64(end-first) * float64(offset) / float64(b.Size))
		}
		n.packets = append(n.packets, outgoing{
			birth: int64((begin + t.clock - 1) / t.clock), dst: t.at[f.to],
			flits: int32(max(1, (bytes+t.flit-1)/t.flit)), tag: uint64(b.ID)<<32 | uint64(bytes),
		})
		f.packets++
	}
	if b.Last {
		f.packets -= uncut
	}
}

// Next implements fabric.Source.
func (t *fabricTransport) Next(terminal topology.TerminalID, until int64, spec *fabric.PacketSpec) bool {
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
	if n.head++; n.head == len(n.packets) && n.lanes == nil && n.Waiting() && !n.waking {
		n.waking = true
		t.kernel.Schedule(max(n.BusyUntil(), t.kernel.Now()), t.handler, engineFree, node, 0)
	}
	*spec = fabric.PacketSpec{Birth: p.birth, Dst: p.dst, Flits: p.flits, Tag: p.tag}
	return true
}

// Deliver implements fabric.Sink.
func (t *fabricTransport) Deliver(d *fabric.Delivery) {
	id, bytes := int32(d.Tag>>32), int64(uint32(d.Tag))
	f := &t.flights[id]
	n := &t.nodes[f.to].HCA
	now := sim.Time(d.Cycle) * t.clock
	// The packet has been coming in for as long as the engine needs for it:
	// channels to terminals go at the pace of adapters.
	in := n.Receive(f.peer, bytes, now-n.Config().TimeOf(bytes), now)
	if f.packets--; f.packets == 0 {
		f.done = in + n.Config().RecvLatency
		t.complete(f.queue)
	}
}

// complete delivers the messages at the head of a QP that are all there.
func (t *fabricTransport) complete(queue int32) {
	q := &t.queues[queue]
	for q.first >= 0 {
		id := q.first
		f := &t.flights[id]
		if f.done == 0 {
			return
		}
		t.kernel.Schedule(max(f.done, t.kernel.Now()), t.handler, messageDelivered, id, 0)
		if q.first = f.next; q.first >= 0 {
			next := &t.flights[q.first]
			if next.done > 0 {
				next.done = max(next.done, f.done)
			}
		}
	}
}

func (t *fabricTransport) Handle(k *sim.Kernel, e sim.Event) {
	if e.Kind == messageDelivered {
		t.free = append(t.free, e.Target)
		if f := &t.flights[e.Target]; f.quiet {
			t.sink.Written(f.id, k.Now())
		} else {
			t.sink.Delivered(f.id)
		}
		return
	}
	t.nodes[e.Target].waking = false
	t.serve(k.Now(), e.Target)
}

// Stats implements mpi.Transport.
func (t *fabricTransport) Stats() hca.Stats { return t.nodes[0].Stats() }
