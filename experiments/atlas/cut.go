package atlas

import (
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// bestCut is the fewest cables found between two halves of the switches (for an odd number,
// one side has one more): from random halves, pairs are swapped as long as that cuts fewer
// (Kernighan and Lin 1970, pass by pass). An upper bound of the bisection.
func bestCut(g *topology.Graph, starts int) int {
	n := g.Switches()
	cables := make([][]int, n)
	for s := range cables {
		cables[s] = make([]int, n)
	}
	for p := range topology.PortID(g.NumPorts()) {
		if peer, ok := g.PeerPort(p); ok {
			cables[g.PortSwitch[p]][g.PortSwitch[peer]]++
		}
	}
	stream := sim.NewStream(1, "atlas cut", 0)
	order := make([]int, n)
	for s := range order {
		order[s] = s
	}
	best := g.SwitchLinks()
	for range starts {
		sim.Shuffle(&stream, order)
		side := make([]bool, n)
		for i, s := range order {
			side[s] = i < n/2
		}
		for improveCut(cables, side) {
		}
		cut := 0
		for s, row := range cables {
			for t, k := range row[:s] {
				if side[s] != side[t] {
					cut += k
				}
			}
		}
		best = min(best, cut)
	}
	return best
}

// improveCut makes one pass: the best pair is swapped, again and again, each switch once;
// then all swaps after the best state are undone. It tells whether that state is better
// than the first.
func improveCut(cables [][]int, side []bool) bool {
	n := len(side)
	gain := make([]int, n) // cables fewer if the switch changed sides
	for s, row := range cables {
		for t, k := range row {
			if side[s] != side[t] {
				gain[s] += k
			} else {
				gain[s] -= k
			}
		}
	}
	moved := make([]bool, n)
	var swaps [][2]int
	sum, best, at := 0, 0, 0
	for {
		a, b, most := -1, -1, 0
		for s := range n {
			if moved[s] || !side[s] {
				continue
			}
			for t := range n {
				if moved[t] || side[t] {
					continue
				}
				if x := gain[s] + gain[t] - 2*cables[s][t]; a < 0 || x > most {
					a, b, most = s, t, x
				}
			}
		}
		if a < 0 {
			break
		}
		for _, s := range []int{a, b} {
			side[s] = !side[s]
			moved[s] = true
			for t, k := range cables[s] {
				if side[s] == side[t] {
					gain[t] -= 2 * k
				} else {
					gain[t] += 2 * k
				}
			}
		}
		swaps = append(swaps, [2]int{a, b})
		if sum += most; sum > best {
			best, at = sum, len(swaps)
		}
	}
	for _, swap := range swaps[at:] {
		side[swap[0]], side[swap[1]] = !side[swap[0]], !side[swap[1]]
	}
	return best > 0
}
