package mpi_test

import (
	"math/bits"
	"testing"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim"
)

// Without contention the alltoalls take what the paper's closed forms say (Li
// et al. 2013, equations 1 and 2): with T(n) the time of a message of n bytes,
// the ring N-1 times T(m), Bruck's algorithm the sum of T over its rounds, in
// round k as many blocks as there are numbers below N with bit k. Ranks are on
// nodes of their own, copies cost nothing.
func TestAlltoallClosedForms(t *testing.T) {
	c := mpi.QDRConfig(1)
	c.Protocols.EagerCopies = false
	one := func(bytes float64) float64 { return hop + adapters(bytes) }
	for _, n := range []int{2, 7, 12, 16, 31} {
		for _, m := range []int{1, 100, 250} {
			env := collectives.Env{Ranks: n, PerNode: 1, Bytes: sim.Bytes(m)}
			ring := runSchedule(t, c, collectives.AlltoallRing(env))
			within(t, "ring", ring.Elapsed, float64(n-1)*one(float64(m)))

			want := 0.0
			for k := range bits.Len(uint(n - 1)) {
				blocks := 0
				for j := range n {
					blocks += j >> k & 1
				}
				want += one(float64(m * blocks))
			}
			bruck := runSchedule(t, c, collectives.AlltoallBruck(env))
			within(t, "Bruck", bruck.Elapsed, want)
		}
	}
}

// With N ranks in nodes of M and one leader each, the leaders' part is equation
// 1's ring among N/M ranks with blocks of M*M*m: what is left is gathering and
// scattering through shared memory, which is the same however many nodes there
// are but for the size of the messages; without costs of memory it is constant.
func TestOneLeaderClosedForm(t *testing.T) {
	const perNode, bytes = 4, 64
	c := mpi.QDRConfig(perNode)
	c.Protocols.EagerCopies = false
	c.Protocols.CopyRate = 1 << 60
	rest := func(nodes int) float64 {
		env := collectives.Env{Ranks: nodes * perNode, PerNode: perNode, Bytes: bytes}
		r := runSchedule(t, c, collectives.AlltoallLeaders(env, 1, collectives.LeaderSettings{}))
		return float64(r.Elapsed)/us - float64(nodes-1)*(hop+adapters(perNode*perNode*bytes))
	}
	for _, nodes := range []int{3, 5, 9} {
		if d := rest(nodes) - rest(2); d > 1e-3 || d < -1e-3 {
			t.Errorf("%d nodes: gathering and scattering take %v us more than with 2", nodes, d)
		}
	}
}
