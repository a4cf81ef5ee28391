package core

import (
	"maps"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/lists"
)

// partition divides switches into n parts of about equal work, joined by channels as slow as
// possible: parts can be simulated apart for their latency. Switches joined by faster channels stay
// together: the groups of a dragonfly, the racks of a long-cabled network. Of these, those with
// terminals go to parts in the order of their numbers (slabs of a torus, neighbouring leaves of a
// tree), by the terminals' weights (len = terminals; nil: all alike); the others, level by level,
// to the part with the most of their neighbours, which makes sub-trees.
func partition(g *topology.Graph, latency func(topology.PortID) int32, n int, weights []int32) []int {
	latencies := map[int32]bool{}
	for p := range g.NumPorts() {
		if g.Peer[p] >= 0 {
			latencies[latency(topology.PortID(p))] = true
		}
	}
	weight := make([]int, g.Switches())
	for t := range g.Terminals() {
		w := 1
		if weights != nil {
			w = int(weights[t])
		}
		weight[g.TerminalSwitch(topology.TerminalID(t))] += w
	}
	var cluster, carries []int
	for _, cut := range slices.Backward(slices.Sorted(maps.Keys(latencies))) {
		cluster = clusters(g, func(p topology.PortID) bool { return latency(p) < cut })
		carries = make([]int, slices.Max(cluster)+1) // weight, by cluster
		for s, c := range cluster {
			carries[c] += weight[s]
		}
		if divisible(carries, n) {
			break
		}
	}
	if cluster == nil {
		return make([]int, g.Switches())
	}
	return spread(g, cluster, carries, n)
}

// clusters numbers the sets of switches that the chosen channels join, by their lowest switch.
func clusters(g *topology.Graph, joins func(topology.PortID) bool) []int {
	cluster := slices.Repeat([]int{-1}, g.Switches())
	count := 0
	for first := range cluster {
		if cluster[first] >= 0 {
			continue
		}
		cluster[first] = count
		for queue := []topology.SwitchID{topology.SwitchID(first)}; len(queue) > 0; queue = queue[1:] {
			for p, end := g.Ports(queue[0]); p < end; p++ {
				if g.Peer[p] < 0 || !joins(p) {
					continue
				}
				if s := g.PortSwitch[g.Peer[p]]; cluster[s] < 0 {
					cluster[s] = count
					queue = append(queue, s)
				}
			}
		}
		count++
	}
	return cluster
}

// divisible tells whether parts of nearly equal weight can be made of clusters.
func divisible(carries []int, n int) bool {
	most, all := slices.Max(carries), lists.Total(carries)
	return most*n*20 <= 21*all || most*n*8 <= all
}

// spread assigns clusters to parts.
func spread(g *topology.Graph, cluster, carries []int, n int) []int {
	count := len(carries)
	ports := make([]int, count)
	neighbours := make([][]int, count) // clusters at the far ends of channels
	for s, c := range cluster {
		first, end := g.Ports(topology.SwitchID(s))
		ports[c] += int(end - first)
		for p := first; p < end; p++ {
			if g.Peer[p] >= 0 {
				neighbours[c] = append(neighbours[c], cluster[g.PortSwitch[g.Peer[p]]])
			}
		}
	}
	part, load := make([]int, count), make([]int, n)
	var level []int
	before, all := 0, max(1, lists.Total(carries))
	for c := range part {
		part[c] = -1
		if carries[c] > 0 {
			part[c] = min(n-1, (2*before+carries[c])*n/(2*all))
			before += carries[c]
			load[part[c]] += ports[c]
			level = append(level, c)
		}
	}
	for len(level) > 0 {
		var next []int
		for _, c := range level {
			for _, d := range neighbours[c] {
				if part[d] < 0 {
					next = append(next, d)
				}
			}
		}
		slices.Sort(next)
		level = slices.Compact(next)
		choose(part, neighbours, ports, load, level)
	}
	parts := lists.Make(len(cluster), func(s int) int { return max(0, part[cluster[s]]) })
	return parts
}

// choose assigns the clusters of a level, in ascending order: each to the part with the most
// channels to it. Ties go to the first part without its share: neighbours in memory, which may
// share a cache line, then share a part.
func choose(part []int, neighbours [][]int, ports, load, level []int) {
	all := lists.Total(load)
	for _, c := range level {
		all += ports[c]
	}
	chosen := make([]int, len(level))
	for i, c := range level {
		channels := make([]int, len(load))
		for _, d := range neighbours[c] {
			if part[d] >= 0 {
				channels[part[d]]++
			}
		}
		best := -1
		most := slices.Max(channels)
		for d := range load {
			if channels[d] < most {
				continue
			}
			if (2*load[d]+ports[c])*len(load) <= 2*all {
				best = d
				break
			}
			if best < 0 || load[d] < load[best] {
				best = d
			}
		}
		chosen[i] = best
		load[best] += ports[c]
	}
	for i, c := range level {
		part[c] = chosen[i]
	}
}
