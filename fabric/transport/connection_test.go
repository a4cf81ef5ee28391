package transport

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/shared"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestKarnsRule: an answer shows a round trip if the packet was sent once, or twice and the answer is to the second: of others it is not known which
// transmission they answer (Karn and Partridge, SIGCOMM 1987). The window is that after the same answer with the round trip, or with none.
func TestKarnsRule(t *testing.T) {
	for _, c := range []struct {
		times uint8
		again bool
		rtt   sim.Time
	}{{1, false, 3 * sim.Microsecond}, {2, true, 3 * sim.Microsecond}, {2, false, 0}, {3, true, 0}} {
		r := prepare(t, star(t, 4), DefaultConfig(), shared.DefaultConfig(), sim.Microsecond, []Flow{{Src: 1, Dst: 0, Bytes: 100_000}})
		r.kernel.Run(9 * sim.Microsecond / 2) // before the first answer
		conn := r.connections[0]
		record := conn.record(0)
		record.times, record.sent = c.times, int64(r.kernel.Now()-3*sim.Microsecond)
		want := *conn.window
		want.OnAck(r.kernel.Now(), c.rtt, false, 4150, conn.inFlight-4150)
		conn.answered(&shared.Packet{Kind: acknowledgement, Seq: 0, Cum: 1, Bytes: 4150, Again: c.again})
		simtest.ErrorIf(t, *conn.window != want, "sent %d times, answer to a repetition %v: window %+v, want %+v of a round trip of %v", c.times, c.again, *conn.window, want, c.rtt)
	}
}

// TestTimeoutNotNeeded: flights of 20 us make a round trip of 80 us and twice 4,150 and 64 B, 80.67424 us; the timeout is 15 us and six queues of
// 5,000 B, 17.4 us. A flow of a packet repeats it at 17.4, 34.8, 52.2 and 69.6 us, and ends all the same with the first answer. Two of the copies
// have arrived by then, 40.664 us after they were sent. Each timeout takes a packet from the window.
func TestTimeoutNotNeeded(t *testing.T) {
	of := shared.DefaultConfig()
	of.Queue = 5000
	r := prepare(t, star(t, 4), DefaultConfig(), of, 20*sim.Microsecond, []Flow{{Src: 1, Dst: 0, Bytes: 4086}})
	window := r.connections[0].window.Window()
	r.finish(t)
	n := r.Counts
	simtest.ErrorIf(t, math.Abs(r.tail()-80.67424) > 1e-6 || n.Timeouts != 4 || n.Sent != 5 || n.Again != 4 || n.Duplicates != 2,
		"%v us, %+v; want 80.67424, 4 timeouts, 5 sent, 2 twice there", r.tail(), r.Counts)
	got := r.connections[0].window.Window()
	simtest.ErrorIf(t, got != window-4*4150, "window %d, want four packets less than %d", got, window)

	// An answer between the timeout and the repetition: the packet is not sent again.
	r = prepare(t, star(t, 4), DefaultConfig(), of, 20*sim.Microsecond, []Flow{{Src: 1, Dst: 0, Bytes: 4086}})
	r.kernel.Run(sim.Microsecond)
	c := r.connections[0]
	c.lose(0)
	simtest.ErrorIf(t, c.backlog != 4150 || c.inFlight != 0 || c.size() != 4150, "lost: backlog %d, in flight %d, to send %d", c.backlog, c.inFlight, c.size())
	c.answered(&shared.Packet{Kind: acknowledgement, Seq: 0, Cum: 1, Bytes: 4150})
	simtest.ErrorIf(t, c.backlog != 0 || c.size() != 0 || r.Left() != 0 || r.Counts.Again != 0, "answered: backlog %d, to send %d, %d flows left, %+v", c.backlog, c.size(), r.Left(), r.Counts)
}

// TestRecordsAreOfWhatIsInFlight: of a flow of 1 GB, 244,739 packets, a sender keeps after 1 ms, with some 3,000 sent, records of its window of 21
// packets and a few that were answered out of turn or not yet, and the receiver bits behind the first gap.
func TestRecordsAreOfWhatIsInFlight(t *testing.T) {
	r := prepare(t, star(t, 4), DefaultConfig(), shared.DefaultConfig(), sim.Microsecond, []Flow{{Src: 1, Dst: 0, Bytes: 1_000_000_000}})
	r.kernel.Run(sim.Millisecond)
	c := r.connections[0]
	simtest.ErrorIf(t, c.packets != 244_739 || c.next < 2900 || c.records.Len() > 22 || c.receiver.got.words.Len() > 2 || c.order.Len() > 200, "%d packets, %d sent, %d records, %d words, %d in order", c.packets, c.next, c.records.Len(), c.receiver.got.words.Len(), c.order.Len())
	err := r.config.CheckFlows(4, []Flow{{Src: 1, Dst: 0, Bytes: 1 << 50}})
	simtest.ErrorIf(t, err == nil || !strings.Contains(err.Error(), "want at most 2147483647"), "a flow of 1 PB: %v", err)
}

// TestNothingInFlight: an answer counts both packets of a flow as received and names the second only,
// as where more than 64 came between; the first is taken for lost and sent again. The answer to the
// copy brings no bytes, and yet nothing is in flight: a window of a packet would be closed for ever.
func TestNothingInFlight(t *testing.T) {
	r := prepare(t, star(t, 4), DefaultConfig(), shared.DefaultConfig(), sim.Microsecond, []Flow{{Src: 1, Dst: 0, Bytes: 3 * 4086}})
	r.kernel.Run(500 * sim.Nanosecond) // two packets have been begun
	c := r.connections[0]
	c.answered(&shared.Packet{Kind: acknowledgement, Seq: 1, Ask: true, Map: 1, Bytes: 8300})
	c.lose(0)
	simtest.FatalIf(t, c.backlog != 8300 || c.inFlight != 0 || c.awaited != 0, "backlog %d, in flight %d", c.backlog, c.inFlight)
	c.send(c.size())
	c.answered(&shared.Packet{Kind: acknowledgement, Seq: 0, Cum: 2, Bytes: 8300, Again: true})
	simtest.Alike(t, "in flight, backlog", c.inFlight, 0, c.backlog, 4150)
}

// entropies are the next so many of a spraying at a time.
func entropies(s *spraying, n int, now int64) (list []uint16) {
	for range n {
		list = append(list, s.next(now)&7)
	}
	return list
}

// each tells whether a list has each entropy below 8 but those so often.
func each(list []uint16, times int, but ...uint16) bool {
	for e := range uint16(8) {
		n := 0
		for _, x := range list {
			if x == e {
				n++
			}
		}
		if slices.Contains(but, e) != (n == 0) || n != 0 && n != times {
			return false
		}
	}
	return true
}

// TestSprayingInTurn: single has one entropy, oblivious all of 8 in each eight packets.
func TestSprayingInTurn(t *testing.T) {
	s := newSpraying("single", 8, 1, 0)
	one := s.next(0)
	for range 20 {
		s.heard(one, pathTrimmed)
		simtest.FatalIf(t, s.next(0) != one, "a single path changes")
	}
	s = newSpraying("oblivious", 8, 1, 0)
	for range 20 {
		s.heard(3, pathTrimmed)
		list := entropies(&s, 8, 0)
		simtest.FatalIf(t, !each(list, 1), "oblivious: %v", list)
	}
}

// TestSprayingBitmap: a mark passes an entropy over once, a trim four times, and 15 is the most; a timeout, which
// tells nothing of an entropy, as often number 0. The first packet that meets a penalty takes one from it. Penalties are met in turn, so that 1 mark, 2
// marks, 1 trim and 9 trims of an entropy of eight cost 1, 2, 4 and 15 turns.
func TestSprayingBitmap(t *testing.T) {
	const timeout = -1
	for _, c := range []struct{ signal, times, turns int }{{pathMarked, 1, 1}, {pathMarked, 2, 2}, {pathTrimmed, 1, 4}, {pathTrimmed, 9, 15}, {pathTrimmedLast, 3, 0}, {pathGood, 3, 0}, {timeout, 1, 15}} {
		s, entropy := newSpraying("bitmap", 8, 1, 0), uint16(3)
		for range c.times {
			if c.signal == timeout {
				s.expired(0)
				entropy = 0
			} else {
				s.heard(s.upper|entropy, c.signal)
			}
		}
		passed := 0
		for passed < 99 {
			before := s.penalty[entropy]
			if e := s.next(0) & 7; e == entropy {
				break
			}
			if s.penalty[entropy] < before {
				passed++
			}
		}
		simtest.ErrorIf(t, passed != c.turns, "signal %d, %d times: passed over %d times, want %d", c.signal, c.times, passed, c.turns)
	}
}

// TestSprayingReps: entropies of unmarked answers are taken again in their order, the last eight of
// ten, then random ones. Frozen, for 10 ms after a timeout, they go round.
func TestSprayingReps(t *testing.T) {
	s := newSpraying("reps", 64, 1, 0)
	hear := func() {
		for e := range uint16(10) {
			s.heard(e, pathGood)
			s.heard(e+20, pathMarked)
			s.heard(e+40, pathTrimmed)
		}
	}
	hear()
	var got []uint16
	for range 8 {
		got = append(got, s.next(0))
	}
	simtest.ErrorIf(t, !slices.Equal(got, []uint16{2, 3, 4, 5, 6, 7, 8, 9}) || s.good.Len() != 0, "%v, %d left", got, s.good.Len())
	seen := map[uint16]bool{}
	for range 200 { // of 64: a few are missing
		seen[s.next(0)&63] = true
	}
	simtest.ErrorIf(t, len(seen) < 50, "200 random entropies are %d", len(seen))
	hear()
	s.expired(5)
	for i := range 24 {
		e := s.next(4 + repsFrozenFor)
		simtest.FatalIf(t, e != uint16(2+i%8), "frozen: packet %d takes %d", i, e)
	}
	for range 8 {
		s.next(5 + repsFrozenFor)
	}
	simtest.ErrorIf(t, s.good.Len() != 0, "thawed: %d entropies are left", s.good.Len())
}

// TestSprayingMixed: recycled entropies first, any number of them, those trimmed at the last hop among
// them; then bitmap: a marked one is passed over.
func TestSprayingMixed(t *testing.T) {
	s := newSpraying("mixed", 8, 1, 0)
	for range 3 {
		for e := range uint16(4) {
			s.heard(e, pathGood)
		}
	}
	s.heard(7, pathTrimmedLast)
	s.heard(6, pathMarked)
	simtest.EqualSlices(t, entropies(&s, 13, 0), []uint16{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 7}, "recycled")
	got := entropies(&s, 7, 0)
	simtest.ErrorIf(t, !each(got, 1, 6), "then %v, want each but 6 once", got)
}

// TestTimeoutOfSpray: a timeout, at 17.4 us as in TestTimeoutNotNeeded, freezes REPS for its 10 ms.
func TestTimeoutOfSpray(t *testing.T) {
	config, of := DefaultConfig(), shared.DefaultConfig()
	config.Spray, of.Queue = "reps", 5000
	r := prepare(t, star(t, 4), config, of, 20*sim.Microsecond, []Flow{{Src: 1, Dst: 0, Bytes: 4086}})
	r.kernel.Run(18 * sim.Microsecond)
	got := r.connections[0].spray.frozen
	simtest.ErrorIf(t, got != 17_400_000+10_000_000_000, "frozen until %d ps", got)
}

// TestOneTimer: no packet finds room. A packet that times out sets the timer, and so does the one that is due next: there
// are at most two events for each timeout, and the start.
func TestOneTimer(t *testing.T) {
	config, of := DefaultConfig(), shared.DefaultConfig()
	config.Control, of.Queue, of.Full = "none", 4149, "drop"
	r := prepare(t, star(t, 4), config, of, sim.Microsecond, []Flow{{Src: 1, Dst: 0, Bytes: 10 * 4086}})
	r.kernel.Run(sim.Millisecond)
	n, events := r.Counts, int64(r.kernel.Handled())
	simtest.ErrorIf(t, n.Timeouts < 500 || events > 2*n.Timeouts+1, "%d events, %+v", events, n)
}

// TestRequests: three packets time out at 17.4, 17.732 and 18.064 us without credit. The first has credit asked
// for, the others come within a round trip of that, and what waits for credit within a timeout.
func TestRequests(t *testing.T) {
	r := prepare(t, star(t, 4), controlled("rccc"), queued(5000), 20*sim.Microsecond, []Flow{{Src: 1, Dst: 0, Bytes: 3 * 4086}})
	r.kernel.Run(sim.Microsecond)
	c := r.connections[0]
	c.credit.bytes, c.requested = 0, -r.timing.RTT
	r.kernel.Run(19 * sim.Microsecond)
	n := r.Counts
	simtest.ErrorIf(t, n.Timeouts != 3 || n.Requests != 1 || n.Again != 0, "%+v, want 3 timeouts, a request and nothing sent again", n)
}

// TestPullsLost: a sender that waits for pulls that were lost, from a receiver that has granted more than it is asked for,
// asks once, a timeout after the last answer; nothing else was lost.
func TestPullsLost(t *testing.T) {
	r := prepare(t, star(t, 4), controlled("rccc"), queued(100_000), sim.Microsecond, []Flow{{Src: 1, Dst: 0, Bytes: 40 * 4086}})
	r.kernel.Run(4 * sim.Microsecond)
	p, credit := &r.hosts[0].pacer, &r.connections[0].receiver.credit
	p.demand, p.idle, credit.wants, credit.target, credit.granted = sim.FIFO[int32]{}, sim.FIFO[int32]{}, false, credit.target+1000, credit.target+1000
	r.finish(t)
	simtest.ErrorIf(t, r.Counts.Requests != 1 || r.Counts.Again+r.Counts.Timeouts != 0, "%+v, want a request and nothing sent again", r.Counts)
}

// TestRequestForOthers: a packet that times out while another waits to be sent again has credit asked for although there
// is some; the next one comes within a round trip of that.
func TestRequestForOthers(t *testing.T) {
	r := prepare(t, star(t, 4), controlled("rccc"), queued(5000), 20*sim.Microsecond, []Flow{{Src: 1, Dst: 0, Bytes: 3 * 4086}})
	r.kernel.Run(sim.Microsecond)
	c := r.connections[0]
	c.credit.bytes, c.requested, c.active = 1<<20, -r.timing.RTT, true // sends nothing meanwhile
	c.lose(0)
	r.kernel.Run(19 * sim.Microsecond)
	n := r.Counts
	simtest.ErrorIf(t, n.Timeouts != 2 || n.Requests != 1 || n.Again != 0, "%+v, want 2 timeouts, a request and nothing sent again", n)
}

// TestGoesBackInOrder: what is sent again behind a gap comes in the order of its numbers, also what was lost before.
func TestGoesBackInOrder(t *testing.T) {
	config := DefaultConfig()
	config.Control, config.Spray, config.Repeat = "none", "single", "go-back-n"
	r := prepare(t, star(t, 4), config, shared.DefaultConfig(), sim.Microsecond, []Flow{{Src: 1, Dst: 0, Bytes: 6 * 4086}})
	r.kernel.Run(3 * sim.Microsecond) // all have been begun, and none is answered
	c := r.connections[0]
	c.lose(4)
	c.goBack(2)
	simtest.ErrorIf(t, !slices.Equal(c.again, []int32{2, 3, 4, 5}), "%v are sent again, want 2 to 5", c.again)
}

// TestAcknowledgedBytes: without anything else to tell, a receiver answers the first packet and then each 8,300 B.
func TestAcknowledgedBytes(t *testing.T) {
	config := DefaultConfig()
	config.Control, config.AckBytes = "none", 8300
	r := prepare(t, star(t, 4), config, shared.DefaultConfig(), sim.Microsecond, []Flow{{Src: 1, Dst: 0, Bytes: 6 * 4086}})
	r.kernel.Run(sim.Microsecond)
	for seq, want := range []int64{1, 1, 2, 2, 3} {
		r.connections[0].arrivedData(&shared.Packet{Kind: data, Seq: int32(seq), Size: 4150})
		simtest.Equal(t, r.Counts.Acknowledged, want, "packets up to number %d: answers", seq)
	}
}

// TestControlTurns: a terminal with data sends ten control packets for a packet of data, and without data all.
func TestControlTurns(t *testing.T) {
	r := prepare(t, star(t, 4), controlled("none"), shared.DefaultConfig(), sim.Microsecond, []Flow{{Src: 1, Dst: 0, Bytes: 4 * 4086}})
	r.kernel.Run(100 * sim.Nanosecond) // the first packet of data is on its way
	control := map[int32]bool{}
	for range 48 {
		id, _ := r.control(0, 1)
		control[id] = true
		r.hosts[1].control.Put(id)
	}
	turns := ""
	for range 51 {
		if control[r.Next(1)] {
			turns += "."
		} else {
			turns += "D"
		}
	}
	want := strings.Repeat("..........D", 3) + strings.Repeat(".", 18)
	simtest.ErrorIf(t, turns != want, "turns %s, want %s", turns, want)
}

// TestRefusedOnceAGap: a receiver that goes back refuses the first packet behind a gap, and the first behind the next one.
func TestRefusedOnceAGap(t *testing.T) {
	config := DefaultConfig()
	config.Control, config.Spray, config.Repeat = "none", "single", "go-back-n"
	r := prepare(t, star(t, 4), config, shared.DefaultConfig(), sim.Microsecond, []Flow{{Src: 1, Dst: 0, Bytes: 6 * 4086}})
	r.kernel.Run(sim.Microsecond)
	for i, seq := range []int32{0, 2, 3, 4, 1, 3, 4} {
		r.connections[0].arrivedData(&shared.Packet{Kind: data, Seq: seq, Size: 4150})
		want, ahead := []int64{0, 1, 1, 1, 1, 2, 2}[i], []int64{0, 1, 2, 3, 3, 4, 5}[i]
		simtest.ErrorIf(t, r.Counts.Refused != want || r.Counts.Reordered != ahead,
			"after packet %d, the %d of all: %+v, want %d refused and %d ahead", seq, i, r.Counts, want, ahead)
	}
}

// TestOrder: one that takes all counts what comes behind its successors: 1 of 0, 2, 3 and 1.
func TestOrder(t *testing.T) {
	r := prepare(t, star(t, 4), DefaultConfig(), shared.DefaultConfig(), sim.Microsecond, []Flow{{Src: 1, Dst: 0, Bytes: 6 * 4086}})
	r.kernel.Run(sim.Microsecond)
	for _, seq := range []int32{0, 2, 3, 1} {
		r.connections[0].arrivedData(&shared.Packet{Kind: data, Seq: seq, Size: 4150})
	}
	simtest.Equal(t, r.Counts.Reordered, 1, "packets out of order:")
}

// TestNothingToAskFor: a sender that speculates asks for a packet's credit only while it has something to send; a
// receiver's pace begins to change with its first flow, once.
func TestNothingToAskFor(t *testing.T) {
	r := prepare(t, star(t, 4), controlled("rccc"), shared.DefaultConfig(), sim.Microsecond, []Flow{{Src: 1, Dst: 0, Bytes: 4086}})
	r.hosts[0].pacer.slows = true
	r.kernel.Run(100 * sim.Nanosecond)
	c := r.connections[0]
	c.credit.speculating, c.credit.bytes = true, 0
	simtest.Alike(t, "nothing left", c.backlog, 0, c.target(), c.credit.granted, r.hosts[0].pacer.slows, false)
}

// TestIdleSenders: of connections that have what they wanted a receiver gives the first 64 units of 256 B, ended or not, and puts it behind
// the others; at half its pace it then waits 64 * 256 * 80 ps / (0.99 * 0.5) = 2,647,919.19 ps.
func TestIdleSenders(t *testing.T) {
	r := prepare(t, star(t, 4), controlled("rccc"), shared.DefaultConfig(), 10*sim.Microsecond, []Flow{{Src: 1, Dst: 0, Bytes: 6 * 4086}, {Src: 2, Dst: 0, Bytes: 6 * 4086}})
	r.kernel.Run(100 * sim.Nanosecond)
	p, now := &r.hosts[0].pacer, r.kernel.Now()
	p.rate = 0.5
	for _, number := range []int32{0, 1} {
		p.idle.Put(number)
	}
	r.connections[0].receiver.expected = r.connections[0].packets
	r.grant(0)
	behind := []int32{p.idle.Take(), p.idle.Take()} // so that the next turn grants nothing
	r.kernel.Run(now + 2_647_918)
	busy := p.busy
	r.kernel.Run(now + 2_647_920)
	simtest.EqualSlices(t, behind, []int32{1, 0}, "idle")
	simtest.Alike(t, "credit, and busy", r.connections[0].receiver.credit.granted, 64, r.connections[1].receiver.credit.granted, 0, busy, true, p.busy, false)
}

// TestRateOfShortPackets: two flows of 1,000 B share a connection at 100 Gb/s: the second packet, too, has 1,064 B, and goes when the first has,
// after 85.12 ns. It is there 85.12 ns on another cable and two flights later, and its answer takes 2,010.24 ns: 4,265.6 ns.
func TestRateOfShortPackets(t *testing.T) {
	config, of := DefaultConfig(), shared.DefaultConfig()
	config.Control, config.Share, of.Queue, of.MarkFrom, of.MarkTo = "dcqcn", true, 1<<20, 1<<20, 1<<20
	r := simulate(t, star(t, 4), config, of, []Flow{{Src: 1, Dst: 0, Bytes: 1000, Connection: 1}, {Src: 1, Dst: 0, Bytes: 1000, Connection: 1}})
	simtest.ErrorIf(t, math.Abs(r.tail()-4.2656) > 1e-6, "%v us, want 4.2656", r.tail())
}
