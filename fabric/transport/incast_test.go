package transport

import (
	"fmt"
	"math"
	"testing"

	"github.com/weft-sim/weft/fabric/shared"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// incast sends so many full packets from each of n terminals of a star to terminal 0: 100 Gb/s, a
// microsecond a cable, 332 ns a packet, 5.12 ns an answer. The queue takes all, and marks above mark.
func incast(t *testing.T, control string, n, packets int, mark sim.Bytes) *run {
	t.Helper()
	config, of := DefaultConfig(), shared.DefaultConfig()
	config.Control = control
	of.Queue, of.MarkFrom, of.MarkTo = 1<<20, mark, max(mark, 1)
	flows := simtest.Must(Incast(4, n, 0, int64(packets)*4086))(t)
	return simulate(t, star(t, 4), config, of, flows)
}

// TestIncastByHand: 2 and 3 flows of 60 packets into one link. In packet times from the first arrival at the switch, at 1,332 ns: all of n first
// packets come at 0, and packet k leaves at k. If the queue never runs dry, the last of 60 n leaves at 60 n; a flight, an answer of 64 B over two
// links and their flights later its flow ends, at 1,332 + 60 n * 332 + 1,000 + 2,010.24 ns: 44,182.24 and 64,102.24.
//
//   - none: the last packets come at 59, when 59 have left: 60 n - 59 wait. Turns are taken packet by
//     packet, so that flows end 332 ns apart.
//   - nscc: the window is 1.5 bandwidth-delay products, 87,642 B, 21 packets; all 21 n can wait at
//     most. Flows end 332 ns apart, too.
//   - rccc, both: A's first packet is there at 2,664 ns and its answer back at 4,674.24, B's 332
//     later, C's 664; until then they have sent on credit that nobody granted 15, 16 and 17 packets.
//     At 16, 2 and 3 flows have sent 31 and 48, less 15 and 16 that have left (at 15 and at 16)
//     16 and 32 wait. On top come turns of 16 KiB, four packets, one of each flow; flows end within
//     a turn of each.
//   - dcqcn, marks above nothing: the first packet of each is marked, and its notification halves the
//     rate at 4,674.24, 5,006.24 and 5,338.24 ns, when the packets begun at 4,648, 4,980 and 5,312
//     have fixed when the next goes: 16, 17 and 18 packets go one behind the other, the others two
//     packet times apart. Two flows fill the link from then on: at 16, 16 + 17 have come, 16 have
//     left, and 17 wait. Of three A has sent 59 at 101, B 59 and C 60, the last ones: 178, of which
//     101 have left. A receiver notifies again after 50 us, when three flows still come.
func TestIncastByHand(t *testing.T) {
	for _, c := range []struct {
		control            string
		n                  int
		mark               sim.Bytes
		low, high, notices int64
		apart              int // packets between the ends of the first and the last flow, at most
	}{
		{"none", 2, 1 << 20, 61, 61, 0, 1}, {"none", 3, 1 << 20, 121, 121, 0, 2},
		{"nscc", 2, 1 << 20, 17, 42, 0, 1}, {"nscc", 3, 1 << 20, 33, 63, 0, 2},
		{"rccc", 2, 1 << 20, 16, 24, 0, 8}, {"rccc", 3, 1 << 20, 32, 44, 0, 12},
		{"both", 2, 1 << 20, 16, 24, 0, 8}, {"both", 3, 1 << 20, 32, 44, 0, 12},
		{"dcqcn", 2, 0, 17, 17, 2, 1}, {"dcqcn", 3, 0, 77, 77, 6, 2},
	} {
		r, tail := incast(t, c.control, c.n, 60, c.mark), 1332+60*float64(c.n)*332+1000+2010.24
		_, ends := r.Ends()
		first := ends[0].Nanoseconds()
		for _, e := range ends {
			first = min(first, e.Nanoseconds())
		}
		got := 1000 * r.tail()
		simtest.ErrorIf(t, math.Abs(got-tail) > 0.001 || first < tail-332*float64(c.apart)-0.001,
			"%s, %d flows: ends %v, want the last at %.2f ns, the first at most %d packets before", c.control, c.n, ends, tail, c.apart)
		deepest := r.net.Counters(0).DeepestData
		simtest.ErrorIf(t, deepest < c.low*4150 || deepest > c.high*4150,
			"%s, %d flows: %d B wait at most, want %d to %d packets", c.control, c.n, deepest, c.low, c.high)
		n := &r.Counts
		simtest.ErrorIf(t, n.Sent != 60*int64(c.n) || n.Again+n.Timeouts+n.Trimmed != 0 || n.Notified != c.notices || (n.Pulls > 0) != r.config.hasCredit(),
			"%s, %d flows: %+v, want %d notifications, nothing twice", c.control, c.n, *n, c.notices)
	}
}

// TestPullTarget: a sender wants what waits, at most 1.5 bandwidth-delay products (58,428 B: 87,642),
// divided among the flows that may send, above what it has been granted: units of 256 B, rounded up.
func TestPullTarget(t *testing.T) {
	r := prepare(t, star(t, 4), controlled("rccc"), shared.DefaultConfig(), sim.Microsecond, []Flow{{Src: 1, Dst: 0, Bytes: 1000}})
	c := r.connections[0]
	for _, x := range []struct {
		backlog, credit int64
		flows           int
		want            int64
	}{
		{10_000, 0, 1, 100 + 40},     // 39.06
		{10_000, 0, 2, 100 + 20},     // 5,000: 19.53
		{10_000, 0, 5, 100 + 8},      // 2,000: 7.81
		{10_000, 4_000, 2, 100 + 12}, // 3,000: 11.72
		{1 << 20, 0, 1, 100 + 343},   // 342.35
		{1 << 20, 0, 3, 100 + 115},   // 29,214: 114.12
	} {
		c.credit = creditSender{bytes: x.credit, granted: 100}
		c.backlog, r.hosts[1].active = x.backlog, sim.FIFO[int32]{}
		for range x.flows - 1 { // the others
			r.hosts[1].active.Put(0)
		}
		simtest.Equal(t, c.target(), x.want, "%d B wait with %d of credit, %d flows: target", x.backlog, x.credit, x.flows)
	}
}

// TestEmptyTurn: a sender that wants more than before, of which idle turns have granted as much, is told so.
func TestEmptyTurn(t *testing.T) {
	r := prepare(t, star(t, 4), controlled("rccc"), shared.DefaultConfig(), sim.Microsecond, []Flow{{Src: 1, Dst: 0, Bytes: 1000}})
	c := r.connections[0]
	c.receiver.credit = creditReceiver{target: 100, granted: 500}
	c.demands(100, false)
	before := r.Counts.Pulls
	c.demands(101, false)
	simtest.Alike(t, "pulls, units", before, 0, r.Counts.Pulls, 1, c.receiver.credit.granted, 500)
}

// TestPullTargetOfWindow: under both controls a sender asks for no more than its window, here 4 packets
// of 4,150 B, and a packet: 20,750 B are 81.05 units.
func TestPullTargetOfWindow(t *testing.T) {
	config := DefaultConfig()
	config.Control, config.NSCC.Start = "both", 4
	r := prepare(t, star(t, 4), config, shared.DefaultConfig(), sim.Microsecond, []Flow{{Src: 1, Dst: 0, Bytes: 1000}})
	c := r.connections[0]
	c.credit, c.backlog = creditSender{granted: 100}, 1<<20
	simtest.Equal(t, c.target(), 100+82, "target")
}

// TestCreditKept: 40 units, 10,240 B, come to 5,000 B of credit in full, and to 80,000 B until it is 1.5 bandwidth-delay products, 87,642 B.
func TestCreditKept(t *testing.T) {
	r := prepare(t, star(t, 4), controlled("rccc"), shared.DefaultConfig(), sim.Microsecond, []Flow{{Src: 1, Dst: 0, Bytes: 1000}})
	c := r.connections[0]
	c.active = true // sends nothing meanwhile
	for before, want := range map[int64]int64{5_000: 15_240, 80_000: 87_642} {
		c.credit = creditSender{bytes: before, granted: 100}
		c.pulled(140)
		simtest.ErrorIf(t, c.credit.bytes != want || c.credit.granted != 140, "%d B and 40 units: %+v, want %d B", before, c.credit, want)
	}
}

// TestTurns: a turn of 16 KiB, 64 units of 256 B, that fills what a sender wants leaves it among the idle, and one
// that does not among those in demand. An idle sender gets a turn, too, and the next one.
func TestTurns(t *testing.T) {
	for _, c := range []struct {
		target        int64
		demand, wants bool
	}{{64, true, false}, {65, true, true}, {0, false, false}} {
		r := prepare(t, star(t, 4), controlled("rccc"), shared.DefaultConfig(), sim.Microsecond, []Flow{{Src: 1, Dst: 0, Bytes: 1 << 20}})
		r.kernel.Run(100 * sim.Nanosecond)
		p, credit := &r.hosts[0].pacer, &r.connections[0].receiver.credit
		credit.target, credit.wants = c.target, c.demand
		if c.demand {
			p.demand.Put(0)
		} else {
			p.idle.Put(0)
		}
		r.grant(0)
		simtest.ErrorIf(t, credit.granted != 64 || credit.wants != c.wants || p.demand.Len()+p.idle.Len() != 1 || (p.demand.Len() == 1) != c.wants,
			"%+v: %+v, %d in demand, %d idle", c, *credit, p.demand.Len(), p.idle.Len())
	}
}

// TestIdleTurns: an idle sender gets turns until it has been granted 1.5 bandwidth-delay products, 87,642 B, more than it
// wanted: 278 units and a turn are 87,552 B, 279 and a turn 87,808.
func TestIdleTurns(t *testing.T) {
	for ahead, stays := range map[int64]int{278: 1, 279: 0} {
		r := prepare(t, star(t, 4), controlled("rccc"), shared.DefaultConfig(), sim.Microsecond, []Flow{{Src: 1, Dst: 0, Bytes: 1 << 20}})
		r.kernel.Run(100 * sim.Nanosecond)
		p, credit := &r.hosts[0].pacer, &r.connections[0].receiver.credit
		*credit = creditReceiver{target: 100, granted: 100 + ahead}
		p.idle.Put(0)
		r.grant(0)
		simtest.Alike(t, fmt.Sprint(ahead), *credit, creditReceiver{target: 100, granted: 100 + ahead + 64}, p.idle.Len(), stays)
	}
}

// TestSeen: the pace counts headers of packets trimmed under way, not those trimmed on the last hop, and marks of whole ones.
func TestSeen(t *testing.T) {
	var h host
	h.seen(true, false, false)
	h.seen(true, true, true)
	h.seen(false, true, false)
	h.seen(false, false, true)
	p := &h.pacer
	simtest.ErrorIf(t, p.packets != 4 || p.trims != 1 || p.whole != 2 || p.marked != 1,
		"%d packets, %d trimmed, %d whole, %d of them marked; want 4, 1, 2, 1", p.packets, p.trims, p.whole, p.marked)
}

// TestPace: a share m of the packets marked moves g half way to it; a share t trimmed under way is taken from the rate, which then falls by half of
// what g is above 0.3. Without both it rises by 1 % of the link, then 2, 4. It stays above 0.9 over the oversubscription, here 4: 0.225.
func TestPace(t *testing.T) {
	r := prepare(t, star(t, 4), controlled("rccc"), shared.DefaultConfig(), sim.Microsecond, []Flow{{Src: 1, Dst: 0, Bytes: 1000}})
	r.timing.Oversubscription = 4
	p := &r.hosts[0].pacer
	for _, c := range []struct {
		rate, g                       float64
		packets, whole, marked, trims int64
		want                          float64
	}{
		{1, 0.5, 10, 10, 10, 0, 0.775},  // g 0.75: 1 - 0.5 * 0.45
		{1, 0, 10, 10, 6, 0, 1},         // g 0.3 is not above: 1.01, at most 1
		{0.8, 0, 10, 10, 6, 0, 0.81},    // likewise
		{1, 0, 10, 8, 0, 2, 0.8},        // a fifth trimmed
		{1, 0.6, 10, 8, 8, 2, 0.6},      // g 0.8: 0.8 * (1 - 0.5 * 0.5)
		{0.3, 1, 10, 5, 5, 5, 0.225},    // the least
		{0.5, 0.2, 10, 10, 0, 0, 0.51},  // nothing marked
		{0.51, 0.1, 10, 10, 0, 0, 0.53}, // a second and a third time
		{0.53, 0.05, 10, 10, 0, 0, 0.57},
	} {
		p.rate, p.congested = c.rate, c.g
		p.packets, p.whole, p.marked, p.trims = c.packets, c.whole, c.marked, c.trims
		r.slow(0)
		simtest.Near(t, p.rate, c.want, 1e-12, "%+v: rate", c)
	}
}

// TestVictim: beside an incast of five terminals behind the receiver, 10 of 16, the fifth sends to the next one.
func TestVictim(t *testing.T) {
	flows := simtest.Must(Victim(16, 5, 10, 1000))(t)
	for i, want := range [][2]int{{12, 10}, {13, 10}, {14, 10}, {0, 10}, {1, 10}, {15, 11}} {
		simtest.Alike(t, fmt.Sprint("flow ", i), flows[i], Flow{ID: i + 1, Src: want[0], Dst: want[1], Bytes: 1000})
	}
	simtest.Equal(t, len(flows), 6, "flows")
	simtest.Refuse(Incast(4, 1, 4, 1))(t, "receiver 4: want a terminal of 0 to 3")
}

// TestRepeated: a flow of a packet, which ends after 4,674.24 ns as in TestTriggers, is sent again then, and once more.
func TestRepeated(t *testing.T) {
	flows, triggers := Repeated([]Flow{{ID: 1, Src: 1, Dst: 0, Bytes: 4086}}, nil, 3)
	began, _ := simulate(t, star(t, 4), controlled("none"), queued(1<<20), flows, triggers...).Ends()
	for i, at := range began {
		simtest.ErrorIf(t, math.Abs(at.Nanoseconds()-4674.24*float64(i)) > 0.001, "time %d begins at %v", i, at)
	}
	simtest.Equal(t, len(began), 3, "flows")
}

// TestPoisson: 16 terminals at half of 100 Gb/s send 100,000 flows of 1,000 B in a millisecond, 4 *
// sqrt(100,000) more or less; each terminal a sixteenth of them, likewise, and none to itself.
func TestPoisson(t *testing.T) {
	flows := simtest.Must(Poisson(16, nil, 1000, 0.5, 100e9, sim.Millisecond, 3))(t)
	var from [16]int
	last := sim.Time(0)
	for _, f := range flows {
		from[f.Src]++
		simtest.FatalIf(t, f.Src == f.Dst || f.Dst < 0 || f.Dst > 15 || f.Start < last || f.Start >= sim.Millisecond, "%+v behind one at %v", f, last)
		last = f.Start
	}
	n := len(flows)
	simtest.ErrorIf(t, n < 100_000-1265 || n > 100_000+1265, "%d flows, want 100,000", n)
	for s, n := range from {
		simtest.ErrorIf(t, n < 6250-316 || n > 6250+316, "terminal %d sends %d flows, want 6,250", s, n)
	}
}
