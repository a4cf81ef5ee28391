package mpi_test

import (
	"math"
	"testing"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/skeletons"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// skeletonSchedule is a skeleton that is a schedule, with changed settings.
func skeletonSchedule[C any](t testing.TB, name string, ranks int, set func(*C)) collectives.Schedule {
	t.Helper()
	s, err := param.Make(skeletons.Registry, name, skeletons.Env{Ranks: ranks, PerNode: 4}, set)
	if err != nil {
		t.Fatal(err)
	}
	return s.(collectives.Schedule)
}

// Half a ping-pong of 64 B is the paper's 1.26 us; eight streams of 64 KiB in
// the way make it about 29 us.
func TestPingPong(t *testing.T) {
	config := mpi.QDRConfig(1)
	config.Protocols.EagerCopies = false
	s := skeletonSchedule(t, "ping-pong", 2, func(c *skeletons.Micro) { c.Iterations = 4 })
	work := mpi.RunSchedule(s, mpi.Costs{}, sim.Picosecond)
	if _, err := config.Run(work); err != nil {
		t.Fatal(err)
	}
	ends := work.PhaseEnds()
	if got := float64(ends[3]-ends[2]) / 2 / us; math.Abs(got-1.26) > 0.001 {
		t.Errorf("latency %v us, want 1.26", got)
	}
}

// A window of 64 messages of 64 KiB by rendezvous fills the adapter: 3.04 GB/s.
func TestBandwidth(t *testing.T) {
	s := skeletonSchedule(t, "osu-bandwidth", 2, func(c *skeletons.Micro) { c.Bytes, c.Iterations = 65536, 2 })
	work := mpi.RunSchedule(s, mpi.Costs{}, sim.Picosecond)
	if _, err := mpi.QDRConfig(1).Run(work); err != nil {
		t.Fatal(err)
	}
	ends := work.PhaseEnds()
	rate := 64 * 65536 / (float64(ends[1]-ends[0]) / 1e12) / 1e9
	if rate < 2.9 || rate > 3.0425 {
		t.Errorf("%.3f GB/s, want a little less than 3.0425", rate)
	}
}
