package routingtest

import (
	"errors"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// randomPeriods is some random faults of a graph, that come and go, but for the
// channels within groups.
func randomPeriods(g *topology.Graph, seed uint64) []topology.Period {
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
	return topology.Periods(g, failures)
}

// ConformAroundFaults walks every path of every variant of a routing that goes
// around faults ([routing.AroundFaults]), in the networks that faulty makes for
// some seeds and in one of each family, with random faults that come and go. In
// each period every pair of terminals that is joined is served by the channels that
// are up, and no other is; over all periods together, mixed on the way of a packet,
// no channel dependencies form a cycle. Faults that a routing says it cannot go
// around are passed over, and so are choices that it refuses beside faults.
func ConformAroundFaults(t *testing.T, name string, seeds uint64, faulty func(seed uint64) []topologytest.Network) {
	families := topologytest.Networks(topologytest.Size{Switches: 16, Terminals: 24})
	for _, v := range Variants(t, name) {
		t.Run(v.String(), func(t *testing.T) {
			served, refused := 0, false
			for seed := range seeds {
				nets := faulty(seed)
				if seed == 0 {
					nets = append(nets, families...)
				}
				for _, n := range nets {
					if n.Topology.Graph().SwitchLinks() == 0 {
						continue
					}
					err := checkPeriods(t, n, v, seed)
					var setting *param.ParamError
					if errors.As(err, &setting) && setting.Key == v.Key {
						refused = true
					} else if err == nil {
						served++
					}
				}
			}
			if served == 0 && !refused {
				t.Error("no network")
			}
		})
	}
}

// checkPeriods checks one network; the error is that of a routing that does not go
// around the faults drawn.
func checkPeriods(t testing.TB, n topologytest.Network, v Variant, seed uint64) error {
	t.Helper()
	g := n.Topology.Graph()
	periods := randomPeriods(g, seed)
	all, err := routing.BuildPeriods(routing.Env{Topology: n.Topology}, periods, func(env routing.Env) (fabric.Routing, error) {
		return routing.Registry.Build(v.Routing, v.Config, env)
	})
	if err != nil {
		return err
	}
	if c, _ := Certificate(t, n.Topology, all, all.VCs()); !c.Acyclic() && !v.CanDeadlock {
		t.Errorf("%s, seed %d: %s", n.Name, seed, c.Describe(g))
	}
	for i, period := range periods {
		checkPeriod(t, n.Topology, all.During(i), period.Down, all.VCs())
	}
	return nil
}

// checkPeriod walks the paths of all pairs in a network with faults.
func checkPeriod(t testing.TB, topo topology.Topology, r fabric.Routing, down *topology.Down, vcs int) {
	t.Helper()
	g := topo.Graph()
	part := down.Components()
	if r.VCs() != vcs {
		t.Errorf("%d virtual channels in one period, %d in all", r.VCs(), vcs)
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
