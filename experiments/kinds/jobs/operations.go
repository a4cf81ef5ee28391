package jobs

import (
	"github.com/weft-sim/weft/experiments"
	kind "github.com/weft-sim/weft/experiments/kinds/mpi"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/skeletons"
	"github.com/weft-sim/weft/sim/stats"
)

// operationColumns are those of kind mpi in the table of jobs.
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
func (s *operationSums) add(o kind.OperationTimes) {
	for i, x := range [...]float64{o.Mean, o.Least, o.Most, o.Bandwidth, o.Messages, o.AlgBW, o.BusBW} {
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
func (t *jobTable) operations(w *mpi.JobsRun, job int) kind.OperationTimes {
	program, _ := t.Program.BuildShared(skeletons.Env{Ranks: t.Ranks, PerNode: t.PerNode})
	return kind.BenchmarkTimes(program, w.OperationTimes(job), 1e-12)
}
