// Package skeletons holds the programs that stand for applications: what they send
// and when, with the computing between as a parameter.
package skeletons

import (
	"fmt"

	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// Registry holds the programs that stand for applications: what they send,
// with the computing between as a parameter.
var Registry = param.NewRegistry[Env, Program]("skeleton")

// Program is something that ranks can run any number of times.
type Program interface {
	// Run starts a run on a machine with the given time unit; costs are those
	// of local work that the program leaves open.
	Run(unit sim.Time, costs mpi.Costs) mpi.Workload
}

// Env is what a skeleton is built for.
type Env struct {
	Ranks   int
	PerNode int // ranks on a node, for the algorithms that know of nodes
}

// Iterations is how often a skeleton repeats; with Compute the time that every
// rank computes in each.
type Iterations struct {
	Iterations int      `toml:"iterations" doc:"iterations to simulate; 0: as many as the benchmark has" min:"0"`
	Compute    sim.Time `toml:"compute" doc:"computing time of a rank per iteration" min:"0ns"`
}

// Times is how often: standard unless the settings say otherwise.
func (it Iterations) Times(standard int) int {
	if it.Iterations > 0 {
		return it.Iterations
	}
	return standard
}

// NeedRanks refuses numbers of ranks that a skeleton cannot use.
func NeedRanks(skeleton string, ok bool, ranks int, want string) error {
	if ok {
		return nil
	}
	return &param.ParamError{Key: "ranks", Value: ranks, Want: fmt.Sprintf("%s for skeleton %q", want, skeleton)}
}
