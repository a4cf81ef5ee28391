package collectives_test

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/collectives/collectivestest"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// Every number of ranks up to 70, every division into nodes and groups, round the
// ring, with all blocks at once, and by Bruck's algorithm (critical block above all sizes).
func TestLeadersKeepTheContract(t *testing.T) {
	for n := 1; n <= 70; n++ {
		for m := 1; m <= n; m++ {
			for d := 1; d <= m && n%m == 0; d++ {
				if m%d != 0 {
					continue
				}
				for _, settings := range []collectives.LeaderSettings{
					{Segment: true},
					{Segment: true, SwitchOver: collectives.SwitchOver{1 << 40}},
					{Segment: true, AtOnce: true},
				}[:2+n%2] { // at once with odd numbers of ranks, for time's sake
					env := collectives.Env{Ranks: n, PerNode: m, Bytes: 13}
					err := collectivestest.VerifyContract(collectives.AlltoallLeaders(env, d, settings))
					simtest.FatalIf(t, err != nil, "%d ranks, %d a node, %d leaders, %+v: %v", n, m, d, settings, err)
				}
			}
		}
	}
}

// The rule's choices in the paper: table 2, and section 3.1 for nodes of 12.
func TestPLPLeaders(t *testing.T) {
	for _, c := range []struct {
		m     int
		bytes int64
		want  int
	}{
		{8, 16, 8}, {8, 128, 8}, {8, 129, 1}, {8, 256, 1}, {8, 512, 2}, {8, 1024, 4}, {8, 2048, 8}, {8, 65536, 8},
		{12, 32, 12}, {12, 64, 1}, {12, 128, 2}, {12, 256, 4}, {12, 512, 6}, {12, 1024, 12},
		{1, 1, 1}, {1, 1 << 20, 1}, {7, 200, 1}, {7, 2000, 7},
	} {
		got := collectives.PLPLeaders(c.m, c.bytes, collectives.DefaultCritical)
		simtest.ErrorIf(t, got != c.want, "%d ranks a node, %d B: %d leaders, want %d", c.m, c.bytes, got, c.want)
	}
}

func TestLeadersNeedWholeNodes(t *testing.T) {
	for _, c := range []struct{ ranks, perNode, leaders int }{{10, 4, 0}, {8, 4, 3}, {8, 0, 0}} {
		config := collectives.PLPSettings{collectives.DefaultLeaders, c.leaders}
		_, err := collectives.Registry.Build("alltoall-plp", &config, collectives.Env{Ranks: c.ranks, PerNode: c.perNode, Bytes: 8})
		simtest.ErrorIf(t, err == nil, "%+v: no error", c)
	}
}

// 26 handshakes a rank at 160 ranks and 30 at 240: two in each of 13 and 15 steps, 13*14+1 = 183 and 15*16+1 = 241
// being the first to reach them. With every block ending in the default value a notice follows each. All at once takes
// the same messages in 13 steps with handshakes and one round more.
func TestLSSMessages(t *testing.T) {
	for _, c := range []struct {
		ranks, notice   int
		atOnce          bool
		control, rounds int
	}{
		{160, 0, false, 26, 1 + 13 + 159},
		{240, 0, false, 30, 1 + 15 + 239},
		{2, 0, false, 2, 3},
		{3, 0, false, 2, 4},
		{1, 0, false, 0, 1},
		{160, 1, false, 26 + 159, 1 + 13 + 159},
		{160, 0, true, 26, 1 + 2*13 + 1},
		{160, 1, true, 26 + 159, 1 + 2*13 + 1},
		{2, 0, true, 2, 3},
		{1, 0, true, 0, 1},
	} {
		l := collectives.AlltoallLSS(collectives.Env{Ranks: c.ranks, Bytes: 8}, collectives.LSSSettings{c.notice, c.atOnce, 16})
		simtest.ErrorIf(t, l.Rounds(0) != c.rounds, "%+v: %d rounds", c, l.Rounds(0))
		control, writes := 0, 0
		for round := range l.Rounds(0) {
			for _, op := range l.Round(0, round, nil) {
				switch {
				case op.Kind == collectives.Send && op.Control:
					control++
				case op.Kind == collectives.Send && op.Protocol == collectives.Direct:
					writes++
				}
			}
		}
		simtest.ErrorIf(t, control != c.control || writes != c.ranks-1, "%+v: %d control messages, %d writes", c, control, writes)
	}
	for n := 1; n <= 70; n++ {
		for _, atOnce := range []bool{false, true} {
			err := collectivestest.VerifyContract(collectives.AlltoallLSS(collectives.Env{Ranks: n, PerNode: 1, Bytes: 13}, collectives.LSSSettings{3, atOnce, 16}))
			simtest.FatalIf(t, err != nil, "%d ranks with notices, at once %v: %v", n, atOnce, err)
		}
	}
}

// TestLSSNotices: of five ranks the block from rank r to rank s is number 5r + s; every third ends in the
// default value: 3, 9, 15 and 21, from 0 to 3, 1 to 4, 3 to 0 and 4 to 1. Numbers 0, 6, 12, 18 and 24 are ranks' own.
func TestLSSNotices(t *testing.T) {
	l := collectives.AlltoallLSS(collectives.Env{Ranks: 5, Bytes: 8}, collectives.LSSSettings{NoticeEvery: 3, Address: 16})
	for rank, want := range [][]int32{{3}, {4}, nil, {0}, {1}} {
		var got []int32
		for _, op := range sends(l, rank) {
			if op.Control && op.Bytes == 64 {
				got = append(got, op.Peer)
			}
		}
		simtest.ErrorIf(t, !slices.Equal(got, want), "rank %d gives notice to %v, want %v", rank, got, want)
	}
}

// Number of messages and bytes of the busiest rank, from the closed forms.
func TestCosts(t *testing.T) {
	const n, bytes = 12, 1200
	env := collectives.Env{Ranks: n, Bytes: bytes}
	for _, c := range []struct {
		name                 string
		messages, sent, rank int
	}{
		{"barrier-dissemination", 4, 4, 0},                   // ceil(log2 12)
		{"broadcast-binomial", 4, 4 * bytes, 0},              // to 8, 4, 2, 1
		{"broadcast-doubling", 2, 2 * bytes, 2},              // to 6, 10: 2 + 4, 2 + 8
		{"broadcast-scatter-allgather", 4 + 11, 11 * 200, 0}, // all but its own chunk, then 11 chunks of 100
		{"reduce-binomial", 1, bytes, 5},
		{"allgather-ring", 11, 11 * bytes, 3},
		{"allgather-bruck", 4, 11 * bytes, 3},             // 1 + 2 + 4 + 4 blocks
		{"allreduce-ring", 22, 22 * 100, 3},               // 2 (n-1) chunks
		{"allreduce-recursive-doubling", 4, 4 * bytes, 1}, // 12 = 8 + 4: 3 exchanges and the result for rank 0
		{"alltoall-linear", 11, 11 * bytes, 3},            //
		{"alltoall-ring", 11, 11 * bytes, 3},              //
		{"alltoall-pairwise", 11, 11 * bytes, 3},          //
		{"alltoall-bruck", 4, (6 + 6 + 4 + 4) * bytes, 3}, // numbers below 12 with bit 0, 1, 2, 3
	} {
		t.Run(c.name, func(t *testing.T) {
			s := simtest.Must(collectives.Registry.New(c.name, env))(t)
			messages, sent := 0, 0
			for round := range s.Rounds(c.rank) {
				for _, op := range s.Round(c.rank, round, nil) {
					if op.Kind == collectives.Send {
						messages++
						sent += int(op.Bytes)
					}
				}
			}
			simtest.ErrorIf(t, messages != c.messages || sent != c.sent, "rank %d sends %d messages, %d B; want %d, %d", c.rank, messages, sent, c.messages, c.sent)
		})
	}
}

// The verifier itself: schedules with one error each.
func TestVerifyFindsErrors(t *testing.T) {
	good := func(rank, _ int, dst []collectives.Op) []collectives.Op {
		peer := int32(1 - rank)
		return append(dst, collectives.Op{Kind: collectives.Recv, Peer: peer, Bytes: 8, Combine: true, Data: collectives.Slot(0)},
			collectives.Op{Kind: collectives.Send, Peer: peer, Bytes: 8, Data: collectives.Slot(0)})
	}
	for _, c := range []struct {
		name, want string
		change     func(rank int, ops []collectives.Op) []collectives.Op
	}{
		{"none", "", func(_ int, ops []collectives.Op) []collectives.Op { return ops }},
		{"deadlock", "deadlock", func(_ int, ops []collectives.Op) []collectives.Op { return ops[:1] }},
		{"left over", "never complete", func(rank int, ops []collectives.Op) []collectives.Op {
			if rank == 0 {
				return append(ops, ops[1])
			}
			return ops
		}},
		{"wrong size", "an operation of 9 B on slots of 8 B", func(_ int, ops []collectives.Op) []collectives.Op { ops[0].Bytes = 9; return ops }},
		{"race", "while it is in use", func(_ int, ops []collectives.Op) []collectives.Op { ops[0].Combine = false; return ops }},
		{"twice", "combined twice", func(_ int, ops []collectives.Op) []collectives.Op { return append(ops, ops...) }},
		{"nothing done", "ends with tokens", func(int, []collectives.Op) []collectives.Op { return nil }},
		{"empty slot", "holds nothing", func(_ int, ops []collectives.Op) []collectives.Op { ops[1].Data = collectives.Slot(1); return ops }},
		{"no such slot", "slot 2 of 2", func(_ int, ops []collectives.Op) []collectives.Op { ops[1].Data = collectives.Slot(2); return ops }},
		{"to itself", "message with rank", func(rank int, ops []collectives.Op) []collectives.Op { ops[1].Peer = int32(rank); return ops }},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := collectivestest.VerifyContract(sumOfTwo{collectives.Uniform(2, 1, func(rank, round int, dst []collectives.Op) []collectives.Op {
				return c.change(rank, good(rank, round, dst))
			})})
			simtest.ErrorIf(t, c.want == "" && err != nil || !strings.Contains(fmt.Sprint(err), c.want), "error %v, want one with %q", err, c.want)
		})
	}
}

// sumOfTwo is a schedule that is to sum up slot 0 of two ranks at both; slot 1 is scratch space.
type sumOfTwo struct{ collectives.Schedule }

func (sumOfTwo) Contract() collectives.Contract {
	return collectives.Contract{
		Slots:   2,
		Bytes:   func(_, _ int) int64 { return 8 },
		Initial: func(rank, slot int) (collectives.Token, bool) { return collectives.Token(rank), slot == 0 },
		Final: func(_, slot int, dst []collectives.Token) []collectives.Token {
			if slot == 1 {
				return dst
			}
			return append(dst, 0, 1)
		},
	}
}

func TestComposition(t *testing.T) {
	barrier := collectives.BarrierDissemination(4)
	s := collectives.Sequence(collectives.Work(4, 5), barrier, barrier, barrier)
	simtest.Equal(t, s.Rounds(2), 1+3*2, "rounds =")
	// Round 6 is round 1 of the third barrier: distance 2.
	ops := s.Round(3, 6, nil)
	simtest.ErrorIf(t, len(ops) != 2 || ops[1].Peer != 1, "round 6 of rank 3 = %v", ops)
	// Columns of a 4 x 3 grid: rank 3*i + j is index i of group j.
	columns := collectives.Split(barrier, 12, func(rank int) (int, int) { return rank % 3, rank / 3 }, func(group, index int) int { return 3*index + group })
	ops = columns.Round(10, 0, nil)
	simtest.ErrorIf(t, ops[1].Peer != 1 || ops[0].Peer != 7, "rank 10 sends to %d, receives from %d; want 1, 7", ops[1].Peer, ops[0].Peer)
	ops = collectives.Divide(barrier, 24, 3).Round(22, 0, nil) // rank 10 of the second of two such grids
	simtest.ErrorIf(t, ops[1].Peer != 13 || ops[0].Peer != 19, "rank 22 sends to %d, receives from %d; want 13, 19", ops[1].Peer, ops[0].Peer)
	simtest.Equal(t, (&collectives.Op{Kind: collectives.Copy, Data: collectives.Range(3, 0)}).Blocks(), 0, "blocks of a copy of nothing:")
}

// sends are the messages that a rank sends in all its rounds.
func sends(c collectives.Collective, rank int) (all []collectives.Op) {
	for round := range c.Rounds(rank) {
		for _, op := range c.Round(rank, round, nil) {
			if op.Kind == collectives.Send {
				all = append(all, op)
			}
		}
	}
	return all
}

// TestLeadersExchange: two leaders on each of four nodes of four ranks exchange blocks of 4*2 of 64 B,
// 512 B. If that is not above critical it goes by Bruck's, with 3*2 + 2 rounds, else round the ring in
// 4, or in one with all at once; a round of gathering and one of scattering besides. What a rank hands its leaders is copied
// into the segment only, what it gets out of it only.
func TestLeadersExchange(t *testing.T) {
	env := collectives.Env{Ranks: 16, PerNode: 4, Bytes: 64}
	for critical, rounds := range map[sim.Bytes]int{512: 10, 511: 6} {
		for _, segment := range []bool{true, false} {
			c := collectives.AlltoallLeaders(env, 2, collectives.LeaderSettings{Segment: segment, SwitchOver: collectives.SwitchOver{Critical: critical}})
			simtest.Equal(t, c.Rounds(0), rounds, "critical %v: rounds", critical)
			atOnce := collectives.AlltoallLeaders(env, 2, collectives.LeaderSettings{Segment: segment, SwitchOver: collectives.SwitchOver{Critical: critical}, AtOnce: true})
			simtest.Equal(t, atOnce.Rounds(0), map[int]int{10: 10, 6: 3}[rounds], "critical %v, all at once: rounds", critical)
			in, out := collectives.In, collectives.Out
			if !segment {
				in, out = collectives.InAndOut, collectives.InAndOut
			}
			all := sends(c, 0) // leader of ranks 0 and 1; 2 is the other leader
			first, last := all[0], all[len(all)-1]
			simtest.Alike(t, fmt.Sprintf("segment %v: the first message, the last", segment), first.Peer, 2, first.Segment, in, last.Peer, 1, last.Segment, out)
		}
	}
}

// TestProtocolsOfAlltoalls: the protocol of all blocks; handshakes go eagerly, the first with one
// address, by the paper a key of 64 B and 8 B.
func TestProtocolsOfAlltoalls(t *testing.T) {
	for name, want := range map[string]collectives.Protocol{
		"alltoall-ring": collectives.Auto, "alltoall-ring-rendezvous": collectives.Rendezvous,
		"alltoall-direct-eager": collectives.Direct, "alltoall-lss": collectives.Direct,
	} {
		first := true
		for _, op := range sends(simtest.Must(collectives.Registry.New(name, collectives.Env{Ranks: 6, Bytes: 1 << 16}))(t), 0) {
			simtest.ErrorIf(t, !op.Control && op.Protocol != want, "%s: a block goes by %v, want %v", name, op.Protocol, want)
			simtest.ErrorIf(t, op.Control && op.Protocol != collectives.Eager, "%s: a note of %d B goes by %v", name, op.Bytes, op.Protocol)
			simtest.ErrorIf(t, op.Control && name == "alltoall-lss" && first && op.Bytes != 72, "the first handshake has %d B, want 72", op.Bytes)
			first = false
		}
	}
}

// TestOrderOfExchange: to whom rank 1 of six sends, message by message, and who it is ready to hear from. Round the ring,
// and in a linear alltoall, the k-th block goes k ranks on and comes from k ranks back; Bruck's goes 1, 2 and 4 ranks on,
// as the notes of the barrier do. By Direct Eager the k-th block's receiver first tells the rank k back; a note follows the
// block. LSS shakes hands with both ranks k away in steps 1 and 2, after which 2*3+1 addresses are known.
func TestOrderOfExchange(t *testing.T) {
	ring, back := []int32{2, 3, 4, 5, 0}, []int32{0, 5, 4, 3, 2}
	for _, c := range []struct {
		name         string
		sends, heard []int32
	}{
		{"alltoall-ring", ring, back},
		{"alltoall-ring-rendezvous", ring, back},
		{"alltoall-linear", ring, back},
		{"alltoall-bruck", []int32{2, 3, 5}, []int32{0, 5, 3}},
		{"barrier-dissemination", []int32{2, 3, 5}, []int32{0, 5, 3}},
		{"alltoall-direct-eager", []int32{0, 2, 2, 5, 3, 3, 4, 4, 4, 3, 5, 5, 2, 0, 0}, []int32{2, 0, 0, 3, 5, 5, 4, 4, 4, 5, 3, 3, 0, 2, 2}},
		{"alltoall-lss", []int32{2, 0, 2, 3, 5, 3, 4, 5, 0}, []int32{2, 0, 0, 3, 5, 5, 4, 3, 2}},
	} {
		s, peers := simtest.Must(collectives.Registry.New(c.name, collectives.Env{Ranks: 6, Bytes: 8}))(t), map[collectives.Kind][]int32{}
		for round := range s.Rounds(1) {
			for _, op := range s.Round(1, round, nil) {
				peers[op.Kind] = append(peers[op.Kind], op.Peer)
				simtest.ErrorIf(t, op.Control && c.name == "alltoall-direct-eager" && op.Bytes != 64, "%s: a note of %d B, want 64", c.name, op.Bytes)
			}
		}
		simtest.EqualSlices(t, peers[collectives.Send], c.sends, "%s: sends to", c.name)
		simtest.EqualSlices(t, peers[collectives.Recv], c.heard, "%s: hears from", c.name)
	}
	down := sends(simtest.Must(collectives.Registry.New("broadcast-binomial", collectives.Env{Ranks: 12, Bytes: 8}))(t), 0) // largest subtree first
	simtest.Alike(t, "the root sends to", []int32{down[0].Peer, down[1].Peer, down[2].Peer, down[3].Peer}, []int32{8, 4, 2, 1})
}

// TestLibraryAlgorithm holds the rules to lines of the libraries' sources: Open MPI 4.0 takes Bruck's alltoall below
// 200 B on more than 12 ranks, linear below 3,000 B, else pairwise, and recursive doubling below 10,000 B of an
// allreduce; an allgather goes by all that is gathered, 64 times 781 B being 49,984. MPICH's limits are inclusive.
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
// with any fanout. Of 1000 B in segments of 300 the root of three ranks sends 300, 300, 300 and 100 down a chain, and
// two parts of either half down a split tree, as it does of 4096 B in the usual segments of 1024.
func TestSegments(t *testing.T) {
	for name, settings := range map[string]collectives.TreeSettings{"broadcast-chain": {Fanout: 1, Segment: 300}, "broadcast-split-binary": {Fanout: 2, Segment: 300}} {
		all := sends(simtest.Must(collectives.Registry.Build(name, &settings, collectives.Env{Ranks: 3, Bytes: 1000}))(t), 0)
		simtest.ErrorIf(t, len(all) != 4 || all[0].Bytes+all[1].Bytes+all[2].Bytes+all[3].Bytes != 1000, "%s: %+v", name, all)
	}
	simtest.Equal(t, len(sends(simtest.Must(collectives.Registry.New("broadcast-split-binary", collectives.Env{Ranks: 3, Bytes: 4096}))(t), 0)), 4, "messages")
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
			bytes, all := int64(0), sends(c, rank)
			for _, op := range all {
				bytes += op.Bytes
				by := map[int64]collectives.Segment{100: collectives.In, 1200: collectives.Out, 300: 0, 600: 0}[op.Bytes]
				simtest.Equal(t, op.Segment, by, "critical %v: rank %d sends %d B by segment", critical, rank, op.Bytes)
			}
			simtest.ErrorIf(t, int64(len(all)) != want.messages || bytes != want.bytes, "critical %v: rank %d sends %d messages, %d B; want %d, %d", critical, rank, len(all), bytes, want.messages, want.bytes)
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
	simtest.ErrorIf(t, control != 1 || writes != 5 || len(sends(c, 2)) != 6, "%d handshakes, %d writes of %d messages", control, writes, len(sends(c, 2)))
}
