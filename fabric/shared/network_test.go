package shared

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// burst sends so many packets of a size from each terminal in a list to terminal 0, as fast as
// its link goes.
type burst struct {
	net     *Network
	left    map[topology.TerminalID]int
	size    int32
	spread  bool // to terminals 0 to 4
	arrived []Packet
	at      []sim.Time
}

func (b *burst) Next(t topology.TerminalID) int32 {
	if b.left[t] == 0 {
		return -1
	}
	b.left[t]--
	id, p := b.net.Take()
	p.Size, p.Flow, p.Seq = b.size, int32(t), int32(b.left[t])
	if b.spread {
		p.Dst = topology.TerminalID(b.left[t]*b.left[t]+7*int(t)) % 5
	}
	return id
}

func (b *burst) Arrived(_ topology.TerminalID, p *Packet) {
	b.arrived, b.at = append(b.arrived, *p), append(b.at, b.net.kernel.Now())
}

// star runs packets of 1,000 B of some senders of a switch of 8 terminals into terminal 0: 100
// Gb/s, 80 ns a packet, 100 ns a cable.
func star(t *testing.T, config Config, senders, packets int) *burst {
	t.Helper()
	b := starAt(t, 100e9, config, senders, packets)
	b.run(t)
	return b
}

// run has everything sent.
func (b *burst) run(t *testing.T) {
	t.Helper()
	b.net.kernel.Run(sim.MaxTime - 1)
	simtest.ErrorIf(t, b.net.InFlight() != 0, "%d packets are left", b.net.InFlight())
}

// starAt is a star of another rate, before anything has happened.
func starAt(t *testing.T, rate sim.Rate, config Config, senders, packets int) *burst {
	t.Helper()
	topo := simtest.Must(topology.Registry.New("single-switch", struct{}{}, param.Set("terminals", 8)))(t)
	g, kernel := topo.Graph(), sim.NewKernel()
	b := &burst{left: map[topology.TerminalID]int{}, size: 1000}
	timing := NewTiming(g, nil, nil, &config, nil, Channel{Rate: rate, Latency: 100 * sim.Nanosecond}, 1000, 64)
	b.net = simtest.Must(New(kernel, g, config, timing, b, 1))(t)
	for s := 1; s <= senders; s++ {
		b.left[topology.TerminalID(s)] = packets
		b.net.Wake(topology.TerminalID(s))
	}
	return b
}

// TestStar: a packet is stored once on its way: 80 + 100 + 80 + 100 = 360 ns; further ones
// follow 80 ns apart, of two senders 2n packets. The round trip of an empty network is
// 1,000 B there, 360 ns, and 64 B back, 2 * (5.12 + 100): 570.24 ns; 7,128 B, eight packets.
func TestStar(t *testing.T) {
	config := DefaultConfig()
	config.Queue = 1 << 20
	b := star(t, config, 2, 5)
	simtest.ErrorIf(t, len(b.at) != 10 || b.at[0].Nanoseconds() != 360 || b.at[9].Nanoseconds() != 360+9*80, "%v", b.at)
	config.Queue = 0
	timing := star(t, config, 1, 1).net.timing
	simtest.EqualSlices(t, []int64{timing.RTT, timing.BDP, timing.Queue, timing.MarkFrom, timing.MarkTo}, []int64{570_240, 7128, 8000, 2000, 7000}, "timing")
	alone := b.net.Alone(1, 0, 5, 1000, 64, true)
	simtest.ErrorIf(t, alone != 360_000+4*80_000+210_240, "five packets alone: %d ps, want 890.24 ns", alone)
}

// TestThresholds: the bandwidth-delay product is 7,128 B, eight packets: a fifth and four fifths of
// it are two and seven packets, and mark_to is never below mark_from. Pauses leave packets unmarked
// unless one is set, or a sender asks for marks.
func TestThresholds(t *testing.T) {
	for _, c := range []struct {
		full               string
		from, to           sim.Bytes
		wantFrom, wantTo   int64
		askedFrom, askedTo int64
	}{
		{"trim", 0, 0, 2000, 7000, 2000, 7000}, {"drop", 3000, 0, 3000, 7000, 3000, 7000}, {"drop", 9000, 0, 9000, 9000, 9000, 9000},
		{"drop", 0, 5000, 0, 5000, 0, 5000}, {"pause", 0, 0, 0, math.MaxInt64, 2000, 7000}, {"pause", 1000, 0, 1000, 7000, 1000, 7000},
	} {
		config := DefaultConfig()
		config.Full, config.MarkFrom, config.MarkTo = c.full, c.from, c.to
		timing := starAt(t, 100e9, config, 0, 0).net.timing
		simtest.ErrorIf(t, timing.MarkFrom != c.wantFrom || timing.MarkTo != c.wantTo,
			"%s, %v, %v: marks from %d to %d, want %d to %d", c.full, c.from, c.to, timing.MarkFrom, timing.MarkTo, c.wantFrom, c.wantTo)
		timing.MarkByDefault(&config)
		simtest.Alike(t, fmt.Sprint(c, ", asked for: marks"), timing.MarkFrom, c.askedFrom, timing.MarkTo, c.askedTo)
	}
}

// TestHeadroom: to an output of a star of 8 seven inputs bring 60,000 B each, 2,500 of a round trip of
// 200 ns at 100 Gb/s and 2,000 of two packets. What TestPauseByHand needs, 10,000 B of two inputs
// paused above 3,000, is below their 15,000.
func TestHeadroom(t *testing.T) {
	config := DefaultConfig()
	n := starAt(t, 100e9, config, 0, 0).net
	most, inputs := n.timing.Headroom(n.graph, &config)
	simtest.ErrorIf(t, most != 7*64_500 || inputs != 7, "%v of %d inputs, want 451,500 of 7", most, inputs)
}

// TestRates: at 300 Gb/s a packet takes 26,666 2/3 ps, and none of the thirds is lost: 30 packets
// end 30 of them, 800,000 ps, after the first began, one is stored, and two flights take 200,000.
// The round trip is 400,000 ps and 2 * (1,000 + 64) bytes, 56,746 2/3. At 6.4 and 10 Tb/s, where a
// byte takes 1.25 and 0.8 ps, a packet takes 1,250 and 800 ps.
func TestRates(t *testing.T) {
	config := DefaultConfig()
	config.Queue = 1 << 20
	b := starAt(t, 300e9, config, 1, 30)
	b.run(t)
	end := b.at[29]
	simtest.ErrorIf(t, end < 1_026_666 || end > 1_026_667, "30 packets at 300 Gb/s end at %d ps, want 1,026,666 2/3", end)
	rtt := b.net.timing.RTT
	simtest.ErrorIf(t, rtt != 456_747, "round trip %d ps, want 456,746 2/3", rtt)
	alone := b.net.Alone(1, 0, 30, 1000, 64, true)
	simtest.ErrorIf(t, alone > 1_026_667+203_414 || alone < 1_026_666+203_410,
		"30 packets alone %d ps, want 1,026,666 2/3, two flights and twice 1,706 2/3", alone)
	for rate, packet := range map[sim.Rate]sim.Time{6400e9: 1250, 10000e9: 800} {
		b := starAt(t, rate, config, 1, 30)
		b.run(t)
		simtest.Equal(t, b.at[29], 200_000+31*packet, "30 packets at %v end at", rate)
	}
}

// TestFull: seven senders of ten packets each into a queue of three. Every packet arrives whole,
// arrives as a header, or is dropped, and with pauses all arrive whole.
func TestFull(t *testing.T) {
	for _, full := range []string{"trim", "drop", "pause"} {
		config := DefaultConfig()
		config.Full, config.XOff, config.XOn = full, 2000, 1500
		if full != "pause" {
			config.Queue = 3000
		}
		b, whole, trimmed := star(t, config, 7, 10), 0, 0
		for i := range b.arrived {
			if p := &b.arrived[i]; p.Trimmed {
				trimmed++
				simtest.ErrorIf(t, p.Size != 64 || !p.LastHop, "a trimmed packet %+v", p)
			} else {
				whole++
			}
		}
		port := b.net.graph.TerminalPort[0]
		q, paused := b.net.Counters(int(port)), int64(0)
		for s := range 8 {
			paused += b.net.Counters(b.net.graph.NumPorts() + s).Paused
		}
		switch {
		case full == "trim" && (whole+trimmed+int(q.Dropped) != 70 || trimmed == 0 || q.DeepestData > 3000):
			t.Errorf("trim: %d whole, %d trimmed, %+v", whole, trimmed, q)
		case full == "drop" && (whole+int(q.Dropped) != 70 || trimmed > 0 || q.Dropped == 0):
			t.Errorf("drop: %d whole, %d trimmed, %+v", whole, trimmed, q)
		case full == "pause" && (whole != 70 || paused == 0):
			t.Errorf("pause: %d whole, %d pauses, %+v", whole, paused, q)
		}
	}
}

// twoPaused is a star of two senders of ten packets each, A and B, that are paused above 3,000 B and go
// on below 2,000, into a queue of so many bytes. In units of 80 ns from the first arrival, at 180
// ns, on (a packet leaves before others come at the same time):
//
//	time         0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17
//	leaves         A B A B A B A B A  B  A  B  A  B  A  B  A
//	A holds      1 1 2 2 3 3 4 4 5 5  5  4  4  3  3  2  2  1   of packets A1 to A10, the last at 9
//	B holds      1 2 2 3 3 4 4 5 5 5  4  4  3  3  2  2  1  1   of packets B1 to B9, the last at 8
//
// B is paused at 5 and A at 6. The frame takes 100 ns, 1.25 units, as a packet does, so that those
// that were begun before 6.25 and 7.25 at the sender come until 8 and 9. B goes on at 16 and A at 17;
// B10 comes 2.5 units later and a packet behind, at 19.5, half a unit after A10 left at 19.
func twoPaused(t *testing.T, queue sim.Bytes) *burst {
	config := DefaultConfig()
	config.Full, config.XOff, config.XOn, config.Queue = "pause", 3000, 2000, queue
	return starAt(t, 100e9, config, 2, 10)
}

// TestPauseByHand: see [twoPaused]. Both senders are paused for 11 units, 880 ns. The last packet is
// there at 180 + 20.5 * 80 + 100 ns. The queue is deepest at 8, when 18 have come and 8 have left:
// 10,000 B are headroom enough, and a byte less is not. At 10 units, 980 ns, the pauses last since
// 6.25 and 7.25: 300 and 220 ns.
func TestPauseByHand(t *testing.T) {
	b := twoPaused(t, 10_000)
	ports := b.net.graph.NumPorts()
	check := func(a, other int64) {
		t.Helper()
		for sender, want := range map[int]int64{1: a, 2: other} {
			q := b.net.Counters(ports + sender)
			simtest.ErrorIf(t, q.Paused != 1 || q.PausedFor != want*1000,
				"terminal %d is paused %d times for %d ps, want once for %d ns", sender, q.Paused, q.PausedFor, want)
		}
	}
	b.net.kernel.Run(980 * sim.Nanosecond)
	check(220, 300)
	b.run(t)
	check(880, 880)
	end := b.at[len(b.at)-1]
	simtest.ErrorIf(t, len(b.at) != 20 || end.Nanoseconds() != 1920, "%d packets until %v, want 20 until 1920 ns", len(b.at), end)
	q := b.net.Counters(int(b.net.graph.TerminalPort[0]))
	simtest.Alike(t, "dropped, deepest", q.Dropped, 0, q.DeepestData, 10_000)
	for sender := range topology.TerminalID(2) {
		q := b.net.Counters(int(b.net.graph.TerminalPort[sender+1]))
		simtest.ErrorIf(t, q.DeepestInPort != 5000, "input %d holds %d B at most, want 5000", sender+1, q.DeepestInPort)
	}
	b = twoPaused(t, 9_999)
	b.run(t)
	simtest.ErrorIf(t, b.net.Counters(int(b.net.graph.TerminalPort[0])).Dropped == 0, "9,999 B are enough")
	for in, h := range b.net.held {
		simtest.ErrorIf(t, h.bytes != 0, "input %d holds %d B when all packets have left or been dropped", in, h.bytes)
	}
}

// TestGivesWay: of packets that come to a full queue half take the place of its last one: of 400 that are as long
// 200, and four standard deviations of 10. The queue counts what waits and what is in service, whatever the lengths.
func TestGivesWay(t *testing.T) {
	config := DefaultConfig()
	config.Queue = 3000
	n := starAt(t, 100e9, config, 0, 0).net
	o, flow := &n.out[n.graph.TerminalPort[0]], int32(0)
	come := func(size int32) {
		id, p := n.Take()
		flow++
		p.Size, p.Flow = size, flow
		n.enqueue(o, id, p)
	}
	for range 3 {
		come(1000)
	}
	taken := 0
	for range 400 {
		if come(1000); n.packets.at(o.data.tail).Flow == flow {
			taken++
		}
	}
	second := n.packets.at(o.data.head).next
	simtest.ErrorIf(t, taken < 160 || taken > 240 || second != o.data.tail || n.packets.at(second).next >= 0,
		"%d of 400 take the last place, want 160 to 240, of two", taken)
	for i := range int32(64) {
		come(400 + i)
		sum := int64(n.packets.at(o.sending).Size)
		for id := o.data.head; id >= 0; id = n.packets.at(id).next {
			sum += int64(n.packets.at(id).Size)
		}
		simtest.FatalIf(t, o.data.bytes != sum, "counts %d B, and holds %d", o.data.bytes, sum)
	}
}

// TestPausesAddUp: 100 ns and 30 ns of pauses are 130 ns.
func TestPausesAddUp(t *testing.T) {
	b := starAt(t, 100e9, DefaultConfig(), 0, 0)
	for i, at := range []int64{0, 100_000, 150_000, 180_000} {
		id, p := b.net.Take()
		b.net.flights.put(id, p, uint8(stops+i%2), 0, at)
	}
	b.run(t)
	q := b.net.Counters(0)
	simtest.ErrorIf(t, q.Paused != 2 || q.PausedFor != 130_000, "paused %d times for %d ps, want twice, 130 ns", q.Paused, q.PausedFor)
}

// TestMarksByHand: two senders of 1,000 packets each. As packet k leaves, 2k have come, so that k
// packets, then 2,000 - k, stay. Above a step at 500 packets that are 999, all marked. Between 0
// and 1,000,001 B the sum of what stays is 1e9 B, 1,000 packets' worth, of which mark_max 0.25
// marks 250, and mark_max 1 all: four standard deviations are less than 4 * sqrt(250), and 4 *
// sqrt(2,000 / 6). Between 0 and 500,000 B all of the 1,000 are marked that leave more, of the others
// a quarter of a half: 1,125 more or less 43.
func TestMarksByHand(t *testing.T) {
	for _, c := range []struct {
		from, to sim.Bytes
		most     float64
		low, top int64
	}{{500_000, 500_000, 1, 999, 999}, {0, 1_000_001, 0.25, 187, 313}, {0, 1_000_001, 1, 926, 1074}, {0, 500_000, 0.25, 1082, 1168}} {
		config := DefaultConfig()
		config.Queue, config.MarkFrom, config.MarkTo, config.MarkMax = 1<<30, c.from, c.to, c.most
		b, marked := star(t, config, 2, 1000), int64(0)
		for i := range b.arrived {
			if b.arrived[i].Marked {
				marked++
			}
		}
		q := b.net.Counters(int(b.net.graph.TerminalPort[0]))
		simtest.ErrorIf(t, q.Marked != marked || marked < c.low || marked > c.top, "%+v: %d of 2,000 arrive marked, the port counts %d", c, marked, q.Marked)
	}
}

// TestControlLimit: of headers, 64 B each, a queue of 1,000 B holds 2,000, the one in service among them: 31 of 40.
func TestControlLimit(t *testing.T) {
	config := DefaultConfig()
	config.Queue = 1000
	n := starAt(t, 100e9, config, 0, 0).net
	port := n.graph.TerminalPort[0]
	for range 40 {
		id, p := n.Take()
		p.Size, p.Control = 64, true
		n.enqueue(&n.out[port], id, p)
	}
	simtest.Equal(t, n.Counters(int(port)).Dropped, 9, "headers dropped")
}

// TestHostsUnmarked: where receivers grant credit, the queue to a terminal marks nothing, others do.
func TestHostsUnmarked(t *testing.T) {
	topo := simtest.Must(topology.Registry.New("xgft", struct{}{}, param.Set("m", []int{2, 2}), param.Set("w", []int{1, 2})))(t)
	g, config := topo.Graph(), DefaultConfig()
	timing := NewTiming(g, nil, nil, &config, nil, Channel{Rate: 100e9}, 1000, 64)
	for _, timing.HostsUnmarked = range []bool{false, true} {
		n := simtest.Must(New(sim.NewKernel(), g, config, timing, nil, 1))(t)
		for p := range g.NumPorts() {
			_, host := g.PeerTerminal(topology.PortID(p))
			want, marks := !host || !timing.HostsUnmarked, n.out[p].from < never
			simtest.ErrorIf(t, marks != want, "port %d, to a terminal %v, hosts unmarked %v: marks %v", p, host, timing.HostsUnmarked, marks)
		}
	}
}

// twoWays is a tree in which two ports lead from switch 0 to the terminals of another.
func twoWays(t *testing.T, paths string) (n *Network, ports []topology.PortID) {
	t.Helper()
	topo := simtest.Must(topology.Registry.New("xgft", struct{}{}, param.Set("m", []int{2, 2}), param.Set("w", []int{1, 2})))(t)
	g, config := topo.Graph(), DefaultConfig()
	config.Paths, config.Queue = paths, 100_000
	n = simtest.Must(New(sim.NewKernel(), g, config, NewTiming(g, nil, nil, &config, nil, Channel{Rate: 100e9}, 1000, 64), nil, 1))(t)
	to := g.TerminalSwitch(3)
	ports = n.routes.from(g.TerminalSwitch(0), n.routes.leaf[3])
	simtest.FatalIf(t, len(ports) != 2 || to == g.TerminalSwitch(0), "%d ports", len(ports))
	return n, ports
}

// TestAdaptiveSteps: a port with a queue in a lower step is chosen always, of two in one step each
// sometimes (once in 2^64 cases not). Steps begin at 5, 10 and 20 % of 100,000 B.
func TestAdaptiveSteps(t *testing.T) {
	n, ports := twoWays(t, "adaptive")
	for _, c := range []struct {
		a, b int64
		even bool
	}{
		{0, 4_999, true}, {4_999, 5_000, false}, {5_000, 9_999, true}, {9_999, 10_000, false},
		{10_000, 19_999, true}, {19_999, 20_000, false}, {20_000, 100_000, true},
	} {
		n.out[ports[0]].data.bytes, n.out[ports[1]].data.bytes = c.a, c.b
		first := 0
		for range 64 {
			if n.route(0, &Packet{Dst: 3}) == int32(ports[0]) {
				first++
			}
		}
		even := first > 0 && first < 64
		simtest.ErrorIf(t, even != c.even || !even && first == 0, "queues of %d and %d B: the first is chosen %d times of 64", c.a, c.b, first)
	}
}

// TestControlPaths: an answer of a flow keeps to one port where data goes by the shortest queue.
func TestControlPaths(t *testing.T) {
	n, _ := twoWays(t, "adaptive")
	first := n.route(0, &Packet{Dst: 3, Control: true})
	for range 64 {
		simtest.FatalIf(t, n.route(0, &Packet{Dst: 3, Control: true}) != first, "an answer takes another port")
	}
}

// TestPaths: round robin takes both ports in each two packets, a hash one port for a flow and an
// entropy, and both for 64 entropies (once in 2^63 cases not).
func TestPaths(t *testing.T) {
	n, _ := twoWays(t, "round-robin")
	for range 100 {
		first, second := n.route(0, &Packet{Dst: 3}), n.route(0, &Packet{Dst: 3})
		simtest.FatalIf(t, first == second, "a round of two packets takes one port")
	}
	n, _ = twoWays(t, "hash")
	seen := map[int32]bool{}
	for e := range uint16(64) {
		port := n.route(0, &Packet{Dst: 3, Entropy: e})
		seen[port] = true
		simtest.Equal(t, n.route(0, &Packet{Dst: 3, Entropy: e}), port, "the port of a flow and an entropy")
	}
	simtest.ErrorIf(t, len(seen) != 2, "64 entropies take %d ports, want 2", len(seen))
}

// TestFlights holds the wheel against a list in which each event is put behind those that come no later: at times up
// to a turn ahead, in the slot at hand too, often at one time, for few targets, and after the wheel has run empty.
func TestFlights(t *testing.T) {
	var f flights
	s := packets{free: -1}
	divider := sim.NewDivider(8e9) // a byte takes a nanosecond
	f.span([]output{{latency: 1_000_000, divider: &divider}}, 500)
	stream := sim.NewStream(1, "flights", 0)
	var plain []flight
	now := int64(0)
	for i := range 30_000 {
		come := stream.IntN(4) * stream.IntN(2)
		if i%10_000 == 5_000 {
			come = 6_000 // hundreds of a slot
		}
		for range come {
			ahead := [...]int{0, stream.IntN(600), 100_000 * stream.IntN(16)}[stream.IntN(3)]
			e := flight{at: now + int64(ahead), target: int32(stream.IntN(5)) - 2}
			var p *Packet
			e.id, p = s.take()
			f.put(e.id, p, stops, e.target, e.at)
			behind := sort.Search(len(plain), func(i int) bool { return e.before(&plain[i]) })
			plain = slices.Insert(plain, behind, e)
		}
		if len(plain) == 0 {
			now += 7_000_000
			simtest.FatalIf(t, f.first(&s, now) != never, "an event at %d, and there is none", f.first(&s, now))
			continue
		}
		simtest.FatalIf(t, f.first(&s, now) != plain[0].at, "the next event is at %d, want %d", f.first(&s, now), plain[0].at)
		got := f.take()
		simtest.FatalIf(t, got != plain[0], "%+v, want %+v", got, plain[0])
		s.release(plain[0].id)
		now, plain = plain[0].at, plain[1:]
		if i%2 == 0 {
			f.first(&s, now) // before more are filed, some of them earlier
		}
	}
}

// TestSettles: outputs whose packets leave when something depends on it do what outputs do that have an event for
// each: packets arrive at the same times, marked and trimmed alike, and counters and queues are equal at all times. Times
// are multiples of 40 ns, so that many things happen at once: packets take 80 ns, cables 120, headers 40.
func TestSettles(t *testing.T) {
	for _, paths := range []string{"hash", "adaptive", "round-robin"} {
		for _, full := range []string{"trim", "drop"} {
			topo := simtest.Must(topology.Registry.New("xgft", struct{}{}, param.Set("m", []int{4, 4}), param.Set("w", []int{1, 2})))(t)
			g, config := topo.Graph(), DefaultConfig()
			config.Paths, config.Full, config.Queue, config.Header = paths, full, 6000, 500
			run := func(eager bool) (*burst, *Network) {
				b := &burst{left: map[topology.TerminalID]int{}, size: 1000, spread: true}
				b.net = simtest.Must(New(sim.NewKernel(), g, config, NewTiming(g, nil, nil, &config, nil, Channel{Rate: 100e9, Latency: 120 * sim.Nanosecond}, 1000, 500), b, 1))(t)
				for i := range b.net.out {
					b.net.out[i].eager = b.net.out[i].eager || eager
				}
				for s := range topology.TerminalID(g.Terminals()) {
					b.left[s] = 40
					b.net.Wake(s)
				}
				return b, b.net
			}
			lazy, a := run(false)
			plain, b := run(true)
			step := 40 * sim.Nanosecond // and then so long that nobody asks until the end
			for at, more := sim.Time(0), true; more; at += step {
				if at == 2*sim.Microsecond {
					step = sim.Millisecond
				}
				more = a.kernel.Run(at)
				simtest.FatalIf(t, b.kernel.Run(at) != more && more, "%s, %s: one goes on at %v", paths, full, at)
				for p := range a.out {
					x, y, waits, want := a.Counters(p), b.Counters(p), a.Waiting(p), b.Waiting(p)
					simtest.FatalIf(t, x != y || waits != want, "%s, %s, output %d at %v: %+v and %d B, want %+v and %d", paths, full, p, at, x, waits, y, want)
				}
			}
			simtest.FatalIf(t, len(lazy.arrived) < 200 || len(lazy.arrived) != len(plain.arrived),
				"%d and %d packets arrive", len(lazy.arrived), len(plain.arrived))
			trimmed := false
			for i := range lazy.arrived {
				x, y := lazy.arrived[i], plain.arrived[i]
				if trimmed = trimmed || x.Trimmed; x.Flow != y.Flow || x.Seq != y.Seq || x.Marked != y.Marked || x.Size != y.Size || lazy.at[i] != plain.at[i] {
					t.Fatalf("%s, %s: packet %d is %+v at %v, want %+v at %v", paths, full, i, x, lazy.at[i], y, plain.at[i])
				}
			}
			simtest.ErrorIf(t, trimmed != (full == "trim") || slices.IndexFunc(lazy.arrived, func(p Packet) bool { return p.Marked }) < 0,
				"%s: trimmed %v, and nothing is marked, or too much", full, trimmed)
		}
	}
}

// treeOf is a tree of 100 Gb/s of which a port holds 100,000 B.
func treeOf(t *testing.T, m, w []int, degraded int) (*Network, topology.Tree) {
	t.Helper()
	topo := simtest.Must(topology.Registry.New("xgft", struct{}{}, param.Set("m", m), param.Set("w", w)))(t)
	config, tree := DefaultConfig(), topo.(topology.Tree)
	config.Queue, config.Degraded = 100_000, degraded
	return simtest.Must(New(sim.NewKernel(), topo.Graph(), config, NewTiming(topo.Graph(), tree, nil, &config, nil, Channel{Rate: 100e9}, 1000, 64), nil, 1))(t), tree
}

// TestDegraded: on three levels two switches of the highest lead to the first of the middle one, each by a port that is
// slowed; on two levels the four ports of two cables are. A quarter is left of rate and room.
func TestDegraded(t *testing.T) {
	for _, c := range []struct {
		m, w, from []int // levels
		switches   int
	}{{[]int{2, 2, 4}, []int{1, 2, 2}, []int{2, 2}, 2}, {[]int{2, 2}, []int{1, 2}, []int{0, 0, 1, 1}, 1}} {
		n, tree := treeOf(t, c.m, c.w, c.switches)
		first := topology.SwitchID(0)
		for tree.LevelOf(first) != len(c.m)-2 {
			first++
		}
		var from []int
		for p := range topology.PortID(n.graph.NumPorts()) {
			if o := &n.out[p]; o.divider.Rate() != 100e9 {
				from = append(from, tree.LevelOf(n.graph.PortSwitch[p]))
				to, _ := n.graph.PeerPort(p)
				simtest.Alike(t, "slowed", o.divider.Rate(), sim.Rate(25e9), o.limit, 25_000, len(c.m) == 2 || n.graph.PortSwitch[to] == first, true)
			}
		}
		slices.Sort(from)
		simtest.EqualSlices(t, from, c.from, "levels of the ports slowed:")
	}
	n, tree := treeOf(t, []int{2, 2, 4}, []int{1, 2, 2}, 0)
	simtest.Refuse(Degraded(n.graph, tree, 3))(t, "at most 2, the switches of the highest level")
}

// TestOversubscription: four cables below and two above a switch, then four and one.
func TestOversubscription(t *testing.T) {
	n, _ := treeOf(t, []int{4, 4, 2}, []int{1, 2, 1}, 0)
	simtest.Equal(t, n.timing.Oversubscription, 8, "oversubscription")
}

// TestDelay: see [TestStar]; the switch takes 50 ns more.
func TestDelay(t *testing.T) {
	config := DefaultConfig()
	config.Delay = 50 * sim.Nanosecond
	simtest.Equal(t, star(t, config, 1, 1).at[0].Nanoseconds(), 410, "arrives at, in ns,")
}

// TestWithData: the header of a packet that has no room waits behind data, or overtakes it. Records are taken in turn.
func TestWithData(t *testing.T) {
	for control, first := range map[string]bool{"first": true, "with-data": false} {
		config := DefaultConfig()
		config.Queue, config.Control = 3000, control
		n := starAt(t, 100e9, config, 0, 0).net
		o := &n.out[n.graph.TerminalPort[0]]
		for i := range int32(4) {
			id, p := n.Take()
			p.Size = 1000
			n.enqueue(o, id, p)
			simtest.Equal(t, id, i, "packet")
		}
		simtest.Alike(t, control, o.control.head >= 0, first, n.packets.at(o.data.tail).Trimmed, !first, o.Trimmed, 1)
	}
}
