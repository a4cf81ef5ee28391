package routing_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim"
)

// trial is a random network under random settings.
type trial struct {
	topo    topology.Topology
	routing fabric.Routing
	name    string
	config  fabric.Config
	vcs     int
	flits   int
	latency int64 // of every channel
}

type fixedFlits int

func (n fixedFlits) Draw(*sim.Stream) int { return int(n) }

// drawTrial draws a network that some routing carries, one in three with fewer
// virtual channels than it asks for.
func drawTrial(t *testing.T, stream *sim.Stream) trial {
	t.Helper()
	some := func(least, most int) int { return least + stream.IntN(most-least+1) }
	for {
		nets := randomNetworks(t, stream)
		topo := nets[stream.IntN(len(nets))]
		if topo.Graph().Terminals() < 2 {
			continue
		}
		name := routing.Registry.Names()[stream.IntN(len(routing.Registry.Names()))]
		all := variants(t, name)
		v := all[stream.IntN(len(all))]
		r, err := routing.Registry.Build(name, v.config, routing.Env{Topology: topo, Seed: 1})
		if err != nil {
			continue
		}
		tr := trial{topo: topo, name: name + " " + v.key + " " + v.value, vcs: min(r.VCs()+some(0, 2), 16), flits: some(1, 5), latency: int64(some(1, 4))}
		if stream.IntN(3) == 0 {
			tr.vcs = max(1, r.VCs()-1)
		}
		if tr.routing, err = routing.Registry.Build(name, v.config, routing.Env{Topology: topo, Seed: 1, VCs: tr.vcs, AllowDeadlock: true}); err != nil {
			t.Fatal(err)
		}
		c := fabric.DefaultConfig()
		c.AllowDeadlock = true
		s := &c.Switch
		s.VCs, s.BufferFlits, s.OutputBufferFlits = tr.vcs, some(1, 6), some(0, 3)
		s.RouteCycles, s.VCAllocCycles, s.CrossbarCycles, s.CreditCycles = some(0, 2), some(0, 1), some(0, 2), some(0, 2)
		s.Speedup, s.Iterations = float64(some(1, 3)), some(1, 2)
		s.Allocator = []string{"islip", "input-first"}[stream.IntN(2)]
		if stream.IntN(2) == 0 {
			s.FlowControl = "cut-through"
			tr.flits = min(tr.flits, s.BufferFlits) // a packet must fit into a buffer
		}
		c.Terminal.InjectionCycles = some(0, 3)
		c.Channels = map[string]fabric.ChannelConfig{}
		for _, class := range topo.Graph().Classes {
			c.Channels[class.Name] = fabric.ChannelConfig{Latency: sim.Time(tr.latency) * sim.Nanosecond}
		}
		tr.config = c
		return tr
	}
}

// TestRandomFabrics: on random fabrics with random settings,
//   - a network with a certificate never stops, and the audit at the end of
//     its run finds every flit and credit;
//   - a network that does stop has a wait-for cycle, in the certificate's graph;
//   - single packets in the idle network take the time of the hand formula.
func TestRandomFabrics(t *testing.T) {
	trials := 200 // 5 s
	if testing.Short() {
		trials = 40
	}
	stream := sim.NewStream(3, "fabrics", 0)
	certified, stopped := 0, 0
	for range trials {
		tr := drawTrial(t, &stream)
		c, dependencies := certificate(t, tr.topo, tr.routing, tr.vcs)
		tr.checkIdle(t)
		err := tr.overload(t)
		var deadlock *fabric.DeadlockError
		switch {
		case errors.As(err, &deadlock):
			stopped++
			if c.Acyclic() || len(deadlock.Waits) == 0 {
				t.Errorf("%s, %d virtual channels, on %+v: %s, but %v", tr.name, tr.vcs, tr.topo.Facts(), c.Describe(tr.topo.Graph()), err)
			}
			for i, w := range deadlock.Waits {
				if !dependencies.Has(w.Dependency()) || w.Wants != deadlock.Waits[(i+1)%len(deadlock.Waits)].Holds {
					t.Errorf("%s: step %d is not in the certificate's graph: %v", tr.name, i, err)
				}
			}
		case err != nil:
			t.Errorf("%s on %+v: %v", tr.name, tr.topo.Facts(), err)
		}
		if c.Acyclic() {
			certified++
		}
	}
	t.Logf("%d of %d certified, %d stopped", certified, trials, stopped)
	if certified < trials/2 || stopped == 0 {
		t.Errorf("%d of %d certified, %d stopped: not a test of both", certified, trials, stopped)
	}
}

func (tr *trial) fabric(t *testing.T) *fabric.Fabric {
	t.Helper()
	f, err := fabric.New(tr.topo.Graph(), tr.config, tr.routing, 5)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// overload runs the network with as much uniform traffic as it takes.
func (tr *trial) overload(t *testing.T) error {
	n := tr.topo.Graph().Terminals()
	source := fabric.NewOpenLoop(n, uniformly{n}, steadily{sim.NewGeometric(1 / float64(tr.flits))}, fixedFlits(tr.flits), 5)
	_, err := tr.fabric(t).Run(context.Background(), source, 1, fabric.Plan{Warmup: 500, Window: 1500})
	return err
}

// lonely sends one packet after the other, each into an idle network.
type lonely struct {
	stream    sim.Stream
	spacing   int64
	terminals int
	flits     int32
	turn      []int64 // next birth, by terminal
	delivered []fabric.Delivery
}

func (l *lonely) Next(t topology.TerminalID, until int64) (fabric.PacketSpec, bool) {
	p := fabric.PacketSpec{Birth: l.turn[t], Flits: l.flits}
	if p.Birth > until {
		return p, false
	}
	l.turn[t] += l.spacing * int64(l.terminals)
	p.Dst = topology.TerminalID(l.stream.IntN(l.terminals))
	return p, true
}

func (l *lonely) Deliver(d *fabric.Delivery) { l.delivered = append(l.delivered, *d) }

// checkIdle compares single packets with the formula of docs/model.md. All
// channels have the same latency, so that only the number of switches counts:
//
//	injection + latency + switches * (stages + latency) + (flits - 1)
//
// A buffer shorter than the credit round trip holds the flits behind the head
// up, and so does an output buffer shorter than the way to it, as flits have
// their place there from switch allocation on; there the packets have one flit.
func (tr *trial) checkIdle(t *testing.T) {
	t.Helper()
	n := tr.topo.Graph().Terminals()
	s := &tr.config.Switch
	flits := int32(1)
	way := int(math.Ceil(float64(s.SwitchAllocCycles+s.CrossbarCycles) / s.Speedup))
	if int64(s.BufferFlits) >= s.RoundTrip(tr.latency) && (s.OutputBufferFlits == 0 || s.OutputBufferFlits > way) {
		flits = int32(tr.flits)
	}
	l := &lonely{stream: sim.NewStream(7, "lonely", 0), spacing: 1000, terminals: n, flits: flits, turn: make([]int64, n)}
	for i := range l.turn {
		l.turn[i] = int64(i) * l.spacing
	}
	f := tr.fabric(t)
	f.Attach(l, l)
	f.Advance(20 * l.spacing)
	if len(l.delivered) == 0 {
		t.Fatalf("%s: nothing arrived", tr.name)
	}
	stages := int64(math.Ceil(float64(s.RouteCycles+s.VCAllocCycles+s.SwitchAllocCycles+s.CrossbarCycles) / s.Speedup))
	for _, d := range l.delivered {
		want := int64(tr.config.Terminal.InjectionCycles) + tr.latency + int64(d.Hops)*(stages+tr.latency) + int64(flits-1)
		if got := d.Cycle - d.Birth; got != want {
			t.Errorf("%s: %d flits over %d switches take %d cycles, want %d (%+v)", tr.name, flits, d.Hops, got, want, *s)
			return
		}
	}
}
