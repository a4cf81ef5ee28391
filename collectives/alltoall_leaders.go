package collectives

import (
	"fmt"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// SwitchOver is where an alltoall turns from Bruck's algorithm to the ring.
type SwitchOver struct {
	Critical sim.Bytes `toml:"critical" doc:"largest block (aggregated, with leaders) that is exchanged by Bruck's algorithm; larger ones go round the ring" min:"0B"`
}

// LeaderSettings are the settings of the alltoalls by leaders.
type LeaderSettings struct {
	SwitchOver
	Segment bool `toml:"segment" doc:"leaders work in a segment of shared memory, into which the ranks copy and out of which they are served; otherwise they exchange messages, copied on both sides"`
	AtOnce  bool `toml:"at_once" doc:"leaders post all blocks above critical at once, in place of going round the ring step by step"`
}

// DefaultCritical is where MVAPICH 1.2rc1 turns from Bruck's algorithm to the
// ring, by which the PLP paper's leaders go, too.
const DefaultCritical = 8192

// DefaultLeaders are the settings of the paper's algorithms.
var DefaultLeaders = LeaderSettings{SwitchOver: SwitchOver{DefaultCritical}, Segment: true}

// registerLeaders registers an alltoall by leaders; choose tells their number
// on a node.
func registerLeaders(name, doc string, choose func(perNode int, bytes, critical int64) int) {
	param.Register(Registry, name, doc, DefaultLeaders, func(c LeaderSettings, e Env) (Collective, error) {
		return newLeaders(name, e, c, choose)
	})
}

func newLeaders(name string, e Env, c LeaderSettings, choose func(perNode int, bytes, critical int64) int) (Collective, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	if err := e.uniform(name); err != nil {
		return nil, err
	}
	if e.PerNode < 1 || e.Ranks%e.PerNode != 0 {
		return nil, &param.ParamError{Key: "ranks", Value: e.Ranks, Want: fmt.Sprintf("whole nodes of %d ranks for collective %q", e.PerNode, name)}
	}
	d := choose(e.PerNode, int64(e.Bytes), int64(c.Critical))
	if d < 1 || e.PerNode%d != 0 {
		return nil, &param.ParamError{Key: "leaders", Value: d, Want: fmt.Sprintf("a divisor of the %d ranks of a node", e.PerNode)}
	}
	return AlltoallLeaders(e, d, c), nil
}

// AlltoallLeaders is the alltoall by d leaders a node, d a divisor of
// e.PerNode, which divides e.Ranks (Li, Sun, Huo, Ma, "Optimizing MPI Alltoall
// Communications in Multicore Clusters", 2013, sections 2.1 and 3.1; d = 1 and
// d = M ranks a node are the One-leader and the M-leader method). The ranks of
// a node form d groups of e, each with its first rank as leader.
//
//  1. Every rank hands each leader of its node the blocks for that leader's
//     group on every node, through shared memory.
//  2. The leaders of equal groups exchange aggregated blocks of M*e of them:
//     by Bruck's algorithm up to c.Critical, above it round the ring, or with
//     c.AtOnce all at once.
//  3. Every leader hands the ranks of its group what has come for them.
//
// Slots 0..N-1 and N..2N-1 are the blocks to and from ranks, as in all
// alltoalls; behind them lie a leader's aggregated blocks, each of M*e slots by
// sender and receiver, in the layout of the exchange.
func AlltoallLeaders(e Env, d int, c LeaderSettings) Collective {
	m, nodes := e.PerNode, e.Ranks/e.PerNode
	l := &leaders{
		d: d, m: m, nodes: nodes, group: m / d, ranks: e.Ranks, bytes: int64(e.Bytes),
		width: m * (m / d), base: 2 * e.Ranks,
	}
	if c.Segment {
		l.gathered, l.scattered = In, Out
	}
	inner := Env{Ranks: nodes, PerNode: 1, Bytes: e.Bytes * sim.Bytes(l.width)}
	switch {
	case inner.Bytes <= c.Critical:
		l.exchange = AlltoallBruck(inner)
	case c.AtOnce:
		l.exchange = AlltoallLinear(inner)
	default:
		l.exchange = AlltoallRing(inner)
	}
	contract := exchange(e)
	contract.Slots = l.base + l.exchange.Contract().Slots*l.width
	contract.Bytes = func(int, int) int64 { return l.bytes }
	return &program{ranks: e.Ranks, rounds: l.rounds, round: l.round, contract: contract, leaders: d}
}

type leaders struct {
	d, m, nodes, group, ranks int
	bytes                     int64
	width                     int // slots of an aggregated block
	base                      int // first slot of the aggregated blocks
	exchange                  Collective
	gathered, scattered       Segment
}

// place is a rank's node, its group there, and whether it leads it.
func (l *leaders) place(rank int) (node, group int, leads bool) {
	node, index := rank/l.m, rank%l.m
	return node, index / l.group, index%l.group == 0
}

// leader is the rank that leads a group of a node.
func (l *leaders) leader(node, group int) int { return node*l.m + group*l.group }

func (l *leaders) rounds(rank int) int {
	if node, _, leads := l.place(rank); leads {
		return 1 + l.exchange.Rounds(node) + 1
	}
	return 2
}

func (l *leaders) round(rank, round int, dst []Op) []Op {
	node, group, leads := l.place(rank)
	switch {
	case round == 0:
		return l.gather(rank, node, group, leads, dst)
	case !leads:
		return append(dst, Op{Kind: Recv, Peer: int32(l.leader(node, group)), Tag: scatterTag, Bytes: l.bytes * int64(l.ranks), Data: Range(l.ranks, l.ranks)})
	case round <= l.exchange.Rounds(node):
		return l.exchanged(node, group, round-1, dst)
	}
	return l.scatter(rank, node, dst)
}

// Tags of the three parts; the exchange has tags of its own.
const (
	gatherTag   = 1 << 20
	scatterTag  = 2 << 20
	exchangeTag = 3 << 20
)

// gather hands every leader of the node the blocks for its group everywhere: in
// the rank's buffer runs of a group's ranks, a node apart; in the leader's one
// run in each aggregated block.
func (l *leaders) gather(rank, node, group int, leads bool, dst []Op) []Op {
	count := l.nodes * l.group
	size := l.bytes * int64(count)
	blocks := func(group int) Slots {
		return Slots{First: int32(group * l.group), Run: int32(l.group), Step: int32(l.m), Count: int32(count)}
	}
	into := func(index int) Slots {
		return Slots{First: int32(l.base + index*l.group), Run: int32(l.group), Step: int32(l.width), Count: int32(count)}
	}
	if leads {
		for index := range l.m {
			if from := node*l.m + index; from != rank {
				dst = append(dst, Op{Kind: Recv, Peer: int32(from), Tag: gatherTag, Bytes: size, Data: into(index)})
			}
		}
		dst = append(dst, Op{Kind: Copy, Bytes: size, Data: blocks(group), Into: into(rank % l.m)})
	}
	for g := range l.d {
		if to := l.leader(node, g); to != rank {
			dst = append(dst, Op{Kind: Send, Peer: int32(to), Tag: gatherTag, Bytes: size, Data: blocks(g), Segment: l.gathered})
		}
	}
	return dst
}

// exchanged is a round of the exchange between the leaders of a group, its
// slots widened to aggregated blocks.
func (l *leaders) exchanged(node, group, round int, dst []Op) []Op {
	start := len(dst)
	dst = l.exchange.Round(node, round, dst)
	for i := start; i < len(dst); i++ {
		op := &dst[i]
		op.Data, op.Into = l.widen(op.Data), l.widen(op.Into)
		if op.Kind == Send || op.Kind == Recv {
			op.Peer = int32(l.leader(int(op.Peer), group))
			op.Tag += exchangeTag
		}
	}
	return dst
}

func (l *leaders) widen(s Slots) Slots {
	w := int32(l.width)
	return Slots{First: int32(l.base) + s.First*w, Run: max(s.Run, 1) * w, Step: s.Step * w, Count: s.Count * w}
}

// scatter hands the ranks of the group what has come for them: in each
// aggregated block every e-th slot, in the order of the senders.
func (l *leaders) scatter(rank, node int, dst []Op) []Op {
	size := l.bytes * int64(l.ranks)
	arrived := l.base + l.nodes*l.width
	for x := range l.group {
		blocks := Slots{First: int32(arrived + x), Run: 1, Step: int32(l.group), Count: int32(l.ranks)}
		if x == 0 {
			dst = append(dst, Op{Kind: Copy, Bytes: size, Data: blocks, Into: Range(l.ranks, l.ranks)})
			continue
		}
		dst = append(dst, Op{Kind: Send, Peer: int32(rank + x), Tag: scatterTag, Bytes: size, Data: blocks, Segment: l.scattered})
	}
	return dst
}
