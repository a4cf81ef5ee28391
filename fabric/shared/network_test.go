package shared

import (
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
	arrived []Packet
	at      []sim.Time
}

func (b *burst) Next(t topology.TerminalID) int32 {
	if b.left[t] == 0 {
		return -1
	}
	b.left[t]--
	id, p := b.net.Take()
	p.Src, p.Dst, p.Size, p.Flow = t, 0, b.size, int32(t)
	return id
}

func (b *burst) Arrived(_ topology.TerminalID, p *Packet) {
	b.arrived = append(b.arrived, *p)
	b.at = append(b.at, b.net.kernel.Now())
}

// star runs packets of 1,000 B of some senders of a switch of 8 terminals into terminal 0: 100
// Gb/s, 80 ns a packet, 100 ns a cable.
func star(t *testing.T, config Config, senders, packets int) *burst {
	t.Helper()
	return starAt(t, 100e9, config, senders, packets)
}

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
	kernel.Run(sim.MaxTime - 1)
	if b.net.InFlight() != 0 {
		t.Errorf("%d packets are left", b.net.InFlight())
	}
	return b
}

// TestStar: a packet is stored once on its way: 80 + 100 + 80 + 100 = 360 ns; further ones
// follow 80 ns apart, of two senders 2n packets. The round trip of an empty network is that of
// 1,000 B, 360 ns, and 64 B back, 2 * (5.12 + 100): 570.24 ns; 7,128 B, eight packets.
func TestStar(t *testing.T) {
	config := DefaultConfig()
	config.Queue = 1 << 20
	b := star(t, config, 2, 5)
	if len(b.at) != 10 || b.at[0].Nanoseconds() != 360 || b.at[9].Nanoseconds() != 360+9*80 {
		t.Errorf("%v", b.at)
	}
	config.Queue = 0
	if timing := star(t, config, 1, 1).net.timing; timing.RTT != 570_240 || timing.BDP != 7128 || timing.Queue != 8000 || timing.MarkFrom != 2000 || timing.MarkTo != 7000 {
		t.Errorf("%+v", timing)
	}
	if alone := b.net.Alone(1, 0, 5, 1000, 64); alone != 360_000+4*80_000+210_240 {
		t.Errorf("five packets alone: %d ps, want 890.24 ns", alone)
	}
}

// TestRates: at 300 Gb/s a packet takes 26,666 2/3 ps, and none of the thirds is lost: 30 packets
// end 30 of them, 800,000 ps, after the first began, one is stored, and two flights take 200,000.
// The round trip is 400,000 ps and 2 * (1,000 + 64) bytes, 56,746 2/3. At 6.4 and 10 Tb/s, where a
// byte takes 1.25 and 0.8 ps, a packet takes 1,250 and 800 ps.
func TestRates(t *testing.T) {
	config := DefaultConfig()
	config.Queue = 1 << 20
	b := starAt(t, 300e9, config, 1, 30)
	if end := b.at[29]; end < 1_026_666 || end > 1_026_667 {
		t.Errorf("30 packets at 300 Gb/s end at %d ps, want 1,026,666 2/3", end)
	}
	if rtt := b.net.timing.RTT; rtt != 456_747 {
		t.Errorf("round trip %d ps, want 456,746 2/3", rtt)
	}
	if alone := b.net.Alone(1, 0, 30, 1000, 64); alone > 1_026_667+203_414 || alone < 1_026_666+203_410 {
		t.Errorf("30 packets alone %d ps, want 1,026,666 2/3, two flights and twice 1,706 2/3", alone)
	}
	for rate, packet := range map[sim.Rate]sim.Time{6400e9: 1250, 10000e9: 800} {
		if b := starAt(t, rate, config, 1, 30); b.at[29] != 200_000+31*packet {
			t.Errorf("30 packets at %v end at %d ps, want %d", rate, b.at[29], 200_000+31*packet)
		}
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
		b := star(t, config, 7, 10)
		whole, trimmed := 0, 0
		for i := range b.arrived {
			if p := &b.arrived[i]; p.Trimmed {
				trimmed++
				if p.Size != 64 || !p.LastHop {
					t.Errorf("a trimmed packet %+v", p)
				}
			} else {
				whole++
			}
		}
		port := b.net.graph.TerminalPort[0]
		q := b.net.Counters(int(port))
		paused := int64(0)
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
