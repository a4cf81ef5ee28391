package collectives

import (
	"github.com/weft-sim/weft/sim/param"
)

func init() {
	param.Register(Registry, "alltoall-direct-eager", "alltoall(v): the ring; receivers announce their addresses, senders write and tell (2 small messages a block)", None{}, func(_ None, e Env) (Collective, error) {
		if err := e.check(); err != nil {
			return nil, err
		}
		return AlltoallDirectEager(e), nil
	})
}

// controlBytes is the size of a message that only synchronises.
const controlBytes = 64

// AlltoallDirectEager is the ring with two synchronisation messages a block in
// place of three (the Direct Eager method that Li et al. 2013, section 5,
// compare with; its source is not at hand, and this is the reading that has 2N
// of them): the receiver announces the address of its buffer, the sender writes
// there and sends a completion notice behind. Slot 2N+i holds the address of rank i's
// buffer, slot 3N a notice to send, 3N+1 one received.
func AlltoallDirectEager(e Env) Collective {
	n := e.Ranks
	contract := exchange(e)
	data, initial := contract.Bytes, contract.Initial
	contract.Slots = 3*n + 2
	contract.Bytes = func(rank, slot int) int64 {
		if slot >= 2*n {
			return controlBytes
		}
		return data(rank, slot)
	}
	contract.Initial = func(rank, slot int) (Token, bool) {
		if slot == 2*n+rank || slot == 3*n {
			return Token(n*n + rank), true
		}
		return initial(rank, slot)
	}
	blocks := contract.Final
	contract.Final = func(rank, slot int, dst []Token) []Token {
		if slot >= 2*n && slot < 3*n {
			return append(dst, Token(n*n+slot-2*n))
		}
		return blocks(rank, slot, dst)
	}
	control := func(kind Kind, peer, tag, slot int) Op {
		return Op{Kind: kind, Protocol: Eager, Control: true, Peer: int32(peer), Tag: int32(tag), Bytes: controlBytes, Data: Slot(slot)}
	}
	return &program{
		ranks:  n,
		rounds: always(2*n - 1),
		round: func(rank, round int, dst []Op) []Op {
			if round == 0 {
				return append(dst, own(e, rank))
			}
			k := (round + 1) / 2
			to, from := (rank+k)%n, mod(rank-k, n)
			if round%2 == 1 {
				return append(dst, control(Recv, to, 3*k, 2*n+to), control(Send, from, 3*k, 2*n+rank))
			}
			send := sendBlock(e, rank, to, 3*k+1)
			send.Protocol = Direct
			return append(dst,
				recvBlock(e, rank, from, 3*k+1), control(Recv, from, 3*k+2, 3*n+1),
				send, control(Send, to, 3*k+2, 3*n))
		},
		contract: contract,
	}
}
