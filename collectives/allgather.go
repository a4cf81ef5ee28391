package collectives

import (
	"fmt"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

func init() {
	registerVector("allgather-recursive-doubling", "allgather: exchange of all that is there at doubling distances; Bruck's where ranks are no power of two", AllgatherRecursiveDoubling)
	registerVector("allgather-neighbor-exchange", "allgather: pairs of blocks to and fro between neighbours, N/2 rounds; the ring where ranks are odd", AllgatherNeighborExchange)
	registerSet("allgather-leaders", "allgather: leaders gather the blocks of their group, exchange them with other nodes, and hand all to the ranks of the node",
		AllgatherLeaderSettings{1, DefaultCritical, true}, func(c AllgatherLeaderSettings, e Env) (Collective, error) {
			if err := e.wholeNodes("allgather-leaders", c.Leaders); err != nil {
				return nil, err
			}
			return AllgatherLeaders(e, c), nil
		})
	registerSet("allgather-lss", "allgather: the ring by direct RDMA writes, after one handshake by which a rank learns the address of the next",
		AllgatherLSSSettings{72}, func(c AllgatherLSSSettings, e Env) (Collective, error) {
			return AllgatherLSS(e.Ranks, int64(e.Bytes), int64(c.Address)), nil
		})
}

// AllgatherRecursiveDoubling (Thakur, Rabenseifner, Gropp, IJHPCA 2005, section 3.1): in round k a rank
// exchanges the 2^k blocks of its group with the rank at distance 2^k. Numbers of ranks that are no power
// of two go by Bruck's algorithm, as in Open MPI.
func AllgatherRecursiveDoubling(n int, bytes int64) Collective {
	rounds := log2Ceil(n)
	if 1<<rounds != n {
		return AllgatherBruck(n, bytes)
	}
	size := func(int) int64 { return bytes }
	return even(n, rounds, gathering(n, size, same), func(rank, round int, dst []Op) []Op {
		d := 1 << round
		block := func(kind Kind, of int) Op {
			return Op{Kind: kind, Peer: int32(rank ^ d), Tag: int32(round), Bytes: bytes * int64(d), Data: Range(of&^(d-1), d)}
		}
		return append(dst, block(Recv, rank^d), block(Send, rank))
	})
}

// AllgatherNeighborExchange (Chen, Zhang, Zhang, Yuan, HPC Asia 2005): ranks exchange their block with one
// neighbour and from then on, in turn with either, the two blocks that came last. Odd numbers of ranks go
// by the ring.
func AllgatherNeighborExchange(n int, bytes int64) Collective {
	if n%2 != 0 {
		return AllgatherRing(n, bytes)
	}
	size := func(int) int64 { return bytes }
	return even(n, max(1, n/2), gathering(n, size, same), func(rank, round int, dst []Op) []Op {
		// Even ranks begin with the next rank and move up, odd ranks with the one before and
		// move down.
		step := 1 - 2*(rank%2)
		first := mod(rank+step, n)
		if round == 0 {
			block := Op{Kind: Recv, Peer: int32(first), Bytes: bytes, Data: Slot(first)}
			send := block
			send.Kind, send.Data = Send, Slot(rank)
			return append(dst, block, send)
		}
		from := func(round int) int { // the first of the two blocks that come in a round
			turn := 1 - 2*(round%2)
			return mod(rank&^1+2*step*turn*((round+1)/2), n)
		}
		peer, last := first, rank&^1
		if round%2 == 1 {
			peer = mod(rank-step, n)
		}
		if round > 1 {
			last = from(round - 1)
		}
		pair := Op{Kind: Recv, Peer: int32(peer), Tag: int32(round), Bytes: 2 * bytes, Data: Range(from(round), 2)}
		send := pair
		send.Kind, send.Data = Send, Range(last, 2)
		return append(dst, pair, send)
	})
}

// AllgatherLeaderSettings are the settings of the allgather by leaders.
type AllgatherLeaderSettings struct {
	Leaders  int       `toml:"leaders" doc:"leaders a node, a divisor of its ranks" min:"1"`
	Critical sim.Bytes `toml:"critical" doc:"largest aggregated block that leaders exchange by Bruck's algorithm; larger ones go round the ring" min:"0B"`
	Segment  bool      `toml:"segment" doc:"leaders work in a segment of shared memory, into which the ranks copy and out of which they are served; otherwise they exchange messages, copied on both sides"`
}

// AllgatherLSSSettings are the settings of the allgather by direct writes.
type AllgatherLSSSettings struct {
	Address sim.Bytes `toml:"address" doc:"key and virtual address of a buffer, which a rank gives to the one before it" min:"1B"`
}

// wholeNodes refuses ranks that do not fill nodes of so many leaders each.
func (e Env) wholeNodes(algorithm string, leaders int) error {
	if e.PerNode < 1 || e.Ranks%e.PerNode != 0 {
		return &param.ParamError{Key: "ranks", Value: e.Ranks, Want: fmt.Sprintf("whole nodes of %d ranks for collective %q", e.PerNode, algorithm)}
	}
	if leaders < 1 || e.PerNode%leaders != 0 {
		return &param.ParamError{Key: "leaders", Value: leaders, Want: fmt.Sprintf("a divisor of the %d ranks of a node", e.PerNode)}
	}
	return nil
}

// AllgatherLeaders is [AlltoallLeaders] for an allgather (Li et al. 2013 leave it to later work;
// this is ours). The ranks of a node form groups of e = M/d, whose first rank leads. It gathers the
// blocks of its group, exchanges blocks of e with the leaders of the same group on other nodes, and
// hands its N/d blocks to all ranks of its node.
//
// Slots: 0..N-1 are the blocks; N..2N-1 are where Bruck's algorithm turns them.
func AllgatherLeaders(e Env, c AllgatherLeaderSettings) Collective {
	g := &gatherers{newTeams(e, c.Leaders, c.Segment)}
	if aggregated := g.bytes * int64(g.group); aggregated <= int64(c.Critical) {
		g.exchange = AllgatherBruck(g.nodes, aggregated)
	} else {
		g.exchange = AllgatherRing(g.nodes, aggregated)
	}
	size := func(int) int64 { return g.bytes }
	return g.program(g, gathering(e.Ranks, size, same).with(e.Ranks, size, 0, nil, nil))
}

type gatherers struct{ teams }

// gather takes the blocks of a group to its leader.
func (g *gatherers) gather(rank int, dst []Op) []Op {
	if !g.leads(rank) {
		return append(dst, Op{Kind: Send, Peer: int32(g.leader(rank, rank/g.m)), Tag: gatherTag, Bytes: g.bytes, Data: Slot(rank), Segment: g.gathered})
	}
	for from := rank + 1; from < rank+g.group; from++ {
		dst = append(dst, Op{Kind: Recv, Peer: int32(from), Tag: gatherTag, Bytes: g.bytes, Data: Slot(from)})
	}
	return dst
}

// widen turns slots of nodes, which are consecutive, into slots of a rank's group there.
func (g *gatherers) widen(rank int, s Slots) Slots {
	return Slots{First: s.First*int32(g.m) + int32(g.leader(rank, 0)), Run: int32(g.group), Step: int32(g.m), Count: s.Count * int32(g.group)}
}

// scatter hands the blocks of all leaders to the ranks of the node.
func (g *gatherers) scatter(rank int, dst []Op) []Op {
	first, blocks := rank-rank%g.m, g.nodes*g.group
	part := func(kind Kind, peer, leader int) Op {
		return Op{
			Kind: kind, Peer: int32(peer), Tag: scatterTag, Bytes: g.bytes * int64(blocks), Segment: g.scattered,
			Data: Slots{First: int32(leader - first), Run: int32(g.group), Step: int32(g.m), Count: int32(blocks)},
		}
	}
	for leader := first; leader < first+g.m; leader += g.group {
		if leader != rank {
			receive := part(Recv, leader, leader)
			receive.Segment = InAndOut
			dst = append(dst, receive)
		}
	}
	for to := first; g.leads(rank) && to < first+g.m; to++ {
		if to != rank {
			dst = append(dst, part(Send, to, rank))
		}
	}
	return dst
}

// AllgatherLSS is [AllgatherRing] as Li et al. (2013, section 3.2) do the alltoall: by RDMA writes into
// buffers whose addresses are known. A rank writes to the next one only, so that a single handshake
// takes the place of the three small messages of each block by rendezvous; ours.
//
// Slots: N is the address that a rank gives, N+1 the address that it gets.
func AllgatherLSS(n int, bytes, address int64) Collective {
	size := func(int) int64 { return bytes }
	contract := gathering(n, size, same).with(2, func(int) int64 { return address }, Token(n),
		func(_, slot int) bool { return slot == n },
		func(rank, slot int) int {
			if slot == n || n == 1 {
				return -1
			}
			return (rank + 1) % n
		})
	// The first round is for handshakes.
	return even(n, n, contract, func(rank, round int, dst []Op) []Op {
		if round == 0 && n > 1 {
			note := func(kind Kind, peer, slot int) Op {
				return Op{Kind: kind, Protocol: Eager, Control: true, Peer: int32(peer), Tag: exchangeTag, Bytes: address, Data: Slot(slot)}
			}
			return append(dst, note(Recv, (rank+1)%n, n+1), note(Send, mod(rank-1, n), n))
		} else if round == 0 {
			return dst
		}
		start := len(dst)
		dst = ringAllgatherRound(rank, round-1, n, size, same, dst)
		for i := start; i < len(dst); i++ {
			if dst[i].Kind == Send {
				dst[i].Protocol = Direct
			}
		}
		return dst
	})
}
