package core_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/observe"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim/simtest"
)

// seen is all that observers say of a run in which every packet is measured.
type seen struct {
	ledger *ledger
	parts  map[arrival]core.Parts
	blame  *observe.Blame
	traces map[arrival]*observe.PacketTrace

	drained bool // all packets have arrived
}

// checkObservedUnits compares what observers say of a network of flits and of one of
// packets: the parts of every packet's latency and of every channel's, the roots of all
// waiting, and the life of every packet, head and tail. The network is filled for so many
// cycles and emptied again, at a moderate load and beyond saturation.
func checkObservedUnits(t testing.TB, tr *routingtest.Trial, cycles int64) (packets int) {
	t.Helper()
	for _, load := range loads {
		flits, whole := observeUnit(t, tr, fabric.UnitFlit, load, cycles), observeUnit(t, tr, fabric.UnitPacket, load, cycles)
		packets += compareUnits(t, tr, load, [2]*ledger{flits.ledger, whole.ledger}, [2]core.Counters{})
		compareObserved(t, tr, load, flits, whole)
	}
	return packets
}

// observeUnit runs a trial with one unit and looks on.
func observeUnit(t testing.TB, tr *routingtest.Trial, unit string, load float64, cycles int64) *seen {
	t.Helper()
	config := tr.Config
	config.Fabric.Unit = unit
	f, l := tr.With(t, config), newLedger(tr, load, tr.Flits, nil)
	s := &seen{l, map[arrival]core.Parts{}, nil, map[arrival]*observe.PacketTrace{}, false}
	meter := measure.NewMeter(cycles)
	meter.Open(0)
	s.blame = observe.StartBlame(f, meter)
	s.blame.OnPacket = func(d *fabric.Delivery, parts *core.Parts) { s.parts[arrival{d.Src, d.Dst, d.Tag}] = *parts }
	tracer := observe.StartTrace(f, meter, observe.TracePlan{Packets: 1 << 20})
	simtest.Check(t, f.Attach(fabric.Ends{Source: l, Sink: l}))
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
func compareObserved(t testing.TB, tr *routingtest.Trial, load float64, flits, packets *seen) {
	t.Helper()
	told := 0
	for key, want := range flits.parts {
		if got := packets.parts[key]; got != want && told < 3 {
			told++
			t.Errorf("%v, load %g: packet %+v\nhas parts %v\nas a packet %v\n%+v\n%+v", tr, load, key, want, got, tr.Config.Switch, *flits.traces[key])
		}
	}
	for key, want := range flits.traces {
		if got := packets.traces[key]; !reflect.DeepEqual(got, want) && told < 3 {
			told++
			t.Errorf("%v, load %g: life\n%+v\nas a packet\n%+v\n%+v", tr, load, *want, got, tr.Config.Switch)
		}
	}
	if len(packets.parts) != len(flits.parts) || len(packets.traces) != len(flits.traces) || len(flits.traces) == 0 {
		t.Errorf("%v, load %g: %d packets in parts, %d lives; with packets as the unit %d and %d", tr, load, len(flits.parts), len(flits.traces), len(packets.parts), len(packets.traces))
	}
	simtest.ErrorIf(t, packets.drained != flits.drained,
		"%v, load %g: drained: %v, with packets as the unit %v", tr, load, flits.drained, packets.drained)
	if told == 0 && flits.drained && (!reflect.DeepEqual(packets.blame.Links(), flits.blame.Links()) || packets.blame.Classes != flits.blame.Classes || !reflect.DeepEqual(packets.blame.Roots(), flits.blame.Roots())) {
		t.Errorf("%v, load %g: channels or roots differ: %v, %v", tr, load, packets.blame.Classes, flits.blame.Classes)
	}
}
