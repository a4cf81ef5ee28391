package routing_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	_ "github.com/weft-sim/weft/fabric/topology/families"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestConformance holds every registered routing to the conformance suite, on a
// network of each family and on the networks of [networks].
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
	simtest.ErrorIf(t, carried < 50*len(rounds), "only %d combinations", carried)
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
	f := simtest.Must(core.New(g, fabric.DefaultConfig(), observed, 3))(t)
	f.Attach(fabric.Ends{Source: measure.NewOpenLoop(16, across{}, steadily(0.9), single{}, 3), Sink: &counter{}})
	f.Advance(3000)
	first, end := topo.(topology.Tree).UpPorts(0)
	return o.Ports[first:end]
}

// TestRandomFabrics checks a third of 200 random fabrics with random settings; see
// routingtest.Trial.Check.
func TestRandomFabrics(t *testing.T) {
	var all routingtest.Tally
	seeds := simtest.Seeds(t, 200, 3)
	trials := len(seeds)
	for _, seed := range seeds {
		all.Add(routingtest.DrawTrial(t, seed).Check(t, 1500))
	}
	t.Log(all)
	if all.Certified < trials/2 || all.Stopped == 0 && !testing.Short() || all.Bounded < trials/4 { // few are stopped
		t.Errorf("%v: not a test of all", all)
	}
}

// FuzzFabrics checks the random fabric of any seed; go test -fuzz tries new ones.
func FuzzFabrics(f *testing.F) {
	for seed := range uint64(4) {
		f.Add(1000 + seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { routingtest.DrawTrial(t, seed).Check(t, 1500) })
}

// TestSoak checks random fabrics in long runs, for as long as SOAK_TIME says (a duration, as 8h),
// beginning with seed SOAK_SEED (1 unless set). make soak runs it.
func TestSoak(t *testing.T) {
	setting := os.Getenv("SOAK_TIME")
	if setting == "" {
		t.Skip("SOAK_TIME is not set")
	}
	limit, err := time.ParseDuration(setting)
	simtest.FatalIf(t, err != nil, "SOAK_TIME: %v", err)
	first := uint64(1)
	if setting := os.Getenv("SOAK_SEED"); setting != "" {
		_, err := fmt.Sscan(setting, &first)
		simtest.FatalIf(t, err != nil, "SOAK_SEED = %q: want a number", setting)
	}
	var all routingtest.Tally
	seed, report := first, time.Now()
	for start := time.Now(); time.Since(start) < limit && !t.Failed(); seed++ {
		all.Add(routingtest.DrawTrial(t, seed).Check(t, 20_000))
		if time.Since(report) > time.Minute {
			report = time.Now()
			fmt.Printf("%v: %v\n", time.Since(start).Round(time.Second), all)
		}
	}
	t.Logf("seeds %d to %d: %v", first, seed-1, all)
}

// TestAroundFaults holds the routings that go around faults to the suite's part about them.
func TestAroundFaults(t *testing.T) {
	seeds := simtest.Seeds(t, 5, 2)
	for _, name := range routing.AroundFaults() {
		routingtest.ConformAroundFaults(t, name, seeds, func(seed uint64) []topologytest.Network { return faultyNetworks(t, seed) })
	}
}

func faultyNetworks(t testing.TB, seed uint64) []topologytest.Network {
	return []topologytest.Network{
		{Name: "random", Topology: build(t, "random-regular", func(c *topology.RandomRegularConfig) {
			c.Switches, c.Degree, c.Terminals, c.Seed = 12, 3, 2, seed
		})},
		{Name: "dragonfly", Topology: dragonfly(t, 1, 2, 2, 0)},
		{Name: "dragonfly with several channels between groups", Topology: dragonfly(t, 1, 3, 3, 4)},
		{Name: "fat tree", Topology: build(t, "fat-tree", func(c *topology.FatTreeConfig) { c.K, c.N = 4, 3 })},
	}
}

// TestServiceLevels: routings with two service levels keep the contracts of routings, on channels of
// each level that are none of the other's.
func TestServiceLevels(t *testing.T) {
	kept, refused := 0, 0
	for _, name := range simtest.Some(t, 0, "dor", "nca", "ugal-l", "par", "q-adaptive") {
		routingtest.Each(t, name, nil, func(t *testing.T, n topologytest.Network, v routingtest.Variant, r fabric.Routing) {
			two, err := routing.ServiceLevels(r, 2)
			if err != nil {
				if !strings.Contains(err.Error(), "level = 1: want 0, or another routing") && !strings.Contains(err.Error(), "a channel can have 16") {
					t.Error(err)
				}
				refused++
				return
			}
			kept++
			routingtest.ConformOn(t, n, v, two)
			k := two.VCs() / 2
			g := n.Topology.Graph()
			for vc := range two.VCs() {
				port := g.TerminalPort[0]
				h := fabric.Head{Switch: g.PortSwitch[port], In: port, VC: uint8(vc), Dst: 1}
				two.(fabric.Explorer).Explore(two.VCs(), h, func(hop fabric.Hop, _ uint32, _ float64) {
					if other := hop.VCs >> (vc / k * k) << (vc / k * k); other != hop.VCs || hop.VCs>>((vc/k+1)*k) != 0 {
						t.Errorf("from channel %d of %d a packet may take %b", vc, two.VCs(), hop.VCs)
					}
				})
			}
		})
	}
	simtest.ErrorIf(t, kept+refused == 0 || simtest.Soak() && (kept < 10 || refused == 0),
		"%d routings with levels, %d without", kept, refused)
}
