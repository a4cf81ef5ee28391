package collectives_test

import (
	"cmp"
	"fmt"
	"strconv"
	"testing"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/collectives/collectivestest"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestLibraryAlgorithm holds the rules to lines of the libraries' sources: Open MPI 4.0 takes Bruck's
// alltoall below 200 B on more than 12 ranks, linear below 3,000 B, else pairwise, and recursive doubling
// below 10,000 B of an allreduce; an allgather goes by all that is gathered, 64 times 781 B being 49,984. MPICH's limits
// are inclusive.
func TestLibraryAlgorithm(t *testing.T) {
	for _, row := range simtest.Rows(t, "testdata/library_algorithms.csv") {
		ranks, bytes := simtest.Must(strconv.Atoi(row[2]))(t), simtest.Must(strconv.ParseInt(row[3], 10, 64))(t)
		got := simtest.Must(collectives.LibraryAlgorithm(row[0], row[1], collectives.Env{Ranks: ranks, Bytes: sim.Bytes(bytes)}))(t)
		simtest.Equal(t, got, row[4], "%v:", row)
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
			simtest.ErrorIf(t, !collectivestest.Verify(t, name, collectives.Env{Ranks: n, Sizes: sizes}, nil), "%s refuses %d ranks", name, n)
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

// TestAllgatherLeadersKeepTheContract: every division of up to 36 ranks into nodes and groups, by Bruck's
// algorithm and round the ring.
func TestAllgatherLeadersKeepTheContract(t *testing.T) {
	for n := 1; n <= 36; n++ {
		for m := 1; m <= n; m++ {
			for d := 1; d <= m; d++ {
				if n%m != 0 || m%d != 0 {
					continue
				}
				for _, critical := range []sim.Bytes{0, 1 << 40} {
					c := collectives.AllgatherLeaders(collectives.Env{Ranks: n, PerNode: m, Bytes: 13}, collectives.AllgatherLeaderSettings{d, critical, true})
					err := collectivestest.VerifyContract(c)
					simtest.FatalIf(t, err != nil, "%d ranks, %d a node, %d leaders, critical %v: %v", n, m, d, critical, err)
				}
			}
		}
	}
}

// TestAllgatherLeadersCosts: 24 ranks on four nodes of six with two leaders have groups of three. A
// leader sends three blocks of 3 * 100 B round the ring, or by Bruck's algorithm one and two of them in
// two messages, and to each of five ranks of its node 12 * 100 B; another rank its block only.
func TestAllgatherLeadersCosts(t *testing.T) {
	for critical, messages := range map[sim.Bytes]int{299: 3 + 5, 300: 2 + 5} {
		c := collectives.AllgatherLeaders(collectives.Env{Ranks: 24, PerNode: 6, Bytes: 100}, collectives.AllgatherLeaderSettings{2, critical, true})
		for rank, want := range map[int]struct{ messages, bytes int64 }{
			3: {int64(messages), 3*300 + 5*1200},
			4: {1, 100},
		} {
			bytes := int64(0)
			all := sends(c, rank)
			for _, op := range all {
				bytes += op.Bytes
			}
			simtest.ErrorIf(t, int64(len(all)) != want.messages || bytes != want.bytes,
				"critical %v: rank %d sends %d messages, %d B; want %d, %d", critical, rank, len(all), bytes, want.messages, want.bytes)
		}
	}
}

// TestAllgatherLSSCosts: of six ranks each gives its address of 72 B to the one before it, and writes
// five blocks into the next one's buffer.
func TestAllgatherLSSCosts(t *testing.T) {
	c := simtest.Must(collectives.Registry.New("allgather-lss", collectives.Env{Ranks: 6, Bytes: 100}))(t)
	control, writes := 0, 0
	for _, op := range sends(c, 2) {
		switch {
		case op.Control && op.Protocol == collectives.Eager && op.Bytes == 72 && op.Peer == 1:
			control++
		case op.Protocol == collectives.Direct && op.Bytes == 100 && op.Peer == 3:
			writes++
		}
	}
	simtest.ErrorIf(t, control != 1 || writes != 5 || len(sends(c, 2)) != 6,
		"%d handshakes, %d writes of %d messages", control, writes, len(sends(c, 2)))
}
