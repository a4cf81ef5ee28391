package routing_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// permutation sends from each terminal to one other.
type permutation []topology.TerminalID

func (p permutation) Destination(src topology.TerminalID, _ *sim.Stream) topology.TerminalID {
	return p[src]
}

// permuted is the permutation of n terminals that a function tells.
func permuted(n int, to func(src int) int) (p permutation) {
	for src := range n {
		p = append(p, topology.TerminalID(to(src)))
	}
	return p
}

// rperm is the permutation of a file of testdata.
func rperm(t testing.TB, name string) (p permutation) {
	t.Helper()
	for _, line := range lines(t, name+".rperm.gz") {
		p = append(p, topology.TerminalID(simtest.Must(strconv.Atoi(line))(t)))
	}
	return p
}

// measured runs a routing in the switch of the atlas's reference curves: speedup 2, buffers of 16 flits, 4 virtual channels.
func measured(t testing.TB, topo topology.Topology, r fabric.Routing, pattern measure.Pattern, load float64, cycles int64) *measure.Result {
	t.Helper()
	c := fabric.DefaultConfig()
	c.Fabric.AllowDeadlock = true
	c.Switch.VCs, c.Switch.BufferFlits, c.Switch.VCAllocCycles, c.Switch.CreditCycles = 4, 16, 1, 2
	return simtest.Must(simulate(t, topo, c, r, pattern, load, 1, measure.Plan{Warmup: 500, Window: cycles}))(t)
}

// simulate runs a routing at a load in flits a cycle and terminal, in packets of so many flits.
func simulate(t testing.TB, topo topology.Topology, c fabric.Config, r fabric.Routing, pattern measure.Pattern, load float64, flits int, plan measure.Plan) (*measure.Result, error) {
	t.Helper()
	f := simtest.Must(core.New(topo.Graph(), c, r, 1))(t)
	w := measure.NewOpenLoop(topo.Graph().Terminals(), pattern, steadily(load/float64(flits)), routingtest.Fixed(flits), 1)
	return measure.Run(context.Background(), f, w, load, plan)
}

// TestAdaptiveCurves holds the routings on any graph to points of the atlas's reference, made by BookSim2 on the same graph, next hops and
// permutation: mean latency within 3 %, switches visited within 2 %. (The whole curves are a matter of weft reproduce atlas.)
func TestAdaptiveCurves(t *testing.T) {
	topo, next := edgeList(t, "slimfly_q5", 4), param.Set("next_hops", "testdata/slimfly_q5.nexthop.gz")
	for _, c := range []struct {
		name                string
		load, latency, hops float64
		settings            []param.Setting
	}{
		{"table", 0.08, 11.063, 2.8786, []param.Setting{next, param.Set("spread_vcs", false)}},
		{"val", 0.3, 19.335, 4.71347, []param.Setting{next}},
		{"ugal-l", 0.3, 16.5798, 3.8621, []param.Setting{next, param.Set("sensing", "credits")}},
	} {
		onCurve(t, topo, c.name, c.settings, rperm(t, "slimfly_q5"), c.load, 1500, c.latency, c.hops)
	}
}

// onCurve holds a routing to a point of a curve: mean latency within 3 %, switches visited within 2 %.
func onCurve(t *testing.T, topo topology.Topology, name string, settings []param.Setting, pattern measure.Pattern, load float64, cycles int64, latency, hops float64) {
	t.Helper()
	m := measured(t, topo, must(t, topo, 0, name, settings...), pattern, load, cycles)
	simtest.Near(t, m.MeanLatency(), latency, 0.03*latency, "%s at %v: latency", name, load)
	simtest.Near(t, m.MeanHops(), hops, 0.02*hops, "%s at %v: switches", name, load)
}

// TestUGALThreshold: with a threshold that no queue exceeds all packets go minimally,
// with one far below 0 all but those within a switch take a detour.
func TestUGALThreshold(t *testing.T) {
	topo := edgeList(t, "slimfly_q5", 4)
	for threshold, want := range map[int]float64{1000000: 1, -1000000: 0} {
		for _, at := range []string{"terminal", "switch"} {
			r := must(t, topo, 0, "ugal-l", param.Set("threshold", threshold), param.Set("decided_at", at))
			m := measured(t, topo, r, rperm(t, "slimfly_q5"), 0.2, 300)
			simtest.Equal(t, m.MinimalFraction(), want, "threshold %d, decided at the %s: share of minimal packets", threshold, at)
		}
	}
}

// TestUGALPF: an idle network is used minimally as the paper has it, and by detours where the threshold of SST's reading is 0; beyond two thirds of a
// buffer detours carry what minimal paths (at most 0.125 under this permutation) cannot.
func TestUGALPF(t *testing.T) {
	topo := edgeList(t, "slimfly_q5", 4)
	for _, c := range []struct {
		reading     string
		load        float64
		least, most float64 // share of minimal packets
		settings    []param.Setting
	}{
		{"paper", 0.01, 0.99, 1, nil},
		{"paper", 0.4, 0.1, 0.7, nil},
		{"sst", 0.01, 0, 0.3, []param.Setting{param.Set("threshold", 0)}},
		{"sst", 0.4, 0.1, 0.9, []param.Setting{param.Set("threshold", 5)}},
	} {
		r := must(t, topo, 0, "ugal-pf", append([]param.Setting{param.Set("reading", c.reading)}, c.settings...)...)
		m := measured(t, topo, r, rperm(t, "slimfly_q5"), c.load, 1000)
		share := m.MinimalFraction()
		simtest.ErrorIf(t, share < c.least || share > c.most || m.Accepted < 0.9*c.load,
			"%s at %v: %v minimal, accepted %v", c.reading, c.load, share, m.Accepted)
	}
}

// TestFatPathsLayers: on Slim Fly q = 5, where most pairs have one shortest path, six layers give most of them several paths; layers of no cables but
// a tree have one path for each pair, and all together as many virtual channels as the longest has hops; a single layer is the shortest paths.
// Half a ring of 514 switches is 257 hops, more than a byte counts.
func TestFatPathsLayers(t *testing.T) {
	topo := edgeList(t, "slimfly_q5", 1)
	simtest.Equal(t, must(t, topo, 0, "fatpaths", param.Set("layers", 1)).VCs(), 2, "virtual channels for one layer, the diameter:")
	simtest.Refuse(try(torus(t, 1, 514), 16, "fatpaths", param.Set("hop_vcs", "any"), param.Set("choice", "least-occupied")))(t, "at most 255 hops; this topology has one of 257")
	r := must(t, topo, 0, "fatpaths", param.Set("layers", 6), param.Set("share", 0.6))
	several, longest := 0, 0
	for dst := range topology.TerminalID(50) {
		different, total, marked := map[string]bool{}, 0.0, 0.0
		paths(topo, r, r.VCs(), 0, dst, func(path []step, state uint32) {
			switches := ""
			for _, s := range path {
				switches += fmt.Sprint(s.to, " ")
			}
			different[switches] = true
			longest = max(longest, len(path)-1)
			total += path[len(path)-1].share
			marked += path[len(path)-1].share * float64(state&fabric.NonMinimal/fabric.NonMinimal)
		})
		simtest.ErrorIf(t, math.Abs(total-1) > 1e-9 || dst > 0 && math.Abs(marked-5./6) > 1e-9, "to %d with probability %v, by the other five layers with %v", dst, total, marked)
		if len(different) > 1 {
			several++
		}
	}
	simtest.ErrorIf(t, several < 40 || longest < 3 || longest > r.VCs(),
		"%d destinations have several paths, the longest has %d hops; %d virtual channels", several, longest, r.VCs())
}

// TestFatPathsTree: with no share of cables a layer is a spanning tree. One of 50 switches of degree 7 is no less deep than 2, so that its longest
// path has 4 hops or more, and they are told where a channel cannot have so many virtual channels.
func TestFatPathsTree(t *testing.T) {
	topo := edgeList(t, "slimfly_q5", 1)
	r, err := try(topo, 16, "fatpaths", param.Set("layers", 2), param.Set("share", 0))
	simtest.ErrorIf(t, err != nil && !strings.Contains(err.Error(), "topology; a channel can have 16") || err == nil && r.VCs() < 4, "%v", err)
}

// TestUpDownPaths: with the root given, no packet goes away from it and then nearer again (ties of
// distance by number), and every path is as short as a search over (switch, has gone down) finds.
func TestUpDownPaths(t *testing.T) {
	topo := edgeList(t, "jellyfish_n57_r8", 1)
	g := topo.Graph()
	const root = 5
	d := g.DistancesFrom(root, nil)
	up := func(from, to topology.SwitchID) bool { return d[to] < d[from] || d[to] == d[from] && to < from }
	neighbors := g.Neighbors()
	for _, ties := range []string{"one", "random"} {
		r := must(t, topo, 0, "up-down", param.Set("root", root), param.Set("ties", ties))
		for src := range topology.SwitchID(10) {
			shortest := legalSearch(neighbors, src, up)
			for dst := range topology.TerminalID(57) {
				count := paths(topo, r, 1, topology.TerminalID(src), dst, func(path []step, _ uint32) {
					simtest.Equal(t, len(path)-1, shortest[dst], "%d to %d in hops", src, dst)
					down := false
					for _, s := range path[:len(path)-1] {
						simtest.ErrorIf(t, down && up(s.from, s.to), "%d to %d goes up from %d to %d", src, dst, s.from, s.to)
						down = down || !up(s.from, s.to)
					}
				})
				simtest.ErrorIf(t, count == 0 || ties == "one" && count != 1, "%s: %d paths from %d to %d", ties, count, src, dst)
			}
		}
	}
	_, err := try(topo, 0, "up-down", param.Set("root", 57))
	simtest.ErrorIf(t, !errors.As(err, new(*param.ParamError)), "root 57 of 57 switches: %v", err)
}

// legalSearch is the hops of the shortest allowed paths from a switch.
func legalSearch(n *topology.Neighbors, src topology.SwitchID, up func(from, to topology.SwitchID) bool) map[topology.TerminalID]int {
	type place struct {
		s    topology.SwitchID
		down bool
	}
	seen, queue := map[place]int{{src, false}: 0}, []place{{src, false}}
	best := map[topology.TerminalID]int{}
	for i := 0; i < len(queue); i++ {
		p := queue[i]
		if _, known := best[topology.TerminalID(p.s)]; !known {
			best[topology.TerminalID(p.s)] = seen[p]
		}
		for _, to := range n.Of(p.s) {
			next := place{to, p.down || !up(p.s, to)}
			if _, known := seen[next]; known || p.down && up(p.s, to) {
				continue
			}
			seen[next] = seen[p] + 1
			queue = append(queue, next)
		}
	}
	return best
}

// TestPolarizedRoutes walks all routes from a switch of Slim Fly q = 5, and of a random graph of diameter 3: the difference of the distances to
// source and destination never falls but where no other hop is left, hop n is on virtual channel n, and with 4*diameter-3 virtual channels no route
// is cut short. With as many as the diameter no route is longer than that.
func TestPolarizedRoutes(t *testing.T) {
	for name, diameter := range map[string]int{"slimfly_q5": 2, "jellyfish_n57_r8": 3} {
		topo := edgeList(t, name, 1)
		g := topo.Graph()
		neighbors := g.Neighbors()
		source := neighbors.DistancesFrom(0, nil)
		for hops, longest := range map[int]int{-1: 4*diameter - 3, 0: diameter} {
			r := must(t, topo, 0, "polarized", param.Set("hops", hops))
			simtest.ErrorIf(t, r.VCs() != longest, "%s, hops %d: %d virtual channels, want %d", name, hops, r.VCs(), longest)
			longer := 0
			for dst := range topology.TerminalID(g.Terminals()) {
				to, seen := neighbors.DistancesFrom(topology.SwitchID(dst), nil), map[fabric.Head]bool{}
				var walk func(h fabric.Head, n int)
				walk = func(h fabric.Head, n int) {
					if seen[h] {
						return
					}
					seen[h] = true
					r.(fabric.Explorer).Explore(r.VCs(), h, func(x fabric.Hop, state uint32, _ float64) {
						peer, ok := g.PeerPort(x.Port)
						if !ok {
							if n > diameter {
								longer++
							}
							return
						}
						s := g.PortSwitch[peer]
						before, after := source[h.Switch]-to[h.Switch], source[s]-to[s]
						simtest.FatalIf(t, x.VCs != 1<<n || after < before,
							"%s to %d: hop %d from %d to %d on %b, difference %d to %d", name, dst, n, h.Switch, s, x.VCs, before, after)
						walk(fabric.Head{Switch: s, In: peer, Dst: dst, State: state}, n+1)
					})
				}
				walk(fabric.Head{Switch: 0, In: g.TerminalPort[0], Dst: dst}, 0)
			}
			simtest.ErrorIf(t, longer > 0 != (hops < 0), "%s, hops %d: %d arrivals after more hops than the diameter", name, hops, longer)
		}
	}
}

// TestPolarizedSpreads: packets go minimally through an idle network, and under a
// permutation of switches more get through than the 0.144 of minimal routing.
func TestPolarizedSpreads(t *testing.T) {
	topo := edgeList(t, "slimfly_q5", 4)
	r := must(t, topo, 4, "polarized", param.Set("sensing", "waiting"))
	m := measured(t, topo, r, rperm(t, "slimfly_q5"), 0.001, 5000)
	simtest.ErrorIf(t, m.MinimalFraction() < 0.97, "%v of the packets are minimal in an idle network", m.MinimalFraction())
	r = must(t, topo, 4, "polarized")
	m = measured(t, topo, r, rperm(t, "slimfly_q5"), 0.4, 1000)
	simtest.ErrorIf(t, m.Accepted < 0.38, "accepted %v of 0.4", m.Accepted)
}
