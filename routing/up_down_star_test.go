package routing_test

import (
	"errors"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
)

// TestUpDownPaths: with the root given, no packet goes away from it and then nearer
// again (ties of distance by number), and every path is as short as a search over
// (switch, has gone down) finds.
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
				count := 0
				var walk func(h fabric.Head, down bool, hops int)
				walk = func(h fabric.Head, down bool, hops int) {
					r.(fabric.Explorer).Explore(1, h, func(x fabric.Hop, state uint32, _ float64) {
						peer, ok := g.PeerPort(x.Port)
						if !ok {
							if count++; hops != shortest[dst] {
								t.Errorf("%d to %d in %d hops, want %d", src, dst, hops, shortest[dst])
							}
							return
						}
						to := g.PortSwitch[peer]
						if down && up(h.Switch, to) {
							t.Errorf("%d to %d goes up from %d to %d", src, dst, h.Switch, to)
						}
						walk(fabric.Head{Switch: to, In: peer, Dst: dst, State: state}, down || !up(h.Switch, to), hops+1)
					})
				}
				walk(fabric.Head{Switch: src, In: g.TerminalPort[src], Dst: dst}, false, 0)
				if count == 0 || ties == "one" && count != 1 {
					t.Errorf("%s: %d paths from %d to %d", ties, count, src, dst)
				}
			}
		}
	}
	if _, err := try(topo, 0, "up-down", param.Set("root", 57)); !errors.As(err, new(*param.ParamError)) {
		t.Errorf("root 57 of 57 switches: %v", err)
	}
}

// legalSearch is the hops of the shortest allowed paths from a switch.
func legalSearch(n *topology.Neighbors, src topology.SwitchID, up func(from, to topology.SwitchID) bool) map[topology.TerminalID]int {
	type place struct {
		s    topology.SwitchID
		down bool
	}
	seen := map[place]int{{src, false}: 0}
	queue := []place{{src, false}}
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
