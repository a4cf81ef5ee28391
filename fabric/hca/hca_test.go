package hca

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/snapshot"
	"github.com/weft-sim/weft/sim/snapshot/snapshottest"
)

// drain sends everything that is queued, from time now on, and calls sent at the end of each request.
func drain(h *HCA, now sim.Time, sent func(id int32, end sim.Time)) {
	for b, _, end, ok := h.Next(now); ok; b, _, end, ok = h.Next(end) {
		if b.Last {
			sent(b.ID, end)
		}
	}
}

func TestStreamsShareTheEngine(t *testing.T) {
	// Nine QPs with 64 KiB each: round robin, the last is through when all are: 9 x 65536 B / 3.0425 GB/s + 9 x 50 ns =
	// 194.3 us; the one posted last ends last, the others within one quantum each before it.
	h := &New(&QDR, 1)[0]
	for qp := range 9 {
		h.Post(Request{QP: QP(qp), Bytes: 65536, Mark: Mark{ID: int32(qp)}})
	}
	var ends []sim.Time
	drain(h, 0, func(id int32, end sim.Time) {
		simtest.ErrorIf(t, int(id) != len(ends), "request %d ends as number %d", id, len(ends))
		ends = append(ends, end)
	})
	misses := 9 * QDR.ContextMiss
	want := 9*65536*8/24.34e9*1e6 + 9*0.05 + misses.Microseconds()
	simtest.Near(t, ends[8].Microseconds(), want, 1e-5, "nine streams end after, in us,")
	// 65536 = 5 x 11243 + 9321: before the last of nine last parts end, eight do.
	simtest.Near(t, (ends[8] - ends[7]).Microseconds(), 9321*8/24.34e3, 1e-5, "us between the ends of the last two streams")
	simtest.ErrorIf(t, h.Stats().Bursts != 9*6 || h.Stats().ContextMisses != 9, "%d bursts, %d misses; want 54, 9", h.Stats().Bursts, h.Stats().ContextMisses)
}

func TestSmallMessageWaitsItsTurn(t *testing.T) {
	// Eight streams under way; a message on a ninth QP posted during a quantum
	// waits for its end and for seven more, not for the streams.
	c := QDR
	c.ContextMiss, c.RequestTime = 0, 0
	h := &New(&c, 1)[0]
	for qp := range 8 {
		h.Post(Request{QP: QP(qp), Bytes: 1 << 20, Mark: Mark{ID: int32(qp)}})
	}
	_, _, now, _ := h.Next(0)
	h.Post(Request{QP: 100, Bytes: 64, Mark: Mark{ID: 100}})
	quantum := float64(c.Quantum) * 8 / 24.34e3 // us
	for {
		b, _, end, _ := h.Next(now)
		if b.ID == 100 {
			got, want := now.Microseconds(), 8*quantum
			simtest.ErrorIf(t, math.Abs(got-want) > 1e-5, "the small message starts at %v us, want %v", got, want)
			simtest.ErrorIf(t, !b.First || !b.Last || b.Size != 64, "burst %+v", b)
			return
		}
		now = end
	}
}

func TestRequestsOfOneQPStayInOrder(t *testing.T) {
	h := &New(&QDR, 1)[0]
	s := sim.NewStream(1, "hca", 0)
	posted := map[QP][]int32{}
	var now sim.Time
	finish := func(n int) {
		for range n {
			b, _, end, ok := h.Next(now)
			if !ok {
				return
			}
			now = end
			if b.Last {
				simtest.FatalIf(t, posted[b.QP][0] != b.ID, "QP %d ends request %d, want %d", b.QP, b.ID, posted[b.QP][0])
				posted[b.QP] = posted[b.QP][1:]
			}
		}
	}
	for id := range int32(3000) {
		qp := QP(s.IntN(40)) // more than longRing, so that the index is used
		h.Post(Request{QP: qp, Bytes: int64(s.IntN(30000)), Mark: Mark{ID: id}})
		posted[qp] = append(posted[qp], id)
		finish(s.IntN(3))
	}
	finish(math.MaxInt)
	for qp, left := range posted {
		simtest.ErrorIf(t, len(left) > 0, "QP %d: %d requests left over", qp, len(left))
	}
	simtest.ErrorIf(t, h.Waiting(), "send queues are not empty")
}

func TestReceiveEngine(t *testing.T) {
	c := QDR
	c.ContextEntries = 0
	h := &New(&c, 1)[0]
	us := sim.Microsecond
	// 30425 B take 10 us at 3.0425 GB/s. Two bursts that arrive at the same
	// time from two senders are taken in one after the other.
	simtest.Equal(t, h.Receive(1, 30425, 5*us, 15*us), 15*us, "first burst in at")
	simtest.Equal(t, h.Receive(2, 30425, 5*us, 15*us), 25*us, "second burst in at")
	// One that comes in slowly is in when its last byte is.
	simtest.Equal(t, h.Receive(1, 30425, 30*us, 60*us), 60*us, "slow burst in at")
}

// TestWorkOfEngines: a request takes 50 ns, loading a context 400, a packet of at most 2,048 B 10, and a byte an eighth
// of a nanosecond. 2,056 B are two packets: 50 + 400 + 20 + 257 ns. What the QP's responder sends needs no other
// context: 50 + 20 + 257 ns.
func TestWorkOfEngines(t *testing.T) {
	const ns = sim.Nanosecond
	c := QDR
	c.RequestTime, c.ContextMiss, c.PacketTime, c.MTU, c.DMARate, c.LinkRate, c.PayloadShare = 50*ns, 400*ns, 10*ns, 2048, 64e9, 64e9, 0
	h := &New(&c, 1)[0]
	h.Post(Request{QP: 1, Bytes: 2056})
	h.Post(Request{QP: 1 | Responder, Bytes: 2056})
	_, _, end, _ := h.Next(0)
	_, _, last, _ := h.Next(end)
	simtest.ErrorIf(t, end != 727*ns || last != (727+327)*ns, "the engine is free at %v and %v, want 727 and 1054 ns", end, last)
	s := h.Stats()
	simtest.ErrorIf(t, s.ContextMisses != 1 || s.MissTime != 400*ns || s.SendBusy != last || s.Busiest != last, "%+v, want a miss of 400 ns and 1054 ns at work", s)
}

// TestPartsAreFetched: what is no whole request does not go with the doorbell, however small it is: 64 B at 1 ns a
// byte do, a first or last part of 64 B and a packed one are fetched, 500 ns and 101 B at 2 ns.
func TestPartsAreFetched(t *testing.T) {
	c := QDR
	c.SendLatency, c.InlineLimit, c.InlineRate, c.FetchTime, c.FetchRate = 0, 100, 8e9, 500*sim.Nanosecond, 4e9
	for b, want := range map[Burst]sim.Time{
		{Size: 64, First: true, Last: true}:                             64,
		{Size: 64, First: true}:                                         702,
		{Size: 64, Last: true}:                                          702,
		{Size: 64, First: true, Last: true, Mark: Mark{Source: Packed}}: 702,
	} {
		got := New(&c, 1)[0].Depart(&b, 0, 0)
		simtest.ErrorIf(t, got != want*sim.Nanosecond, "%+v is on the wire after %v, want %d ns", b, got, want)
	}
}

func TestContextCache(t *testing.T) {
	// Two adapters of one set each: eight QPs fit, a ninth drives out the least recently used.
	both := newContextCache(8, 2)
	const first = 1
	for qp := range QP(8) {
		simtest.ErrorIf(t, both.touch(first, qp), "QP %d is there before it was loaded", qp)
	}
	for i, want := range []bool{true, true, false, true, false} {
		qp := []QP{0, 1, 8, 0, 2}[i]
		simtest.ErrorIf(t, both.touch(first, qp) != want, "QP %d is there: %v, want %v", qp, !want, want)
	}
	simtest.ErrorIf(t, both.touch(0, 0), "the other adapter has QP 0")
	all := newContextCache(0, 1)
	simtest.ErrorIf(t, !all.touch(0, 5), "a cache without bound misses")
	simtest.Equal(t, len(newContextCache(1000, 3).sets)*contextWays, 3*1024, "three times 1000 entries become")
}

func TestPresets(t *testing.T) {
	for _, name := range Registry.Names() {
		_, err := param.Make[Config](Registry, name, struct{}{}, nil)
		simtest.ErrorIf(t, err != nil, "%s: %v", name, err)
	}
}

// With two engines and requests of three quanta on QPs 0, 1 and 2, 0 and 1 take turns until both are through; then 2 goes
// alone, since 0's second request is the last in line and gets the other engine.
func TestEngines(t *testing.T) {
	c := QDR
	c.Engines = 2
	h := &New(&c, 1)[0]
	for i, qp := range []QP{0, 1, 2, 0} {
		h.Post(Request{QP: qp, Bytes: 3 * int64(c.Quantum), Mark: Mark{ID: int32(i)}})
	}
	var order []int32
	for b, _, _, ok := h.Next(0); ok; b, _, _, ok = h.Next(h.BusyUntil()) {
		order = append(order, b.ID)
	}
	// 0 is through at the fifth burst, when 2 comes in its place, behind 1.
	simtest.EqualSlices(t, order, []int32{0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3}, "order")
}

// plainArbiter does what arbiter does with a limited number of engines, in lists.
type plainArbiter struct {
	engines       int
	ring, waiting []QP // the first of ring is next
	queue         map[QP][]*Request
	left          map[*Request]int64
}

func (p *plainArbiter) post(r Request) {
	p.queue[r.QP] = append(p.queue[r.QP], &r)
	p.left[&r] = r.Bytes
	if len(p.queue[r.QP]) > 1 {
		return
	}
	if len(p.ring) < p.engines {
		p.ring = append(p.ring, r.QP)
	} else {
		p.waiting = append(p.waiting, r.QP)
	}
}

func (p *plainArbiter) next(quantum int64) (id int32, size int64) {
	qp := p.ring[0]
	p.ring = p.ring[1:]
	r := p.queue[qp][0]
	size = min(p.left[r], quantum)
	if p.left[r] -= size; p.left[r] > 0 {
		p.ring = append(p.ring, qp)
		return r.ID, size
	}
	p.queue[qp] = p.queue[qp][1:]
	more := len(p.queue[qp]) > 0
	switch {
	case more && len(p.waiting) == 0:
		p.ring = append(p.ring, qp)
		return r.ID, size
	case more:
		p.waiting = append(p.waiting, qp)
	}
	if len(p.waiting) > 0 {
		p.ring = append(p.ring, p.waiting[0])
		p.waiting = p.waiting[1:]
	}
	return r.ID, size
}

// Few engines against lists. The QP that is served stays at the head of the ring until its turn is
// over, so posts happen between whole turns here, when the ring has the order of the lists.
func TestEnginesAgainstLists(t *testing.T) {
	s := sim.NewStream(5, "hca", 0)
	for _, engines := range []int{1, 2, 3, 8} {
		c := QDR
		c.Engines = engines
		h := &New(&c, 1)[0]
		p := &plainArbiter{engines: engines, queue: map[QP][]*Request{}, left: map[*Request]int64{}}
		for id := range int32(400) {
			r := Request{QP: QP(s.IntN(12)), Bytes: int64(1 + s.IntN(40000)), Mark: Mark{ID: id}}
			h.Post(r)
			p.post(r)
		}
		for bursts := 0; h.Waiting(); bursts++ {
			b, _, _, _ := h.Next(h.BusyUntil())
			id, size := p.next(int64(c.Quantum))
			simtest.FatalIf(t, b.ID != id || b.Size != size, "%d engines, burst %d: request %d with %d B, want %d with %d", engines, bursts, b.ID, b.Size, id, size)
		}
		simtest.ErrorIf(t, len(p.ring)+len(p.waiting) > 0, "%d engines: requests are left over", engines)
	}
}

// TestBurstsDoNotOvertake: behind a burst of 4 KiB, whose bytes are fetched for 1 us, one of 64 B, which comes
// with the doorbell, waits as long between the engine and the wire: the first has gone out 512 + 1,000 ns
// after its start (4 KiB at 8 B/ns), and the second is read from 512 ns on.
func TestBurstsDoNotOvertake(t *testing.T) {
	c := QDR
	c.ContextMiss, c.RequestTime, c.FetchTime, c.FetchRate, c.InlineRate = 0, 0, sim.Microsecond, 0, 0
	c.InlineLimit, c.SendLatency, c.DMARate, c.LinkRate, c.PayloadShare = 64, 0, 64e9, 64e9, 0
	h := &New(&c, 1)[0]
	h.Post(Request{QP: 1, Bytes: 4096})
	h.Post(Request{QP: 2, Bytes: 64})
	b, first, end, _ := h.Next(0)
	simtest.Equal(t, h.Depart(b, first, end), sim.Microsecond, "the large burst goes out after")
	b, first, end, _ = h.Next(end)
	simtest.Equal(t, h.Depart(b, first, end), sim.Microsecond, "the small burst goes out after")
}

// TestStateIsWhole: no field of an adapter is forgotten in snapshots. What is named here is
// no part of the state, for the reason given.
func TestStateIsWhole(t *testing.T) {
	snapshottest.Names[queued](t, "bytes", "mark", "next")
	snapshottest.Names[HCA](t, "busyUntil", "recvUntil", "departed", "sending", "receiving", "arbiter",
		"shared", "contexts", "number") // follow from how adapters were made
	snapshottest.Names[shared](t, "cache", "stats", "busy",
		"config", "quantum", "divider", // follow from the settings
		"burst") // counts within an event
	snapshottest.Names[sim.Serializer](t, "remainder")
	snapshottest.Names[contextCache](t, "sets", "perAdapter")
	snapshottest.Names[arbiter](t, "over", "current", "active", "queue",
		"crowd", "free", "idle") // follow from the rest, and from the settings
	snapshottest.Names[crowd](t, "waiting", "index", "engines", "serving") // likewise, the last three
	snapshottest.Names[activeQP](t, "qp", "left", "mark", "begun", "last", "next", "prev")
}

// archiveMark archives a mark that may be anything.
func archiveMark(a *snapshot.Archive, m *Request) {
	snapshot.Int(a, &m.ID)
	snapshot.Int(a, &m.Lane)
}

func stateOf(h *HCA, turns *LaneTurns) []byte {
	w := snapshot.Writer()
	h.Archive(w, archiveMark)
	snapshot.Value(w, turns)
	return w.Bytes()
}

func restored(b []byte, h *HCA, turns *LaneTurns) error {
	r := snapshot.Reader(b)
	h.Archive(r, archiveMark)
	snapshot.Value(r, turns)
	return r.End()
}

// archived is what the settings of adapters may be.
func archived() (all []Config) {
	for _, engines := range []int{0, 1, 3} {
		for _, entries := range []int{0, 64} {
			c := QDR
			c.Engines, c.ContextEntries, c.PacketTime = engines, entries, 7*sim.Nanosecond
			all = append(all, c)
		}
	}
	return all
}

// play does n things at random to an adapter, by lanes or not, from time now on, and notes what comes of them.
func play(h *HCA, turns *LaneTurns, s *sim.Stream, lanes bool, n int, now sim.Time) (log []string, end sim.Time) {
	qps := []int{4, 40}[s.IntN(2)]
	for range n {
		qp := QP(s.IntN(qps))
		switch s.IntN(4) {
		case 0:
			h.Post(Request{QP: qp, Bytes: int64(s.IntN(40000)), Mark: Mark{ID: int32(s.IntN(1000)), Lane: uint8(qp & 3)}})
		case 1:
			now += sim.Time(s.IntN(5000)) * sim.Nanosecond
			log = append(log, fmt.Sprint("in ", h.Receive(qp, int64(s.IntN(3000)), now, now)))
		default:
			now = max(now, h.BusyUntil())
			if !h.Waiting() {
				continue
			}
			var b *Burst
			var first, end sim.Time
			if lanes {
				ready := h.Lanes()
				lane := uint8(0)
				for ready>>lane&1 == 0 {
					lane++
				}
				b, first, end = h.NextOn(now, lane, 5000, turns)
			} else {
				b, first, end, _ = h.Next(now)
			}
			log = append(log, fmt.Sprint(*b, first, end))
		}
	}
	return log, now
}

// TestArchive: an adapter that goes on from its state, alone or among others, does what it does without a break, with any
// number of engines, with and without a limit to the contexts, with and without lanes.
func TestArchive(t *testing.T) {
	bursts := 0
	for i, config := range archived() {
		for seed := range 20 {
			s, lanes := sim.NewStream(uint64(seed), "adapters", i), seed%2 == 1
			whole, turns := &New(&config, 3)[1], &LaneTurns{}
			_, now := play(whole, turns, &s, lanes, s.IntN(300), 0)
			b := stateOf(whole, turns)
			other, otherTurns := &New(&config, 1)[0], &LaneTurns{}
			simtest.Check(t, restored(b, other, otherTurns))
			other.SetStats(whole.Stats())
			simtest.FatalIf(t, !bytes.Equal(stateOf(other, otherTurns), b), "engines %d, seed %d: the state that is restored is another", config.Engines, seed)
			again := s
			want, _ := play(whole, turns, &s, lanes, 300, now)
			got, _ := play(other, otherTurns, &again, lanes, 300, now)
			simtest.FatalIf(t, !slices.Equal(got, want) || other.Stats() != whole.Stats(),
				"engines %d, seed %d: an adapter that goes on from its state does\n%v\nwant\n%v", config.Engines, seed, got, want)
			simtest.FatalIf(t, !bytes.Equal(stateOf(other, otherTurns), stateOf(whole, turns)), "engines %d, seed %d: the end is another", config.Engines, seed)
			bursts += len(want)
		}
	}
	simtest.ErrorIf(t, bursts < 10_000, "%d bursts and arrivals are not a test", bursts)
}

// Lanes keep to their own round robin: whatever the order in which lanes are chosen,
// the QPs of a lane take turns, in bursts of a quantum or of what the owner allows.
func TestNextOn(t *testing.T) {
	config := QDR
	config.Quantum = 4096
	h := &New(&config, 1)[0]
	var turns LaneTurns
	simtest.ErrorIf(t, h.Lanes() != 0, "lanes %b of an idle adapter", h.Lanes())
	for _, r := range []struct {
		qp    QP
		lane  uint8
		bytes int64
	}{{1, 0, 12288}, {2, 1, 8192}, {3, 0, 8192}, {4, 2, 100}, {5, 0, 4096}, {5, 0, 2048}} {
		h.Post(Request{QP: r.qp, Bytes: r.bytes, Mark: Mark{Lane: r.lane}})
	}
	var got []string
	now := sim.Time(0)
	next := func(lane uint8, most int64) {
		t.Helper()
		b, _, end := h.NextOn(now, lane, most, &turns)
		now = end
		got = append(got, fmt.Sprintf("%d:%d", b.QP, b.Size))
	}
	simtest.ErrorIf(t, h.Lanes() != 0b111, "lanes %b", h.Lanes())
	// Lane 0 in turn, with lanes 1 and 2 between, each of which leaves 3 and 5 their turn.
	next(0, 1<<30)
	next(1, 2048)
	next(0, 1<<30)
	next(1, 2048)
	next(0, 1<<30)
	next(2, 1<<30)
	next(0, 1<<30)
	next(1, 1<<30)
	next(0, 1<<30)
	next(0, 1<<30)
	next(0, 1<<30)
	want := "1:4096 2:2048 3:4096 2:2048 5:4096 4:100 1:4096 2:4096 3:4096 5:2048 1:4096"
	simtest.ErrorIf(t, strings.Join(got, " ") != want, "%s, want %s", strings.Join(got, " "), want)
	simtest.ErrorIf(t, h.Waiting() || h.Lanes() != 0, "something is left")
}

// A QP keeps its turn of a quantum, however small the bursts that the owner allows.
func TestNextOnKeepsTurns(t *testing.T) {
	config := QDR
	config.Quantum = 4096
	h := &New(&config, 1)[0]
	var turns LaneTurns
	for qp := range QP(2) {
		h.Post(Request{QP: qp, Bytes: 8192, Mark: Mark{Lane: 1}})
		h.Post(Request{QP: 2 + qp, Bytes: 8192})
	}
	var got []string
	now := sim.Time(0)
	for range 4 {
		for range 3 {
			b, _, end := h.NextOn(now, 1, 1500, &turns)
			now = end
			got = append(got, fmt.Sprintf("%d:%d", b.QP, b.Size))
		}
		_, _, now = h.NextOn(now, 0, 1500, &turns)
	}
	want := "0:1500 0:1500 0:1096 1:1500 1:1500 1:1096 0:1500 0:1500 0:1096 1:1500 1:1500 1:1096"
	simtest.ErrorIf(t, strings.Join(got, " ") != want, "%s, want %s", strings.Join(got, " "), want)
}

// With one lane, bursts are what Next gives, whatever the number of engines.
func TestNextOnOneLane(t *testing.T) {
	for engines := range 3 {
		config := QDR
		config.Quantum, config.Engines = 1000, engines
		all := New(&config, 2)
		plain, byLane := &all[0], &all[1]
		r := sim.NewStream(1, "requests", engines)
		var now [2]sim.Time
		var turns LaneTurns
		for step := range 3000 {
			if r.IntN(3) == 0 || !plain.Waiting() {
				request := Request{QP: QP(r.IntN(9)), Bytes: int64(r.IntN(3000)), Mark: Mark{ID: int32(step)}}
				plain.Post(request)
				byLane.Post(request)
				continue
			}
			b, _, end, _ := plain.Next(now[0])
			want := *b
			now[0] = end
			c, _, end := byLane.NextOn(now[1], 0, 1<<40, &turns)
			now[1] = end
			simtest.FatalIf(t, *c != want, "%d engines, step %d: %+v, want %+v", engines, step, *c, want)
		}
	}
}
