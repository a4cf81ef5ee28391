package mpi_test

import (
	"testing"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim/simtest"
)

// messagesBetween sends n small messages from a to b, of eight ranks, one after another.
func messagesBetween(a, b, n int) collectives.Schedule {
	return mpi.Iterate(between(8, a, b, collectives.Op{Bytes: 64}), n)
}

// With XRC a connection leads to a node. Rank 2 asks rank 1 for one to node 0, rank 0
// asks rank 2 for one to node 1: the request of rank 0 meets a connection that is
// being made, but not with rank 0, and needs a reply.
func TestRequestsToDifferentProcessesOfANode(t *testing.T) {
	for _, mode := range []string{mpi.XRCS, mpi.XRCM} {
		c := mpi.QDRConfig(2)
		c.Connections.Mode, c.Connections.OnDemand = mode, true
		r := runSchedule(t, c, collectives.Uniform(4, 1, func(rank, _ int, dst []collectives.Op) []collectives.Op {
			switch rank {
			case 0:
				return append(dst, collectives.SendOp(2, 0, 64))
			case 1:
				return append(dst, collectives.RecvOp(2, 0, 64))
			case 2:
				return append(dst, collectives.SendOp(1, 0, 64), collectives.RecvOp(0, 0, 64))
			}
			return dst
		}))
		// Each process has one QP: rank 2's leads to node 0, whichever process asks.
		s := r.Stats
		simtest.ErrorIf(t, s.Handshakes != 2 || s.Connecting != 4 || s.QPs != 3,
			"%v: %d handshakes of %d messages, %d QPs", mode, s.Handshakes, s.Connecting, s.QPs)
	}
}

const hop = 0.2 + 0.25 // CPU times of a message

func TestConnectionOnDemand(t *testing.T) {
	c := mpi.GroupedConfig()
	create, modify := c.Adapter.QPCreate.Microseconds(), c.Adapter.QPModify.Microseconds()
	// Rank 1 to rank 6 goes over rank 5. The message is posted at 0.2; rank 1 creates its QP;
	// request and reply take two hops each; rank 6 creates and modifies its QP before it replies,
	// rank 1 modifies its own after; then the message leaves.
	want := 0.2 + create + 4*(hop+adapters(64)) + create + modify + modify + adapters(64) + 0.25
	r := runSchedule(t, c, messagesBetween(1, 6, 1))
	within(t, "first message over a new connection", r.Finish[6], want)
	within(t, "what it waits for the connection", r.Stats.ConnectWait, want-0.2-adapters(64)-0.25)
	if s := r.Stats; s.Handshakes != 1 || s.Connecting != 4 || s.Relayed != 2 || s.QPs != 2 || s.KernelTime != 2*(c.Adapter.QPCreate+c.Adapter.QPModify) {
		t.Errorf("statistics %+v", s)
	}
	// Later messages find the connection; so does the other direction.
	if r := runSchedule(t, c, collectives.Sequence(messagesBetween(1, 6, 5), messagesBetween(6, 1, 5))); r.Stats.Handshakes != 1 || r.Stats.QPs != 2 {
		t.Errorf("ten messages: %d handshakes, %d QPs", r.Stats.Handshakes, r.Stats.QPs)
	}
	// Static connections: same group, same index.
	for _, b := range []int{2, 5} {
		r := runSchedule(t, c, messagesBetween(1, b, 1))
		within(t, "message over a static connection", r.Finish[b], hop+adapters(64))
		simtest.ErrorIf(t, r.Stats.Handshakes != 0, "to rank %d: %d handshakes", b, r.Stats.Handshakes)
	}
}

func TestBothSidesConnect(t *testing.T) {
	c := mpi.GroupedConfig()
	r := runSchedule(t, c, collectives.Uniform(8, 1, func(rank, _ int, dst []collectives.Op) []collectives.Op {
		if rank == 1 || rank == 6 {
			return append(dst, collectives.RecvOp(7-rank, 0, 64), collectives.SendOp(7-rank, 0, 64))
		}
		return dst
	}))
	simtest.ErrorIf(t, r.Stats.Handshakes != 2 || r.Stats.QPs != 2,
		"%d handshakes, %d QPs; want 2, 2", r.Stats.Handshakes, r.Stats.QPs)
}

func TestProxy(t *testing.T) {
	c := mpi.GroupedConfig()
	c.Connections.Proxy = true
	// Two hops; the relay copies 64 B.
	r := runSchedule(t, c, messagesBetween(1, 6, 1))
	within(t, "message over a relay", r.Finish[6], 2*(hop+adapters(64))+copied(64))
	simtest.ErrorIf(t, r.Stats.Handshakes != 0 || r.Stats.Relayed != 1, "statistics %+v", r.Stats)
	// Large messages too: RTS, CTS and the data each take two hops.
	r = runSchedule(t, c, between(8, 1, 6, collectives.Op{Bytes: 65536}))
	within(t, "large message over a relay", r.Finish[6],
		4*(hop+adapters(64))+0.2+adapters(65536)+0.25+copied(65536)+0.2+adapters(65536)+0.1)
}

func TestAllOnDemand(t *testing.T) {
	c := mpi.QDRConfig(1)
	c.Connections.OnDemand = true
	c.Protocols.EagerCopies = false
	create, modify := c.Adapter.QPCreate.Microseconds(), c.Adapter.QPModify.Microseconds()
	r := runSchedule(t, c, messagesBetween(1, 6, 1))
	within(t, "first message", r.Finish[6], 0.2+create+2*(hop+adapters(64))+create+2*modify+adapters(64)+0.25)
	all := runSchedule(t, c, collectives.AlltoallRing(collectives.Env{Ranks: 8, Bytes: 64}))
	simtest.ErrorIf(t, all.Stats.QPs != 8*7, "an alltoall of 8 ranks makes %d QPs, want 56", all.Stats.QPs)
}

// With XRC a process needs one connection a node: rank 0 reaches ranks 8 to 11
// of node 2 over the one to rank 8, which has its index in the other group.
func TestXRCConnectsToNodes(t *testing.T) {
	c := mpi.QDRConfig(4)
	c.Connections.Mode, c.Connections.Group = mpi.XRCS, 8
	for b, want := range map[int]int64{1: 0, 4: 0, 8: 0, 11: 0, 12: 1, 15: 1} {
		got := runSchedule(t, c, between(16, 0, b, collectives.Op{Bytes: 64})).Stats.Handshakes
		simtest.ErrorIf(t, got != want, "rank 0 to %d: %d handshakes, want %d", b, got, want)
	}
}

// A QP whose context is not cached costs a load at both adapters.
func TestContextMisses(t *testing.T) {
	c := mpi.QDRConfig(1)
	transport := mpi.DefaultLogGP
	c.Transport = transport.New
	c.Protocols.EagerCopies = false
	r := runSchedule(t, c, messagesBetween(1, 6, 2))
	miss := transport.HCA.ContextMiss.Microseconds()
	// The first message misses at both ends; the second leaves 0.2 later and
	// finds both contexts, behind the first at the receiver.
	simtest.ErrorIf(t, r.HCA.ContextMisses != 2, "%d misses, want 2", r.HCA.ContextMisses)
	within(t, "first message of a connection", runSchedule(t, c, messagesBetween(1, 6, 1)).Finish[6], hop+adapters(64)+2*miss)
}

// TestXRCSharesContexts: a process of node 0 sends to both of node 1. Each connection has a context at either
// end: RC has two of them, XRC one. From both processes of node 0 to one of node 1 it is two either way.
func TestXRCSharesContexts(t *testing.T) {
	for mode, want := range map[string][2]int64{mpi.RCSRQ: {4, 4}, mpi.XRCS: {2, 4}} {
		c := mpi.QDRConfig(2)
		transport := mpi.DefaultLogGP
		c.Transport, c.Connections.Mode = transport.New, mode
		out := collectives.Sequence(between(4, 0, 2, collectives.Op{Bytes: 64}), between(4, 0, 3, collectives.Op{Bytes: 64}))
		in := collectives.Sequence(between(4, 0, 2, collectives.Op{Bytes: 64}), between(4, 1, 2, collectives.Op{Bytes: 64}))
		got := [2]int64{runSchedule(t, c, out).HCA.ContextMisses, runSchedule(t, c, in).HCA.ContextMisses}
		simtest.ErrorIf(t, got != want, "%s: %d contexts loaded, want %d", mode, got, want)
	}
}

// Two iterations with tear-down between make every connection twice, and hold no more at a time.
func TestTearDown(t *testing.T) {
	for _, mode := range []string{mpi.RCSRQ, mpi.XRCS} {
		c := mpi.QDRConfig(1)
		c.Connections.Mode, c.Connections.OnDemand = mode, true
		s := mpi.Iterate(collectives.AlltoallPairwise(collectives.Env{Ranks: 8, Bytes: 64}), 2)
		kept := runSchedule(t, c, s).Stats
		c.Connections.TearDown = true
		closed := runSchedule(t, c, s).Stats
		simtest.ErrorIf(t, kept.QPs != 56 || kept.QPsClosed != 0 || kept.QPsPeak != 7, "%s: kept: %+v", mode, kept)
		// A process that is ahead may close a connection on which its peer's
		// last message is not out yet, and that is made anew; so at least.
		simtest.ErrorIf(t, closed.QPs < 112 || closed.QPs > 130 || closed.QPsClosed < 104 || closed.QPsPeak > 8,
			"%s: torn down: %+v", mode, closed)
	}
}
