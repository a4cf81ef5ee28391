package traffic

import (
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

func init() {
	param.Register(Patterns, "switch-permutation", "all terminals of a switch to those of another, drawn once by the seed: hard for minimal routing", struct{}{}, newSwitchPermutation)
}

// newSwitchPermutation draws a permutation of the switches with terminals without fixed
// points; terminal i of a switch sends to terminal i of the one that follows. All terminals
// of a switch share the minimal paths of one pair, which is close to the worst case of
// low-diameter networks (Besta and Hoefler, SC 2014, section V-C).
func newSwitchPermutation(_ struct{}, env Env) (Pattern, error) {
	g := env.Topology.Graph()
	all := divide(g, g.Switches(), func(s topology.SwitchID) int { return int(s) })
	var leaves []int
	for s, members := range all.members {
		if len(members) > 0 {
			leaves = append(leaves, s)
		}
	}
	if len(leaves) < 2 {
		return nil, needs("switch-permutation", "at least two switches with terminals; this topology has %d", len(leaves))
	}
	for _, s := range leaves {
		if len(all.members[s]) != len(all.members[leaves[0]]) {
			return nil, needs("switch-permutation", "as many terminals on every switch that has any; switches %d and %d have %d and %d",
				leaves[0], s, len(all.members[leaves[0]]), len(all.members[s]))
		}
	}
	stream := sim.NewStream(env.Seed, "switch permutation", 0)
	to := make([]int, len(leaves))
	for i := range to {
		to[i] = i
	}
	for fixedPoint := true; fixedPoint; {
		sim.Shuffle(&stream, to)
		fixedPoint = false
		for i, j := range to {
			fixedPoint = fixedPoint || i == j
		}
	}
	next := make([]int, g.Switches())
	for i, s := range leaves {
		next[s] = leaves[to[i]]
	}
	return tabulate(g.Terminals(), func(src int) int {
		return int(all.members[next[all.class[src]]][all.index[src]])
	}), nil
}
