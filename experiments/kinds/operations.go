package kinds

import (
	"math"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/skeletons"
	"github.com/weft-sim/weft/sim/stats"
)

// operationTimes is what benchmarks print of an operation, times in seconds; NaN where a program has none.
type operationTimes struct {
	mean, least, most float64
	skeletons.Figures
}

// benchmarkTimes sums up the times of a program's ranks, in a unit of so many seconds; there may be none. A
// rank without operations, such as those between the two of a ping-pong, is left out.
func benchmarkTimes(program skeletons.Program, times []float64, seconds float64) operationTimes {
	o := operationTimes{math.NaN(), math.NaN(), math.NaN(), skeletons.NoFigures}
	var ranks stats.Running
	for r := range times {
		if times[r] *= seconds; times[r] > 0 {
			ranks.Add(times[r])
		}
	}
	if ranks.N() == 0 {
		return o
	}
	o.mean, o.least, o.most = ranks.Mean(), ranks.Min(), ranks.Max()
	if b, ok := program.(skeletons.Benchmark); ok {
		o.Figures = b.Figures(times)
	}
	return o
}

// operations fills in the times of a run's operations.
func (row *mpiRow) operations(c *mpiConfig, w mpi.Workload, seconds float64) {
	var times []float64
	if s, ok := w.(*mpi.ScheduleRun); ok {
		times = s.OperationTimes()
	}
	program, _ := c.program()
	o := benchmarkTimes(program, times, seconds)
	row.Operation, row.OperationMin, row.OperationMax = o.mean, o.least, o.most
	row.Bandwidth, row.MessageRate, row.AlgBW, row.BusBW = o.Bandwidth, o.Messages, o.AlgBW, o.BusBW
}

// operationColumns are those of [mpiRow] in the table of jobs.
var operationColumns = []experiments.Column{
	{Name: "operation_mean_s", Doc: "what an iteration takes on a rank beside the others, as in kind mpi, and so in the next six"},
	{Name: "operation_min_s", Doc: "operation_mean_s of the rank with the least"},
	{Name: "operation_max_s", Doc: "operation_mean_s of the rank with the most"},
	{Name: "bandwidth_bytes_per_s", Doc: "as osu_bw and osu_mbw_mr count"},
	{Name: "messages_per_s", Doc: "messages as osu_mbw_mr counts"},
	{Name: "algbw_bytes_per_s", Doc: "as nccl-tests count"},
	{Name: "busbw_bytes_per_s", Doc: "bus bandwidth as nccl-tests count"},
}

// operationSums sums up the columns over replications.
type operationSums [7]stats.Running

// add counts another replication.
func (s *operationSums) add(o operationTimes) {
	for i, x := range [...]float64{o.mean, o.least, o.most, o.Bandwidth, o.Messages, o.AlgBW, o.BusBW} {
		s[i].Add(x)
	}
}

// means are the columns.
func (s *operationSums) means() (columns []any) {
	for i := range s {
		columns = append(columns, s[i].Mean())
	}
	return columns
}

// operations are the times of a job's operations in a simulation.
func (t *jobTable) operations(w *mpi.JobsRun, job int) operationTimes {
	program, _ := t.Program.BuildShared(skeletons.Env{Ranks: t.Ranks, PerNode: t.PerNode})
	return benchmarkTimes(program, w.OperationTimes(job), 1e-12)
}
