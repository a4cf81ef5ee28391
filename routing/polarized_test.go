package routing_test

import (
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
)

// TestPolarizedRoutes walks all routes from a switch of Slim Fly q = 5, and of a random
// graph of diameter 3: the difference of the distances to source and destination never
// falls but where no other hop is left, hop n is on virtual channel n, and with
// 4*diameter-3 virtual channels no route is cut short. With as many as the diameter
// no route is longer than that.
func TestPolarizedRoutes(t *testing.T) {
	for name, diameter := range map[string]int{"slimfly_q5": 2, "jellyfish_n57_r8": 3} {
		topo := edgeList(t, name, 1)
		g := topo.Graph()
		neighbors := g.Neighbors()
		source := neighbors.DistancesFrom(0, nil)
		for hops, longest := range map[int]int{-1: 4*diameter - 3, 0: diameter} {
			r := must(t, topo, 0, "polarized", param.Set("hops", hops))
			if r.VCs() != longest {
				t.Errorf("%s, hops %d: %d virtual channels, want %d", name, hops, r.VCs(), longest)
			}
			longer := 0
			for dst := range topology.TerminalID(g.Terminals()) {
				to := neighbors.DistancesFrom(topology.SwitchID(dst), nil)
				seen := map[fabric.Head]bool{}
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
						if x.VCs != 1<<n || after < before {
							t.Fatalf("%s to %d: hop %d from %d to %d on %b, difference %d to %d", name, dst, n, h.Switch, s, x.VCs, before, after)
						}
						walk(fabric.Head{Switch: s, In: peer, Dst: dst, State: state}, n+1)
					})
				}
				walk(fabric.Head{Switch: 0, In: g.TerminalPort[0], Dst: dst}, 0)
			}
			if longer > 0 != (hops < 0) {
				t.Errorf("%s, hops %d: %d arrivals after more hops than the diameter", name, hops, longer)
			}
		}
	}
}

// TestPolarizedSpreads: packets go minimally through an idle network, and under a
// permutation of switches more get through than the 0.144 of minimal routing.
func TestPolarizedSpreads(t *testing.T) {
	topo := edgeList(t, "slimfly_q5", 4)
	r := must(t, topo, 4, "polarized", param.Set("sensing", "waiting"))
	if m := measured(t, topo, r, rperm(t, "slimfly_q5"), 0.001, 5000); m.MinimalFraction() < 0.97 {
		t.Errorf("%v of the packets are minimal in an idle network", m.MinimalFraction())
	}
	r = must(t, topo, 4, "polarized")
	if m := measured(t, topo, r, rperm(t, "slimfly_q5"), 0.4, 1000); m.Accepted < 0.38 {
		t.Errorf("accepted %v of 0.4", m.Accepted)
	}
}
