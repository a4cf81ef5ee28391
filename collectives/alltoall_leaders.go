package collectives

import (
	"github.com/weft-sim/weft/sim"
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

// DefaultCritical is where MVAPICH 1.2rc1, and the PLP paper's leaders, turn from Bruck's algorithm
// to the ring.
const DefaultCritical = 8192

// DefaultLeaders are the settings of the paper's algorithms.
var DefaultLeaders = LeaderSettings{SwitchOver: SwitchOver{DefaultCritical}, Segment: true}

// leaderChoice tells the number of leaders on a node.
type leaderChoice func(perNode int, bytes, critical int64) int

func init() {
	one := func(int, int64, int64) int { return 1 }
	all := func(perNode int, _, _ int64) int { return perNode }
	register := func(name, doc string, choose leaderChoice) {
		registerSet(name, doc, DefaultLeaders, func(c LeaderSettings, e Env) (Collective, error) { return newLeaders(name, e, c, choose) })
	}
	register("alltoall-one-leader", "alltoall: one leader a node gathers, exchanges and scatters aggregated blocks", one)
	register("alltoall-m-leader", "alltoall: every rank of a node leads, each for the ranks of its index on the other nodes", all)
	registerSet("alltoall-plp", "alltoall: leaders a node chosen by the size of the blocks", PLPSettings{DefaultLeaders, 0}, func(c PLPSettings, e Env) (Collective, error) {
		choose := PLPLeaders
		if c.Leaders > 0 {
			choose = func(int, int64, int64) int { return c.Leaders }
		}
		return newLeaders("alltoall-plp", e, c.LeaderSettings, choose)
	})
	registerSet("alltoall-lss", "alltoall: the ring by direct RDMA writes, addresses gathered by about 2*sqrt(N) handshake messages", LSSSettings{Address: 72}, func(c LSSSettings, e Env) (Collective, error) {
		return AlltoallLSS(e, c), nil
	})
}

func newLeaders(name string, e Env, c LeaderSettings, choose leaderChoice) (Collective, error) {
	if err := e.wholeNodes(name, 1); err != nil {
		return nil, err
	}
	d := choose(e.PerNode, int64(e.Bytes), int64(c.Critical))
	if err := e.wholeNodes(name, d); err != nil {
		return nil, err
	}
	return AlltoallLeaders(e, d, c), nil
}

// PLPSettings configure alltoall-plp.
type PLPSettings struct {
	LeaderSettings
	Leaders int `toml:"leaders" doc:"leaders a node, a divisor of its ranks; 0: as the PLP rule says" min:"0"`
}

// PLPLeaders is the number of leaders that PLP gives a node of m ranks for blocks of so many bytes
// (Li et al. 2013, section 3.1): all m where even a single leader's aggregated blocks of m*m*bytes
// are small enough for Bruck's algorithm; otherwise the most that still go round the ring, whose
// blocks m*m*bytes/d are above critical.
func PLPLeaders(m int, bytes, critical int64) int {
	total := int64(m) * int64(m) * bytes
	if total <= critical {
		return m
	}
	d := m
	for m%d != 0 || total <= critical*int64(d) {
		d--
	}
	return d
}

// AlltoallLeaders is the alltoall by d leaders a node, d a divisor of e.PerNode, which divides
// e.Ranks (Li, Sun, Huo, Ma, "Optimizing MPI Alltoall Communications in Multicore Clusters", 2013,
// sections 2.1 and 3.1; d = 1 and d = M ranks a node are the One-leader and the M-leader method).
// The ranks of a node form d groups of e, each with its first rank as leader.
//
//  1. Every rank hands each leader of its node the blocks for that leader's group on every node,
//     through shared memory.
//  2. The leaders of equal groups exchange aggregated blocks of M*e of them: by Bruck's algorithm
//     up to c.Critical, above it round the ring, or with c.AtOnce all at once.
//  3. Every leader hands the ranks of its group what has come for them.
//
// Slots 0..N-1 and N..2N-1 are blocks to and from ranks; then come a leader's aggregated blocks, of
// M*e slots each by sender and receiver, in the layout of the exchange.
func AlltoallLeaders(e Env, d int, c LeaderSettings) Collective {
	l := &leaders{teams: newTeams(e, d, c.Segment), base: 2 * e.Ranks}
	l.width = l.m * l.group
	inner := Env{Ranks: l.nodes, PerNode: 1, Bytes: e.Bytes * sim.Bytes(l.width)}
	switch {
	case inner.Bytes <= c.Critical:
		l.exchange = AlltoallBruck(inner)
	case c.AtOnce:
		l.exchange = AlltoallLinear(inner)
	default:
		l.exchange = AlltoallRing(inner)
	}
	return l.program(l, exchange(e).with(l.exchange.Contract().Slots*l.width, func(int) int64 { return l.bytes }, 0, nil, nil))
}

// teams are the ranks of each node in groups of equal size, led by the first rank. Leaders of the
// same place exchange their groups' data, as if each node were a rank.
type teams struct {
	m, nodes, group, ranks int
	bytes                  int64
	exchange               Collective
	gathered, scattered    Segment
}

// newTeams divides ranks among leaders a node; segment: these use shared memory.
func newTeams(e Env, leaders int, segment bool) teams {
	t := teams{m: e.PerNode, nodes: e.Ranks / e.PerNode, group: e.PerNode / leaders, ranks: e.Ranks, bytes: int64(e.Bytes)}
	if segment {
		t.gathered, t.scattered = In, Out
	}
	return t
}

// leader is the rank that leads the group of a rank on its node, or on another.
func (t *teams) leader(rank, node int) int { return node*t.m + rank%t.m/t.group*t.group }

func (t *teams) leads(rank int) bool { return rank%t.group == 0 }

// ledBy is what an algorithm does by leaders, besides their exchange.
type ledBy interface {
	// gather is the first round of a rank, scatter the last.
	gather(rank int, dst []Op) []Op
	scatter(rank int, dst []Op) []Op
	// widen turns slots of the exchange, as a leader takes part in it, into its own.
	widen(leader int, s Slots) Slots
}

// program has the groups gather, their leaders exchange, and the groups get what has come.
func (t *teams) program(a ledBy, contract Contract) Collective {
	return &program{
		ranks: t.ranks,
		rounds: func(rank int) int {
			if t.leads(rank) {
				return 1 + t.exchange.Rounds(rank/t.m) + 1
			}
			return 2
		},
		round: func(rank, round int, dst []Op) []Op {
			switch {
			case round == 0:
				return a.gather(rank, dst)
			case !t.leads(rank) || round > t.exchange.Rounds(rank/t.m):
				return a.scatter(rank, dst)
			}
			start := len(dst)
			dst = t.exchange.Round(rank/t.m, round-1, dst)
			for i := start; i < len(dst); i++ {
				op := &dst[i]
				op.Data, op.Into = a.widen(rank, op.Data), a.widen(rank, op.Into)
				if op.Kind != Copy {
					op.Peer = int32(t.leader(rank, int(op.Peer)))
					op.Tag += exchangeTag
				}
			}
			return dst
		},
		contract: contract,
		leaders:  t.m / t.group,
	}
}

// Tags of the three parts; the exchange has tags of its own.
const (
	gatherTag   = 1 << 20
	scatterTag  = 2 << 20
	exchangeTag = 3 << 20
)

type leaders struct {
	teams
	width int // slots of an aggregated block
	base  int // first slot of the aggregated blocks
}

// gather hands every leader of the node the blocks for its group everywhere: runs of a group's
// ranks, a node apart in the rank's buffer, one in each of the leader's aggregated blocks.
func (l *leaders) gather(rank int, dst []Op) []Op {
	node, count := rank/l.m, l.nodes*l.group
	size := l.bytes * int64(count)
	blocks := func(group int) Slots {
		return Slots{First: int32(group * l.group), Run: int32(l.group), Step: int32(l.m), Count: int32(count)}
	}
	into := func(index int) Slots {
		return Slots{First: int32(l.base + index*l.group), Run: int32(l.group), Step: int32(l.width), Count: int32(count)}
	}
	if l.leads(rank) {
		for index := range l.m {
			if from := node*l.m + index; from != rank {
				dst = append(dst, Op{Kind: Recv, Peer: int32(from), Tag: gatherTag, Bytes: size, Data: into(index)})
			}
		}
		dst = append(dst, Op{Kind: Copy, Bytes: size, Data: blocks(rank % l.m / l.group), Into: into(rank % l.m)})
	}
	for g := range l.m / l.group {
		if to := node*l.m + g*l.group; to != rank {
			dst = append(dst, Op{Kind: Send, Peer: int32(to), Tag: gatherTag, Bytes: size, Data: blocks(g), Segment: l.gathered})
		}
	}
	return dst
}

// widen turns slots of nodes into aggregated blocks.
func (l *leaders) widen(_ int, s Slots) Slots {
	w := int32(l.width)
	return Slots{First: int32(l.base) + s.First*w, Run: max(s.Run, 1) * w, Step: s.Step * w, Count: s.Count * w}
}

// scatter hands the group's ranks their blocks: in each aggregated block every e-th slot, by
// sender.
func (l *leaders) scatter(rank int, dst []Op) []Op {
	size := l.bytes * int64(l.ranks)
	if !l.leads(rank) {
		return append(dst, Op{Kind: Recv, Peer: int32(l.leader(rank, rank/l.m)), Tag: scatterTag, Bytes: size, Data: Range(l.ranks, l.ranks)})
	}
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

// LSSSettings configure alltoall-lss.
type LSSSettings struct {
	NoticeEvery int       `toml:"notice_every" doc:"every so many blocks end in the default value of the receive buffers, so that a notice has to follow; 0: none does" min:"0"`
	AtOnce      bool      `toml:"at_once" doc:"all blocks behind the handshakes are written at once, in place of one a step"`
	Address     sim.Bytes `toml:"address" doc:"key and virtual address of a buffer, of which a handshake carries all that the sender knows; the paper's key has 64 B" min:"1B"`
}

// AlltoallLSS is the ring by RDMA writes into buffers whose addresses ranks gather on the way (Li et
// al. 2013, section 3.2). In step k a rank exchanges handshakes with the ranks k after and k before
// it, each with all addresses that the sender has; after it, it has those of the k(k+1)/2 ranks on
// either side, and once these are all there are no more ([lssHandshakes]). The receiver polls on the
// last 8 bytes of its buffer; where the data end in the value that the buffer had, every
// c.NoticeEvery-th block here, a notice follows. The paper does not say whether a rank waits for a
// step's block before the next; here it does, unless c.AtOnce, by which all blocks behind the
// handshakes are written in one round.
//
// Slots: 2N.. the window of known addresses, rank - reach .. rank + reach, in which small rings wrap
// around; behind it the windows as received from either side, the notice to send, and one received
// for each step.
func AlltoallLSS(e Env, c LSSSettings) Collective {
	n := e.Ranks
	steps := 0 // with handshakes, of two messages each, until all n addresses, 1 + k(k+1), are known
	for steps*(steps+1)+1 < n {
		steps++
	}
	reach := steps * (steps + 1) / 2
	l := &lss{Env: e, LSSSettings: c, handshakes: steps, window: 2*n + reach, span: 2*reach + 1}
	contract := exchange(e).with(3*l.span+1+n,
		func(slot int) int64 {
			if slot < 2*n+3*l.span {
				return int64(c.Address)
			}
			return controlBytes
		},
		Token(n*n), func(_, slot int) bool { return slot == l.window || slot == 2*n+3*l.span },
		func(rank, slot int) int {
			if slot < 2*n+l.span {
				return mod(rank+slot-l.window, n)
			}
			return -1
		})
	writes := max(0, n-1-steps) // behind the handshakes
	if c.AtOnce {
		writes = min(writes, 1)
	}
	return even(n, 1+2*steps+writes, contract, l.round)
}

type lss struct {
	Env
	LSSSettings
	handshakes int // steps that have them
	window     int // slot of the rank's own address
	span       int // slots of a window
}

func (l *lss) round(rank, round int, dst []Op) []Op {
	switch {
	case round == 0:
		return append(dst, own(l.Env, rank))
	case round > 2*l.handshakes && l.AtOnce:
		for k := l.handshakes + 1; k < l.Ranks; k++ {
			dst = l.write(rank, k, dst)
		}
		return dst
	case round > 2*l.handshakes:
		return l.write(rank, round-l.handshakes, dst)
	case round%2 == 1:
		return l.handshake(rank, (round+1)/2, dst)
	}
	k := round / 2
	for side, shift := range []int{k, -k} { // the addresses of step k enter the rank's own window
		from := l.known(k, (1+side)*l.span)
		dst = append(dst, Op{Kind: Copy, Bytes: int64(l.Address) * int64(from.Count), Data: from, Into: l.known(k, shift)})
	}
	return l.write(rank, k, dst)
}

// known is the window of addresses before step k, shifted in the rank's own.
func (l *lss) known(k, shift int) Slots {
	reach := k * (k - 1) / 2
	return Range(l.window-reach+shift, 2*reach+1)
}

// handshake exchanges all known addresses with the ranks k away.
func (l *lss) handshake(rank, k int, dst []Op) []Op {
	n := l.Ranks
	after, before := (rank+k)%n, mod(rank-k, n)
	mine := l.known(k, 0)
	message := func(kind Kind, peer, tag int, data Slots) Op {
		return Op{Kind: kind, Protocol: Eager, Control: true, Peer: int32(peer), Tag: int32(tag), Bytes: int64(l.Address) * int64(data.Count), Data: data}
	}
	return append(dst,
		message(Recv, after, 4*k, l.known(k, l.span)), message(Recv, before, 4*k+1, l.known(k, 2*l.span)),
		message(Send, after, 4*k+1, mine), message(Send, before, 4*k, mine))
}

// write is step k of the ring.
func (l *lss) write(rank, k int, dst []Op) []Op {
	n := l.Ranks
	to, from := (rank+k)%n, mod(rank-k, n)
	dst = append(dst, recvBlock(l.Env, rank, from, 4*k+2))
	send := sendBlock(l.Env, rank, to, 4*k+2)
	send.Protocol = Direct
	dst = append(dst, send)
	if l.endsInDefault(from, rank) {
		dst = append(dst, l.tell(Recv, from, k, k))
	}
	if l.endsInDefault(rank, to) {
		dst = append(dst, l.tell(Send, to, k, 0))
	}
	return dst
}

// endsInDefault tells whether a block ends in the default value.
func (l *lss) endsInDefault(from, to int) bool {
	return l.NoticeEvery > 0 && (from*l.Ranks+to)%l.NoticeEvery == 0
}

func (l *lss) tell(kind Kind, peer, k, slot int) Op {
	return Op{Kind: kind, Protocol: Eager, Control: true, Peer: int32(peer), Tag: int32(4*k + 3), Bytes: controlBytes, Data: Slot(2*l.Ranks + 3*l.span + slot)}
}
