package core_test

import (
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestMisuse: what a caller can get wrong is an error, not a panic and not a
// result that means nothing.
func TestMisuse(t *testing.T) {
	n, smaller := dragonflyNetwork(t, "min", 2, 4, 2), dragonflyNetwork(t, "min", 1, 2, 1)
	plan := measure.Plan{Warmup: 200, Window: 400}
	source := func(f *core.Fabric) *measure.OpenLoop {
		return measure.NewOpenLoop(f.Graph().Terminals(), routingtest.Uniform(72), routingtest.AtRate(0.1), routingtest.Single{}, f.Seed())
	}
	run := func(f *core.Fabric, s *measure.OpenLoop) error {
		_, err := measure.Run(t.Context(), f, s, 0.1, plan)
		return err
	}

	simtest.Refuse(core.New(n.topo.Graph(), fabric.DefaultConfig(), smaller.routing, 1))(t, "of 6 switches and 6 terminals; this one has 36 and 72")

	f := n.fabric(t, fabric.DefaultConfig())
	simtest.Check(t, run(f, source(f)))
	simtest.Fail(t, run(f, source(f)), "run or attached before")
	simtest.Fail(t, f.Attach(fabric.Ends{Source: source(f), Sink: &routingtest.Counter{}}), "run or attached before")
	simtest.Fail(t, measure.RunToEnd(t.Context(), f, fabric.Ends{Source: source(f), Sink: &routingtest.Counter{}}, measure.ToEnd{}), "run or attached before")

	f = n.fabric(t, fabric.DefaultConfig())
	wrong := source(smaller.fabric(t, fabric.DefaultConfig()))
	simtest.Fail(t, run(f, wrong), "the source has 6 terminals, the network 72")
	simtest.Fail(t, f.Attach(fabric.Ends{Source: wrong, Sink: &routingtest.Counter{}}), "the source has 6 terminals, the network 72")
	if err := run(f, source(f)); err != nil { // nothing has happened to it
		t.Errorf("after a refusal: %v", err)
	}

	// Another build of the same network is the same network.
	again := dragonflyNetwork(t, "min", 2, 4, 2)
	if _, err := core.New(n.topo.Graph(), fabric.DefaultConfig(), again.routing, 1); err != nil {
		t.Error(err)
	}
}

// TestRoutingsNameTheirGraph: every registered routing says for which network it
// was made, so that another is refused.
func TestRoutingsNameTheirGraph(t *testing.T) {
	for _, name := range routing.Registry.Names() {
		for _, family := range []string{"dragonfly", "torus", "fat-tree"} {
			topo := simtest.Must(topology.Registry.New(family, struct{}{}))(t)
			r, err := routing.Registry.New(name, routing.Env{Topology: topo})
			if err != nil {
				continue // not on this family
			}
			g, ok := r.(fabric.GraphRouting)
			simtest.ErrorIf(t, !ok || g.Graph() != topo.Graph(), "%s on %s: no graph, or another", name, family)
		}
	}
}

// TestMisuseByRoutings: a routing that breaks its contract is told what it has done, and
// what it must do.
func TestMisuseByRoutings(t *testing.T) {
	n := newNetwork(t, "torus", "dor", func(c *topology.GridConfig) { c.Dims = []int{4} })
	for want, see := range map[string]func(*fabric.View, *fabric.Head, *fabric.Hop){
		"discards a packet for terminal 2 at switch 0, in a network without faults": func(_ *fabric.View, _ *fabric.Head, hop *fabric.Hop) { *hop = fabric.Discard },
		"reads what has been sent and does not declare it: fabric.Needs has Sent":   func(v *fabric.View, _ *fabric.Head, hop *fabric.Hop) { v.Sent(hop.Port) },
		"reads credits and does not declare it: fabric.Needs has Credits":           func(v *fabric.View, _ *fabric.Head, hop *fabric.Hop) { v.Credits(hop.Port, 0) },
	} {
		config := fabric.DefaultConfig()
		packets(&config)
		f := network{n.topo, spy{n.routing, fabric.Needs{}, see}}.fabric(t, config)
		s := &script{}
		s.send(0, fabric.PacketSpec{Dst: 2, Flits: 4})
		func() {
			defer func() {
				misuse, ok := recover().(*fabric.Misuse)
				simtest.ErrorIf(t, !ok || !strings.HasPrefix(misuse.Error(), "routing core_test.spy "+want),
					"%v, want %s", misuse, want)
			}()
			_ = measure.RunToEnd(t.Context(), f, fabric.Ends{Source: s, Sink: s}, measure.ToEnd{})
		}()
	}
}
