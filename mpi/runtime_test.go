package mpi_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/goal"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

func runGoal(t *testing.T, c mpi.Config, text string) (mpi.Result, error) {
	t.Helper()
	g := simtest.Must(goal.Parse("test.goal", strings.NewReader(text)))(t)
	return c.Run(g.Replay(int64(sim.Nanosecond)))
}

const us = float64(sim.Microsecond)

// oneMessageText is a schedule in which rank 0 sends so many bytes to rank 1.
func oneMessageText(bytes string) string {
	return strings.ReplaceAll("num_ranks 2\nrank 0 {\nsend Xb to 1\n}\nrank 1 {\nrecv Xb from 0\n}\n", "X", bytes)
}

// runSchedule runs a schedule on the runtime; local work costs nothing.
func runSchedule(t *testing.T, c mpi.Config, s collectives.Schedule) mpi.Result {
	t.Helper()
	return simtest.Must(c.Run(mpi.RunSchedule(s, mpi.Costs{}, sim.Picosecond)))(t)
}

// between is a schedule of one round in which a rank sends a message to another.
func between(ranks, from, to int, send collectives.Op) collectives.Schedule {
	return collectives.Uniform(ranks, 1, func(rank, _ int, dst []collectives.Op) []collectives.Op {
		switch rank {
		case from:
			send.Kind, send.Peer = collectives.Send, int32(to)
			return append(dst, send)
		case to:
			return append(dst, collectives.RecvOp(from, int(send.Tag), send.Bytes))
		}
		return dst
	})
}

// within checks a time in microseconds, to a nanosecond.
func within(t *testing.T, what string, got sim.Time, want float64) {
	t.Helper()
	simtest.ErrorIf(t, math.Abs(float64(got)/us-want) > 1e-3, "%s = %.4f us, want %.4f", what, float64(got)/us, want)
}

// The time of a message of n bytes through the adapters: request 0.05, send
// latency 0.25, wire 0.2, receive latency 0.289, n bytes at 24.34 Gb/s.
func adapters(n float64) float64 { return 0.05 + 0.25 + 0.2 + 0.289 + n*8/24.34e3 }

// A copy of n bytes at 40 Gb/s.
func copied(n float64) float64 { return n * 8 / 40e3 }

// Times that no clock holds are an error on every machine, not another time; 5,000 messages of 1,000 s are 58 days.
func TestEndlessComputation(t *testing.T) {
	slow := mpi.QDRConfig(1)
	slow.Protocols.RecvOverhead, slow.Protocols.LimitBuffers = 1000*sim.Second, false
	_, err := runGoal(t, slow, "num_ranks 2\nrank 0 {\n"+strings.Repeat("send 1b to 1\n", 5000)+"}\nrank 1 {\n"+strings.Repeat("recv 1b from 0\n", 5000)+"}\n")
	simtest.ErrorIf(t, !errors.Is(err, mpi.ErrTooLate), "slow receives: %v", err)
	for _, text := range []string{
		"num_ranks 1\nrank 0 {\ncalc 9223372036854775807\n}\n",
		"num_ranks 1\nrank 0 {\ncalc 1500000000000000000\n}\n", // 47 years
		"num_ranks 1\nrank 0 {\na: calc 600000000000000000\nb: calc 600000000000000000\nb requires a\n}\n",
	} {
		r, err := runGoal(t, mpi.QDRConfig(1), text)
		simtest.ErrorIf(t, !errors.Is(err, mpi.ErrTooLate), "runtime: %v, %v", r.Finish, err)
		finish, err := runText(t, mpi.DefaultLogGOPS, text)
		simtest.ErrorIf(t, !errors.Is(err, mpi.ErrTimeOverflow), "LogGOPS: %v, %v", finish, err)
	}
}

func TestEndlessMessage(t *testing.T) {
	const text = "num_ranks 2\nrank 0 {\nsend 9223372036854775807b to 1\n}\nrank 1 {\nrecv 9223372036854775807b from 0\n}\n"
	slow := mpi.QDRConfig(1)
	slow.Protocols.CopyRate = 1000 // 20 hours are 72,057 s
	for config, want := range map[*mpi.Config]string{new(mpi.QDRConfig(1)): "1099511627776", &slow: "9007199"} {
		_, err := runGoal(t, *config, text)
		simtest.Fail(t, err, "to 1 tag 0 (test.goal:3): want a message of at most "+want+" bytes, 2^40 or as many as take 20 hours")
	}
}

func TestPointToPoint(t *testing.T) {
	const send, recv = 0.2, 0.25 // CPU time per message
	noCopies := mpi.QDRConfig(1)
	noCopies.Protocols.EagerCopies = false
	shared := mpi.QDRConfig(2)
	for _, c := range []struct {
		name, text       string
		config           mpi.Config
		sender, receiver float64
	}{
		// 0.2 + 0.789 + 64 B (0.021) + 0.25 = 1.26: the paper's small message.
		{"64 B", oneMessageText("64"), noCopies, send, 1.26},
		{"eager with copies", oneMessageText("8000"), mpi.QDRConfig(1), send + copied(8000), send + copied(8000) + adapters(8000) + recv + copied(8000)},
		// RTS, CTS, data and FIN one after another; FIN starts when the data have left the sending engine and waits at
		// the receiving engine, which takes it in behind them. The sender's write completes 0.5 after the data are in.
		{"rendezvous", oneMessageText("65536"), mpi.QDRConfig(1),
			2*send + 2*recv + 2*adapters(64) + send + adapters(65536) + 0.5,
			2*(send+adapters(64)+recv) + send + adapters(65536) + 0.05 + 64*8/24.34e3 + recv},
		{"shared memory", oneMessageText("8000"), shared, send + copied(8000), send + copied(8000) + 0.2 + recv + copied(8000)},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := simtest.Must(runGoal(t, c.config, c.text))(t)
			within(t, "receiver", r.Finish[1], c.receiver)
			if c.name != "rendezvous" {
				within(t, "sender", r.Finish[0], c.sender)
			}
		})
	}
}

// A message of 8,000 B in a segment of shared memory is copied on one side only.
func TestSegments(t *testing.T) {
	for _, c := range []struct {
		segment          collectives.Segment
		sender, receiver float64
	}{
		{collectives.InAndOut, 0.2 + copied(8000), 0.2 + 0.2 + 0.25 + 2*copied(8000)},
		{collectives.In, 0.2 + copied(8000), 0.2 + 0.2 + 0.25 + copied(8000)},
		{collectives.Out, 0.2, 0.2 + 0.2 + 0.25 + copied(8000)},
	} {
		schedule := between(2, 0, 1, collectives.Op{Bytes: 8000, Segment: c.segment})
		for _, memory := range []mpi.Memory{{}, {Bandwidth: 1e12, Domains: 1}} {
			config := mpi.QDRConfig(2)
			config.Memory = memory
			r := runSchedule(t, config, schedule)
			within(t, "sender", r.Finish[0], c.sender)
			within(t, "receiver", r.Finish[1], c.receiver)
		}
	}
}

// Registering costs both sides of a rendezvous, and only the sender of a direct
// write: 65,537 B are 17 pages, 10 + 17 us; 64 B eagerly cost nothing.
func TestRegistration(t *testing.T) {
	for _, c := range []struct {
		bytes string
		more  float64
	}{{"65537", 2 * 27}, {"64", 0}} {
		config := mpi.QDRConfig(1)
		before := simtest.Must(runGoal(t, config, oneMessageText(c.bytes)))(t)
		config.Protocols.RegisterTime, config.Protocols.RegisterPage = 10*sim.Microsecond, sim.Microsecond
		after := simtest.Must(runGoal(t, config, oneMessageText(c.bytes)))(t)
		within(t, c.bytes+" B", after.Finish[1]-before.Finish[1], c.more)
	}
	direct := between(2, 0, 1, collectives.Op{Bytes: 65537, Protocol: collectives.Direct})
	config := mpi.QDRConfig(1)
	before := runSchedule(t, config, direct)
	config.Protocols.RegisterTime, config.Protocols.RegisterPage = 10*sim.Microsecond, sim.Microsecond
	within(t, "direct write", runSchedule(t, config, direct).Finish[1]-before.Finish[1], 27)
}

// An RDMA write is complete for the sender Acknowledge after its data are in; a calc behind it shows when.
func TestRendezvousSender(t *testing.T) {
	r := simtest.Must(runGoal(t, mpi.QDRConfig(1), "num_ranks 2\nrank 0 {\ns: send 65536b to 1\nc: calc 1000\nc requires s\n}\nrank 1 {\nrecv 65536b from 0\n}\n"))(t)
	within(t, "sender", r.Finish[0], 2*(0.2+adapters(64)+0.25)+0.2+adapters(65536)+0.5+1)
	simtest.ErrorIf(t, r.Stats.Rendezvous != 1 || r.Stats.Control != 3, "%d rendezvous, %d control messages; want 1, 3", r.Stats.Rendezvous, r.Stats.Control)
}

// A sender that waits for acknowledgements makes its second eager message ready when the first has come, otherwise at once.
func TestEagerAcknowledged(t *testing.T) {
	c := mpi.QDRConfig(1)
	c.Protocols.EagerCopies, c.Protocols.StagingPage = false, sim.Millisecond
	text := "num_ranks 2\nrank 0 {\na: send 4096b to 1 tag 1\nb: send 8192b to 1 tag 2\nb requires a\n}\nrank 1 {\nrecv 4096b from 0 tag 1\nrecv 8192b from 0 tag 2\n}\n"
	for acknowledged, want := range map[bool]float64{false: 0.2 + 0.2 + 2000 + adapters(8192) + 0.25, true: 0.2 + 1000 + adapters(4096) + 0.5 + 0.2 + 2000 + adapters(8192) + 0.25} {
		c.Protocols.EagerAcknowledged = acknowledged
		r := simtest.Must(runGoal(t, c, text))(t)
		within(t, fmt.Sprintf("acknowledged %v: receiver", acknowledged), r.Finish[1], want)
	}
}

// Unreliable datagrams know no RDMA: large messages are copied.
func TestDatagramsGoEagerly(t *testing.T) {
	c := mpi.QDRConfig(1)
	c.Connections.Mode = mpi.UD
	r := simtest.Must(runGoal(t, c, oneMessageText("65536")))(t)
	within(t, "receiver", r.Finish[1], 0.2+adapters(65536)+0.25+2*copied(65536))
}

// A receive that is posted late finds the message in the unexpected queue and copies it out once more.
func TestUnexpectedMessage(t *testing.T) {
	r := simtest.Must(runGoal(t, mpi.QDRConfig(1), "num_ranks 2\nrank 0 {\nsend 8000b to 1\n}\nrank 1 {\nc: calc 100000\nr: recv 8000b from 0\nr requires c\n}\n"))(t)
	// The message comes during the calc; it is taken in at its end.
	within(t, "receiver", r.Finish[1], 100+0.25+2*copied(8000))
}

// Direct writes and handshakes without FIN.
func TestDirectProtocols(t *testing.T) {
	message := func(p mpi.Protocol) mpi.Result {
		return runSchedule(t, mpi.QDRConfig(1), between(2, 0, 1, collectives.Op{Bytes: 65536, Protocol: p}))
	}
	direct := message(collectives.Direct)
	within(t, "direct write", direct.Finish[1], 0.2+adapters(65536)+0.1)
	handshake := message(collectives.Handshake)
	within(t, "handshake", handshake.Finish[1], 2*(0.2+adapters(64)+0.25)+0.2+adapters(65536)+0.1)
	simtest.ErrorIf(t, direct.Stats.Control != 0 || handshake.Stats.Control != 2, "control messages: direct %d, handshake %d; want 0, 2", direct.Stats.Control, handshake.Stats.Control)
}

// A computing receiver with five buffers gets seven messages: the sixth finds none and comes again every 640 us
// until it is done, the seventh behind it.
func TestReceiverNotReady(t *testing.T) {
	c := mpi.QDRConfig(1)
	c.Connections.Mode = mpi.RC
	text := "num_ranks 2\nrank 0 {\n" + strings.Repeat("send 64b to 1\n", 7) + "}\nrank 1 {\nc: calc 1000000\n"
	for i := range 7 {
		text += strings.ReplaceAll("rX: recv 64b from 0\nrX requires c\n", "X", string(rune('0'+i)))
	}
	r := simtest.Must(runGoal(t, c, text+"}\n"))(t)
	// Refused at about 2.3 us and again 640 us later; at 1282 us the calc of 1000 us is over.
	simtest.ErrorIf(t, r.Stats.NotReady != 2, "%d arrivals found no buffer, want 2", r.Stats.NotReady)
	got := r.Elapsed.Microseconds()
	simtest.ErrorIf(t, got < 1282 || got > 1284, "elapsed %v us, want the seventh message's third arrival, 1282 to 1284", got)
	// A shared receive queue for one QP has one buffer: the second is refused twice, and each of the five behind it
	// once, as the one before has just taken the buffer: 2 + 5.
	c.Connections.Mode, c.Connections.SRQLeast = mpi.RCSRQ, 1
	r = simtest.Must(runGoal(t, c, text+"}\n"))(t)
	simtest.ErrorIf(t, r.Stats.NotReady != 7, "shared receive queue: %d arrivals found no buffer, want 7", r.Stats.NotReady)
	// One of five buffers is like RC's.
	c.Connections.SRQBuffers = 5
	r = simtest.Must(runGoal(t, c, text+"}\n"))(t)
	simtest.ErrorIf(t, r.Stats.NotReady != 2, "shared receive queue of five: %d arrivals found no buffer, want 2", r.Stats.NotReady)
	c.Protocols.LimitBuffers = false
	r = simtest.Must(runGoal(t, c, text+"}\n"))(t)
	simtest.ErrorIf(t, r.Stats.NotReady != 0, "without limit: %d arrivals found no buffer", r.Stats.NotReady)
}

// TestNoticeNeedsBuffer: the FIN of a rendezvous takes a receive buffer. A process takes 1 ms to take in
// a message; the clear-to-send leaves at 1.0 ms, data from 2.0 ms on, and the FIN of 1 MB comes at 2.33. From
// 2.1 to 3.1 ms the only buffer has rank 2's message: refused at 2.33 and 2.97, the FIN comes at 3.61.
func TestNoticeNeedsBuffer(t *testing.T) {
	c := mpi.QDRConfig(1)
	c.Connections.Mode, c.Connections.SRQBuffers, c.Protocols.RecvOverhead = mpi.RCSRQ, 1, sim.Millisecond
	r := simtest.Must(runGoal(t, c, "num_ranks 3\nrank 0 {\nsend 1000000b to 1 tag 1\n}\nrank 1 {\nrecv 1000000b from 0 tag 1\nrecv 64b from 2 tag 2\n}\nrank 2 {\nc: calc 2100000\ns: send 64b to 1 tag 2\ns requires c\n}\n"))(t)
	got := r.Finish[1].Microseconds()
	simtest.ErrorIf(t, r.Stats.NotReady != 2 || got < 4605 || got > 4625, "%d arrivals found no buffer, done at %v us; want 2, and 1 ms after 3612", r.Stats.NotReady, got)
}

func TestRuntimeDeadlock(t *testing.T) {
	_, err := runGoal(t, mpi.QDRConfig(1), "num_ranks 2\nrank 0 {\nr: recv 8b from 1\ns: send 8b to 1\ns requires r\n}\nrank 1 {\nr: recv 8b from 0\ns: send 8b to 0\ns requires r\n}\n")
	var stuck *mpi.StuckError
	simtest.ErrorIf(t, !errors.As(err, &stuck) || !stuck.Cycle, "error %v, want a deadlock", err)
	_, err = runGoal(t, mpi.QDRConfig(1), "num_ranks 2\nrank 0 {\nsend 65536b to 1\n}\nrank 1 {\n}\n")
	simtest.ErrorIf(t, !errors.As(err, &stuck) || stuck.Messages != 1, "error %v, want a message without a receive", err)
}

// TestLongMessage: a message longer than its receive ends the run, whichever is there first, on every machine;
// a shorter one fits. Here the order is wrong: the second receive has room.
func TestLongMessage(t *testing.T) {
	const text = "num_ranks 2\nrank 0 {\na: send %db to 1\nb: send 1b to 1\nb requires a\n}\nrank 1 {\nc: calc %d\nr: recv %db from 0\nr requires c\ns: recv 1000000b from 0\ns requires r\n}\n"
	for _, size := range []int{100, 100_000} {
		for _, wait := range []int{0, 1_000_000} {
			_, err := runGoal(t, mpi.QDRConfig(1), fmt.Sprintf(text, size, wait, size-1))
			want := fmt.Sprintf("a message of %d B from rank 0 to rank 1, tag 0, meets a receive of %d B", size, size-1)
			simtest.Fail(t, err, want)
			_, err = mpi.DefaultLogGOPS.Run(simtest.Must(goal.Parse("f", strings.NewReader(fmt.Sprintf(text, size, wait, size-1))))(t).Replay(1), nil)
			simtest.Fail(t, err, want)
			simtest.Must(runGoal(t, mpi.QDRConfig(1), fmt.Sprintf(text, size, wait, size+1)))(t)
		}
	}
}

func TestPlacement(t *testing.T) {
	for _, c := range []struct {
		p    mpi.Placement
		want []int32
	}{
		{mpi.Placement{Type: mpi.Block, PerNode: 2}, []int32{0, 0, 1, 1, 2}},
		{mpi.Placement{Type: mpi.Cyclic, PerNode: 2}, []int32{0, 1, 2, 0, 1}},
		{mpi.Placement{Type: mpi.Explicit, Nodes: []int{4, 4, 0, 1, 2}}, []int32{4, 4, 0, 1, 2}},
	} {
		got, _ := simtest.Must2(c.p.Place(5, 1))(t)
		simtest.ErrorIf(t, !slices.Equal(got, c.want), "%+v: nodes %v, want %v", c.p, got, c.want)
	}
	got, nodes, err := mpi.Placement{Type: mpi.Random, PerNode: 4}.Place(1000, 1)
	count := map[int32]int{}
	for _, n := range got {
		count[n]++
	}
	simtest.ErrorIf(t, err != nil || nodes != 250 || len(count) != 250 || got[0] == 0 && got[1] == 0 && got[2] == 0, "random placement: %d nodes, %d in use (%v)", nodes, len(count), err)
	for _, p := range []mpi.Placement{{Type: mpi.Explicit, Nodes: []int{1}}, {Type: mpi.Explicit, Nodes: []int{0, 0, 0, 0, -1}}, {Type: mpi.Block}, {Type: "spiral", PerNode: 1}} {
		_, _, err := p.Place(5, 1)
		simtest.ErrorIf(t, err == nil, "%+v is accepted", p)
	}
}

// TestOperationMisuse: 2 ranks are 0 and 1; a receive may be from any.
func TestOperationMisuse(t *testing.T) {
	for _, op := range []collectives.Op{collectives.SendOp(2, 0, 8), collectives.RecvOp(-2, 0, 8), collectives.SendOp(-1, 0, 8), collectives.SendOp(1, 0, -8), {Kind: 9}, {Kind: collectives.Compute, Time: -1}} {
		s := collectives.Uniform(2, 1, func(_, _ int, dst []collectives.Op) []collectives.Op { return append(dst, op) })
		simtest.Panics(t, func() { mpi.RunSchedule(s, mpi.Costs{}, 1).Start(1, nil) }, fmt.Sprintf("gives rank 1 in round 0 an operation of kind %d, peer %d, %d B and ", op.Kind, op.Peer, op.Bytes))
	}
}

func TestRuntimeRefusesSeveralCPUs(t *testing.T) {
	simtest.Refuse(runGoal(t, mpi.QDRConfig(1), "num_ranks 1\nrank 0 {\ncalc 5 cpu 2\n}\n"))(t, "3 CPUs")
}

func TestProgressStops(t *testing.T) {
	s := collectives.BarrierDissemination(1 << 15) // half a million messages
	calls := 0
	stop := func(events int64) bool { calls++; return calls == 2 }
	c := mpi.QDRConfig(4)
	c.Progress = stop
	_, err := c.Run(mpi.RunSchedule(s, mpi.Costs{}, sim.Picosecond))
	simtest.ErrorIf(t, !errors.Is(err, mpi.ErrStopped) || calls != 2, "runtime: error %v after %d calls, want ErrStopped after 2", err, calls)
	calls = 0
	_, err = mpi.DefaultLogGOPS.Run(mpi.RunSchedule(s, mpi.Costs{}, sim.Nanosecond), stop)
	simtest.ErrorIf(t, !errors.Is(err, mpi.ErrStopped) || calls != 2, "LogGOPS machine: error %v after %d calls, want ErrStopped after 2", err, calls)
}

// TestMessagesStayInOrder: 400 messages, each 10 B longer than the one before, meet receives of their sizes. One that
// overtakes another, which waits for its connection, a buffer or its bytes, is longer than the receive that it meets.
func TestMessagesStayInOrder(t *testing.T) {
	var sends, receives strings.Builder
	for i := range 400 {
		fmt.Fprintf(&sends, "send %db to 1\n", 10*i)
		fmt.Fprintf(&receives, "recv %db from 0\n", 10*i)
	}
	for name, set := range map[string]func(c *mpi.Config){
		"on demand":   func(c *mpi.Config) { c.Connections.OnDemand = true },
		"two buffers": func(c *mpi.Config) { c.Connections.SRQBuffers = 2 },
		"one each":    func(c *mpi.Config) { c.Connections.Mode, c.Connections.Preposted = mpi.RC, 1 },
		"staging":     func(c *mpi.Config) { c.Protocols.EagerLimit, c.Protocols.StagingPage = 2000, 4*sim.Microsecond },
		"pieces":      func(c *mpi.Config) { c.Protocols.EagerSegment, c.Protocols.StagingPage = 2000, 4*sim.Microsecond },
	} {
		c := mpi.QDRConfig(1)
		set(&c)
		r, err := runGoal(t, c, "num_ranks 2\nrank 0 {\n"+sends.String()+"}\nrank 1 {\n"+receives.String()+"}\n")
		simtest.ErrorIf(t, err != nil || r.Stats.Messages != 400, "%s: %d messages, %v", name, r.Stats.Messages, err)
	}
}

// recorded runs a schedule and writes its timeline and its critical path, times in ps.
func recorded(t *testing.T, c mpi.Config, text string) (timeline, path string) {
	t.Helper()
	c.Timeline = mpi.NewTimeline(1000)
	r := simtest.Must(runGoal(t, c, text))(t)
	var b strings.Builder
	last := 0
	for rank := range c.Timeline.Ranks() {
		free := sim.Time(0)
		c.Timeline.Of(rank, func(a mpi.Activity) {
			simtest.ErrorIf(t, a.Start != free, "rank %d: %+v begins at %d, want %d", rank, a, a.Start, free)
			free = a.End
			fmt.Fprintf(&b, "%d: %d %v", rank, a.End-a.Start, a.What)
			if a.Number >= 0 {
				fmt.Fprintf(&b, " %d:%d with %d", a.Sender, a.Number, a.Peer)
			}
			b.WriteByte('\n')
		})
		simtest.ErrorIf(t, free < r.Finish[rank], "rank %d: ends at %d, want %d", rank, free, r.Finish[rank])
		if r.Finish[rank] > r.Finish[last] {
			last = rank
		}
	}
	timeline = b.String()
	b.Reset()
	free := sim.Time(0)
	for _, s := range c.Timeline.CriticalPath(last, r.Elapsed) {
		simtest.ErrorIf(t, s.Start != free, "%+v begins at %d, want %d", s, s.Start, free)
		free = s.End
		fmt.Fprintf(&b, "%d: %d %v\n", s.Rank, s.End-s.Start, s.What)
	}
	simtest.ErrorIf(t, free != r.Elapsed, "the path ends at %d, want %d", free, r.Elapsed)
	return timeline, b.String()
}

// TestTimelineOfOneMessage: 64 B of which the sender's CPU takes 200 ns. The adapter takes 50 ns for the request, 250 ns to send; 200 ns the
// way, 289 ns the receiving adapter, together 739 ns; 64 B at 24.34 Gb/s 21,035 ps (64 * 8 / 24.34 = 21.0353); the receiver's CPU 250 ns.
func TestTimelineOfOneMessage(t *testing.T) {
	c := mpi.QDRConfig(1)
	c.Protocols.EagerCopies = false
	timeline, path := recorded(t, c, oneMessageText("64"))
	want := "0: 200000 send 0:0 with 1\n1: 1010035 wait 0:0 with 0\n1: 250000 receive 0:0 with 0\n"
	simtest.ErrorIf(t, timeline != want, "timeline\n%swant\n%s", timeline, want)
	want = "0: 200000 send\n1: 50000 adapter\n1: 21035 serialisation\n1: 739000 propagation\n1: 250000 receive\n"
	simtest.ErrorIf(t, path != want, "path\n%swant\n%s", path, want)
}

// TestTimelineOfAChain: rank 1 waits for the message of rank 0, computes, and sends to rank 2,
// which has computed for as long as a part of that.
func TestTimelineOfAChain(t *testing.T) {
	c := mpi.QDRConfig(1)
	c.Protocols.EagerCopies = false
	text := simtest.Text(t, "testdata/chain.goal")
	timeline, path := recorded(t, c, text)
	const message = "50000 adapter\nR: 21035 serialisation\nR: 739000 propagation\n"
	want := "0: 1000000 compute\n0: 200000 send\nR: " + message + "1: 250000 receive\n1: 2000000 compute\n1: 200000 send\nR: " + message + "2: 250000 receive\n"
	for _, r := range []string{"1", "2"} {
		want = strings.Replace(want, "R:", r+":", 3)
	}
	simtest.ErrorIf(t, path != want, "path\n%swant\n%s", path, want)
	// Rank 2 has computed until 3500 ns, and the message comes at 1200 + 810.035 + 250 + 2000 + 200 + 810.035 = 5270.07 ns.
	want = "2: 3500000 compute\n2: 1770070 wait 1:0 with 1\n2: 250000 receive 1:0 with 1\n"
	simtest.ErrorIf(t, !strings.HasSuffix(timeline, want), "timeline\n%swant at the end\n%s", timeline, want)
}

// TestTimelineOfARendezvous: the sender waits for the clear to send and for the completion, and
// the receiver, which comes late, for nothing until it has cleared.
func TestTimelineOfARendezvous(t *testing.T) {
	timeline, path := recorded(t, mpi.QDRConfig(1), "num_ranks 2\nrank 0 {\nsend 65536b to 1\n}\nrank 1 {\na: calc 3000\nb: recv 65536b from 0\nb requires a\n}\n")
	// The request comes at 200 + 50 + 739 + 21.035 ns, while rank 1 computes, and its 250 ns begin at 3000 ns, the 200
	// ns of clearing behind them. The answer takes 810.035 ns, after which rank 0 takes it in and posts the data (450
	// ns). These and the 64 B behind them, two requests, take 65,600 * 8 / 24.34 = 21,561.216 ns.
	want := "1: 3000000 compute\n1: 250000 receive\n1: 200000 receive\n0: 50000 adapter\n0: 21035 serialisation\n0: 739000 propagation\n0: 450000 send\n1: 100000 adapter\n1: 21561216 serialisation\n"
	simtest.ErrorIf(t, !strings.HasPrefix(path, want), "path\n%swant first\n%s", path, want)
	for _, want := range []string{"0: 200000 send 0:0 with 1\n0: 4060035 wait 0:0 with 1\n0: 450000 send 0:0 with 1\n0: ", "1: 200000 receive 0:0 with 0\n1: "} {
		simtest.ErrorIf(t, !strings.Contains(timeline, want), "timeline\n%swant\n%s", timeline, want)
	}
}

// TestTimelineOfLogGOPS: o = 1500, L = 2500, g = 1000, G = 6. Rank 0 computes on its CPU 0 and then sends 101 B from its CPU 1, which takes
// 1500 ns; the latency is 2500 ns, and CPU 1 of rank 1 (3 of all) takes 1500 + 100 * 6 = 2100 ns. The second message leaves when the NIC is
// free, 1000 + 100 * 6 ns after the first, 100 ns later than the CPU, and is taken in after the first.
func TestTimelineOfLogGOPS(t *testing.T) {
	text := simtest.Text(t, "testdata/two_cpus.goal")
	p := mpi.DefaultLogGOPS
	p.Timeline = mpi.NewTimeline(1000)
	finish, err := runText(t, p, text)
	simtest.FatalIf(t, err != nil || finish[1] != 5000+1500+2500+2*2100, "%v %v", finish, err)
	var b strings.Builder
	for _, s := range p.Timeline.CriticalPath(p.Timeline.Last(), 13200*sim.Nanosecond) {
		fmt.Fprintf(&b, "%d: %d %v\n", s.Rank, (s.End-s.Start)/sim.Nanosecond, s.What)
	}
	want := "0: 5000 compute\n1: 1500 send\n3: 2500 propagation\n3: 2100 receive\n3: 2100 receive\n"
	simtest.ErrorIf(t, b.String() != want, "path\n%swant\n%s", b.String(), want)
	b.Reset()
	p.Timeline.Of(1, func(a mpi.Activity) { fmt.Fprintf(&b, "%d %v\n", (a.End-a.Start)/sim.Nanosecond, a.What) })
	want = "5000 wait\n1500 send\n100 adapter\n1500 send\n"
	simtest.ErrorIf(t, b.String() != want, "CPU 1 of rank 0\n%swant\n%s", b.String(), want)
}
