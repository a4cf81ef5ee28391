package mpi_test

import (
	"math"
	"testing"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// Noise adds what it says: 1,000 computations of 1 us on each of 8 ranks with 10 %
// on average take 1.1 ms, within 4 standard errors of 0.1/sqrt(1000) us a
// computation; the daemon takes a tenth of the CPU besides: 1.1/0.9 ms.
func TestNoisyComputing(t *testing.T) {
	work := collectives.Uniform(8, 1000, func(_, _ int, dst []collectives.Op) []collectives.Op {
		return append(dst, collectives.Op{Kind: collectives.Compute, Time: sim.Microsecond})
	})
	c := mpi.QDRConfig(1)
	c.Noise = mpi.Noise{Compute: 0.1, ComputeLaw: mpi.Exponential}
	for _, daemon := range []bool{false, true} {
		want := 1.1e9
		if daemon {
			c.Noise.DaemonEvery, c.Noise.DaemonTime = 10*sim.Microsecond, sim.Microsecond
			want /= 0.9
		}
		r := simtest.Must(c.Run(mpi.RunSchedule(work, mpi.Costs{}, sim.Picosecond)))(t)
		for rank, finish := range r.Finish {
			d := math.Abs(float64(finish) - want)
			simtest.ErrorIf(t, d > 4*0.1/math.Sqrt(1000)*1e9+1e6,
				"daemon %v: rank %d ends at %v, want %.0f us", daemon, rank, finish, want/1e6)
			simtest.ErrorIf(t, rank > 0 && finish == r.Finish[0], "daemon %v: ranks 0 and %d end at the same time", daemon, rank)
		}
	}
}

// A rank that starts late sends late: with a skew of 1 ms a message of 64 B comes
// 1.26 us after the start of its sender (a little more with copies), or with that
// of its receiver, if that is later.
func TestStartSkew(t *testing.T) {
	c := mpi.QDRConfig(1)
	c.Protocols.EagerCopies = false
	c.Noise = mpi.Noise{StartSkew: sim.Millisecond}
	for seed := range uint64(10) {
		c.Seed = seed
		r := simtest.Must(runGoal(t, c, oneMessageText("64")))(t)
		sender, receiver := c.Noise.Skew(seed, 0), c.Noise.Skew(seed, 1)
		within(t, "sender", r.Finish[0], float64(sender)/us+0.2)
		within(t, "receiver", r.Finish[1], max(float64(sender)/us+1.26, float64(receiver)/us+0.25))
		simtest.ErrorIf(t, sender == receiver || sender > sim.Millisecond, "seed %d: starts %v and %v", seed, sender, receiver)
	}
}

// Every call costs its noise: a message of 64 B has two, one on each side.
func TestNoisyCalls(t *testing.T) {
	c := mpi.QDRConfig(1)
	c.Protocols.EagerCopies = false
	c.Noise = mpi.Noise{Call: sim.Microsecond, CallLaw: mpi.Normal, Spread: 0}
	r := simtest.Must(runGoal(t, c, oneMessageText("64")))(t)
	within(t, "sender", r.Finish[0], 1.2)
	within(t, "receiver", r.Finish[1], 3.26)
}
