package routing_test

import (
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim"
)

// randomEras is some random faults of a graph, that come and go, but for the
// channels within groups.
func randomEras(g *topology.Graph, seed uint64) []topology.Era {
	r := sim.NewStream(seed, "eras", 0)
	var failures []topology.Failure
	for i := range 3 {
		f := topology.Failure{At: int64(100 * i), Until: int64(100*i + 150)}
		for _, p := range g.RandomLinks(0.04*float64(1+seed), seed+uint64(i)) {
			if g.Classes[g.PortClass[p]].Name != "local" {
				f.Links = append(f.Links, p)
			}
		}
		if r.IntN(2) == 0 {
			f.Switches = []topology.SwitchID{topology.SwitchID(r.IntN(g.Switches()))}
		}
		failures = append(failures, f)
	}
	return topology.Eras(g, failures)
}

// TestAroundFaults walks every path of every variant of the routings that go
// around faults, in networks with random faults that come and go. In each era
// every pair of terminals that is joined is served by the channels that are up,
// and no other is; over all eras together, mixed on the way of a packet, no
// channel dependencies form a cycle. Faults that a routing says it cannot go
// around are passed over.
func TestAroundFaults(t *testing.T) {
	seeds := uint64(5)
	if testing.Short() {
		seeds = 2
	}
	for _, name := range routing.AroundFaults() {
		for _, v := range variants(t, name) {
			t.Run(name+"/"+v.key+"/"+v.value, func(t *testing.T) {
				served := 0
				for seed := range seeds {
					for _, topo := range faultyNetworks(t, seed) {
						g := topo.Graph()
						eras := randomEras(g, seed)
						all, err := routing.BuildEras(routing.Env{Topology: topo}, eras, func(env routing.Env) (fabric.Routing, error) {
							return routing.Registry.Build(name, v.config, env)
						})
						if err != nil {
							continue
						}
						served++
						if c, _ := certificate(t, topo, all, all.VCs()); !c.Acyclic() && !canDeadlock(v) {
							t.Errorf("seed %d: %s", seed, c.Describe(g))
						}
						for i, era := range eras {
							checkEra(t, topo, all.During(i), era.Down, all.VCs())
						}
					}
				}
				if served == 0 && v.value != "any-router" && v.value != "flat" { // refused, and allowed with routers only
					t.Error("no network")
				}
			})
		}
	}
}

func faultyNetworks(t testing.TB, seed uint64) []topology.Topology {
	return []topology.Topology{
		build(t, "random-regular", func(c *topology.RandomRegularConfig) {
			c.Switches, c.Degree, c.Terminals, c.Seed = 12, 3, 2, seed
		}),
		dragonfly(t, 1, 2, 2, 0),
		dragonfly(t, 1, 3, 3, 4),
		build(t, "fat-tree", func(c *topology.FatTreeConfig) { c.K, c.N = 4, 3 }),
	}
}

// checkEra walks the paths of all pairs in a network with faults.
func checkEra(t *testing.T, topo topology.Topology, r fabric.Routing, down *topology.Down, vcs int) {
	t.Helper()
	g := topo.Graph()
	part := down.Components()
	if r.VCs() != vcs {
		t.Errorf("%d virtual channels in one era, %d in all", r.VCs(), vcs)
	}
	for src := range topology.TerminalID(g.Terminals()) {
		for dst := range topology.TerminalID(g.Terminals()) {
			from, to := part[g.TerminalSwitch(src)], part[g.TerminalSwitch(dst)]
			served := 0
			var walk func(h fabric.Head)
			walk = func(h fabric.Head) {
				r.(fabric.Explorer).Explore(vcs, h, func(hop fabric.Hop, state uint32, _ float64) {
					if down.Port(hop.Port) {
						t.Fatalf("from %d to %d by %s, which is down", src, dst, g.PortName(hop.Port))
					}
					if end, ok := g.PeerTerminal(hop.Port); ok {
						if end != dst {
							t.Fatalf("from %d to %d instead of %d", src, end, dst)
						}
						served++
						return
					}
					peer, _ := g.PeerPort(hop.Port)
					walk(fabric.Head{Switch: g.PortSwitch[peer], In: peer, Dst: dst, State: state})
				})
			}
			port := g.TerminalPort[src]
			walk(fabric.Head{Switch: g.PortSwitch[port], In: port, Dst: dst})
			if joined := from >= 0 && from == to; joined != (served > 0) {
				t.Errorf("from %d to %d: %d paths, joined %v", src, dst, served, joined)
			}
		}
	}
}
