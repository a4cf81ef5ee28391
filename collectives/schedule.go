// Package collectives holds the algorithms of collective communication as lazy schedules: what
// every rank sends, receives and combines in which round, with a contract on the data, checked
// without a network.
package collectives

import (
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/lists"
)

// Kind is what an operation of a schedule does.
type Kind uint8

const (
	Send    Kind = iota // starts sending slots to another rank
	Recv                // starts receiving slots from another rank
	Compute             // occupies the rank for a time
	Copy                // moves slots inside the rank's memory
)

// Protocol is how a message travels.
type Protocol uint8

const (
	Auto       Protocol = iota // eagerly up to the threshold of the runtime, by rendezvous above it
	Eager                      // into a pre-posted buffer of the receiver
	Rendezvous                 // by RDMA after asking for the address (RTS, CTS), and telling the receiver (FIN) after it
	Handshake                  // a rendezvous whose receiver polls on its buffer: no FIN
	Direct                     // by RDMA to an address that is known already; the receiver polls on its buffer
	Read                       // a rendezvous whose receiver reads from the address that it was sent (RTS), and polls
)

// String is the word for the protocol.
func (p Protocol) String() string {
	return [...]string{"auto", "eager", "rendezvous", "handshake", "direct", "read"}[p]
}

// Segment says how a message between ranks of a node uses their shared memory; between nodes,
// nothing.
type Segment uint8

const (
	InAndOut Segment = iota // copied into shared memory and out of it
	In                      // copied into a segment in which the receiver works with it
	Out                     // found in a segment, and copied out of it
)

// Op is one operation of a rank in a round.
type Op struct {
	Kind     Kind
	Protocol Protocol // of a Send; a Recv takes what comes
	Segment  Segment  // of a Send
	Combine  bool     // a Recv reduces into the slots, for which the rank pays; else it replaces them
	Control  bool     // synchronises and carries no data of the collective; counted apart
	Peer     int32    // destination of a Send, source of a Recv
	Tag      int32
	Bytes    int64    // of a Send, Recv or Copy
	Time     sim.Time // of a Compute
	Data     Slots    // read by Send and Copy, written by Recv
	Into     Slots    // written by Copy
}

// Slots names slots of a rank's buffer: Count of them, in runs of Run consecutive ones whose starts
// lie Step apart. What is sent goes, element by element, to the receiver's slots.
type Slots struct{ First, Run, Step, Count int32 }

// Slot is a single slot.
func Slot(i int) Slots { return Slots{First: int32(i), Run: 1, Count: 1} }

// Range is n consecutive slots.
func Range(first, n int) Slots { return Slots{First: int32(first), Run: int32(n), Count: int32(n)} }

// At is the e-th slot.
func (s Slots) At(e int) int {
	run := max(int(s.Run), 1)
	return int(s.First) + e/run*int(s.Step) + e%run
}

// Blocks is the number of blocks that a Copy gathers or scatters; of what lies in one run it is 1.
func (o *Op) Blocks() int {
	if o.Data.Step != 0 || o.Into.Step != 0 {
		return int(o.Data.Count)
	}
	return min(1, int(o.Data.Count))
}

// Schedule is a lazy program for every rank. A rank starts the operations of a round one after
// another without waiting for any of them, and enters the next round when all are complete; that
// is when a round is made. A schedule is read-only and safe for concurrent use.
type Schedule interface {
	// Ranks is the number of ranks.
	Ranks() int
	// Rounds is the number of rounds of a rank.
	Rounds(rank int) int
	// Round appends the operations of a round, in 0..Rounds(rank)-1.
	Round(rank, round int, dst []Op) []Op
}

// Token stands for a piece of data in a schedule's contract: mostly a rank's contribution, or its
// block for another.
type Token int32

// Contract says which data a schedule starts from and ends with, in slots, units of data that
// travel together. Combined contributions are sets of tokens.
type Contract struct {
	Slots   int                                         // of a rank's buffer, scratch space included
	Bytes   func(rank, slot int) int64                  // size of a slot
	Initial func(rank, slot int) (token Token, ok bool) // in a slot at the start; none if not ok
	// Final appends the tokens, ascending, that a slot must hold at the end; with none it may hold
	// anything.
	Final      func(rank, slot int, dst []Token) []Token
	Idempotent bool // a token may be combined with itself, as a barrier's notes may
}

// Collective is a schedule with a contract.
type Collective interface {
	Schedule
	Contract() Contract
}

// program is a Collective made of functions.
type program struct {
	ranks    int
	rounds   func(rank int) int
	round    func(rank, round int, dst []Op) []Op
	contract Contract
	leaders  int // a node; 0: an algorithm without
}

// Leaders is the number of leaders a node, 0 if the algorithm has none.
func (p *program) Leaders() int { return p.leaders }

func (p *program) Ranks() int                           { return p.ranks }
func (p *program) Rounds(rank int) int                  { return p.rounds(rank) }
func (p *program) Round(rank, round int, dst []Op) []Op { return p.round(rank, round, dst) }
func (p *program) Contract() Contract                   { return p.contract }

// even is a program of as many rounds on every rank.
func even(ranks, rounds int, contract Contract, round func(rank, round int, dst []Op) []Op) *program {
	return &program{ranks: ranks, rounds: func(int) int { return rounds }, round: round, contract: contract}
}

// Uniform is a schedule of so many rounds on every rank, made by a function, without a contract.
func Uniform(ranks, rounds int, round func(rank, round int, dst []Op) []Op) Schedule {
	return even(ranks, rounds, Contract{}, round)
}

// SendOp sends bytes that belong to no slot.
func SendOp(peer, tag int, bytes int64) Op {
	return Op{Kind: Send, Peer: int32(peer), Tag: int32(tag), Bytes: bytes}
}

// RecvOp receives bytes that belong to no slot.
func RecvOp(peer, tag int, bytes int64) Op {
	return Op{Kind: Recv, Peer: int32(peer), Tag: int32(tag), Bytes: bytes}
}

// Sequence runs schedules of the same ranks one after another; a rank enters the next when it is
// through with the one before.
func Sequence(parts ...Schedule) Schedule {
	for _, p := range parts {
		if p.Ranks() != parts[0].Ranks() {
			panic("collectives: a sequence of schedules with different numbers of ranks")
		}
	}
	return &program{
		ranks: parts[0].Ranks(),
		rounds: func(rank int) (n int) {
			return lists.Sum(parts, func(p Schedule) int { return p.Rounds(rank) })
		},
		round: func(rank, round int, dst []Op) []Op {
			for _, p := range parts {
				n := p.Rounds(rank)
				if round < n {
					return p.Round(rank, round, dst)
				}
				round -= n
			}
			panic("collectives: round out of range")
		},
	}
}

// Work is a schedule of one round in which every rank computes for a time.
func Work(ranks int, t sim.Time) Schedule {
	return Uniform(ranks, 1, func(_, _ int, dst []Op) []Op { return append(dst, Op{Kind: Compute, Time: t}) })
}

// Split runs a schedule in every one of equal groups of ranks at once, as on a split communicator.
// locate tells a rank's group and index in it, -1 if none; member is the inverse.
func Split(s Schedule, ranks int, locate func(rank int) (group, index int), member func(group, index int) int) Schedule {
	return &program{
		ranks: ranks,
		rounds: func(rank int) int {
			_, index := locate(rank)
			if index < 0 {
				return 0
			}
			return s.Rounds(index)
		},
		round: func(rank, round int, dst []Op) []Op {
			group, index := locate(rank)
			start := len(dst)
			dst = s.Round(index, round, dst)
			for i := start; i < len(dst); i++ {
				if dst[i].Kind == Send || dst[i].Kind == Recv {
					dst[i].Peer = int32(member(group, int(dst[i].Peer)))
				}
			}
			return dst
		},
	}
}

// Divide runs a schedule in each of the groups into which the ranks are divided, members stride
// apart: a block of the schedule's ranks times stride holds stride groups.
func Divide(s Schedule, ranks, stride int) Schedule {
	block := s.Ranks() * stride
	return Split(s, ranks, func(r int) (group, index int) {
		return r/block*stride + r%stride, r % block / stride
	}, func(group, index int) int { return group/stride*block + index*stride + group%stride })
}
