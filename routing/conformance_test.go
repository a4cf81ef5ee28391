package routing_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/families"
	_ "github.com/weft-sim/weft/fabric/topology/families"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestConformance holds every registered routing to the conformance suite, on a network of each family and on those of [topologytest.Special].
func TestConformance(t *testing.T) {
	nets := topologytest.Special(t)
	for _, name := range routing.Registry.Names() {
		routingtest.Conform(t, name, nets)
	}
}

// TestRandomNetworks looks for cycles in the channel dependencies of all routings on networks of random settings, of every family.
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
					c, _ := routingtest.Certificate(t, n.Topology, r, r.VCs())
					simtest.ErrorIf(t, !c.Acyclic(), "%v on %s: %s", v, n.Name, c.Describe(n.Topology.Graph()))
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

// runAcross runs r between two leaves of 8 terminals and counts the packets by port up of the first one.
func runAcross(t *testing.T, topo topology.Topology, r fabric.Routing) []float64 {
	t.Helper()
	g := topo.Graph()
	o, observed := routingtest.Observe(t, r, g)
	f := simtest.Must(core.New(g, fabric.DefaultConfig(), observed, 3))(t)
	across := permuted(16, func(src int) int { return (src + 8) % 16 })
	f.Attach(fabric.Ends{Source: measure.NewOpenLoop(16, across, steadily(0.9), single{}, 3), Sink: &counter{}})
	f.Advance(3000)
	first, end := topo.(topology.Tree).UpPorts(0)
	return o.Ports[first:end]
}

// TestRandomFabrics checks a third of 200 random fabrics with random settings; see routingtest.Trial.Check.
func TestRandomFabrics(t *testing.T) {
	var all routingtest.Tally
	seeds := simtest.Seeds(t, 200, 3)
	trials := len(seeds)
	for _, seed := range seeds {
		all.Add(routingtest.DrawTrial(t, seed).Check(t, 1500))
	}
	t.Log(all)
	few := all.Certified < trials/2 || all.Stopped == 0 && !testing.Short() || all.Bounded < trials/4 // few are stopped
	simtest.ErrorIf(t, few, "%v: not a test of all", all)
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

// TestServiceLevels: routings with two service levels keep the contracts of routings, on channels of each level that are none of the other's.
func TestServiceLevels(t *testing.T) {
	kept, refused := 0, 0
	for _, name := range simtest.Some(t, 0, "dor", "nca", "ugal-l", "par", "q-adaptive") {
		routingtest.Each(t, name, nil, func(t *testing.T, n topologytest.Network, v routingtest.Variant, r fabric.Routing) {
			two, err := routing.ServiceLevels(r, 2)
			if err != nil {
				text := err.Error()
				simtest.ErrorIf(t, !strings.Contains(text, "level = 1: want 0, or another routing") &&
					!strings.Contains(text, "a channel can have 16"), "%s", text)
				refused++
				return
			}
			kept++
			routingtest.ConformOn(t, n, v, two)
			k, g := two.VCs()/2, n.Topology.Graph()
			for vc := range two.VCs() {
				port := g.TerminalPort[0]
				h := fabric.Head{Switch: g.PortSwitch[port], In: port, VC: uint8(vc), Dst: 1}
				two.(fabric.Explorer).Explore(two.VCs(), h, func(hop fabric.Hop, _ uint32, _ float64) {
					other := hop.VCs >> (vc / k * k) << (vc / k * k)
					simtest.ErrorIf(t, other != hop.VCs || hop.VCs>>((vc/k+1)*k) != 0, "from channel %d of %d a packet may take %b", vc, two.VCs(), hop.VCs)
				})
			}
		})
	}
	simtest.ErrorIf(t, kept+refused == 0 || simtest.Soak() && (kept < 10 || refused == 0), "%d routings with levels, %d without", kept, refused)
}

// TestDeadlockOnRecord: the UGAL of the BookSim that was published with PolarFly, whose hops use any virtual channel, deadlocks on Slim Fly q = 5
// under a permutation of switches: in the atlas's reference (deadlock_slimfly_q5.csv) three seeds of three at loads of 0.55 and 0.6, none at 0.5; and
// its minimal routing can on PolarStar ER_3 x Paley(5), by the cycle in its dependencies (cdg_checks.csv). The certificate names both before they
// run; forced, the run ends with a cycle of buffers each of which is in the dependency graph; with numbered hops it goes on.
func TestDeadlockOnRecord(t *testing.T) {
	slimfly, polarstar := edgeList(t, "slimfly_q5", 4), build(t, "polarstar", func(c *families.PolarStarConfig) { c.P = 4 })
	next := param.Set("next_hops", "testdata/slimfly_q5.nexthop.gz")
	credits, four, any := param.Set("sensing", "credits"), param.Set("candidates", 4), param.Set("hop_vcs", "any")
	for _, c := range []struct {
		name     string
		topo     topology.Topology
		routing  string
		settings []param.Setting
		pattern  measure.Pattern
		load     float64
		vcs      int
		deadlock bool
	}{
		{"ugallnew at 0.55", slimfly, "ugal-l", []param.Setting{next, credits, four, any}, rperm(t, "slimfly_q5"), 0.55, 4, true},
		{"ugallnew at 0.6", slimfly, "ugal-l", []param.Setting{next, credits, four, any}, rperm(t, "slimfly_q5"), 0.6, 4, true},
		{"numbered at 0.6", slimfly, "ugal-l", []param.Setting{next, credits, four}, rperm(t, "slimfly_q5"), 0.6, 4, false},
		{"PolarStar MIN", polarstar, "table", []param.Setting{param.Set("ties", "one"), any}, uniformly(polarstar.Graph().Terminals()), 1, 1, true},
		{"PolarStar MIN, numbered", polarstar, "table", []param.Setting{param.Set("ties", "one")}, uniformly(polarstar.Graph().Terminals()), 1, 3, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := must(t, c.topo, 0, c.routing, c.settings...)
			proof, dependencies := routingtest.Certificate(t, c.topo, r, c.vcs)
			simtest.ErrorIf(t, proof.Acyclic() == c.deadlock, "certificate: %s", proof.Describe(c.topo.Graph()))
			config := fabric.DefaultConfig()
			config.Switch.VCs, config.Switch.BufferFlits, config.Switch.VCAllocCycles, config.Switch.CreditCycles = c.vcs, 16, 1, 2
			_, err := simulate(t, c.topo, config, r, c.pattern, c.load, 1, measure.Plan{Warmup: 3000, Window: 1000})
			var stopped *core.DeadlockError
			if !errors.As(err, &stopped) {
				simtest.ErrorIf(t, err != nil || c.deadlock, "the run ended with %v", err)
				return
			}
			simtest.FatalIf(t, !c.deadlock || len(stopped.Waits) == 0, "%v", err)
			for i, wait := range stopped.Waits {
				simtest.ErrorIf(t, !dependencies[wait.Dependency()] || wait.Wants != stopped.Waits[(i+1)%len(stopped.Waits)].Holds,
					"step %d is not in the dependency graph: %v", i, err)
			}
			simtest.ErrorIf(t, !strings.Contains(err.Error(), "buffers, each waiting for the next:\n  VC "), "%v", err)
			t.Log(strings.SplitN(err.Error(), "\n", 2)[0])
		})
	}
}

// TestBookSim2Detours: with detour_vc = "booksim2" packets stay on VC 0 from the source's group to the intermediate
// router, L0 G0 L0: 3 virtual channels, one fewer than rising ones need, and a cycle in the dependencies. Without a
// router in between nothing could rise, and the setting is refused.
func TestBookSim2Detours(t *testing.T) {
	topo, flat := dragonfly(t, 2, 4, 2, 0), param.Set("detour_vc", "booksim2")
	for _, via := range []string{"router", "any-router"} {
		through := param.Set("intermediate", via)
		r := must(t, topo, 0, "ugal-l", through)
		simtest.ErrorIf(t, r.VCs() != 4, "%s: rising, %d virtual channels, want 4", via, r.VCs())
		r = must(t, topo, 3, "ugal-l", through, flat)
		proof, _ := routingtest.Certificate(t, topo, r, 3)
		simtest.ErrorIf(t, r.VCs() != 3 || proof.Acyclic(), "%s: %d virtual channels, want 3 with a cycle: %s", via, r.VCs(), proof.Describe(topo.Graph()))
	}
	for _, name := range []string{"ugal-l", "ugal-g"} { // refused, and no setting of ugal-g at all
		_, err := try(topo, 0, name, flat)
		simtest.ErrorIf(t, err == nil, "%s takes detour_vc = \"booksim2\" with intermediate groups", name)
	}
}
