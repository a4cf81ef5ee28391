package collectives_test

import (
	"fmt"
	"testing"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/collectives/collectivestest"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestConformance holds every registered algorithm to the conformance suite.
func TestConformance(t *testing.T) {
	for _, name := range collectives.Registry.Names() {
		t.Run(name, func(t *testing.T) { collectivestest.Conform(t, name) })
	}
}

// TestAlltoallvKeepsItsContract: blocks of sizes of their own.
func TestAlltoallvKeepsItsContract(t *testing.T) {
	sizes := func(from, to int) int64 { return int64((from*31 + to*17) % 97) }
	for _, name := range []string{"alltoall-linear", "alltoall-ring", "alltoall-pairwise"} {
		for n := 1; n <= 70; n++ {
			simtest.ErrorIf(t, !collectivestest.Verify(t, name, collectives.Env{Ranks: n, Sizes: sizes}, nil),
				"%s refuses %d ranks", name, n)
		}
	}
	simtest.Refuse(collectives.Registry.New("alltoall-bruck", collectives.Env{Ranks: 4, Sizes: sizes}))(t, "equal size")
}

// line is a broadcast from rank 0 down a line: every rank passes on what it has got.
type line struct {
	ranks int
	bytes int64
}

func (l line) Ranks() int { return l.ranks }

// Rounds: one to receive and one to send.
func (l line) Rounds(int) int { return 2 }

func (l line) Round(rank, round int, dst []collectives.Op) []collectives.Op {
	switch {
	case round == 0 && rank > 0:
		return append(dst, collectives.Op{Kind: collectives.Recv, Peer: int32(rank - 1), Bytes: l.bytes, Data: collectives.Slot(0)})
	case round == 1 && rank < l.ranks-1:
		return append(dst, collectives.Op{Kind: collectives.Send, Peer: int32(rank + 1), Bytes: l.bytes, Data: collectives.Slot(0)})
	}
	return dst
}

// Contract: one slot, which rank 0 has at the start and all have at the end.
func (l line) Contract() collectives.Contract {
	return collectives.Contract{
		Slots:   1,
		Bytes:   func(_, _ int) int64 { return l.bytes },
		Initial: func(rank, _ int) (collectives.Token, bool) { return 7, rank == 0 },
		Final:   func(_, _ int, dst []collectives.Token) []collectives.Token { return append(dst, 7) },
	}
}

// An algorithm of one's own: a schedule, and a contract that it is held to.
func Example_ownCollective() {
	fmt.Println(collectivestest.VerifyContract(line{ranks: 5, bytes: 1024}))
	// Output: <nil>
}
