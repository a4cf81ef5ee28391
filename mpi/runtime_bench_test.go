package mpi_test

import (
	"testing"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim"
)

func BenchmarkRuntime(b *testing.B) {
	for _, c := range []struct {
		name     string
		perNode  int
		schedule collectives.Schedule
	}{
		{"collective=ring-alltoall/ranks=1024/per-node=4", 4, collectives.AlltoallRing(collectives.Env{Ranks: 1024, Bytes: 1024})},
		{"collective=dissemination/ranks=131072/per-node=4", 4, collectives.BarrierDissemination(131072)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			messages := int64(0)
			for b.Loop() {
				r, err := mpi.QDRConfig(c.perNode).Run(mpi.RunSchedule(c.schedule, mpi.Costs{}, sim.Picosecond))
				if err != nil {
					b.Fatal(err)
				}
				messages += r.Stats.Messages
			}
			b.ReportMetric(float64(messages)/b.Elapsed().Seconds(), "messages/s")
		})
	}
}
