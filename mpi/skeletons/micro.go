package skeletons

import (
	"cmp"
	"math"
	"slices"
	"strings"

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
	param.Register(Registry, "ping-pong", "the first and the last rank send a message to and fro; half an iteration is the latency: osu_latency and IMB's PingPong, which divide by all round trips but the first ones", micro, func(c Micro, e Env) (Program, error) {
		if err := NeedRanks("ping-pong", e.Ranks >= 2, e.Ranks, "at least 2"); err != nil {
			return nil, err
		}
		return mpi.Iterate(pingPong(e.Ranks, int64(c.Bytes)), c.Iterations), nil
	})
	param.Register(Registry, "osu-bandwidth", "a window of messages from each rank of the first half to its partner, then a short answer: osu_bw with two ranks, osu_mbw_mr with more; window times bytes (or one) times pairs over steady_iteration_s is what they print", micro, func(c Micro, e Env) (Program, error) {
		if err := cmp.Or(
			NeedRanks("osu-bandwidth", e.Ranks >= 2 && e.Ranks%2 == 0, e.Ranks, "an even number"),
			checkMessages("window", c.Window, float64(c.Window)*float64(e.Ranks/2)),
		); err != nil {
			return nil, err
		}
		return windows{mpi.Iterate(bandwidth(e.Ranks, c.Window, int64(c.Bytes)), c.Iterations), c}, nil
	})
}

// messageBytes is the least memory of a message and its receive under way: their operations, the
// message, the receive's place in a list.
const messageBytes = 200

// checkMessages refuses a setting with more messages under way than memory.
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

// bandwidth sends a window of messages from the first half, and an answer to each of these ranks.
func bandwidth(ranks, window int, bytes int64) collectives.Schedule {
	half := ranks / 2
	return collectives.Uniform(ranks, 2, func(rank, round int, dst []collectives.Op) []collectives.Op {
		n, size, op := window, bytes, collectives.RecvOp
		if round == 1 {
			n, size = 1, Acknowledgement
		}
		if (rank < half) == (round == 0) {
			op = collectives.SendOp
		}
		for range n {
			dst = append(dst, op((rank+half)%ranks, 0, size))
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
	param.Register(Registry, "osu-alltoall", "a collective (any that is registered) again and again, with a barrier between: OSU's tests of collectives, but that these do not count the barrier and print the mean over ranks, and IMB's, which have none; what received data that are combined cost is workload.combine_rate, packing blocks copy_rate and block_time, a round call_time, and looking up registrations protocol.register_time", OSUAlltoall{Bytes: 1024, Algorithm: param.Choose(collectives.Registry, "alltoall-pairwise"), Iterations: 3}, newOSUAlltoall)
}

// osuAlltoall is a collective with a barrier, repeated.
type osuAlltoall struct {
	*mpi.Iterated
	leaders int
	OSUAlltoall
}

// Leaders is the number of leaders a node, 0 if the algorithm has none.
func (o osuAlltoall) Leaders() int { return o.leaders }

func newOSUAlltoall(c OSUAlltoall, e Env) (Program, error) {
	a, err := c.Algorithm.Build(collectives.Env{Ranks: e.Ranks, PerNode: e.PerNode, Bytes: c.Bytes})
	if err != nil {
		return nil, err
	}
	o := osuAlltoall{Iterated: mpi.IterateApart(a, collectives.BarrierDissemination(e.Ranks), c.Iterations), OSUAlltoall: c}
	if l, ok := a.(interface{ Leaders() int }); ok {
		o.leaders = l.Leaders()
	}
	return o, nil
}

// Contention configures ping-pong among streams.
type Contention struct {
	Bytes      sim.Bytes `toml:"bytes" doc:"size of the ball: from 8 KiB on an RDMA write, below it goes eagerly" min:"0B"`
	Iterations int       `toml:"iterations" doc:"round trips, each a phase" min:"1"`
	Window     int       `toml:"window" doc:"messages that a stream has under way as the library sends them (by rendezvous, if they are large), each window acknowledged by a short message; 0: all at once, as RDMA writes" min:"0"`
}

func init() {
	param.Register(Registry, "contention", "three nodes of M+1 ranks: M stream to the next node, the last of nodes 0 and 1 play ping-pong; half an iteration is the latency", Contention{64, 100, 0}, func(c Contention, e Env) (Program, error) {
		if err := NeedRanks("contention", e.Ranks >= 3 && e.Ranks%3 == 0, e.Ranks, "a multiple of 3"); err != nil {
			return nil, err
		}
		// Streams post all their messages at the start, or a window of them.
		streams := float64(e.Ranks - 3)
		if err := cmp.Or(checkMessages("iterations", c.Iterations, 4*float64(c.Iterations)*streams), checkMessages("window", c.Window, float64(c.Window)*streams)); err != nil {
			return nil, err
		}
		return contention{c, e.Ranks/3 - 1}, nil
	})
}

// contention is the alltoall paper's figure 6: latency while the adapter is shared. Without windows
// a stream posts all RDMA writes at the start, so that its QP is always active.
type contention struct {
	Contention
	m int // streams of a node
}

func (c contention) Ranks() int { return 3 * (c.m + 1) }

func (c contention) Rounds(rank int) int {
	switch node, i := rank/(c.m+1), rank%(c.m+1); {
	case i < c.m && c.Window > 0:
		return 2 * ((c.messages() + c.Window - 1) / c.Window)
	case i < c.m:
		return 1
	case node < 2:
		return 2 * c.Iterations
	}
	return 0
}

// messages is how many a stream sends. A ball of at most the streams' size waits for one message of
// each stream; twice as many do for any phase.
func (c contention) messages() int { return 4*c.Iterations + 2 }

// Phases and Phase time the round trips; the streams belong to none.
func (c contention) Phases() int { return c.Iterations }

func (c contention) Phase(rank, round int) int {
	if rank%(c.m+1) < c.m {
		return -1
	}
	return round / 2
}

func (c contention) Round(rank, round int, dst []collectives.Op) []collectives.Op {
	node, i := rank/(c.m+1), rank%(c.m+1)
	at := func(node int) int { return node*(c.m+1) + i }
	if i < c.m {
		next, before := at((node+1)%3), at((node+2)%3)
		if round%2 == 1 {
			return append(dst, collectives.RecvOp(next, 1, Acknowledgement), collectives.SendOp(before, 1, Acknowledgement))
		}
		count, protocol := c.messages(), collectives.Direct
		if c.Window > 0 {
			count, protocol = c.Window, collectives.Auto
		}
		for range count {
			send := collectives.SendOp(next, 0, streamBytes)
			send.Protocol = protocol
			dst = append(dst, collectives.RecvOp(before, 0, streamBytes), send)
		}
		return dst
	}
	if node != round%2 {
		return append(dst, collectives.RecvOp(at(1-node), 0, int64(c.Bytes)))
	}
	send := collectives.SendOp(at(1-node), 0, int64(c.Bytes))
	send.Protocol = collectives.Eager
	if c.Bytes >= directFrom {
		send.Protocol = collectives.Direct
	}
	return append(dst, send)
}

// Sizes of the paper's stream messages, of the message that ends a window, and of the least ball
// that is an RDMA write.
const (
	streamBytes     = 65536
	Acknowledgement = 4 // bytes
	directFrom      = 8192
)

func (c contention) Run(unit sim.Time, costs mpi.Costs) mpi.Workload {
	return mpi.RunSchedule(c, costs, unit)
}

// Benchmark is a program that stands for a benchmark, of which users know the figures.
type Benchmark interface {
	// Figures are worked out from each rank's mean time of an iteration's operation, in seconds.
	Figures(times []float64) Figures
}

// Figures are what benchmarks print besides times, in bytes and messages a second; NaN is none.
type Figures struct {
	Bandwidth, Messages float64 // as osu_bw and osu_mbw_mr
	AlgBW, BusBW        float64 // as nccl-tests
}

// NoFigures are the figures of programs that measure nothing.
var NoFigures = Figures{math.NaN(), math.NaN(), math.NaN(), math.NaN()}

// windows is the test of bandwidth.
type windows struct {
	*mpi.Iterated
	Micro
}

// Figures counts all pairs' messages in the time of the slowest sender, which ends with the answer.
func (w windows) Figures(times []float64) Figures {
	f := NoFigures
	half := len(times) / 2
	f.Messages = float64(w.Window*half) / slices.Max(times[:half])
	f.Bandwidth = f.Messages * float64(w.Bytes)
	return f
}

// Figures counts the bytes that a rank has in the end, or gives, in the ranks' mean time, and those
// that must pass each rank's link in the best algorithm.
func (o osuAlltoall) Figures(times []float64) Figures {
	f := NoFigures
	ranks, bytes, time := float64(len(times)), float64(o.Bytes), 0.0
	for _, t := range times {
		time += t / ranks
	}
	others := (ranks - 1) / ranks
	switch operation, _, _ := strings.Cut(o.Algorithm.Name(), "-"); operation {
	case "alltoall", "allgather":
		f.AlgBW, f.BusBW = bytes*ranks/time, bytes*ranks/time*others
	case "allreduce":
		f.AlgBW, f.BusBW = bytes/time, bytes/time*2*others
	case "broadcast", "reduce":
		f.AlgBW, f.BusBW = bytes/time, bytes/time
	}
	return f
}
