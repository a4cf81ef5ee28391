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
	flights []flight                      // by transfer id
}

// flight is where a transfer is going.
type flight struct {
	qp      hca.QP
	to      int32 // node
	process int32
	asks    int32
}

// delivered is the argument of the event of a delivery.
func (f *flight) delivered() int64 { return int64(f.asks)<<32 | int64(f.process) }

// Events of the transport.
const (
	loggpFree      uint16 = iota // the sending engine of an adapter gets free: target node, argument see comingBurst
	loggpDelivered               // target transfer, argument the process and, above it, who asks for a connection
)

func (t *loggpTransport) Send(x Transfer) {
	now, h, r := t.kernel.Now(), &t.nodes[x.From], hca.Request{QP: x.QP, Bytes: x.Bytes, ID: x.ID}
	f := flight{x.PeerQP, x.To, x.Process, x.Asks}
	if first, end, ok := h.Express(now, r); ok {
		in := t.fly(h, &f, x.Bytes, first, end)
		t.kernel.Schedule(in, t.handler, loggpDelivered, x.ID, f.delivered())
		return
	}
	for len(t.flights) <= int(x.ID) {
		t.flights = append(t.flights, flight{})
	}
	t.flights[x.ID] = f
	h.Post(r)
	t.serve(now, x.From)
}

// serve sends the next burst of a node, or waits until its engine is free.
func (t *loggpTransport) serve(now sim.Time, node int32) {
	h := &t.nodes[node]
	if !h.Busy(now) {
		if b, first, end, ok := h.Next(now); ok {
			f := &t.flights[b.ID]
			in := t.fly(h, f, b.Size, first, end)
			if b.Last {
				t.kernel.Schedule(in, t.handler, loggpDelivered, b.ID, f.delivered())
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
func (t *loggpTransport) fly(h *hca.HCA, f *flight, bytes int64, first, end sim.Time) sim.Time {
	delay := t.config.HCA.SendLatency + t.config.Latency
	in := t.nodes[f.to].Receive(f.qp, bytes, first+delay, end+delay)
	h.Hold(in - delay)
	return in + t.config.HCA.RecvLatency
}

func (t *loggpTransport) Handle(k *sim.Kernel, e sim.Event) {
	if e.Kind == loggpDelivered {
		t.sink.Delivered(e.Target)
		return
	}
	t.waking[e.Target] = false
	t.serve(k.Now(), e.Target)
}

func (t *loggpTransport) Stats() hca.Stats { return t.nodes[0].Stats() }
