package routingtest

import (
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/lists"
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

// Needs implements [fabric.Needer]: queues only, so that every decision is made at a switch, one at
// a time, and seen.
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

// Uniform is uniform traffic between so many terminals, the sender's own among them.
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

// Script is a source of given packets, in order of birth for each terminal, and the sink that keeps
// what arrives.
type Script struct {
	packets   map[topology.TerminalID][]fabric.PacketSpec
	Delivered []fabric.Delivery
}

// Send has a terminal send a packet behind those that it has been given.
func (s *Script) Send(src topology.TerminalID, p fabric.PacketSpec) {
	if s.packets == nil {
		s.packets = map[topology.TerminalID][]fabric.PacketSpec{}
	}
	s.packets[src] = append(s.packets[src], p)
}

// Next implements [fabric.Source].
func (s *Script) Next(t topology.TerminalID, until int64, spec *fabric.PacketSpec) bool {
	list := s.packets[t]
	if len(list) == 0 {
		spec.Birth = fabric.Never
		return false
	}
	if *spec = list[0]; spec.Birth > until {
		return false
	}
	s.packets[t] = list[1:]
	return true
}

// Deliver implements [fabric.Sink].
func (s *Script) Deliver(d *fabric.Delivery) { s.Delivered = append(s.Delivered, *d) }

// ByTag are the packets that have arrived, by their tags.
func (s *Script) ByTag() map[uint64]fabric.Delivery {
	return lists.Table(s.Delivered, func(d fabric.Delivery) (uint64, fabric.Delivery) { return d.Tag, d })
}

// Arrivals are the cycles in which packets have arrived at a terminal.
func (s *Script) Arrivals(dst topology.TerminalID) (cycles []int64) {
	for _, d := range s.Delivered {
		if d.Dst == dst {
			cycles = append(cycles, d.Cycle)
		}
	}
	return cycles
}
