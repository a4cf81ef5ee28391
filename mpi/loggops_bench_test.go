package mpi_test

import (
	"testing"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim"
)

func BenchmarkLogGOPS(b *testing.B) {
	for _, c := range []struct {
		name     string
		schedule collectives.Schedule
	}{
		{"collective=dissemination/ranks=65536", collectives.BarrierDissemination(65536)},
		{"collective=linear-alltoall/ranks=1024", collectives.AlltoallLinear(collectives.Env{Ranks: 1024, Bytes: 64})},
		{"collective=allreduce-ring/ranks=1024", collectives.AllreduceRing(1024, 1<<20)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			messages := int64(0)
			for b.Loop() {
				r, err := mpi.DefaultLogGOPS.Run(mpi.RunSchedule(c.schedule, mpi.Costs{}, sim.Nanosecond), nil)
				if err != nil {
					b.Fatal(err)
				}
				messages += r.Messages
			}
			b.ReportMetric(float64(messages)/b.Elapsed().Seconds(), "messages/s")
		})
	}
}
