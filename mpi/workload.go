package mpi

import (
	"fmt"

	"github.com/weft-sim/weft/collectives"
)

// Kind is what an operation does.
type Kind uint8

// The kinds, in the order in which operations released by the same event are
// taken.
const (
	Send Kind = iota
	Recv
	Calc
)

func (k Kind) String() string { return [...]string{"send", "recv", "calc"}[k] }

// Any is the wildcard of a receive's source and of a tag.
const Any int32 = -1

// Op is one operation of one rank.
type Op struct {
	// Size is in bytes for messages; for Calc it is a duration in the time
	// unit of the machine that runs it.
	Size int64
	// Ready is the time at which the last operation that this one requires
	// was done, in the machine's time unit.
	Ready int64
	// ID names the operation to its workload; unique among the operations of
	// the rank that are under way.
	ID int32
	// Peer is the destination or source rank; a Recv may say Any.
	Peer int32
	// Tag must be equal on both sides, or Any on one of them.
	Tag  int32
	Kind Kind
	// Protocol is how a send travels; Auto except where a schedule asks for
	// more.
	Protocol Protocol
	// Segment is how a send inside a node uses shared memory.
	Segment collectives.Segment
	// Control marks a send that synchronises and carries no data of the
	// program; it is counted with RTS, CTS and FIN.
	Control bool
	// Copy marks a Calc that moves data inside the rank's memory.
	Copy bool
	// Wait marks a Calc that waits for a time, and is no work.
	Wait bool
	// CPU and NIC are the rank's processing element and network interface.
	CPU, NIC uint8
}

func (op Op) String() string {
	switch op.Kind {
	case Send:
		return fmt.Sprintf("send %d B to %d tag %d", op.Size, op.Peer, op.Tag)
	case Recv:
		if op.Peer == Any {
			return fmt.Sprintf("recv %d B from any tag %d", op.Size, op.Tag)
		}
		return fmt.Sprintf("recv %d B from %d tag %d", op.Size, op.Peer, op.Tag)
	}
	return fmt.Sprintf("calc %d", op.Size)
}

// Workload is what ranks do: it hands out operations as they become possible.
// A machine calls it, in an order that depends on the model only, and runs
// what it gets. A workload holds the state of one run.
type Workload interface {
	// Ranks is the number of ranks.
	Ranks() int
	// CPUs and NICs are the largest numbers in use by any rank, plus one.
	CPUs() int
	NICs() int
	// Start appends the operations with which rank begins.
	Start(rank int32, dst []Op) []Op
	// Started appends the operations that the start of id at time now
	// releases.
	Started(rank, id int32, now int64, dst []Op) []Op
	// Done appends the operations that the completion of id at time now
	// releases.
	Done(rank, id int32, now int64, dst []Op) []Op
	// Where tells for messages where operation id of rank comes from: a
	// file and line, a round.
	Where(rank, id int32) string
	// Unreleased is the number of operations, if known, or else of ranks,
	// that have not been handed out to the end.
	Unreleased() int64
}
