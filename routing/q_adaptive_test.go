package routing_test

import (
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// learningRecorder is a recorder of a routing that learns.
type learningRecorder struct {
	*recorder
	fabric.Learner
}

// TestQLearns follows packets through 3 groups of 2 switches with a terminal and a
// global channel each, by hand. Local channels are 2 cycles long, global ones 10. Switch
// 0 leads to group 1 by its port 2, switch 1 to group 2.
//
// Before anything is learned, a channel to a group takes 10 cycles, any other 12. A packet that
// goes to group 1 in cycle c is at the next switch in c+1+10: the answer is 11, nothing being left,
// and is back in c+22. That is 1 more than 10: 10 + 0.25*1. A packet to group 2 is at switch 1 in
// c+1+2, which answers 3 + 10: back in c+6, and 12 + 0.25*1.
func TestQLearns(t *testing.T) {
	topo := dragonfly(t, 1, 2, 1, 0)
	r := must(t, topo, 0, "q-adaptive", param.Set("exploration", 0), param.Set("beta", 0.25))
	config := fabric.DefaultConfig()
	config.Channels = map[string]fabric.ChannelConfig{"local": {Latency: 2 * sim.Nanosecond}, "global": {Latency: 10 * sim.Nanosecond}}
	for _, c := range []struct {
		dst   topology.TerminalID
		port  topology.PortID
		after int64 // cycles until the next packet is decided on
		want  float32
	}{
		{3, 2, 21, 10}, {3, 2, 22, 10.25},
		{4, 1, 5, 12}, {4, 1, 6, 12.25},
	} {
		rec := &recorder{Routing: r}
		f := simtest.Must(core.New(topo.Graph(), config, learningRecorder{rec, r.(fabric.Learner)}, 1))(t)
		f.Attach(fabric.Ends{Source: &twice{dst: c.dst, births: []int64{0, c.after}}, Sink: &counter{}})
		for decided := 0; decided < 2; {
			n := len(rec.heads)
			f.Advance(1)
			for _, h := range rec.heads[n:] {
				if h.In == 0 {
					decided++
				}
			}
		}
		got := routing.QEstimate(rec.view.Memory(), c.port, int(c.dst)/2, 0)
		simtest.ErrorIf(t, got != c.want,
			"to terminal %d, %d cycles later: port %d takes %v cycles, want %v", c.dst, c.after, c.port, got, c.want)
	}
}

// TestQMoves: towards a lower answer by alpha, towards a higher one by beta.
func TestQMoves(t *testing.T) {
	config := routing.QAdaptiveConfig{Alpha: 0.5, Beta: 0.125}
	for _, c := range [][3]float32{{20, 12, 16}, {20, 28, 21}, {20, 20, 20}} {
		if got := routing.QMove(config, c[0], c[1]); got != c[2] {
			t.Errorf("from %v towards %v: %v, want %v", c[0], c[1], got, c[2])
		}
	}
}

// twice is a source of packets of terminal 0.
type twice struct {
	dst    topology.TerminalID
	births []int64
}

func (s *twice) Next(t topology.TerminalID, until int64, spec *fabric.PacketSpec) bool {
	spec.Birth = fabric.Never
	if t != 0 || len(s.births) == 0 {
		return false
	}
	*spec = fabric.PacketSpec{Birth: s.births[0], Dst: s.dst, Flits: 1}
	if spec.Birth > until {
		return false
	}
	s.births = s.births[1:]
	return true
}

// onward sends to a random terminal of the next of groups of so many terminals.
type onward struct{ group, all int }

func (o onward) Destination(src topology.TerminalID, r *sim.Stream) topology.TerminalID {
	return topology.TerminalID(((int(src)/o.group+1)*o.group + r.IntN(o.group)) % o.all)
}

// arounds counts packets, and packets that went around.
type arounds struct{ all, around int }

func (a *arounds) Deliver(d *fabric.Delivery) {
	a.all++
	if d.NonMinimal {
		a.around++
	}
}

// TestQAdaptiveGoesAround: all terminals of a group send to the next, on 9 groups of 4 switches
// with 2 terminals and 2 global channels each. Minimal routing carries 1/8 of a flit a terminal and
// cycle, all 8 terminals of a group by one channel. At a load of 0.3, once switches have learned,
// more than half of the packets go around (that channel has room for 0.125/0.3 of them, 42 %) and
// all of the load arrives; under uniform traffic most go minimally.
func TestQAdaptiveGoesAround(t *testing.T) {
	topo := dragonfly(t, 2, 4, 2, 0)
	n := topo.Graph().Terminals()
	for _, c := range []struct {
		name, routing string
		pattern       measure.Pattern
		accepted      [2]float64 // flits a terminal and cycle
		around        [2]float64 // of packets
	}{
		{"next group", "min", onward{8, n}, [2]float64{0.1, 0.126}, [2]float64{0, 0}},
		{"next group", "q-adaptive", onward{8, n}, [2]float64{0.29, 0.31}, [2]float64{0.55, 1}},
		{"uniform", "q-adaptive", uniformly(n), [2]float64{0.29, 0.31}, [2]float64{0, 0.3}},
	} {
		config := fabric.DefaultConfig()
		config.Switch.BufferFlits = 32
		f := simtest.Must(core.New(topo.Graph(), config, must(t, topo, 0, c.routing), 1))(t)
		sink := &arounds{}
		f.Attach(fabric.Ends{Source: measure.NewOpenLoop(n, c.pattern, steadily(0.3), single{}, 1), Sink: sink})
		f.Advance(10000)
		*sink = arounds{}
		const cycles = 5000
		f.Advance(cycles)
		accepted, around := float64(sink.all)/cycles/float64(n), float64(sink.around)/float64(sink.all)
		t.Logf("%s, %s: accepted %.3f, around %.3f", c.name, c.routing, accepted, around)
		simtest.ErrorIf(t, accepted < c.accepted[0] || accepted > c.accepted[1],
			"%s, %s: accepted %.3f, want %v", c.name, c.routing, accepted, c.accepted)
		simtest.ErrorIf(t, around < c.around[0] || around > c.around[1],
			"%s, %s: around %.3f, want %v", c.name, c.routing, around, c.around)
	}
}
