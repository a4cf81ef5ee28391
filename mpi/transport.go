package mpi

import (
	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/sim"
)

// Transfer is what a transport carries: so many bytes from the memory of one
// node to that of another, on a QP.
type Transfer struct {
	ID       int32 // the runtime's name for it
	From, To int32 // nodes; they differ
	Process  int32 // on node To, for which it is
	QP       hca.QP
	// PeerQP is the QP of the receiving adapter.
	PeerQP hca.QP
	Bytes  int64
	// Asks is 0, or 1 + the number of the process whose connection to Process the
	// transfer is about. It is for looking ahead alone.
	Asks int32
	// Quiet: the sink is told by Written and not by Delivered.
	Quiet bool
}

// Transport carries transfers between nodes. Transfers of one QP arrive in
// order.
type Transport interface {
	// Send starts a transfer at the kernel's present time. The transport
	// calls Delivered of its sink, as a later event, when the data are in the
	// memory of the receiving node.
	Send(t Transfer)
	// Stats are the counters of all adapters together.
	Stats() hca.Stats
}

// Sink is what a transport delivers to: the runtime.
type Sink interface {
	Delivered(id int32)
	// Written tells, as soon as the transport knows, when the data of a Quiet
	// transfer are in memory: at a time that may lie ahead.
	Written(id int32, at sim.Time)
}

// NewTransport makes a transport for so many nodes.
type NewTransport func(k *sim.Kernel, nodes int, sink Sink) (Transport, error)
