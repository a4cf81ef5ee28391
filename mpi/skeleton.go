package mpi

import (
	"fmt"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// Skeletons holds the programs that stand for applications: what they send,
// with the computing between as a parameter.
var Skeletons = param.NewRegistry[SkeletonEnv, Program]("skeleton")

// Program is something that ranks can run any number of times.
type Program interface {
	// Run starts a run on a machine with the given time unit; costs are those
	// of local work that the program leaves open.
	Run(unit sim.Time, costs Costs) Workload
}

// SkeletonEnv is what a skeleton is built for.
type SkeletonEnv struct {
	Ranks   int
	PerNode int // ranks on a node, for the algorithms that know of nodes
}

// Phased is a schedule that comes in phases (set-up, iterations), which are
// timed apart.
type Phased interface {
	collectives.Schedule
	// Phases is their number.
	Phases() int
	// Phase is the one to which a round belongs; it does not sink from one
	// round to the next. Rounds of phase -1 are not timed.
	Phase(rank, round int) int
}

// iterated runs a body several times; every time is a phase.
type iterated struct {
	collectives.Schedule          // the body
	rounds               []uint32 // of the body, per rank; divisions are faster without a sign
	times                int
}

func newIterated(body collectives.Schedule, times int) *iterated {
	s := &iterated{body, make([]uint32, body.Ranks()), times}
	for r := range s.rounds {
		s.rounds[r] = uint32(body.Rounds(r))
	}
	return s
}

// Run implements Program.
func (s *iterated) Run(unit sim.Time, costs Costs) Workload { return RunSchedule(s, costs, unit) }

func (s *iterated) Rounds(rank int) int       { return s.times * int(s.rounds[rank]) }
func (s *iterated) Phases() int               { return s.times }
func (s *iterated) Phase(rank, round int) int { return int(uint32(round) / s.rounds[rank]) }
func (s *iterated) Round(rank, round int, dst []collectives.Op) []collectives.Op {
	return s.Schedule.Round(rank, int(uint32(round)%s.rounds[rank]), dst)
}

// Iterations is how often a skeleton repeats; with Compute the time that every
// rank computes in each.
type Iterations struct {
	Iterations int      `toml:"iterations" doc:"iterations to simulate; 0: as many as the benchmark has" min:"0"`
	Compute    sim.Time `toml:"compute" doc:"computing time of a rank per iteration" min:"0ns"`
}

func (it Iterations) times(standard int) int {
	if it.Iterations > 0 {
		return it.Iterations
	}
	return standard
}

// buildCollective makes a registered alltoall.
func buildCollective(name string, env collectives.Env) (collectives.Schedule, error) {
	config, err := collectives.Registry.Config(name)
	if err != nil {
		return nil, err
	}
	return collectives.Registry.Build(name, config, env)
}

// needRanks refuses numbers of ranks that a skeleton cannot use.
func needRanks(skeleton string, ok bool, ranks int, want string) error {
	if ok {
		return nil
	}
	return &param.ParamError{Key: "ranks", Value: ranks, Want: fmt.Sprintf("%s for skeleton %q", want, skeleton)}
}

// roundsOf is a schedule with the same number of rounds on every rank.
type roundsOf struct {
	ranks, rounds int
	round         func(rank, round int, dst []collectives.Op) []collectives.Op
}

func (s roundsOf) Ranks() int     { return s.ranks }
func (s roundsOf) Rounds(int) int { return s.rounds }
func (s roundsOf) Round(rank, round int, dst []collectives.Op) []collectives.Op {
	return s.round(rank, round, dst)
}

func sendOp(peer, tag int, bytes int64) collectives.Op {
	return collectives.Op{Kind: collectives.Send, Peer: int32(peer), Tag: int32(tag), Bytes: bytes}
}

func recvOp(peer, tag int, bytes int64) collectives.Op {
	return collectives.Op{Kind: collectives.Recv, Peer: int32(peer), Tag: int32(tag), Bytes: bytes}
}
