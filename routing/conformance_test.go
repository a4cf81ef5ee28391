package routing_test

import (
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestConformance holds every registered routing to the conformance suite, on a
// network of each family and on those of [networks].
func TestConformance(t *testing.T) {
	nets := networks(t)
	for _, name := range routing.Registry.Names() {
		routingtest.Conform(t, name, nets)
	}
}

// TestRandomNetworks looks for cycles in the channel dependencies of all routings
// on networks of random settings, of every family.
func TestRandomNetworks(t *testing.T) {
	carried, rounds := 0, simtest.Seeds(t, 6, 3)
	for _, round := range rounds {
		stream := sim.NewStream(11, "networks", int(round))
		for _, family := range topologytest.Families() {
			n, ok := topologytest.Draw(family, &stream, topologytest.Small)
			if !ok {
				continue
			}
			for _, name := range routing.Registry.Names() {
				for _, v := range routingtest.Variants(t, name) {
					r, ok := v.On(n.Topology)
					if !ok || v.CanDeadlock {
						continue
					}
					carried++
					if c, _ := routingtest.Certificate(t, n.Topology, r, r.VCs()); !c.Acyclic() {
						t.Errorf("%v on %s: %s", v, n.Name, c.Describe(n.Topology.Graph()))
					}
				}
			}
		}
	}
	if carried < 50*len(rounds) {
		t.Errorf("only %d combinations", carried)
	}
}

// Short names for what the suite brings.
type (
	uniformly = routingtest.Uniform
	single    = routingtest.Single
	counter   = routingtest.Counter
)

func steadily(rate float64) routingtest.Steady { return routingtest.AtRate(rate) }

// across sends from the terminals of the first leaf of 8 to the second's.
type across struct{}

func (across) Destination(src topology.TerminalID, r *sim.Stream) topology.TerminalID {
	return (src + 8) % 16
}

// runAcross runs r between two leaves of 8 terminals and counts the packets by
// port up of the first one.
func runAcross(t *testing.T, topo topology.Topology, r fabric.Routing) []float64 {
	t.Helper()
	g := topo.Graph()
	o, observed := routingtest.Observe(t, r, g)
	f, err := core.New(g, fabric.DefaultConfig(), observed, 3)
	if err != nil {
		t.Fatal(err)
	}
	f.Attach(measure.NewOpenLoop(16, across{}, steadily(0.9), single{}, 3), &counter{})
	f.Advance(3000)
	first, end := topo.(topology.Tree).UpPorts(0)
	return o.Ports[first:end]
}
