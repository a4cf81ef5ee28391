package mpi_test

import (
	"strconv"
	"testing"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// messagesBetween sends n small messages from a to b, of eight ranks, one after another.
func messagesBetween(a, b, n int) collectives.Schedule {
	return mpi.Iterate(between(8, a, b, collectives.Op{Bytes: 64}), n)
}

// With XRC a connection leads to a node. Rank 2 asks rank 1 for one to node 0, rank 0 asks rank 2 for one to node 1: the
// request of rank 0 meets a connection that is being made, but not with rank 0, and needs a reply.
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
		simtest.ErrorIf(t, s.Handshakes != 2 || s.Connecting != 4 || s.QPs != 3, "%v: %d handshakes of %d messages, %d QPs", mode, s.Handshakes, s.Connecting, s.QPs)
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
	s := r.Stats
	simtest.ErrorIf(t, s.Handshakes != 1 || s.Connecting != 4 || s.Relayed != 2 || s.QPs != 2 || s.KernelTime != 2*(c.Adapter.QPCreate+c.Adapter.QPModify), "statistics %+v", s)
	// Later messages find the connection; so does the other direction.
	r = runSchedule(t, c, collectives.Sequence(messagesBetween(1, 6, 5), messagesBetween(6, 1, 5)))
	simtest.ErrorIf(t, r.Stats.Handshakes != 1 || r.Stats.QPs != 2, "ten messages: %d handshakes, %d QPs", r.Stats.Handshakes, r.Stats.QPs)
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
	simtest.ErrorIf(t, r.Stats.Handshakes != 2 || r.Stats.QPs != 2, "%d handshakes, %d QPs; want 2, 2", r.Stats.Handshakes, r.Stats.QPs)
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
		simtest.Equal(t, runSchedule(t, c, between(16, 0, b, collectives.Op{Bytes: 64})).Stats.Handshakes, want, "rank 0 to %d: handshakes", b)
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
		simtest.ErrorIf(t, closed.QPs < 112 || closed.QPs > 130 || closed.QPsClosed < 104 || closed.QPsPeak > 8, "%s: torn down: %+v", mode, closed)
	}
}

// copyAt is a program in which rank r computes for delay[r] and then copies 10,000 B.
func copyAt(delay ...sim.Time) collectives.Schedule {
	return collectives.Uniform(len(delay), 2, func(rank, round int, dst []collectives.Op) []collectives.Op {
		if round == 0 {
			return append(dst, collectives.Op{Kind: collectives.Compute, Time: delay[rank]})
		}
		return append(dst, collectives.Op{Kind: collectives.Copy, Bytes: 10000})
	})
}

// Copies of 10,000 B at 5 B/ns alone, 2 us. With 5 B/ns for a domain, one from 0 and one from 1 us:
// the first has 5,000 B left when the second comes; both at 2.5 B/ns, the first ends at 3 us; the
// second has 5,000 B left, alone: 4 us. With 7.5 B/ns, 3.75 each: the first ends at 1 + 5000/3750 =
// 2.333 us, when the second has 5,000 B left: 3.333. With 10 B/ns nobody waits. Two domains: a rank
// each. Three at once with 5 B/ns end together, at 6 us; four of them with 2 domains in pairs.
func TestCopiesShareMemory(t *testing.T) {
	for _, c := range []struct {
		name      string
		bandwidth sim.Rate
		domains   int
		delay     []sim.Time
		want      []float64
	}{
		{"shared", 40e9, 1, []sim.Time{0, sim.Microsecond}, []float64{3, 4}},
		{"half again", 60e9, 1, []sim.Time{0, sim.Microsecond}, []float64{2 + 1./3, 3 + 1./3}},
		{"enough", 80e9, 1, []sim.Time{0, sim.Microsecond}, []float64{2, 3}},
		{"no limit", 0, 1, []sim.Time{0, sim.Microsecond}, []float64{2, 3}},
		{"two domains", 40e9, 2, []sim.Time{0, sim.Microsecond}, []float64{2, 3}},
		{"three", 40e9, 1, []sim.Time{0, 0, 0}, []float64{6, 6, 6}},
		{"two pairs", 40e9, 2, []sim.Time{0, 0, 0, 0}, []float64{4, 4, 4, 4}},
	} {
		config := mpi.QDRConfig(len(c.delay))
		config.Memory = mpi.Memory{Bandwidth: c.bandwidth, Domains: c.domains}
		r := simtest.Must(config.Run(mpi.RunSchedule(copyAt(c.delay...), mpi.Costs{Copy: 200}, sim.Picosecond)))(t)
		for rank, want := range c.want {
			within(t, c.name, r.Finish[rank], want)
		}
	}
}

// With more memory than all copies can use, messages take what they do without a
// limit: eager, rendezvous, shared, expected or not.
func TestMemoryToSpare(t *testing.T) {
	for _, bytes := range []string{"64", "8000", "65536"} {
		for _, perNode := range []int{1, 2} {
			for _, late := range []string{"0", "100000"} { // the receiver computes first, ns
				text := "num_ranks 2\nrank 0 {\ns: send " + bytes + "b to 1\nc: calc 1000\nc requires s\n}\nrank 1 {\nc: calc " + late + "\nr: recv " + bytes + "b from 0\nr requires c\n}\n"
				config := mpi.QDRConfig(perNode)
				want := simtest.Must(runGoal(t, config, text))(t)
				config.Memory = mpi.Memory{Bandwidth: 1e12, Domains: 1}
				got := simtest.Must(runGoal(t, config, text))(t)
				for r := range want.Finish {
					if d := got.Finish[r] - want.Finish[r]; d < -2 || d > 2 {
						t.Errorf("%s B, %d a node, after %s ns: rank %d ends at %v, want %v", bytes, perNode, late, r, got.Finish[r], want.Finish[r])
					}
				}
			}
		}
	}
}

// Two messages of 8,000 B through the memory of a node, whose copies at 5 B/ns share 5 B/ns. Both senders copy from 0.2
// us on, together 3.2 us; 0.2 us later, at 3.6, both receivers begin to take in (0.25) and copy: 3.2 more.
func TestSharedMessagesShareMemory(t *testing.T) {
	config := mpi.QDRConfig(4)
	config.Memory = mpi.Memory{Bandwidth: 40e9, Domains: 1}
	r := simtest.Must(runGoal(t, config, "num_ranks 4\nrank 0 {\nsend 8000b to 2\n}\nrank 1 {\nsend 8000b to 3\n}\nrank 2 {\nrecv 8000b from 0\n}\nrank 3 {\nrecv 8000b from 1\n}\n"))(t)
	for rank, want := range []float64{3.4, 3.4, 3.6 + 0.25 + 3.2, 3.6 + 0.25 + 3.2} {
		within(t, "shared messages", r.Finish[rank], want)
	}
}

// A message that arrives while its receiver copies waits for the CPU: rank 1 copies
// its schedule's 10,000 B from 0 on (2 us), the message of 64 B arrives at 1.26 -
// 0.25 us and is taken in at 2 us: 0.25 and two small copies.
func TestArrivalWaitsForCopy(t *testing.T) {
	schedule := collectives.Uniform(2, 1, func(rank, _ int, dst []collectives.Op) []collectives.Op {
		if rank == 0 {
			return append(dst, collectives.SendOp(1, 0, 64))
		}
		return append(dst, collectives.RecvOp(0, 0, 64), collectives.Op{Kind: collectives.Copy, Bytes: 10000})
	})
	config := mpi.QDRConfig(1)
	config.Memory = mpi.Memory{Bandwidth: 40e9, Domains: 1}
	r := simtest.Must(config.Run(mpi.RunSchedule(schedule, mpi.Costs{Copy: 200}, sim.Picosecond)))(t)
	within(t, "receiver", r.Finish[1], 2+0.25+copied(64))
}

// Every algorithm still does its work, however little memory there is, and takes longer.
func TestAlltoallsShareMemory(t *testing.T) {
	for _, name := range []string{"alltoall-bruck", "alltoall-ring", "alltoall-plp", "alltoall-m-leader", "alltoall-lss", "alltoall-linear"} {
		schedule := simtest.Must(collectives.Registry.New(name, collectives.Env{Ranks: 24, PerNode: 6, Bytes: 2000}))(t)
		var before sim.Time
		for _, bandwidth := range []sim.Rate{1e15, 40e9, 4e9} {
			config := mpi.QDRConfig(6)
			config.Memory = mpi.Memory{Bandwidth: bandwidth, Domains: 2}
			r := simtest.Must(config.Run(mpi.RunSchedule(schedule, mpi.Costs{Copy: 200, Combine: 500}, sim.Picosecond)))(t)
			simtest.ErrorIf(t, r.Elapsed <= before, "%s with %v: %v, with more memory %v", name, bandwidth, r.Elapsed, before)
			before = r.Elapsed
		}
	}
}

// Ranks 0 to 3 of a node of two domains; rank 0 sends to rank 1, of its own domain, or to rank 3. CPU time
// of 30 ns on either side; through shared memory 100 ns, to the other domain 50 ns more, and 10 ns for each
// of the two other ranks. 80 B are copied twice at 8 B/ns; of more than 80 B the receiver fetches the
// buffer, 100 or 150 ns; to the other domain the copies go at 4 B/ns.
func TestSharedMemoryOfDomains(t *testing.T) {
	c := mpi.QDRConfig(4)
	p := &c.Protocols
	p.SharedOverhead, p.SharedLatency, p.SharedPeer, p.SharedShort, p.SharedRate = 30*sim.Nanosecond, 100*sim.Nanosecond, 10*sim.Nanosecond, 80, 64e9
	c.Memory = mpi.Memory{Domains: 2, Between: 50 * sim.Nanosecond, Across: 32e9}
	for _, x := range []struct {
		to     string
		filled int // ranks of a domain before the next has any
		bytes  string
		want   float64
	}{
		{"1", 0, "80", 0.03 + 0.01 + 0.12 + 0.03 + 0.01},
		{"1", 0, "160", 0.03 + 0.02 + 0.12 + 0.13 + 0.02},
		{"3", 0, "80", 0.03 + 0.02 + 0.17 + 0.03 + 0.02},
		{"3", 0, "160", 0.03 + 0.04 + 0.17 + 0.18 + 0.04},
		{"3", 4, "80", 0.03 + 0.01 + 0.12 + 0.03 + 0.01},
		{"1", 1, "80", 0.03 + 0.02 + 0.17 + 0.03 + 0.02},
	} {
		c.Memory.PerDomain = x.filled
		text := "num_ranks 4\nrank 0 {\nsend " + x.bytes + "b to " + x.to + "\n}\n"
		for r := 1; r < 4; r++ {
			text += "rank " + strconv.Itoa(r) + " {\n"
			if strconv.Itoa(r) == x.to {
				text += "recv " + x.bytes + "b from 0\n"
			}
			text += "}\n"
		}
		r := simtest.Must(runGoal(t, c, text))(t)
		to := simtest.Must(strconv.Atoi(x.to))(t)
		within(t, x.bytes+" B to rank "+x.to, r.Finish[to], x.want)
	}
}

// A short message does not overtake a longer one of the same pair, of which the buffer is fetched.
func TestSharedMessagesStayInOrder(t *testing.T) {
	c := mpi.QDRConfig(2)
	c.Protocols.SharedShort, c.Protocols.SharedLatency = 80, sim.Microsecond
	simtest.Must(runGoal(t, c, "num_ranks 2\nrank 0 {\na: send 100b to 1 tag 7\nb: send 1b to 1 tag 7\n}\nrank 1 {\na: recv 100b from 0 tag 7\nb: recv 1b from 0 tag 7\nb requires a\n}\n"))(t)
}
