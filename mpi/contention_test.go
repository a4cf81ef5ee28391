package mpi_test

import (
	"math"
	"testing"

	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/skeletons"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

func TestContentionOfThePaper(t *testing.T) {
	for _, c := range []struct {
		name            string
		streams         int
		bytes           sim.Bytes
		want, tolerance float64
	}{
		// Calibrated: 0.2 + 0.05 + 0.25 + 0.2 + 0.289 + 0.25 us and 64 B.
		{"64 B alone", 0, 64, 1.26, 0.01},
		// One RDMA write: the same without RecvOverhead, seen by polling; the
		// paper's 22.8 us.
		{"64 KiB alone", 0, 65536, 22.8, 0.01},
		// The quantum is calibrated on this one.
		{"64 B among 8 streams", 8, 64, 29, 0.05},
		// Predicted: nine QPs share the engine, 9 x 21.54 + 1.26 = 195.1; the
		// paper measured 195.8.
		{"64 KiB among 8 streams", 8, 65536, 195.8, 0.05},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := mpi.QDRConfig(c.streams + 1)
			config.Protocols.EagerCopies = false
			s, err := param.Make(skeletons.Registry, "contention", skeletons.Env{Ranks: 3 * (c.streams + 1)}, func(x *skeletons.Contention) { x.Bytes = c.bytes })
			if err != nil {
				t.Fatal(err)
			}
			work := s.Run(sim.Picosecond, mpi.Costs{}).(*mpi.ScheduleRun)
			r, err := config.Run(work)
			if err != nil {
				t.Fatal(err)
			}
			ends := work.PhaseEnds()
			if c.streams > 0 && int64(r.Finish[0]) < ends[len(ends)-1] {
				t.Errorf("the streams end at %v, before the ping-pong", r.Finish[0])
			}
			got := sim.Time(ends[99]-ends[0]).Microseconds() / (2 * 99)
			if math.Abs(got-c.want) > c.tolerance*c.want {
				t.Errorf("latency %.3f us, want %v within %v", got, c.want, c.tolerance)
			}
			t.Logf("%.3f us", got)
		})
	}
}

// Streams in windows: with 5 round trips a stream has 22 messages to send, in windows of
// 8 three windows of 8 by rendezvous and three acknowledgements. Six streams and 10 balls.
func TestContentionWindows(t *testing.T) {
	config := skeletons.Contention{Bytes: 64, StreamBytes: 65536, Iterations: 5, Window: 8, DirectFrom: 8192}
	p, err := skeletons.Registry.Build("contention", &config, skeletons.Env{Ranks: 9, PerNode: 3})
	if err != nil {
		t.Fatal(err)
	}
	r, err := mpi.QDRConfig(3).Run(p.Run(sim.Picosecond, mpi.Costs{}))
	if err != nil {
		t.Fatal(err)
	}
	if want := int64(6*(24+3) + 10); r.Stats.Messages != want || r.Stats.Rendezvous != 6*24 {
		t.Errorf("%d messages, %d by rendezvous; want %d and %d", r.Stats.Messages, r.Stats.Rendezvous, want, 6*24)
	}
}
