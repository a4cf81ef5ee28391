package mpi_test

import (
	"math"
	"testing"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// withAdapter is a configuration of nodes of one rank, without copies, whose adapters are changed.
func withAdapter(change func(*hca.Config)) mpi.Config {
	c := mpi.QDRConfig(1)
	c.Protocols.EagerCopies = false
	c.Adapter.ContextMiss = 0
	change(&c.Adapter)
	c.Transport = mpi.LogGP{Latency: 200 * sim.Nanosecond, HCA: c.Adapter}.New
	return c
}

// Up to the limit bytes go with the doorbell, at 1 ns a byte here. Beyond it the sender takes a buffer, 30
// ns, and the adapter fetches the bytes, 500 ns and a packet of at most 2,048 B at 2 ns a byte.
func TestInlineLimit(t *testing.T) {
	c := withAdapter(func(a *hca.Config) {
		a.InlineLimit, a.InlineRate, a.FetchTime, a.FetchRate = 100, 8e9, 500*sim.Nanosecond, 4e9
	})
	c.Protocols.BufferTime = 30 * sim.Nanosecond
	for bytes, more := range map[string]float64{"100": 0.1, "101": 0.03 + 0.5 + 0.202, "8000": 0.03 + 0.5 + 4.096} {
		n := map[string]float64{"100": 100, "101": 101, "8000": 8000}[bytes]
		r := simtest.Must(runGoal(t, c, oneMessageText(bytes)))(t)
		within(t, bytes+" B", r.Finish[1], 0.2+adapters(n)+more+0.25)
	}
}

// A message that goes with its doorbell does not overtake one whose bytes are fetched: it is there when
// the receiving engine has taken it in behind the other. Nor does it hold up the sending engine, so that a
// third message, fetched too, follows at the pace of the engine.
func TestFetchedBytesStayInOrder(t *testing.T) {
	c := withAdapter(func(a *hca.Config) { a.InlineLimit, a.FetchTime = 100, 10*sim.Microsecond })
	text := "num_ranks 2\nrank 0 {\na: send 4000b to 1 tag 1\nb: send 64b to 1 tag 2\nc: send 4000b to 1 tag 3\n}\nrank 1 {\nrecv 4000b from 0 tag 1\nrecv 64b from 0 tag 2\nrecv 4000b from 0 tag 3\n}\n"
	r := simtest.Must(runGoal(t, c, text))(t)
	// The engine reads a from 0.2 on in 0.05 + 1.3147, b in 0.05 + 0.021, c in 0.05 + 1.3147 us; what c's last
	// byte has to go from there are 10 + 0.25 + 0.2 + 0.289 us and a receive of 0.25.
	within(t, "third message", r.Finish[1], 0.2+3*0.05+2*4000*8/24.34e3+64*8/24.34e3+10+0.25+0.2+0.289+0.25)
}

// With half of a link of 32 Gb/s for payload a byte takes 0.5 ns.
func TestPayloadShare(t *testing.T) {
	c := withAdapter(func(a *hca.Config) { a.DMARate, a.PayloadShare = 32e9, 0.5 })
	r := simtest.Must(runGoal(t, c, oneMessageText("8000")))(t)
	within(t, "8000 B", r.Finish[1], 0.2+adapters(0)+8000*0.0005+0.25)
}

// A rendezvous by read: RTS; the receiver's CPU takes it in, looks up its registration (5 us here, as the
// sender has) and has its adapter read; the sender's adapter answers by itself; the receiver polls. The
// sender learns of it 0.5 us after the data are in.
func TestRendezvousByRead(t *testing.T) {
	c := mpi.QDRConfig(1)
	c.Protocols.Rendezvous, c.Protocols.ReadOverhead, c.Protocols.RegisterTime = "read", 70*sim.Nanosecond, 5*sim.Microsecond
	r := simtest.Must(runGoal(t, c, "num_ranks 2\nrank 0 {\ns: send 65536b to 1\nc: calc 1000\nc requires s\n}\nrank 1 {\nrecv 65536b from 0\n}\n"))(t)
	in := 0.2 + 5 + adapters(64) + 0.25 + 0.07 + 5 + adapters(64) + adapters(65536)
	within(t, "receiver", r.Finish[1], in+0.1)
	within(t, "sender", r.Finish[0], in+0.5+1)
	simtest.Equal(t, r.CPU[0].Busy, 6200*sim.Nanosecond, "the sender's CPU is busy for")
	simtest.ErrorIf(t, r.Stats.Rendezvous != 1 || r.Stats.Control != 2, "%d rendezvous, %d control messages; want 1, 2", r.Stats.Rendezvous, r.Stats.Control)
}

// As UCX reads: the request and the notice at the end are packed in 0.03 us and fetched in 0.5 us, as the
// data are, though they are below the limit; the read itself goes with its doorbell. The receiver's CPU posts
// the notice, the sender's takes it in.
func TestRendezvousByGet(t *testing.T) {
	c := withAdapter(func(a *hca.Config) { a.InlineLimit, a.FetchTime = 100, 500*sim.Nanosecond })
	p := &c.Protocols
	p.Rendezvous, p.ReadOverhead, p.RegisterTime, p.BufferTime = "get", 70*sim.Nanosecond, 5*sim.Microsecond, 30*sim.Nanosecond
	r := simtest.Must(runGoal(t, c, "num_ranks 2\nrank 0 {\ns: send 65536b to 1\nc: calc 1000\nc requires s\n}\nrank 1 {\nrecv 65536b from 0\n}\n"))(t)
	in := 0.2 + 0.03 + 5 + adapters(64) + 0.5 + 0.25 + 0.07 + 5 + adapters(64) + adapters(65536) + 0.5 + 0.1
	within(t, "receiver", r.Finish[1], in+0.2+0.03)
	within(t, "sender", r.Finish[0], in+0.2+0.03+adapters(64)+0.5+0.25+1)
	busy := r.CPU[0].Busy
	simtest.ErrorIf(t, busy != 6480*sim.Nanosecond || r.Stats.Control != 3, "the sender's CPU is busy for %v, want 0.2 + 0.03 + 5 + 0.25 us and the calc; %d control messages, want 3", busy, r.Stats.Control)
}

// An adapter answers a read beside the sends of the QP: a message posted after 100 us comes before the rest
// of 1 MiB, which takes 345 us; it waits for a quantum of 11,243 B, 3.7 us, at most. Rank 2 hears of it.
func TestAnswersOfReadsDoNotHoldUpSends(t *testing.T) {
	c := withAdapter(func(*hca.Config) {})
	c.Protocols.Rendezvous = "read"
	r := simtest.Must(runGoal(t, c, "num_ranks 3\nrank 0 {\nsend 1048576b to 1 tag 1\nw: calc 100000\nb: send 64b to 1 tag 2\nb requires w\n}\nrank 1 {\nrecv 1048576b from 0 tag 1\nb: recv 64b from 0 tag 2\nx: send 64b to 2\nx requires b\n}\nrank 2 {\nrecv 64b from 1\n}\n"))(t)
	ways := 2 * (0.2 + adapters(64) + 0.25)
	got := r.Finish[2].Microseconds()
	simtest.ErrorIf(t, got < 100+ways || got > 100.2+ways+2*3.7, "rank 2 hears after %v us, want 100 and two messages, %v us, and two quanta at most", got, ways)
}

// An eager message above the limit of zero copy is copied at the receiver only, and complete for its
// sender when it is acknowledged.
func TestZeroCopy(t *testing.T) {
	c := mpi.QDRConfig(1)
	c.Protocols.ZeroCopy = 4096
	r := simtest.Must(runGoal(t, c, "num_ranks 2\nrank 0 {\ns: send 8000b to 1\nc: calc 1000\nc requires s\n}\nrank 1 {\nrecv 8000b from 0\n}\n"))(t)
	within(t, "receiver", r.Finish[1], 0.2+adapters(8000)+0.25+copied(8000))
	within(t, "sender", r.Finish[0], 0.2+adapters(8000)+0.5+1)
}

// Inside a node a message up to the limit is copied in and out, here at 20 Gb/s; a larger one once, at 80
// Gb/s, after 1 us for getting at the sender's memory, and its sender learns of the end 0.2 us after it.
// Where the receive comes late, it is still copied once.
func TestSingleCopy(t *testing.T) {
	c := mpi.QDRConfig(2)
	p := &c.Protocols
	p.SharedRate, p.SingleCopy, p.SingleCopyTime, p.SingleCopyRate = 20e9, 4000, sim.Microsecond, 80e9
	text := func(bytes, wait string) string {
		return "num_ranks 2\nrank 0 {\ns: send " + bytes + "b to 1\nc: calc 1000\nc requires s\n}\nrank 1 {\nw: calc " + wait + "\nr: recv " + bytes + "b from 0\nr requires w\n}\n"
	}
	for _, memory := range []mpi.Memory{{}, {Bandwidth: 1e12, Domains: 1}} {
		c.Memory = memory
		r := simtest.Must(runGoal(t, c, text("4000", "0")))(t)
		within(t, "two copies", r.Finish[1], 0.2+0.2+0.25+2*4000*8/20e3)
		r = simtest.Must(runGoal(t, c, text("8000", "0")))(t)
		one := 0.2 + 0.2 + 0.25 + 1 + 8000*8/80e3
		within(t, "one copy", r.Finish[1], one)
		within(t, "its sender", r.Finish[0], one+0.2+1)
		r = simtest.Must(runGoal(t, c, text("8000", "100000")))(t)
		within(t, "late", r.Finish[1], 100+0.25+1+8000*8/80e3)
		within(t, "its sender", r.Finish[0], 100+0.25+1+8000*8/80e3+0.2+1)
	}
}

// Copies that stay in caches do not share the memory's bandwidth: four ranks of a node copy 8,000 B at
// once at 40 Gb/s each, through a memory of as much, in 1.6 us where they are cached, and otherwise in 6.4.
func TestCachedCopies(t *testing.T) {
	copies := collectives.Uniform(4, 1, func(_, _ int, dst []collectives.Op) []collectives.Op {
		return append(dst, collectives.Op{Kind: collectives.Copy, Bytes: 8000, Data: collectives.Slot(0), Into: collectives.Slot(1)})
	})
	for cached, want := range map[sim.Bytes]float64{8000: 1.6, 7999: 6.4} {
		c := mpi.QDRConfig(4)
		c.Memory = mpi.Memory{Bandwidth: 40e9, Cached: cached, Domains: 1}
		r := simtest.Must(c.Run(mpi.RunSchedule(copies, mpi.Costs{Copy: 200}, sim.Picosecond)))(t) // 200 ps a byte
		within(t, "copies", r.Finish[3], want)
	}
}

// A call costs the sender 1 us before its message, and the receiver while it waits; a copy of three blocks
// that lie apart three block times, of five in one run one.
func TestCallsAndBlocks(t *testing.T) {
	c := mpi.QDRConfig(1)
	c.Protocols.EagerCopies = false
	costs := mpi.Costs{Call: sim.Microsecond, Block: 50 * sim.Nanosecond}
	r := simtest.Must(c.Run(mpi.RunSchedule(between(2, 0, 1, collectives.Op{Bytes: 64}), costs, sim.Picosecond)))(t)
	within(t, "receiver", r.Finish[1], 1+0.2+adapters(64)+0.25)
	for _, x := range []struct {
		slots collectives.Slots
		want  float64
	}{{collectives.Slots{First: 1, Run: 1, Step: 2, Count: 3}, 0.15}, {collectives.Range(0, 5), 0.05}} {
		s := collectives.Uniform(1, 1, func(_, _ int, dst []collectives.Op) []collectives.Op {
			return append(dst, collectives.Op{Kind: collectives.Copy, Bytes: 8, Data: x.slots, Into: collectives.Range(9, int(x.slots.Count))})
		})
		r := simtest.Must(c.Run(mpi.RunSchedule(s, costs, sim.Picosecond)))(t)
		within(t, "copy", r.Finish[0], x.want)
	}
}

// Nodes 0 and 1 are on one leaf switch, node 2 is on another.
func TestFarLatency(t *testing.T) {
	c := withAdapter(func(*hca.Config) {})
	c.Transport = mpi.LogGP{Latency: 200 * sim.Nanosecond, PerLeaf: 2, Far: sim.Microsecond, HCA: c.Adapter}.New
	for to, more := range map[int]float64{1: 0, 2: 0.8} {
		r := runSchedule(t, c, between(3, 0, to, collectives.Op{Bytes: 64}))
		within(t, "receiver", r.Finish[to], 0.2+adapters(64)+more+0.25)
	}
}

// A message of 2,500 B in pieces of 1,000 B. The sender's CPU has the first after 0.2 us of posting and a copy
// of 0.2; the others take 0.1 and a copy. The adapter, slower, reads a piece after the other; the first is there
// after adapters(1000), and the receiver takes it in in 0.25 us and a copy, the others, which come
// meanwhile, in 0.1 and a copy. With copies of no time the receiver is done when the last piece, of 500 B,
// is. A receive 100 us later has all of it copied again, one after 1.6 us the first piece, which has come by then.
// Pieces that wait for a connection leave together, and the receiver, slower, does not notice.
func TestPieces(t *testing.T) {
	late := func(wait string) string {
		return "num_ranks 2\nrank 0 {\nsend 2500b to 1\n}\nrank 1 {\nw: calc " + wait + "\nr: recv 2500b from 0\nr requires w\n}\n"
	}
	sent, first := 0.2+copied(2500)+2*0.1, 0.2+copied(1000)+adapters(1000)
	taken := 0.25 + copied(2500) + 2*0.1
	plain := func(*mpi.Config) {}
	for name, x := range map[string]struct {
		set  func(*mpi.Config)
		text string
		want float64
	}{
		"plain":     {plain, oneMessageText("2500"), first + taken},
		"memory":    {func(c *mpi.Config) { c.Memory = mpi.Memory{Bandwidth: 1e12, Domains: 1} }, oneMessageText("2500"), first + taken},
		"cached":    {func(c *mpi.Config) { c.Memory = mpi.Memory{Bandwidth: 1e12, Cached: 500, Domains: 1} }, oneMessageText("2500"), first + taken},
		"late":      {plain, late("100000"), 100 + taken + copied(2500)},
		"halfway":   {plain, late("1600"), 1.6 + taken + copied(1000)},
		"last":      {func(c *mpi.Config) { c.Protocols.CopyRate = 1e15 }, oneMessageText("2500"), 0.2 + 2*adapters(1000) - 2*(adapters(0)-0.05) + adapters(500) + 0.1},
		"on demand": {func(c *mpi.Config) { c.Connections.OnDemand = true }, oneMessageText("2500"), first + taken},
	} {
		c := mpi.QDRConfig(1)
		x.set(&c)
		c.Protocols.EagerSegment, c.Protocols.SegmentOverhead = 1000, 100*sim.Nanosecond
		r := simtest.Must(runGoal(t, c, x.text))(t)
		within(t, name+", receiver", r.Finish[1]-r.Stats.ConnectWait, x.want)
		if name != "last" && name != "on demand" {
			within(t, name+", sender", r.Finish[0], sent)
		}
		simtest.ErrorIf(t, r.Stats.Messages != 1 || r.HCA.Bytes != 2500+128*r.Stats.Handshakes, "%s: %d messages, %d B sent", name, r.Stats.Messages, r.HCA.Bytes)
	}
}

// Memory that is registered for a message alone, 16 pages of 4 KiB here, has the adapter look up each in 0.05
// us; that of an eager message, in buffers, or registered before, does not.
func TestPagesOfRegisteredMemory(t *testing.T) {
	for _, x := range []struct {
		bytes string
		page  sim.Time // of registering
		more  float64
	}{{"65536", 1, 16 * 0.05}, {"65536", 0, 0}, {"8000", 1, 0}} {
		for _, rendezvous := range []string{"write", "read", "get"} {
			var ends [2]sim.Time
			for i := range ends {
				c := withAdapter(func(a *hca.Config) { a.PageTime = sim.Time(i) * 50 * sim.Nanosecond })
				c.Protocols.Rendezvous, c.Protocols.RegisterPage = rendezvous, x.page
				ends[i] = simtest.Must(runGoal(t, c, oneMessageText(x.bytes)))(t).Finish[1]
			}
			within(t, rendezvous+" of "+x.bytes+" B, looked up", ends[1]-ends[0], x.more)
		}
	}
}

// Noise adds what it says: 1,000 computations of 1 us on each of 8 ranks with 10 % on average take 1.1 ms, within 4
// standard errors of 0.1/sqrt(1000) us a computation; the daemon takes a tenth of the CPU besides: 1.1/0.9 ms.
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
			simtest.ErrorIf(t, math.Abs(float64(finish)-want) > 4*0.1/math.Sqrt(1000)*1e9+1e6, "daemon %v: rank %d ends at %v, want %.0f us", daemon, rank, finish, want/1e6)
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
