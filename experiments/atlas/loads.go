package atlas

import (
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
)

// Plain channel loads: of graphs whose switches all have the same number of terminals, flow
// by flow, apart from the channel loads that package routing derives from its algorithms.

// flows are the flits a cycle from switch to switch if every terminal sends one:
// flows[s][d]. Packets to the own switch load no channel between switches.
type flows [][]float64

// uniformFlows sends evenly to all terminals, the own one among them.
func uniformFlows(g *topology.Graph) flows {
	n := g.Switches()
	f := make(flows, n)
	for s := range f {
		f[s] = slices.Repeat([]float64{float64(g.Terminals()) / float64(n) / float64(n)}, n)
	}
	return f
}

// fixedFlows sends from each terminal to one.
func fixedFlows(g *topology.Graph, destinations []int) flows {
	f := make(flows, g.Switches())
	for s := range f {
		f[s] = make([]float64, g.Switches())
	}
	for t, d := range destinations {
		f[g.TerminalSwitch(topology.TerminalID(t))][g.TerminalSwitch(topology.TerminalID(d))]++
	}
	return f
}

// valiant replaces each flow by two, over every switch but the source and the destination.
func (f flows) valiant() flows {
	n := len(f)
	twice := make(flows, n)
	for s := range twice {
		twice[s] = make([]float64, n)
	}
	for s, row := range f {
		for d, flow := range row {
			if s == d || flow == 0 {
				continue
			}
			for via := range n {
				if via != s && via != d {
					twice[s][via] += flow / float64(n-2)
					twice[via][d] += flow / float64(n-2)
				}
			}
		}
	}
	return twice
}

// saturation is the offered load at which the first channel is full, if split divides the
// flow of a packet for d that stands at s over the next switches.
func saturation(f flows, split func(s, d int, next func(to int, share float64))) float64 {
	n := len(f)
	load := make([][]float64, n)
	for s := range load {
		load[s] = make([]float64, n)
	}
	most := 0.0
	for d := range n {
		now := make([]float64, n)
		for s := range n {
			now[s] = f[s][d]
		}
		for step := 0; step < n; step++ {
			next, moved := make([]float64, n), false
			for s, flow := range now {
				if s == d || flow == 0 {
					continue
				}
				moved = true
				split(s, d, func(to int, share float64) {
					load[s][to] += flow * share
					next[to] += flow * share
				})
			}
			if !moved {
				break
			}
			now = next
		}
	}
	for _, row := range load {
		most = max(most, slices.Max(row))
	}
	return 1 / most
}

// byTable goes by one next hop a destination.
func byTable(next [][]int) func(s, d int, hop func(int, float64)) {
	return func(s, d int, hop func(int, float64)) { hop(next[s][d], 1) }
}

// byShortest goes by shortest paths: at each switch evenly over the next switches, or with
// each path alike.
func byShortest(g *topology.Graph, paths bool) func(s, d int, hop func(int, float64)) {
	neighbors := g.Neighbors()
	n := g.Switches()
	distance, count := make([][]int16, n), make([][]float64, n)
	for d := range n {
		distance[d] = neighbors.DistancesFrom(topology.SwitchID(d), nil)
		order := make([]int, n)
		for s := range order {
			order[s] = s
		}
		slices.SortFunc(order, func(a, b int) int { return int(distance[d][a]) - int(distance[d][b]) })
		count[d] = make([]float64, n) // paths from s to d
		count[d][d] = 1
		for _, s := range order[1:] {
			for _, t := range neighbors.Of(topology.SwitchID(s)) {
				if distance[d][t] == distance[d][s]-1 {
					count[d][s] += count[d][t]
				}
			}
		}
	}
	return func(s, d int, hop func(int, float64)) {
		total := 0.0
		weight := func(t topology.SwitchID) float64 {
			switch {
			case distance[d][t] != distance[d][s]-1:
				return 0
			case paths:
				return count[d][t]
			}
			return 1
		}
		for _, t := range neighbors.Of(topology.SwitchID(s)) {
			total += weight(t)
		}
		for _, t := range neighbors.Of(topology.SwitchID(s)) {
			if w := weight(t); w > 0 {
				hop(int(t), w/total)
			}
		}
	}
}
