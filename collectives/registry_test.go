package collectives_test

import (
	"cmp"
	"testing"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/collectives/collectivestest"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestLibraryAlgorithm holds the rules to lines of the libraries' sources: Open MPI 4.0 takes Bruck's
// alltoall below 200 B on more than 12 ranks, linear below 3,000 B, else pairwise, and recursive doubling
// below 10,000 B of an allreduce; an allgather goes by all that is gathered. MPICH's limits are inclusive.
func TestLibraryAlgorithm(t *testing.T) {
	for _, c := range []struct {
		library, operation string
		ranks              int
		bytes              sim.Bytes
		want               string
	}{
		{"open-mpi-4.0", "alltoall", 64, 199, "alltoall-bruck"},
		{"open-mpi-4.0", "alltoall", 64, 200, "alltoall-linear"},
		{"open-mpi-4.0", "alltoall", 12, 1, "alltoall-linear"},
		{"open-mpi-4.0", "alltoall", 12, 3000, "alltoall-pairwise"},
		{"open-mpi-4.0", "allreduce", 64, 9999, "allreduce-recursive-doubling"},
		{"open-mpi-4.0", "allreduce", 64, 10000, "allreduce-ring"},
		{"open-mpi-4.0", "allgather", 64, 781, "allgather-recursive-doubling"}, // 49,984 B in all
		{"open-mpi-4.0", "allgather", 48, 781, "allgather-bruck"},
		{"open-mpi-4.0", "allgather", 64, 782, "allgather-neighbor-exchange"},
		{"open-mpi-4.0", "broadcast", 64, 4096, "broadcast-split-binary"},
		{"open-mpi", "broadcast", 24, 4096, "broadcast-doubling"},
		{"open-mpi", "allreduce", 192, 4, "allreduce-reduce-broadcast"},
		{"open-mpi", "allreduce", 192, 1 << 20, "allreduce-recursive-halving"},
		{"open-mpi", "barrier", 256, 0, "barrier-tree"},
		{"open-mpi", "alltoall", 4, 524288, "alltoall-pairwise"},
		{"open-mpi", "alltoallv", 64, 4, "alltoall-pairwise"},
		{"open-mpi", "allgather", 512, 64, "allgather-bruck"},
		{"open-mpi", "allgatherv", 64, 256, "allgather-bruck"},
		{"open-mpi", "broadcast", 2, 1024, "broadcast-linear"},
		{"open-mpi", "broadcast", 4096, 8192, "broadcast-tree"},
		{"open-mpi", "reduce", 64, 1 << 20, "reduce-binomial"},
		{"mpich", "reduce", 64, 2048, "reduce-binomial"},
		{"mpich", "alltoall", 64, 256, "alltoall-bruck"},
		{"mpich", "alltoall", 64, 257, "alltoall-linear"},
		{"intel-mpi", "allreduce", 64, 2048, "allreduce-recursive-doubling"},
		{"mvapich", "alltoall", 64, 8192, "alltoall-bruck"},
		{"mvapich", "broadcast", 64, 12288, "broadcast-scatter-allgather"},
	} {
		got := simtest.Must(collectives.LibraryAlgorithm(c.library, c.operation, collectives.Env{Ranks: c.ranks, Bytes: c.bytes}))(t)
		simtest.ErrorIf(t, got != c.want,
			"%s, %s of %v on %d ranks: %s, want %s", c.library, c.operation, c.bytes, c.ranks, got, c.want)
	}
	// Scatter, gather and a scatter with an allgather by recursive doubling are not weft's.
	for operation, ranks := range map[string]int{"reduce": 64, "broadcast": 1024, "scatter": 2} {
		library := map[string]string{"reduce": "intel-mpi"}[operation]
		_, err := collectives.LibraryAlgorithm(cmp.Or(library, "open-mpi"), operation, collectives.Env{Ranks: ranks, Bytes: 1 << 20})
		simtest.Fail(t, err, "weft has none")
	}
}

// TestSegments: broadcasts down trees keep their contract in segments that do not divide the vector, and
// with any fanout.
func TestSegments(t *testing.T) {
	for _, name := range []string{"broadcast-chain", "broadcast-tree", "broadcast-knomial", "broadcast-doubling", "broadcast-split-binary"} {
		for n := 1; n <= 20; n++ {
			for _, fanout := range []int{1, 3} {
				collectivestest.Verify(t, name, collectives.Env{Ranks: n, Bytes: 1000}, func(config any) {
					c := config.(*collectives.TreeSettings)
					c.Segment, c.Fanout = 300, fanout
				})
			}
		}
	}
}
