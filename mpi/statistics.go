package mpi

import "github.com/weft-sim/weft/sim"

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
