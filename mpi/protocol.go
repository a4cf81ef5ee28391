package mpi

import (
	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/sim"
)

// Protocol is how a message travels; see the constants of package collectives.
type Protocol = collectives.Protocol

// Costs of the runtime's own work and the thresholds of its protocols.
type Protocols struct {
	SendOverhead  sim.Time  `toml:"send_overhead" doc:"CPU time for posting a message" min:"0ns"`
	RecvOverhead  sim.Time  `toml:"recv_overhead" doc:"CPU time for taking in a message" min:"0ns"`
	PollOverhead  sim.Time  `toml:"poll_overhead" doc:"CPU time for seeing by polling that an RDMA write has arrived" min:"0ns"`
	EagerLimit    sim.Bytes `toml:"eager_limit" doc:"largest message that goes eagerly" min:"0B"`
	ControlBytes  sim.Bytes `toml:"control_bytes" doc:"size of RTS, CTS, FIN and connection messages" min:"1B"`
	CopyRate      sim.Rate  `toml:"copy_rate" doc:"rate of copies inside a node's memory" min:"1kb/s"`
	EagerCopies   bool      `toml:"eager_copies" doc:"an eager message is copied into and out of registered buffers"`
	StagingPage   sim.Time  `toml:"staging_page_time" doc:"time in which 4 KiB of an eager message, and less in proportion, are made ready before the adapter is told of it, while the CPU goes on and other messages are made ready, too" min:"0ns"`
	SharedLatency sim.Time  `toml:"shared_latency" doc:"from one process to another through shared memory" min:"0ns"`
	Acknowledge   sim.Time  `toml:"acknowledge" doc:"from an RDMA write's last byte in the peer's memory to its completion at the sender" min:"0ns"`
	RegisterTime  sim.Time  `toml:"register_time" doc:"CPU time for registering the buffer of a message by rendezvous, on each side, or of a direct write at its sender; 0ns: registered before, as with a registration cache" min:"0ns"`
	RegisterPage  sim.Time  `toml:"register_page_time" doc:"the same for every 4 KiB of it" min:"0ns"`
	LimitBuffers  bool      `toml:"limit_buffers" doc:"receive buffers can run out; then senders repeat after rnr_delay"`
}

// DefaultProtocols go with the QDR adapter. SendOverhead + RecvOverhead and the
// adapter's and transport's delays add up to the 1.26 us of a 64-byte message,
// a calibrated sum; the rest is assumed.
var DefaultProtocols = Protocols{
	SendOverhead:  200 * sim.Nanosecond,
	RecvOverhead:  250 * sim.Nanosecond,
	PollOverhead:  100 * sim.Nanosecond,
	EagerLimit:    8192,
	ControlBytes:  64,
	CopyRate:      40e9,
	EagerCopies:   true,
	SharedLatency: 200 * sim.Nanosecond,
	Acknowledge:   500 * sim.Nanosecond,
	LimitBuffers:  true,
}

// CopyRates are what a core of a node copies where adapters of a generation are used, by their
// preset (see package hca). DefaultProtocols has that of qdr, of nodes of 2010, with which the
// alltoall paper's figures come out. Assumed: the rest, a core's copy of what lies in its caches
// on servers of those years (2013, 2016, 2020, 2023); nothing is calibrated.
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
	}
	return collectives.Rendezvous
}

// staging is the time in which so many bytes are made ready for the adapter.
func (p *Protocols) staging(bytes int64) sim.Time {
	return sim.Time(float64(p.StagingPage) * float64(bytes) / 4096)
}

// register is the CPU time for registering a buffer of so many bytes.
func (p *Protocols) register(bytes int64) sim.Time {
	const page = 4096
	return p.RegisterTime + p.RegisterPage*sim.Time((bytes+page-1)/page)
}
