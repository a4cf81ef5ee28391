package mpi_test

import (
	"testing"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/skeletons"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
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
			measure(b, func() int64 {
				r := simtest.Must(mpi.QDRConfig(c.perNode).Run(mpi.RunSchedule(c.schedule, mpi.Costs{}, sim.Picosecond)))(b)
				return r.Stats.Messages
			})
		})
	}
}

// measure runs again and again what returns its number of messages, and reports how many a second.
func measure(b *testing.B, run func() int64) {
	b.ReportAllocs()
	messages := int64(0)
	for b.Loop() {
		messages += run()
	}
	b.ReportMetric(float64(messages)/b.Elapsed().Seconds(), "messages/s")
}

// someRounds is a part of a schedule, several times over.
type someRounds struct {
	collectives.Schedule
	first, rounds, times int
}

func (s someRounds) Rounds(int) int { return s.rounds * s.times }

func (s someRounds) Round(rank, round int, dst []collectives.Op) []collectives.Op {
	return s.Schedule.Round(rank, s.first+round%s.rounds, dst)
}

// Parts of iterations of NAS FT and LU, class E, as table 2 of the connections paper has them: 4
// ranks a node, a context cache that all of FT's peers do not fit into.
func BenchmarkSkeletons(b *testing.B) {
	grouped := mpi.DefaultConnections
	grouped.Mode, grouped.Group = mpi.XRCS, 4096
	lu := func(ranks, planes int) collectives.Schedule {
		return someRounds{skeletonSchedule(b, "nas-lu", ranks, func(c *skeletons.NAS) {
			c.Class, c.Iterations = "E", skeletons.Iterations{Iterations: 1, Compute: 552 * sim.Millisecond}
		}), 0, 3 * planes, 1}
	}
	// Rounds of the transposes within rows and columns.
	transposes := func(ranks, rows int) collectives.Schedule {
		points := 4096 * 2048 * 2048 / ranks
		a := collectives.AlltoallPairwise(collectives.Env{Ranks: rows, Bytes: sim.Bytes(points / rows * 16)})
		columns := ranks / rows
		return collectives.Split(a, ranks,
			func(r int) (int, int) { return r % columns, r / columns },
			func(g, i int) int { return i*columns + g })
	}
	ft := func(ranks, rows, rounds int) collectives.Schedule {
		return someRounds{transposes(ranks, rows), 0, rounds, 1}
	}
	// Rounds from 512 on lead out of groups of 4096.
	outside := func(rounds, times int) collectives.Schedule {
		return someRounds{transposes(16384, 2048), 512, rounds, times}
	}
	for _, c := range []struct {
		name        string
		connections mpi.Connections
		schedule    collectives.Schedule
	}{
		{"lu/ranks=4096", mpi.DefaultConnections, lu(4096, 64)},
		{"lu/ranks=16384", mpi.DefaultConnections, lu(16384, 128)},
		{"ft-columns/ranks=16384", mpi.DefaultConnections, ft(16384, 2048, 65)},
		{"ft-columns/ranks=16384/xrc-groups", grouped, ft(16384, 2048, 65)},
		{"ft-connecting/ranks=16384", grouped, outside(32, 1)},
		{"ft-connected/ranks=16384", grouped, outside(8, 8)},                  // but for the first eighth
		{"ft-columns/ranks=4096", mpi.DefaultConnections, ft(4096, 2048, 33)}, // by rendezvous
		{"ft-rows/ranks=16384", mpi.DefaultConnections, ft(16384, 8, 3)},
	} {
		b.Run(c.name, func(b *testing.B) {
			measure(b, func() int64 {
				transport := mpi.DefaultLogGP
				transport.HCA = hca.QDR
				config := mpi.QDRConfig(4)
				config.Transport, config.Connections = transport.New, c.connections
				r := simtest.Must(config.Run(mpi.RunSchedule(c.schedule, mpi.Costs{}, sim.Picosecond)))(b)
				return r.Stats.Messages
			})
		})
	}
}

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
			measure(b, func() int64 {
				return simtest.Must(mpi.DefaultLogGOPS.Run(mpi.RunSchedule(c.schedule, mpi.Costs{}, sim.Nanosecond), nil))(b).Messages
			})
		})
	}
}
