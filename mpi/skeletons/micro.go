package skeletons

import (
	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
)

// Micro configures the point-to-point tests.
type Micro struct {
	Bytes      sim.Bytes `toml:"bytes" doc:"size of a message" min:"0B"`
	Iterations int       `toml:"iterations" doc:"repetitions, each a phase" min:"1"`
	Window     int       `toml:"window" doc:"osu-bandwidth: messages under way at once" min:"1"`
}

func init() {
	micro := Micro{Bytes: 64, Iterations: 10, Window: 64}
	param.Register(Registry, "ping-pong", "the first and the last rank send a message to and fro; half an iteration is the latency", micro, func(c Micro, e Env) (Program, error) {
		if err := needRanks("ping-pong", e.Ranks >= 2, e.Ranks, "at least 2"); err != nil {
			return nil, err
		}
		return mpi.Iterate(pingPong(e.Ranks, int64(c.Bytes)), c.Iterations), nil
	})
	param.Register(Registry, "osu-bandwidth", "a window of messages from each rank of the first half to its partner, then a short answer", micro, func(c Micro, e Env) (Program, error) {
		if err := needRanks("osu-bandwidth", e.Ranks >= 2 && e.Ranks%2 == 0, e.Ranks, "an even number"); err != nil {
			return nil, err
		}
		if err := checkMessages("window", c.Window, float64(c.Window)*float64(e.Ranks/2)); err != nil {
			return nil, err
		}
		return mpi.Iterate(bandwidth(e.Ranks, c.Window, int64(c.Bytes)), c.Iterations), nil
	})
}

// messageBytes is what a message and its receive take at least while they are under
// way: their operations, the message, and the receive's place in a list.
const messageBytes = 200

// checkMessages refuses a setting that keeps more messages under way at once than
// there is memory for.
func checkMessages(key string, value any, messages float64) error {
	return input.CheckMemory(key, value, "the messages that are under way at once", messageBytes*messages)
}

func pingPong(ranks int, bytes int64) collectives.Schedule {
	last := ranks - 1
	return collectives.Uniform(ranks, 2, func(rank, round int, dst []collectives.Op) []collectives.Op {
		switch {
		case rank == 0 && round == 0 || rank == last && round == 1:
			return append(dst, collectives.SendOp(last-rank, 0, bytes))
		case rank == 0 || rank == last:
			return append(dst, collectives.RecvOp(last-rank, 0, bytes))
		}
		return dst
	})
}

func bandwidth(ranks, window int, bytes int64) collectives.Schedule {
	half := ranks / 2
	return collectives.Uniform(ranks, 2, func(rank, round int, dst []collectives.Op) []collectives.Op {
		peer := (rank + half) % ranks
		if sends := rank < half; sends == (round == 0) {
			n, size := window, bytes
			if !sends {
				n, size = 1, 4
			}
			for range n {
				dst = append(dst, collectives.SendOp(peer, 0, size))
			}
			return dst
		}
		n, size := window, bytes
		if rank < half {
			n, size = 1, 4
		}
		for range n {
			dst = append(dst, collectives.RecvOp(peer, 0, size))
		}
		return dst
	})
}

// OSUAlltoall configures the test of collectives.
type OSUAlltoall struct {
	Bytes      sim.Bytes                                             `toml:"bytes" doc:"size of a block, or of the vector" min:"0B"`
	Algorithm  param.Choice[collectives.Env, collectives.Collective] `toml:"algorithm" doc:"collective that is run; its settings stand beside it"`
	Iterations int                                                   `toml:"iterations" doc:"repetitions, each a phase" min:"1"`
}

func init() {
	param.Register(Registry, "osu-alltoall", "a collective (any that is registered) again and again, with a barrier between", OSUAlltoall{Bytes: 1024, Algorithm: param.Choose(collectives.Registry, "alltoall-pairwise"), Iterations: 3}, newOSUAlltoall)
}

// osuAlltoall is a collective with a barrier, repeated.
type osuAlltoall struct {
	*mpi.Iterated
	leaders int
}

// Leaders is the number of leaders a node, 0 if the algorithm has none.
func (o osuAlltoall) Leaders() int { return o.leaders }

func newOSUAlltoall(c OSUAlltoall, e Env) (Program, error) {
	a, err := c.Algorithm.Build(collectives.Env{Ranks: e.Ranks, PerNode: e.PerNode, Bytes: c.Bytes})
	if err != nil {
		return nil, err
	}
	o := osuAlltoall{Iterated: mpi.Iterate(collectives.Sequence(a, collectives.BarrierDissemination(e.Ranks)), c.Iterations)}
	if l, ok := a.(interface{ Leaders() int }); ok {
		o.leaders = l.Leaders()
	}
	return o, nil
}
