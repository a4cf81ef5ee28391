package mpi

import (
	"math"

	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/skeletons"
	"github.com/weft-sim/weft/sim/stats"
)

// OperationTimes is what benchmarks print of an operation, times in seconds; NaN where a program has none.
type OperationTimes struct {
	Mean, Least, Most float64
	skeletons.Figures
}

// BenchmarkTimes sums up the times of a program's ranks, in a unit of so many seconds; there may be none. A
// rank without operations, such as those between the two of a ping-pong, is left out.
func BenchmarkTimes(program skeletons.Program, times []float64, seconds float64) OperationTimes {
	o := OperationTimes{math.NaN(), math.NaN(), math.NaN(), skeletons.NoFigures}
	var ranks stats.Running
	for r := range times {
		if times[r] *= seconds; times[r] > 0 {
			ranks.Add(times[r])
		}
	}
	if ranks.N() == 0 {
		return o
	}
	o.Mean, o.Least, o.Most = ranks.Mean(), ranks.Min(), ranks.Max()
	if b, ok := program.(skeletons.Benchmark); ok {
		o.Figures = b.Figures(times)
	}
	return o
}

// operations fills in the times of a run's operations.
func (row *mpiRow) operations(c *Config, w mpi.Workload, seconds float64) {
	var times []float64
	if s, ok := w.(*mpi.ScheduleRun); ok {
		times = s.OperationTimes()
	}
	program, _ := c.program()
	o := BenchmarkTimes(program, times, seconds)
	row.Operation, row.OperationMin, row.OperationMax = o.Mean, o.Least, o.Most
	row.Bandwidth, row.MessageRate, row.AlgBW, row.BusBW = o.Bandwidth, o.Messages, o.AlgBW, o.BusBW
}
