package routingtest

import (
	"reflect"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/observe"
)

// seen is all that observers say of a run in which every packet is measured.
type seen struct {
	ledger *ledger
	parts  map[arrival]core.Parts
	blame  *observe.Blame
	traces map[arrival]*observe.PacketTrace

	drained bool // all packets have arrived
}

// CheckObservedUnits compares what observers say of a network of flits and of one of
// packets: the parts of every packet's latency and of every channel's, the roots of all
// waiting, and the life of every packet, head and tail. The network is filled for so many
// cycles and emptied again, at a moderate load and beyond saturation.
func (tr *Trial) CheckObservedUnits(t testing.TB, cycles int64) (packets int) {
	t.Helper()
	for _, load := range []float64{0.3, 1} {
		flits, whole := tr.observe(t, fabric.UnitFlit, load, cycles), tr.observe(t, fabric.UnitPacket, load, cycles)
		packets += tr.compareUnits(t, load, [2]*ledger{flits.ledger, whole.ledger}, [2]core.Counters{})
		tr.compareObserved(t, load, flits, whole)
	}
	return packets
}

// observe runs a trial with one unit and looks on.
func (tr *Trial) observe(t testing.TB, unit string, load float64, cycles int64) *seen {
	t.Helper()
	config := tr.config
	config.Fabric.Unit = unit
	f, err := core.New(tr.network.Topology.Graph(), config, tr.routing, 5)
	if err != nil {
		t.Fatalf("%v: %v", tr, err)
	}
	n := tr.network.Topology.Graph().Terminals()
	mean := float64(1+tr.flits) / 2
	l := &ledger{measure.NewOpenLoop(n, Uniform(n), AtRate(load/mean), upTo(tr.flits), 5), make([]uint64, n), map[arrival]fabric.Delivery{}, nil}
	s := &seen{l, map[arrival]core.Parts{}, nil, map[arrival]*observe.PacketTrace{}, false}
	meter := measure.NewMeter(cycles)
	meter.Open(0)
	s.blame = observe.StartBlame(f, meter)
	s.blame.OnPacket = func(d *fabric.Delivery, parts *core.Parts) { s.parts[arrival{d.Src, d.Dst, d.Tag}] = *parts }
	tracer := observe.StartTrace(f, meter, observe.TracePlan{Packets: 1 << 20})
	if err := f.Attach(l, l); err != nil {
		t.Fatal(err)
	}
	f.Advance(cycles)
	l.Stop(0)
	for i := 0; f.InFlight() > 0 && i < 100; i++ { // some of these networks deadlock
		f.Advance(cycles)
	}
	s.drained = f.InFlight() == 0
	for _, p := range tracer.Packets() {
		for i := range p.Path {
			// One that ends in the cycle that it begins in, since a channel is let go, shows or
			// not by the order in which the flits of a step cross.
			h := &p.Path[i]
			h.Waits = slices.DeleteFunc(h.Waits, func(w observe.TraceWait) bool { return w.From == w.To })
			if len(h.Waits) == 0 {
				h.Waits = nil
			}
		}
		s.traces[arrival{p.Src, p.Dst, p.Tag}] = p
	}
	return s
}

// compareObserved wants the same of both units.
func (tr *Trial) compareObserved(t testing.TB, load float64, flits, packets *seen) {
	t.Helper()
	told := 0
	for key, want := range flits.parts {
		if got := packets.parts[key]; got != want && told < 3 {
			told++
			t.Errorf("%v, load %g: packet %+v\nhas parts %v\nas a packet %v\n%+v\n%+v", tr, load, key, want, got, tr.config.Switch, *flits.traces[key])
		}
	}
	for key, want := range flits.traces {
		if got := packets.traces[key]; !reflect.DeepEqual(got, want) && told < 3 {
			told++
			t.Errorf("%v, load %g: life\n%+v\nas a packet\n%+v\n%+v", tr, load, *want, got, tr.config.Switch)
		}
	}
	if len(packets.parts) != len(flits.parts) || len(packets.traces) != len(flits.traces) || len(flits.traces) == 0 {
		t.Errorf("%v, load %g: %d packets in parts, %d lives; with packets as the unit %d and %d", tr, load, len(flits.parts), len(flits.traces), len(packets.parts), len(packets.traces))
	}
	if packets.drained != flits.drained {
		t.Errorf("%v, load %g: drained: %v, with packets as the unit %v", tr, load, flits.drained, packets.drained)
	}
	if told == 0 && flits.drained && (!reflect.DeepEqual(packets.blame.Links(), flits.blame.Links()) || packets.blame.Classes != flits.blame.Classes || !reflect.DeepEqual(packets.blame.Roots(), flits.blame.Roots())) {
		t.Errorf("%v, load %g: channels or roots differ: %v, %v", tr, load, packets.blame.Classes, flits.blame.Classes)
	}
}
