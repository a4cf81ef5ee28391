package routingtest

import (
	"reflect"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/observe"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// Observer passes decisions on and checks that Explore has them.
type Observer struct {
	fabric.Routing
	Ports []float64 // decisions by output port
	t     testing.TB
}

// Observe wraps a routing for a fabric of g; observed is what the fabric is given.
func Observe(t testing.TB, r fabric.Routing, g *topology.Graph) (o *Observer, observed fabric.Routing) {
	o = &Observer{Routing: r, Ports: make([]float64, g.NumPorts()), t: t}
	if e, ok := r.(fabric.EscapeRouting); ok {
		return o, &escapeObserver{o, e}
	}
	if l, ok := r.(fabric.Learner); ok {
		return o, struct {
			*Observer
			fabric.Learner
		}{o, l}
	}
	return o, o
}

// Needs implements [fabric.Needer]: of the queues only, so that every decision is made at a
// switch, one after the other, and seen.
func (o *Observer) Needs() fabric.Needs {
	needs := fabric.NeedsOf(o.Routing)
	return fabric.Needs{Queues: needs.Queues, Credits: needs.Credits, Crossed: needs.Crossed}
}

// Route implements [fabric.Routing].
func (o *Observer) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	before := *h
	hop := o.Routing.Route(v, h)
	found, notes := false, uint32(0)
	if l, ok := o.Routing.(fabric.Learner); ok {
		notes = l.Notes()
	}
	o.Routing.(fabric.Explorer).Explore(v.VCs(), before, func(listed fabric.Hop, state uint32, _ float64) {
		found = found || listed == hop && state == h.State&^notes
	})
	if !found {
		o.t.Errorf("Route(%+v) = %+v, state %x, is not among what Explore lists", before, hop, h.State)
	}
	o.Ports[hop.Port]++
	return hop
}

// escapeObserver does the same for decisions that are made again.
type escapeObserver struct {
	*Observer
	escape fabric.EscapeRouting
}

func (o *escapeObserver) EscapeVCs(vcs int) uint32 { return o.escape.EscapeVCs(vcs) }

func (o *escapeObserver) Reroute(v *fabric.View, h *fabric.Head) fabric.Hop {
	again := *o.Observer
	again.Routing = rerouted{o.escape}
	return again.Route(v, h)
}

// rerouted makes a routing decide again.
type rerouted struct{ fabric.EscapeRouting }

func (r rerouted) Route(v *fabric.View, h *fabric.Head) fabric.Hop { return r.Reroute(v, h) }

func (r rerouted) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	r.EscapeRouting.(fabric.Explorer).Explore(vcs, h, yield)
}

// Uniform is uniform traffic between so many terminals, the sender's own among
// them.
type Uniform int

// Destination implements [core.Pattern].
func (u Uniform) Destination(_ topology.TerminalID, r *sim.Stream) topology.TerminalID {
	return topology.TerminalID(r.IntN(int(u)))
}

// Weights implements [routing.Matrix].
func (u Uniform) Weights(_ topology.TerminalID, yield func(topology.TerminalID, float64)) {
	for dst := range topology.TerminalID(u) {
		yield(dst, 1/float64(u))
	}
}

// Even implements [routing.EvenMatrix].
func (u Uniform) Even() (weight float64, self bool) { return 1 / float64(u), true }

// Others is uniform traffic between so many terminals, none to the sender.
type Others int

// Destination implements [core.Pattern].
func (o Others) Destination(src topology.TerminalID, r *sim.Stream) topology.TerminalID {
	d := topology.TerminalID(r.IntN(int(o) - 1))
	if d >= src {
		d++
	}
	return d
}

// To sends everything to one terminal.
type To topology.TerminalID

// Destination implements [core.Pattern].
func (d To) Destination(topology.TerminalID, *sim.Stream) topology.TerminalID {
	return topology.TerminalID(d)
}

// Steady begins packets with the same probability in every cycle.
type Steady struct{ gap sim.Geometric }

// AtRate is the process of so many packets a cycle.
func AtRate(rate float64) Steady { return Steady{sim.NewGeometric(rate)} }

// NextGap implements [core.Process].
func (s Steady) NextGap(r *sim.Stream, _ *uint32) int64 { return s.gap.Draw(r) }

// Single makes packets of one flit.
type Single struct{}

// Draw implements [core.Sizes].
func (Single) Draw(*sim.Stream) int { return 1 }

// Fixed makes packets of so many flits.
type Fixed int

// Draw implements [core.Sizes].
func (n Fixed) Draw(*sim.Stream) int { return int(n) }

// Counter is a sink that counts packets.
type Counter struct{ Delivered int }

// Deliver implements [fabric.Sink].
func (c *Counter) Deliver(*fabric.Delivery) { c.Delivered++ }

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
	for _, load := range loads {
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
	f, l := tr.with(t, config), tr.ledger(load, tr.flits, nil)
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
