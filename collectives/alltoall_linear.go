package collectives

import (
	"github.com/weft-sim/weft/sim/param"
)

func init() {
	param.Register(Registry, "alltoall-linear", "alltoall(v): all receives and sends at once", None{}, func(_ None, e Env) (Collective, error) {
		if err := e.check(); err != nil {
			return nil, err
		}
		return AlltoallLinear(e), nil
	})
}

// own copies a rank's block for itself.
func own(e Env, rank int) Op {
	return Op{Kind: Copy, Bytes: e.size(rank, rank), Data: Slot(rank), Into: Slot(e.Ranks + rank)}
}

// sendBlock and recvBlock move the blocks between rank and peer.
func sendBlock(e Env, rank, peer, tag int) Op {
	return Op{Kind: Send, Peer: int32(peer), Tag: int32(tag), Bytes: e.size(rank, peer), Data: Slot(peer)}
}

func recvBlock(e Env, rank, peer, tag int) Op {
	return Op{Kind: Recv, Peer: int32(peer), Tag: int32(tag), Bytes: e.size(peer, rank), Data: Slot(e.Ranks + peer)}
}

// AlltoallLinear posts N-1 receives and N-1 sends at once, beginning with its
// neighbours, and waits for all (Open MPI's "basic linear").
func AlltoallLinear(e Env) Collective {
	n := e.Ranks
	return &program{
		ranks:  n,
		rounds: always(1),
		round: func(rank, _ int, dst []Op) []Op {
			for d := 1; d < n; d++ {
				dst = append(dst, recvBlock(e, rank, mod(rank-d, n), 0))
			}
			for d := 1; d < n; d++ {
				dst = append(dst, sendBlock(e, rank, (rank+d)%n, 0))
			}
			return append(dst, own(e, rank))
		},
		contract: exchange(e),
	}
}
