// Package routingtest is the conformance suite of routings: every path ends where it should, no
// channel dependencies form a cycle, what Explore lists is what Route decides, and random fabrics
// run, stop and time their packets as they must. It is for weft's own routings and for others:
//
//	func TestMine(t *testing.T) { routingtest.Conform(t, "mine", nil) }
//
// The networks are drawn from the registered topologies ([topologytest.Networks]),
// so that a new topology meets every routing that accepts it.
package routingtest

import (
	"errors"
	"math"
	"math/bits"
	"sync"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/routing/certify"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// Conform holds all variants of routing name to the contracts of [fabric.Routing] and
// [fabric.Explorer], on a network of each family that carries it and on those in more.
func Conform(t *testing.T, name string, more []topologytest.Network) { Each(t, name, more, ConformOn) }

// ConformOn is [Conform] of one variant on one network, for routings that need files first.
func ConformOn(t *testing.T, n topologytest.Network, v Variant, r fabric.Routing) {
	checkPaths(t, n.Topology, v, r)
	checkWeights(t, n.Topology, r)
	for vcs := r.VCs(); vcs <= fabric.MaxVCs; vcs++ { // terminals may inject on some virtual channel, and on none that does not exist
		set := r.InjectionVCs(vcs)
		simtest.ErrorIf(t, set == 0 || bits.Len32(set) > vcs, "InjectionVCs(%d) = %b", vcs, set)
	}
	if !v.CanDeadlock && !t.Failed() {
		checkDecisions(t, n.Topology, r)
	}
}

// checkPaths walks every path: all of them are made of ports that exist and end at
// the destination (Dependencies fails otherwise), and no channel dependencies form
// a cycle, with as many virtual channels as asked for and with more (one or as many again).
func checkPaths(t *testing.T, topo topology.Topology, v Variant, r fabric.Routing) {
	t.Helper()
	for _, vcs := range append([]int{r.VCs()}, simtest.Some(t, 0, r.VCs()+1, 2*r.VCs()+1)...) {
		c, _ := checkStages(t, topo, r, vcs, true)
		if !c.Acyclic() && !v.CanDeadlock {
			t.Errorf("%d virtual channels: %s", vcs, c.Describe(topo.Graph()))
		}
		simtest.ErrorIf(t, !c.Exact(), "a walk without budget is not exact")
	}
}

// checkStages is Certificate, and holds the walk to goals, of routings that have one, to find every
// dependency that the walk to destinations finds. With alike, both find a cycle or neither does.
func checkStages(t testing.TB, topo topology.Topology, r fabric.Routing, vcs int, alike bool) (certify.Certificate, map[topology.Dependency]bool) {
	t.Helper()
	if _, ok := r.(fabric.EscapeRouting); ok {
		return Certificate(t, topo, r, vcs)
	}
	g, staged := topo.Graph(), certify.NewLocal(topo.Graph(), vcs)
	var mu sync.Mutex
	found := map[topology.Channel][]uint64{} // by the walk to goals
	if !simtest.Must(routing.StagedDependencies(g, r, vcs, func(held topology.Channel, wanted []uint64) {
		staged.AddAll(held, wanted)
		mu.Lock()
		defer mu.Unlock()
		if found[held] == nil {
			found[held] = make([]uint64, len(wanted))
		}
		for i, set := range wanted {
			found[held][i] |= set
		}
	}))(t) {
		return Certificate(t, topo, r, vcs)
	}
	plain, all := Certificate(t, topo, r, vcs)
	for d := range all {
		bit := g.LocalPort(d.Wanted.Port)*vcs + int(d.Wanted.VC)
		if set := found[d.Held]; set == nil || set[bit/64]>>(bit%64)&1 == 0 {
			t.Errorf("the walk to goals misses that %s VC %d waits for %s VC %d", g.PortName(d.Held.Port), d.Held.VC, g.PortName(d.Wanted.Port), d.Wanted.VC)
			break
		}
	}
	c, acyclic := staged.Certify(1)
	if acyclic && !plain.Acyclic() || alike && acyclic != plain.Acyclic() || c.Dependencies < plain.Dependencies || c.Channels < plain.Channels {
		t.Errorf("the walk to goals: acyclic %v, %s; that to destinations: %s", acyclic, c.Describe(g), plain.Describe(g))
	}
	return plain, all
}

// Certificate proves r on topo for all destinations and any flow control, and gathers dependencies.
func Certificate(t testing.TB, topo topology.Topology, r fabric.Routing, vcs int) (certify.Certificate, map[topology.Dependency]bool) {
	t.Helper()
	g, dependencies := certify.New(vcs), map[topology.Dependency]bool{}
	walked, all, err := routing.Dependencies(topo.Graph(), r, vcs, 0, func(d topology.Dependency) {
		if !dependencies[d] {
			dependencies[d] = true
			g.Add(d)
		}
	})
	if e, ok := r.(fabric.EscapeRouting); ok && err == nil {
		extended := certify.NewEscape(vcs)
		walked, all = simtest.Must2(routing.EscapeDependencies(topo.Graph(), e, vcs, true, 0, extended.Add))(t)
		return extended.Certify(walked, all), dependencies
	}
	simtest.Check(t, err)
	simtest.FatalIf(t, walked != all || all == 0, "walked %d of %d destinations", walked, all)
	return g.Certify(walked, all), dependencies
}

// checkWeights holds Explore to its contract at first switches: probabilities add up to 1, or are
// 0.
func checkWeights(t *testing.T, topo topology.Topology, r fabric.Routing) {
	t.Helper()
	g := topo.Graph()
	for dst := range topology.TerminalID(g.Terminals()) {
		total, zeros, hops := 0.0, 0, 0
		port := g.TerminalPort[0]
		h := fabric.Head{Switch: g.PortSwitch[port], In: port, Dst: dst}
		r.(fabric.Explorer).Explore(r.VCs(), h, func(hop fabric.Hop, state uint32, weight float64) {
			hops++
			total += weight
			if weight == 0 {
				zeros++
			}
			simtest.ErrorIf(t, state>>fabric.StateBits != 0, "to terminal %d: state %x does not fit", dst, state)
		})
		simtest.ErrorIf(t, zeros != hops && math.Abs(total-1) > 1e-12 || zeros != 0 && zeros != hops,
			"to terminal %d: %d hops, %d of weight 0, sum %v", dst, hops, zeros, total)
	}
}

// checkDecisions runs the routing in a fabric under uniform traffic. Each decision must be one that
// Explore lists; and, where it gives them probabilities, the decisions per port must agree with the
// channel loads that Loads derives from Explore's probabilities. With n packets and an expected
// share q of them over a port (each crosses it at most twice), the count's standard deviation is at
// most sqrt(2nq); the bound of 6 of them, and at least 12 packets for the thin tails, fails by
// chance for one port in about 10^8, and all cases together have some 10^5 ports.
func checkDecisions(t *testing.T, topo topology.Topology, r fabric.Routing) {
	t.Helper()
	g := topo.Graph()
	o, observed := Observe(t, r, g)
	f := simtest.Must(core.New(g, fabric.DefaultConfig(), observed, 7))(t)
	pattern, sink := Uniform(g.Terminals()), &Counter{}
	source := measure.NewOpenLoop(g.Terminals(), pattern, AtRate(0.1), Single{}, 7)
	f.Attach(fabric.Ends{Source: source, Sink: sink})
	cycles := int64(10_000 / g.Terminals())
	if simtest.Soak() {
		cycles *= 3
	}
	source.Stop(cycles)
	f.Advance(cycles + 2000)
	simtest.FatalIf(t, f.InFlight() != 0 || sink.Delivered == 0 || t.Failed(),
		"%d packets delivered, %d left behind", sink.Delivered, f.InFlight())
	load, err := routing.Loads(g, r, f.VCs(), pattern)
	if err != nil {
		simtest.FatalIf(t, !errors.Is(err, routing.ErrAdaptive), "%v", err)
		return // no loads to compare with
	}
	for p, count := range o.Ports {
		want := load.Port[p] * float64(sink.Delivered) / float64(g.Terminals())
		if math.Abs(count-want) > max(12, 6*math.Sqrt(2*want)) {
			t.Errorf("%s: %v packets of %d, expected %.1f", g.PortName(topology.PortID(p)), count, sink.Delivered, want)
		}
	}
}

// randomPeriods are random faults of a graph that come and go, none within groups.
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

// ConformAroundFaults walks every path of every variant of a routing that goes around faults
// ([routing.AroundFaults]), in the networks that faulty makes for some seeds and in one of each
// family, with random faults that come and go. In each period exactly the pairs of terminals that
// are joined are served, by channels that are up; over all periods together, mixed on a packet's
// way, no channel dependencies form a cycle. Faults and choices that a routing refuses are passed
// over.
func ConformAroundFaults(t *testing.T, name string, seeds []uint64, faulty func(seed uint64) []topologytest.Network) {
	families := topologytest.Networks(topologytest.Size{Switches: 16, Terminals: 24})
	for _, v := range Variants(t, name) {
		t.Run(v.String(), func(t *testing.T) {
			served, refused := 0, false
			for i, seed := range seeds {
				nets := faulty(seed)
				if i == 0 {
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
			simtest.ErrorIf(t, served == 0 && !refused, "no network")
		})
	}
}

// checkPeriods checks one network. Error: the routing does not go around the faults drawn.
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
	simtest.ErrorIf(t, r.VCs() != vcs, "%d virtual channels in one period, %d in all", r.VCs(), vcs)
	for dst := range topology.TerminalID(g.Terminals()) {
		served := map[fabric.Head]bool{} // heads that have been walked: whether a path ends
		var walk func(h fabric.Head) bool
		walk = func(h fabric.Head) bool {
			if ends, known := served[h]; known {
				return ends
			}
			ends := false
			r.(fabric.Explorer).Explore(vcs, h, func(hop fabric.Hop, state uint32, _ float64) {
				if down.Port(hop.Port) {
					t.Fatalf("to %d by %s, which is down", dst, g.PortName(hop.Port))
				}
				if end, ok := g.PeerTerminal(hop.Port); ok {
					simtest.FatalIf(t, end != dst, "to %d instead of %d", end, dst)
					ends = true
					return
				}
				peer, _ := g.PeerPort(hop.Port)
				if walk(fabric.Head{Switch: g.PortSwitch[peer], In: peer, Dst: dst, State: state}) {
					ends = true
				}
			})
			served[h] = ends
			return ends
		}
		for src := range topology.TerminalID(g.Terminals()) {
			from, to := part[g.TerminalSwitch(src)], part[g.TerminalSwitch(dst)]
			port := g.TerminalPort[src]
			ends := walk(fabric.Head{Switch: g.PortSwitch[port], In: port, Dst: dst})
			joined := from >= 0 && from == to
			simtest.ErrorIf(t, joined != ends, "from %d to %d: a path %v, joined %v", src, dst, ends, joined)
		}
	}
}
