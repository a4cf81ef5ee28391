// Package mpi simulates message-passing programs: ranks, matching, eager and rendezvous protocols,
// InfiniBand connections and their memory, and the LogGOPS machine. Programs are in packages below.
package mpi

import (
	"cmp"
	"math"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/snapshot"
)

// Transfer is what a transport carries: bytes from one node's memory to another's, on a QP.
type Transfer struct {
	ID       int32 // the runtime's name for it
	From, To int32 // nodes; they differ
	Process  int32 // on node To, for which it is
	QP       hca.QP
	PeerQP   hca.QP // of the receiving adapter
	Bytes    int64
	Quiet    bool // the sink is told by Written and not by Delivered
	Source   hca.Source
}

// Transport carries transfers between nodes. Transfers of one QP arrive in order.
type Transport interface {
	// Send starts a transfer at the kernel's present time. The transport calls its sink's
	// Delivered, as a later event, when the data are in the receiving node's memory.
	Send(t Transfer)
	// Stats are the counters of all adapters together.
	Stats() hca.Stats
}

// Sink is what a transport delivers to: the runtime.
type Sink interface {
	Delivered(id int32)
	// Written tells, once known, when a Quiet transfer's data are in memory, perhaps in the future.
	Written(id int32, at sim.Time)
}

// NewTransport makes a transport for so many nodes.
type NewTransport func(k *sim.Kernel, nodes int, sink Sink) (Transport, error)

// Protocol is how a message travels; see the constants of package collectives.
type Protocol = collectives.Protocol

// Costs of the runtime's own work and the thresholds of its protocols.
type Protocols struct {
	SendOverhead      sim.Time  `toml:"send_overhead" doc:"CPU time for posting a message" min:"0ns" max:"1000s"`
	RecvOverhead      sim.Time  `toml:"recv_overhead" doc:"CPU time for taking in a message" min:"0ns" max:"1000s"`
	PollOverhead      sim.Time  `toml:"poll_overhead" doc:"CPU time for seeing by polling that an RDMA write has arrived" min:"0ns" max:"1000s"`
	ReadOverhead      sim.Time  `toml:"read_overhead" doc:"rendezvous = read: CPU time for having the adapter read" min:"0ns" max:"1000s"`
	EagerLimit        sim.Bytes `toml:"eager_limit" doc:"largest message that goes eagerly" min:"0B"`
	ZeroCopy          sim.Bytes `toml:"zero_copy" doc:"largest eager message that its sender copies; a larger one goes from where it is, and is complete when it is acknowledged; 0B: all are copied" min:"0B"`
	Rendezvous        string    `toml:"rendezvous" doc:"how a larger message goes: write: the receiver sends its address, the sender writes there and tells it (RTS, CTS, data, FIN); read: the receiver reads from the sender, whose CPU has no part in it; get: it does so, then tells the sender by a message, which as the request to send lies in a buffer that the adapter fetches" choices:"write|read|get"`
	CopyRate          sim.Rate  `toml:"copy_rate" doc:"rate of copies inside a node's memory" min:"1kb/s"`
	EagerCopies       bool      `toml:"eager_copies" doc:"an eager message is copied into and out of registered buffers"`
	EagerAcknowledged bool      `toml:"eager_acknowledged" doc:"an eager message to another node is complete at its sender when it is acknowledged, not when it is posted; datagrams are not acknowledged"`
	EagerSegment      sim.Bytes `toml:"eager_segment" doc:"largest piece in which an eager message that is copied goes to another node; while one is on its way the next is copied, and their receiver copies each; 0B: it goes whole, as do messages over a relay and with eager_acknowledged" min:"0B"`
	SegmentOverhead   sim.Time  `toml:"segment_overhead" doc:"CPU time of the sender, and of the receiver, for each piece but the first, which takes send_overhead and recv_overhead" min:"0ns" max:"1000s"`
	BufferTime        sim.Time  `toml:"buffer_time" doc:"CPU time of the sender, beside send_overhead, for an eager message whose bytes do not go with the doorbell (hca.inline_limit), and for requests to send and notices of rendezvous = get" min:"0ns" max:"1000s"`
	StagingPage       sim.Time  `toml:"staging_page_time" doc:"time in which 4 KiB of an eager message, and less in proportion, are made ready before the adapter is told of it, while the CPU goes on and other messages are made ready, too" min:"0ns" max:"1000s"`
	SharedLatency     sim.Time  `toml:"shared_latency" doc:"from one process to another through shared memory" min:"0ns" max:"1000s"`
	SharedOverhead    sim.Time  `toml:"shared_overhead" doc:"CPU time for posting a message inside a node, and for taking it in; 0ns: send_overhead, recv_overhead" min:"0ns" max:"1000s"`
	SharedShort       sim.Bytes `toml:"shared_short" doc:"largest message inside a node that comes with its notice; of a larger one the receiver has to fetch its buffer, in CPU time of shared_latency and memory.domain_latency; 0B: all come so" min:"0B"`
	SharedPeer        sim.Time  `toml:"shared_peer_time" doc:"what a message inside a node takes longer for every rank of the node beyond two: its receiver looks into a box a rank" min:"0ns" max:"1000s"`
	SharedRate        sim.Rate  `toml:"shared_rate" doc:"rate of the two copies of a message inside a node; 0Gb/s: copy_rate"`
	SingleCopy        sim.Bytes `toml:"single_copy" doc:"largest message inside a node that is copied twice; of a larger one the receiver copies from the sender's memory (CMA, XPMEM, KNEM), whose end the sender is told after shared_latency; 0B: all are copied twice" min:"0B"`
	SingleCopyTime    sim.Time  `toml:"single_copy_time" doc:"CPU time of the receiver for getting at the sender's memory" min:"0ns" max:"1000s"`
	SingleCopyRate    sim.Rate  `toml:"single_copy_rate" doc:"rate of that copy; 0Gb/s: copy_rate"`
	Acknowledge       sim.Time  `toml:"acknowledge" doc:"from the last byte of an RDMA write, or of an eager message that is acknowledged, in the peer's memory to its completion at the sender" min:"0ns" max:"1000s"`
	RegisterTime      sim.Time  `toml:"register_time" doc:"CPU time for registering the buffer of a message by rendezvous, on each side, or of a direct write at its sender; 0ns: registered before, as with a registration cache" min:"0ns" max:"1000s"`
	RegisterPage      sim.Time  `toml:"register_page_time" doc:"CPU time for registering every 4 KiB of a buffer, beside register_time" min:"0ns" max:"1000s"`
	LimitBuffers      bool      `toml:"limit_buffers" doc:"receive buffers can run out; then senders repeat after rnr_delay"`
}

// controlBytes is the size of RTS, CTS, FIN and connection messages: assumed.
const controlBytes = 64

// DefaultProtocols go with the QDR adapter. SendOverhead + RecvOverhead and the delays of adapter
// and transport add up to a 64-byte message's 1.26 us, a calibrated sum; the rest is assumed.
var DefaultProtocols = Protocols{
	SendOverhead:  200 * sim.Nanosecond,
	RecvOverhead:  250 * sim.Nanosecond,
	PollOverhead:  100 * sim.Nanosecond,
	EagerLimit:    8192,
	Rendezvous:    "write",
	CopyRate:      40e9,
	EagerCopies:   true,
	SharedLatency: 200 * sim.Nanosecond,
	Acknowledge:   500 * sim.Nanosecond,
	LimitBuffers:  true,
}

// CopyRates are the copies of a core in nodes with a generation's adapters, by preset (see package
// hca). DefaultProtocols has qdr's, of nodes of 2010, with which the alltoall paper's figures come
// out. The rest is assumed, not calibrated: copies within caches on servers of 2013, 2016, 2020 and
// 2023.
var CopyRates = map[string]sim.Rate{"qdr": 40e9, "fdr": 60e9, "edr": 80e9, "hdr": 120e9, "ndr": 160e9}

// of is the protocol of a send between nodes.
func (p *Protocols) of(op *Op, datagrams bool) Protocol {
	switch {
	case datagrams: // which know no RDMA
		return collectives.Eager
	case op.Protocol != collectives.Auto:
		return op.Protocol
	case op.Size <= int64(p.EagerLimit):
		return collectives.Eager
	case p.Rendezvous == "read" || p.Rendezvous == "get":
		return collectives.Read
	}
	return collectives.Rendezvous
}

// tells tells whether the receiver of a rendezvous by read sends a message at its end.
func (p *Protocols) tells(protocol Protocol) bool {
	return protocol == collectives.Read && p.Rendezvous == "get"
}

func (p *Protocols) copiesOut(bytes int64) bool { return p.EagerCopies && !p.fromPlace(bytes) }

// fromPlace tells whether an eager message of so many bytes goes from where it is.
func (p *Protocols) fromPlace(bytes int64) bool { return p.ZeroCopy > 0 && bytes > int64(p.ZeroCopy) }

// inOneCopy tells whether a message of so many bytes inside a node is copied once.
func (p *Protocols) inOneCopy(bytes int64, s collectives.Segment) bool {
	return p.SingleCopy > 0 && bytes > int64(p.SingleCopy) && s == collectives.InAndOut
}

// rateOf is the rate, in bit/s, of the copies of a message of so many bytes.
func (p *Protocols) rateOf(bytes int64, shared bool, s collectives.Segment) (rate sim.Rate) {
	switch {
	case shared && p.inOneCopy(bytes, s):
		rate = p.SingleCopyRate
	case shared:
		rate = p.SharedRate
	}
	return cmp.Or(rate, p.CopyRate)
}

// overhead is the CPU time of a side of a message that goes through shared memory, or not.
func (p *Protocols) overhead(shared bool, otherwise sim.Time) sim.Time {
	if shared && p.SharedOverhead > 0 {
		return p.SharedOverhead
	}
	return otherwise
}

func copyTime(bytes int64, rate sim.Rate) sim.Time {
	return sim.Time(float64(bytes) * 8e12 / float64(rate))
}

func (p *Protocols) register(bytes int64) sim.Time {
	const page = 4096
	return p.RegisterTime + p.RegisterPage*sim.Time((bytes+page-1)/page)
}

// LogGP is a transport without contention inside the network: every burst reaches the other adapter
// after a fixed latency (the L of Alexandrov, Ionescu, Schauser, Scheiman, LogGP, SPAA 1995). The
// gap and the gap per byte come from the adapters, which are contended at both ends; overheads are
// the runtime's.
type LogGP struct {
	Latency sim.Time   `toml:"latency" doc:"from the sending to the receiving adapter" min:"0ns" max:"1000s"`
	PerLeaf int        `toml:"nodes_per_leaf" doc:"nodes of a leaf switch, consecutive ones, between which latency holds; 0: all" min:"0"`
	Far     sim.Time   `toml:"far_latency" doc:"from adapter to adapter between leaf switches" min:"0ns" max:"1000s"`
	HCA     hca.Config `toml:"-"`
}

// DefaultLogGP crosses one switch between QDR adapters; its latency is part of hca.QDR's calibrated
// sum.
var DefaultLogGP = LogGP{Latency: 200 * sim.Nanosecond, HCA: hca.QDR}

// New implements NewTransport.
func (c LogGP) New(k *sim.Kernel, nodes int, sink Sink) (Transport, error) {
	if err := param.Validate(&c.HCA); err != nil {
		return nil, err
	}
	t := &loggpTransport{config: c, kernel: k, sink: sink, nodes: hca.New(&c.HCA, nodes), waking: make([]bool, nodes)}
	t.handler = k.Register(t)
	return t, nil
}

// loggpTransport has an adapter for each node, and a fixed latency between any two.
type loggpTransport struct {
	config  LogGP
	kernel  *sim.Kernel
	handler sim.HandlerID
	sink    Sink
	nodes   []hca.HCA
	waking  []bool // by node: a loggpFree event is to come
	freed   int    // loggpFree events
}

// Events of the transport.
const (
	loggpFree      uint16 = iota // the sending engine of an adapter gets free: target node
	loggpDelivered               // target transfer
)

func (t *loggpTransport) Send(x Transfer) {
	hca.Expect(t.nodes, x.From, x.To, x.QP, x.PeerQP)
	t.nodes[x.From].Post(hca.Request{QP: x.QP, Bytes: x.Bytes, Mark: hca.Mark{Peer: x.PeerQP, ID: x.ID, To: x.To, Quiet: x.Quiet, Source: x.Source}})
	t.serve(t.kernel.Now(), x.From)
}

// serve sends the next burst of a node, or waits until its engine is free.
func (t *loggpTransport) serve(now sim.Time, node int32) {
	h := &t.nodes[node]
	if !h.Busy(now) {
		if b, first, end, ok := h.Next(now); ok {
			in := t.fly(node, b, first, end)
			if b.Last && b.Mark.Quiet {
				t.sink.Written(b.Mark.ID, in)
			} else if b.Last {
				t.kernel.Schedule(in, t.handler, loggpDelivered, b.Mark.ID, 0)
			}
		}
	}
	if h.Waiting() && !t.waking[node] {
		t.waking[node] = true
		t.kernel.Schedule(h.BusyUntil(), t.handler, loggpFree, node, 0)
	}
}

// latency is that between two nodes.
func (c *LogGP) latency(a, b int32) sim.Time {
	if c.PerLeaf > 0 && int(a)/c.PerLeaf != int(b)/c.PerLeaf {
		return c.Far
	}
	return c.Latency
}

// fly takes a burst to the other adapter, and returns when a process there can see the data. Bursts are
// taken in in the order in which they are sent, also where one from near overtakes one from far, so
// that the receiving engine can be reserved at once. The network is lossless and buffers next to nothing: if
// the receiving engine is behind, the sending one has to wait, so that senders to one node share it
// burst by burst.
func (t *loggpTransport) fly(from int32, b *hca.Burst, first, end sim.Time) sim.Time {
	delay := t.nodes[from].Depart(b, first, end) + t.config.latency(from, b.To)
	in := t.nodes[b.To].Receive(b.Peer, b.Size, first+delay, end+delay)
	t.nodes[from].Hold(in - delay)
	return in + t.config.HCA.RecvLatency
}

func (t *loggpTransport) Handle(k *sim.Kernel, e sim.Event) {
	if e.Kind == loggpDelivered {
		t.sink.Delivered(e.Target)
		return
	}
	// The bursts of long messages are no events of the runtime, which pauses by its own.
	if t.freed++; t.freed%progressInterval == 0 {
		k.Stop()
	}
	t.waking[e.Target] = false
	t.serve(k.Now(), e.Target)
}

func (t *loggpTransport) Stats() hca.Stats { return t.nodes[0].Stats() }

func (t *loggpTransport) Archive(a *snapshot.Archive) {
	mark := func(a *snapshot.Archive, r *hca.Request) { snapshot.Value(a, &r.Mark) }
	snapshot.Array(a, "adapters", t.nodes, func(a *snapshot.Archive, h *hca.HCA) { h.Archive(a, mark) })
	stats := t.nodes[0].Stats()
	if snapshot.Value(a, &stats); a.Reading() {
		t.nodes[0].SetStats(stats)
	}
	snapshot.Array(a, "adapters", t.waking, snapshot.Bool)
}

// Passage implements [Divider]. What goes beyond the least, adapters are to blame for.
func (t *loggpTransport) Passage(bytes int64) Passage {
	c := &t.config
	return Passage{Serialisation: c.HCA.TimeOf(bytes), Propagation: c.HCA.Delay(bytes) + c.Latency + c.HCA.RecvLatency}
}

func (t *loggpTransport) Event(a *snapshot.Archive, e *sim.Event) (part int) {
	snapshot.Int(a, &e.Arg)
	return 0
}

// Stats count what the runtime did.
type Stats struct {
	Messages    int64 // point-to-point messages of the program
	Bytes       int64 // of these
	Shared      int64 // of these, through shared memory
	Rendezvous  int64 // of these, by RTS and CTS
	Control     int64 // RTS, CTS and FIN sent, and what else only synchronises
	NotReady    int64 // arrivals that found no receive buffer
	Handshakes  int64 // connections made on demand
	Relayed     int64 // messages that a relay passed on
	Connecting  int64 // messages of handshakes, each way over a relay counted once per hop
	QPs         int64 // created on demand
	QPsClosed   int64 // of these
	QPsPeak     int64 // open at once, of the process with the most
	KernelTime  sim.Time
	ConnectWait sim.Time // of messages, for their connection, summed
	Events      uint64   `snap:"-"` // counted by the kernels
}

// A library may send an eager message in pieces of a buffer, so that copies at both ends and the
// wire overlap: the SAR of libfabric's ofi_rxm, UCX's fragments. The sender's CPU makes one piece
// after another; the first finds the receive of all.

// pieces count a message's pieces: all (0: it goes whole), those the sender has made, the transport
// has, and the receiver has taken in.
type pieces struct{ all, made, sent, taken uint16 }

// unmatched is the receive of a message in pieces that has found none.
const unmatched = -1

// cutUp makes pieces of a new message, if it goes in pieces.
func (rt *runtime) cutUp(m *message) {
	p := &rt.Protocols
	if !p.inPieces(m.bytes) || m.stage != stageEager || m.shared || rt.connect.proxied(m.from, m.to) {
		return
	}
	each := pieceSize(p, m.bytes)
	m.pieces.all, m.recvID = uint16((m.bytes+each-1)/each), unmatched
}

// inPieces tells whether an eager message of so many bytes to another node, over no relay, goes in pieces.
func (p *Protocols) inPieces(bytes int64) bool {
	return p.EagerSegment > 0 && bytes > int64(p.EagerSegment) && p.copiesOut(bytes) && !p.EagerAcknowledged
}

func pieceSize(p *Protocols, bytes int64) int64 {
	return max(int64(p.EagerSegment), (bytes+math.MaxUint16-1)/math.MaxUint16)
}

// pieceBytes is the size of a piece, numbered from 0; of a whole message, its size.
func (rt *runtime) pieceBytes(m *message, number uint16) int64 {
	if m.pieces.all == 0 { // inlined
		return m.bytes
	}
	return rt.pieceSized(m, number)
}

// pieceSized is pieceBytes of a message in pieces.
func (rt *runtime) pieceSized(m *message, number uint16) int64 {
	each := pieceSize(&rt.Protocols, m.bytes)
	return min(each, m.bytes-int64(number)*each)
}

// postPiece posts the piece that the sender's CPU has made, and tells whether there are more. The
// first finds the way; the others wait with it for a connection.
func (rt *runtime) postPiece(i int32, m *message, now sim.Time) (more bool) {
	m.pieces.made++
	more = m.pieces.made < m.pieces.all
	switch {
	case m.pieces.made == 1:
		rt.stage(i, m, now)
	case m.pieces.sent > 0:
		rt.transmit(i, m, m.from, m.to)
	}
	return more
}

// inMemory is how much of a message the receiver has taken in.
func (rt *runtime) inMemory(m *message) int64 {
	if m.pieces.all == 0 {
		return m.bytes
	}
	return min(m.bytes, int64(m.pieces.taken)*pieceSize(&rt.Protocols, m.bytes))
}

// unpacked completes a message copied out of the unexpected queue, unless pieces are to come.
func (rt *runtime) unpacked(id int32, m *message, at sim.Time) {
	if m.pieces.taken == m.pieces.all {
		rt.complete(id, m, at)
	}
}
