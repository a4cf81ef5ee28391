package fabric

import (
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
)

// partition divides switches into n parts of about equal work whose channels to
// each other are as slow as possible, since parts can be simulated apart for as
// long as those take. Switches joined by faster channels stay together: the
// groups of a dragonfly, the racks of a long-cabled network. Of these, those
// with terminals go to parts in the order of their numbers (slabs of a torus,
// neighbouring leaves of a tree), by terminals; the others, level by level, to the
// part with the most of their neighbours, which makes sub-trees.
func partition(g *topology.Graph, latency func(topology.PortID) int32, n int) []int {
	var latencies []int32
	for p := range g.NumPorts() {
		if g.Peer[p] >= 0 {
			latencies = append(latencies, latency(topology.PortID(p)))
		}
	}
	slices.Sort(latencies)
	latencies = slices.Compact(latencies)
	var cluster []int
	for _, cut := range slices.Backward(latencies) {
		cluster = clusters(g, func(p topology.PortID) bool { return latency(p) < cut })
		if divisible(g, cluster, n) {
			break
		}
	}
	if cluster == nil {
		return make([]int, g.Switches())
	}
	return spread(g, cluster, n)
}

// clusters numbers the sets of switches that the chosen channels join, by their
// lowest switch.
func clusters(g *topology.Graph, joins func(topology.PortID) bool) []int {
	cluster := make([]int, g.Switches())
	for s := range cluster {
		cluster[s] = -1
	}
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

// divisible tells whether parts of nearly equal numbers of terminals can be made
// of clusters.
func divisible(g *topology.Graph, cluster []int, n int) bool {
	terminals := make([]int, slices.Max(cluster)+1)
	for t := range g.Terminals() {
		terminals[cluster[g.TerminalSwitch(topology.TerminalID(t))]]++
	}
	return slices.Max(terminals)*n*20 <= 21*g.Terminals() || slices.Max(terminals)*n*8 <= g.Terminals()
}

// spread assigns clusters to parts.
func spread(g *topology.Graph, cluster []int, n int) []int {
	count := slices.Max(cluster) + 1
	terminals, ports := make([]int, count), make([]int, count)
	members := make([][]topology.SwitchID, count)
	for s, c := range cluster {
		members[c] = append(members[c], topology.SwitchID(s))
		first, end := g.Ports(topology.SwitchID(s))
		ports[c] += int(end - first)
	}
	for t := range g.Terminals() {
		terminals[cluster[g.TerminalSwitch(topology.TerminalID(t))]]++
	}
	part, load := make([]int, count), make([]int, n)
	var level []int
	before := 0
	for c := range part {
		part[c] = -1
		if terminals[c] > 0 {
			part[c] = min(n-1, (2*before+terminals[c])*n/(2*g.Terminals()))
			before += terminals[c]
			load[part[c]] += ports[c]
			level = append(level, c)
		}
	}
	for len(level) > 0 {
		var next []int
		for _, c := range level {
			for _, s := range members[c] {
				for p, end := g.Ports(s); p < end; p++ {
					if g.Peer[p] < 0 {
						continue
					}
					if d := cluster[g.PortSwitch[g.Peer[p]]]; part[d] < 0 && !slices.Contains(next, d) {
						next = append(next, d)
					}
				}
			}
		}
		slices.Sort(next)
		chosen := make([]int, len(next))
		for i, c := range next {
			chosen[i] = nearest(g, cluster, part, members[c], load)
			load[chosen[i]] += ports[c]
		}
		for i, c := range next {
			part[c] = chosen[i]
		}
		level = next
	}
	parts := make([]int, len(cluster))
	for s, c := range cluster {
		parts[s] = max(0, part[c])
	}
	return parts
}

// nearest is the part with the most channels to some switches; of equals the one
// with the least load.
func nearest(g *topology.Graph, cluster, part []int, switches []topology.SwitchID, load []int) int {
	channels := make([]int, len(load))
	for _, s := range switches {
		for p, end := g.Ports(s); p < end; p++ {
			if g.Peer[p] >= 0 {
				if of := part[cluster[g.PortSwitch[g.Peer[p]]]]; of >= 0 {
					channels[of]++
				}
			}
		}
	}
	best := 0
	for i := range channels {
		if channels[i] > channels[best] || channels[i] == channels[best] && load[i] < load[best] {
			best = i
		}
	}
	return best
}
