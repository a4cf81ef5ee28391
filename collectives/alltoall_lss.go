package collectives

import (
	"github.com/weft-sim/weft/sim/param"
)

// LSSSettings configure alltoall-lss.
type LSSSettings struct {
	NoticeEvery int  `toml:"notice_every" doc:"every so many blocks end in the default value of the receive buffers, so that a notice has to follow; 0: none does" min:"0"`
	AtOnce      bool `toml:"at_once" doc:"all blocks behind the handshakes are written at once, in place of one a step"`
}

func init() {
	param.Register(Registry, "alltoall-lss", "alltoall(v): the ring by direct RDMA writes, addresses gathered by about 2*sqrt(N) handshake messages", LSSSettings{}, func(c LSSSettings, e Env) (Collective, error) {
		if err := e.check(); err != nil {
			return nil, err
		}
		return AlltoallLSS(e, c), nil
	})
}

// addressBytes is the size of a buffer's key and virtual address.
const addressBytes = 16

// AlltoallLSS is the ring by RDMA writes into buffers whose addresses ranks
// gather on the way (Li et al. 2013, section 3.2). In step k a rank exchanges
// handshakes with the ranks k after and k before it, each with all addresses
// that the sender has; after it, it has those of the k(k+1)/2 ranks on either
// side. Once these are all, no handshakes are needed: see [LSSHandshakes]. The receiver
// polls on the last 8 bytes of its buffer; where the data end in the value that the
// buffer had, every c.NoticeEvery-th block here, the sender sends a notice behind.
// The paper does not say whether a rank waits for a step's block before it begins
// the next; here it does, unless c.AtOnce, by which all blocks behind the
// handshakes are written in one round.
//
// Slots: 2N.. the window of known addresses, rank - reach .. rank + reach, in
// which small rings wrap around; behind it the windows as received from either
// side, the notice to send, and one received for each step.
func AlltoallLSS(e Env, c LSSSettings) Collective {
	n := e.Ranks
	steps := LSSHandshakes(n)
	reach := steps * (steps + 1) / 2
	l := &lss{Env: e, LSSSettings: c, handshakes: steps, window: 2*n + reach, span: 2*reach + 1}
	contract := exchange(e)
	data, initial := contract.Bytes, contract.Initial
	contract.Slots = 2*n + 3*l.span + 1 + n
	contract.Bytes = func(rank, slot int) int64 {
		switch {
		case slot < 2*n:
			return data(rank, slot)
		case slot < 2*n+3*l.span:
			return addressBytes
		}
		return controlBytes
	}
	contract.Initial = func(rank, slot int) (Token, bool) {
		if slot == l.window || slot == 2*n+3*l.span {
			return Token(n*n + rank), true
		}
		return initial(rank, slot)
	}
	blocks := contract.Final
	contract.Final = func(rank, slot int, dst []Token) []Token {
		if slot >= 2*n && slot < 2*n+l.span {
			return append(dst, Token(n*n+mod(rank+slot-l.window, n)))
		}
		return blocks(rank, slot, dst)
	}
	writes := max(0, n-1-steps) // behind the handshakes
	if c.AtOnce {
		writes = min(writes, 1)
	}
	return &program{ranks: n, rounds: always(1 + 2*steps + writes), round: l.round, contract: contract}
}

// LSSHandshakes is the number of steps with handshakes, two messages each: the
// least k after which the 1 + k(k+1) known addresses are all n.
func LSSHandshakes(n int) int {
	k := 0
	for k*(k+1)+1 < n {
		k++
	}
	return k
}

type lss struct {
	Env
	LSSSettings
	handshakes int // steps that have them
	window     int // slot of the rank's own address
	span       int // slots of a window
}

func (l *lss) round(rank, round int, dst []Op) []Op {
	switch {
	case round == 0:
		return append(dst, own(l.Env, rank))
	case round > 2*l.handshakes && l.AtOnce:
		for k := l.handshakes + 1; k < l.Ranks; k++ {
			dst = l.write(rank, k, dst)
		}
		return dst
	case round > 2*l.handshakes:
		return l.write(rank, round-l.handshakes, dst)
	case round%2 == 1:
		return l.handshake(rank, (round+1)/2, dst)
	}
	k := round / 2
	return l.write(rank, k, l.learn(k, dst))
}

// known is the window of addresses before step k, shifted in the rank's own.
func (l *lss) known(k, shift int) Slots {
	reach := k * (k - 1) / 2
	return Range(l.window-reach+shift, 2*reach+1)
}

// handshake exchanges all known addresses with the ranks k away.
func (l *lss) handshake(rank, k int, dst []Op) []Op {
	n := l.Ranks
	after, before := (rank+k)%n, mod(rank-k, n)
	mine := l.known(k, 0)
	message := func(kind Kind, peer, tag int, data Slots) Op {
		return Op{Kind: kind, Protocol: Eager, Control: true, Peer: int32(peer), Tag: int32(tag), Bytes: addressBytes * int64(data.Count), Data: data}
	}
	return append(dst,
		message(Recv, after, 4*k, l.known(k, l.span)), message(Recv, before, 4*k+1, l.known(k, 2*l.span)),
		message(Send, after, 4*k+1, mine), message(Send, before, 4*k, mine))
}

// learn puts the addresses of step k into the rank's own window.
func (l *lss) learn(k int, dst []Op) []Op {
	for side, shift := range []int{k, -k} {
		from := l.known(k, (1+side)*l.span)
		dst = append(dst, Op{Kind: Copy, Bytes: addressBytes * int64(from.Count), Data: from, Into: l.known(k, shift)})
	}
	return dst
}

// write is step k of the ring.
func (l *lss) write(rank, k int, dst []Op) []Op {
	n := l.Ranks
	to, from := (rank+k)%n, mod(rank-k, n)
	dst = append(dst, recvBlock(l.Env, rank, from, 4*k+2))
	send := sendBlock(l.Env, rank, to, 4*k+2)
	send.Protocol = Direct
	dst = append(dst, send)
	if l.endsInDefault(from, rank) {
		dst = append(dst, l.tell(Recv, from, k, k))
	}
	if l.endsInDefault(rank, to) {
		dst = append(dst, l.tell(Send, to, k, 0))
	}
	return dst
}

// endsInDefault tells whether a block ends in the default value.
func (l *lss) endsInDefault(from, to int) bool {
	return l.NoticeEvery > 0 && (from*l.Ranks+to)%l.NoticeEvery == 0
}

func (l *lss) tell(kind Kind, peer, k, slot int) Op {
	return Op{Kind: kind, Protocol: Eager, Control: true, Peer: int32(peer), Tag: int32(4*k + 3), Bytes: controlBytes, Data: Slot(2*l.Ranks + 3*l.span + slot)}
}
