package routing_test

import (
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
)

// TestFatPathsLayers: on Slim Fly q = 5, where most pairs have one shortest path, six
// layers give most of them several paths; layers of no cables but a tree have one path
// for each pair, and all together as many virtual channels as the longest has hops;
// a single layer is the shortest paths.
func TestFatPathsLayers(t *testing.T) {
	topo := edgeList(t, "slimfly_q5", 1)
	g := topo.Graph()
	if n := must(t, topo, 0, "fatpaths", param.Set("layers", 1)).VCs(); n != 2 {
		t.Errorf("%d virtual channels for one layer, want the diameter, 2", n)
	}
	r := must(t, topo, 0, "fatpaths", param.Set("layers", 6), param.Set("share", 0.6))
	several, longest := 0, 0
	for dst := range topology.TerminalID(50) {
		different := map[string]bool{}
		var walk func(h fabric.Head, path string, share float64) float64
		walk = func(h fabric.Head, path string, share float64) (total float64) {
			r.(fabric.Explorer).Explore(r.VCs(), h, func(x fabric.Hop, state uint32, weight float64) {
				peer, ok := g.PeerPort(x.Port)
				if !ok {
					different[path] = true
					longest = max(longest, len(path))
					total += share * weight
					return
				}
				to := g.PortSwitch[peer]
				total += walk(fabric.Head{Switch: to, In: peer, Dst: dst, State: state}, path+string(rune('0'+to)), share*weight)
			})
			return total
		}
		if total := walk(fabric.Head{Switch: 0, In: g.TerminalPort[0], Dst: dst}, "", 1); total < 1-1e-9 || total > 1+1e-9 {
			t.Errorf("to %d with probability %v", dst, total)
		}
		if len(different) > 1 {
			several++
		}
	}
	if several < 40 || longest < 3 || longest > r.VCs() {
		t.Errorf("%d destinations have several paths, the longest has %d hops; %d virtual channels", several, longest, r.VCs())
	}
}

// TestFatPathsTree: with no share of cables a layer is a spanning tree. One of 50
// switches of degree 7 is no less deep than 2, so that its longest path has 4 hops or
// more, and they are told where a channel cannot have so many virtual channels.
func TestFatPathsTree(t *testing.T) {
	topo := edgeList(t, "slimfly_q5", 1)
	r, err := try(topo, 16, "fatpaths", param.Set("layers", 2), param.Set("share", 0))
	if err != nil && !strings.Contains(err.Error(), "virtual channels on this topology; a channel can have 16") || err == nil && r.VCs() < 4 {
		t.Errorf("%v, %v", r, err)
	}
}
