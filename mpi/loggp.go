package mpi

import (
	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/sim"
)

// LogGP is a transport without contention inside the network: every burst
// reaches the other adapter after a fixed latency (the L of Alexandrov,
// Ionescu, Schauser, Scheiman, LogGP, SPAA 1995). The gap and the gap per byte
// come from the adapters, which are contended at both ends; overheads are the
// runtime's.
type LogGP struct {
	Latency sim.Time   `toml:"latency" doc:"from the sending to the receiving adapter" min:"0ns"`
	HCA     hca.Config `toml:"-"`
}

// DefaultLogGP crosses one switch between QDR adapters. The latency is part of
// the calibrated sum that hca.QDR names.
var DefaultLogGP = LogGP{Latency: 200 * sim.Nanosecond, HCA: hca.QDR}

// New implements NewTransport.
func (c LogGP) New(k *sim.Kernel, nodes int, sink Sink) (Transport, error) {
	if err := c.HCA.Validate(); err != nil {
		return nil, err
	}
	t := &loggpTransport{config: c, kernel: k, sink: sink, nodes: hca.New(&c.HCA, nodes), waking: make([]bool, nodes)}
	t.handler = k.Register(t)
	return t, nil
}

type loggpTransport struct {
	config  LogGP
	kernel  *sim.Kernel
	handler sim.HandlerID
	sink    Sink
	nodes   []hca.HCA
	waking  []bool                        // by node: a loggpFree event is to come
	arrival func(id, process, asks int32) // see expecter
	ahead   hca.Ahead
	freed   int // loggpFree events
}

// Events of the transport.
const (
	loggpFree      uint16 = iota // the sending engine of an adapter gets free: target node, argument see comingBurst
	loggpDelivered               // target transfer, argument the process and, above it, who asks for a connection
)

func (t *loggpTransport) Send(x Transfer) {
	now, h := t.kernel.Now(), &t.nodes[x.From]
	r := hca.Request{QP: x.QP, Bytes: x.Bytes, Mark: hca.Mark{Peer: x.PeerQP, ID: x.ID, To: x.To, Process: x.Process, Asks: x.Asks, Quiet: x.Quiet}}
	if first, end, ok := h.Express(now, x.QP, x.Bytes); ok {
		in := t.fly(h, &r.Mark, x.Bytes, first, end)
		t.deliver(&r.Mark, in)
		return
	}
	h.Post(r)
	t.serve(now, x.From)
}

// deliver tells the sink of a transfer that will be in memory at a time.
func (t *loggpTransport) deliver(x *hca.Mark, at sim.Time) {
	if x.Quiet {
		t.sink.Written(x.ID, at)
		return
	}
	t.kernel.Schedule(at, t.handler, loggpDelivered, x.ID, int64(x.Asks)<<32|int64(x.Process))
}

// serve sends the next burst of a node, or waits until its engine is free.
func (t *loggpTransport) serve(now sim.Time, node int32) {
	h := &t.nodes[node]
	if !h.Busy(now) {
		if b, first, end, ok := h.Next(now); ok {
			in := t.fly(h, &b.Mark, b.Size, first, end)
			if b.Last {
				t.deliver(&b.Mark, in)
			}
		}
	}
	if h.Waiting() && !t.waking[node] {
		t.waking[node] = true
		t.kernel.Schedule(h.BusyUntil(), t.handler, loggpFree, node, t.comingBurst(h))
	}
}

// fly takes a burst to the other adapter. Since the latency is the same for
// all, bursts reach an adapter in the order in which they are sent, and the
// receiving engine can be reserved at once. The network is lossless and buffers
// next to nothing: if the receiving engine is behind, the sending one has to
// wait, so that senders to one node share it burst by burst. It returns when a
// process there can see the data.
func (t *loggpTransport) fly(h *hca.HCA, to *hca.Mark, bytes int64, first, end sim.Time) sim.Time {
	delay := t.config.HCA.SendLatency + t.config.Latency
	in := t.nodes[to.To].Receive(to.Peer, bytes, first+delay, end+delay)
	h.Hold(in - delay)
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
