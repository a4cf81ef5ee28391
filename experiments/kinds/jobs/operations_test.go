package jobs

import (
	"math"
	"testing"

	"github.com/weft-sim/weft/experiments/engine/enginetest"
	"github.com/weft-sim/weft/sim/simtest"
)

const operationsOf = `
topology = { type = "single-switch", terminals = 8 }
hca = { preset = "ndr" }
`

// TestOperationsOfJobs: a job by itself has the times that kind mpi has of its program, and runs that repeat
// are averaged: the second finds connections made, and so is no slower.
func TestOperationsOfJobs(t *testing.T) {
	const program = `algorithm = "allreduce-ring"
bytes = "64KiB"
iterations = 3
`
	one := enginetest.OutcomeOf(t, `kind = "mpi"`+operationsOf+`
job = { ranks = 8, machine = "fabric" }
placement = { per_node = 1 }
[workload]
type = "osu-alltoall"
`+program).Results
	jobs := func(repeat string) map[string]float64 {
		o := enginetest.OutcomeOf(t, `kind = "jobs"`+operationsOf+`
routing = { type = "table" }
[job.it]
ranks = 8
repeat = `+repeat+`
program = "osu-alltoall"
`+program)
		m := map[string]float64{}
		columns := tables.Named("jobs").Columns
		for _, c := range columns[len(columns)-len(operationSums{}):] {
			m[c.Name] = enginetest.Numbers(t, o.Tables["jobs"], c.Name)[0]
		}
		return m
	}
	once, twice := jobs("1"), jobs("2")
	for name, got := range once {
		want := enginetest.Numbers(t, one, name)[0]
		simtest.ErrorIf(t, math.IsNaN(want) != (name == "bandwidth_bytes_per_s" || name == "messages_per_s"),
			"%s = %v", name, want)
		if math.IsNaN(want) {
			continue
		}
		simtest.ErrorIf(t, math.Abs(got/want-1) > 1e-9, "%s = %v of a job, %v of kind mpi", name, got, want)
		simtest.ErrorIf(t, math.Abs(twice[name]/want-1) > 0.1, "%s = %v of two runs, %v of one", name, twice[name], want)
	}
}
