package collectives

import (
	"github.com/weft-sim/weft/sim/param"
)

func init() {
	param.Register(Registry, "alltoall-ring-rendezvous", "alltoall(v): the ring, every block by rendezvous (RTS, CTS, RDMA write, FIN)", None{}, func(_ None, e Env) (Collective, error) {
		if err := e.check(); err != nil {
			return nil, err
		}
		return ringBy(e, Rendezvous), nil
	})
}

// ringBy is AlltoallRing with a protocol of its own. By rendezvous a rank sends
// three small messages a step: RTS, CTS and FIN.
func ringBy(e Env, protocol Protocol) Collective {
	ring := AlltoallRing(e).(*program)
	round := ring.round
	ring.round = func(rank, k int, dst []Op) []Op {
		start := len(dst)
		dst = round(rank, k, dst)
		for i := start; i < len(dst); i++ {
			if dst[i].Kind == Send {
				dst[i].Protocol = protocol
			}
		}
		return dst
	}
	return ring
}
