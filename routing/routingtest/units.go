package routingtest

import (
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// DrawUnitTrial draws a network as DrawTrial does, with switches that hold ports for
// whole packets, and with times that are whole cycles: what flits and packets as the
// unit must agree on.
func DrawUnitTrial(t testing.TB, seed uint64) *Trial {
	tr := DrawTrial(t, seed)
	stream := sim.NewStream(seed, "units", 0)
	some := func(least, most int) int { return least + stream.IntN(most-least+1) }
	s := &tr.config.Switch
	s.Hold, s.FlowControl, s.CreditSensing = true, "cut-through", "off"
	s.VLArbHigh, s.VLArbLow, s.VLHighLimit = "", "", 0 // lanes take turns flit by flit
	s.BufferFlits = some(1, 24)
	tr.flits = some(1, s.BufferFlits)
	s.SwitchAllocCycles = some(1, 3)
	s.CreditsPerCycle = some(0, 1)
	if stream.IntN(3) == 0 {
		s.Forwarding = "store-and-forward"
	}
	if s.OutputBufferFlits > 0 {
		s.OutputBufferFlits += 6 // more than there are stages
	}
	for _, class := range tr.network.Topology.Graph().Classes {
		channel := fabric.ChannelConfig{Latency: sim.Time(some(1, 12)) * sim.Nanosecond}
		if stream.IntN(3) == 0 {
			channel.CyclesPerFlit = float64(some(1, 4))
		}
		tr.config.Channels[class.Name] = channel
	}
	return tr
}

// SetUnit sets the unit of a trial that DrawUnitTrial has drawn.
func (tr *Trial) SetUnit(unit string) { tr.config.Fabric.Unit = unit }

// upTo draws packets of one to so many flits.
type upTo int

func (most upTo) Draw(r *sim.Stream) int { return 1 + r.IntN(int(most)) }

// ledger numbers the packets of a source, and keeps what becomes of them.
type ledger struct {
	*fabric.OpenLoop
	sent []uint64 // by terminal
	got  map[[2]uint64]fabric.Delivery
}

func (l *ledger) Next(t topology.TerminalID, until int64, p *fabric.PacketSpec) bool {
	ok := l.OpenLoop.Next(t, until, p)
	if ok {
		p.Tag = l.sent[t]
		l.sent[t]++
	}
	return ok
}

func (l *ledger) Deliver(d *fabric.Delivery) { l.got[[2]uint64{uint64(d.Src), d.Tag}] = *d }

// CheckUnits compares a network of flits with one of packets, cycle for cycle: every
// packet's route, and when it entered and left the network, at a moderate load and
// beyond saturation.
func (tr *Trial) CheckUnits(t testing.TB, cycles int64) (packets int) {
	t.Helper()
	n := tr.network.Topology.Graph().Terminals()
	for _, load := range []float64{0.3, 1} {
		var of [2]*ledger
		var counters [2]fabric.Counters
		for i, unit := range []string{fabric.UnitFlit, fabric.UnitPacket} {
			config := tr.config
			config.Fabric.Unit = unit
			f, err := fabric.New(tr.network.Topology.Graph(), config, tr.routing, 5)
			if err != nil {
				t.Fatalf("%v: %v", tr, err)
			}
			mean := float64(1+tr.flits) / 2
			of[i] = &ledger{fabric.NewOpenLoop(n, Uniform(n), AtRate(load/mean), upTo(tr.flits), 5), make([]uint64, n), map[[2]uint64]fabric.Delivery{}}
			if err := f.Attach(of[i], of[i]); err != nil {
				t.Fatal(err)
			}
			f.Advance(cycles)
			counters[i] = f.Counters
		}
		flits, packet := of[0].got, of[1].got
		if len(flits) == 0 {
			t.Errorf("%v: nothing arrived", tr)
		}
		packets += len(flits)
		first, differ := fabric.Delivery{Cycle: fabric.Never}, 0
		for key, want := range flits {
			if packet[key] != want {
				differ++
				if want.Cycle < first.Cycle {
					first = want
				}
			}
		}
		if differ > 0 || len(packet) != len(flits) {
			t.Errorf("%v, load %g: %d of %d packets differ, of %d, the first\n%+v, is as a packet\n%+v\n%+v\n%+v", tr, load, differ, len(flits), len(packet),
				first, packet[[2]uint64{uint64(first.Src), first.Tag}], tr.config.Switch, tr.config.Channels)
		}
		if flits, packets := counters[0], counters[1]; flits.Packets != packets.Packets {
			t.Errorf("%v, load %g: counters %+v, as packets %+v", tr, load, flits, packets)
		}
	}
	return packets
}
