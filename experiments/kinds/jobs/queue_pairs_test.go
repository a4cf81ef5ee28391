package jobs

import (
	"github.com/weft-sim/weft/sim/simtest"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments/engine/enginetest"
)

// TestQueuePairs: 60 of 7,200 processes are on a node: 7,199 QPs each, 431,940 together, which exceed the
// 262,144 of an adapter; of XRC it takes 2 * 60 * 120.
func TestQueuePairs(t *testing.T) {
	const job = "kind = \"connections\"\njob = { ranks = 7200, per_node = 60 }\n"
	f := enginetest.Load(t, job)
	if w := f.Warnings; len(w) != 1 || !strings.Contains(w[0].Message, "262144 is less than the 431940 queue pairs") {
		t.Errorf("warnings %v", w)
	}
	simtest.Equal(t, enginetest.Numbers(t, enginetest.OutcomeOf(t, job).Results, "qps_per_node")[0], 431_940, "QPs on a node:")
	f = enginetest.Load(t, job, "connections.mode=xrc-s")
	simtest.ErrorIf(t, len(f.Warnings) != 0, "warnings %v", f.Warnings)
	// Of kind mpi: 4 processes on each of 2 nodes, 7 QPs each. Of kind jobs: a job of 4, 2 on a node: 3 each.
	const (
		program = "kind = \"mpi\"\njob = { ranks = 8 }\n"
		jobs    = "kind = \"jobs\"\ntopology = { type = \"single-switch\", terminals = 4 }\nrouting = { type = \"table\" }\n[job.a]\nprogram = \"osu-alltoall\"\nranks = 4\nper_node = 2\n[job.b]\nprogram = \"osu-alltoall\"\nranks = 2\n"
	)
	for text, most := range map[string][2]string{program: {"27", "28"}, jobs: {"5", "6"}} {
		for i, want := range [2]bool{true, false} {
			f := enginetest.Load(t, text, "hca.max_qp="+most[i])
			warned := false
			for _, w := range f.Warnings {
				warned = warned || strings.Contains(w.Message, most[i]+" is less than the "+most[1]+" queue pairs")
			}
			simtest.Equal(t, warned, want, "max_qp %s: %v", most[i], f.Warnings)
		}
	}
	simtest.Equal(t, enginetest.Numbers(t, enginetest.OutcomeOf(t, program).Results, "qps_per_node")[0], 28, "QPs on a node:")
}
