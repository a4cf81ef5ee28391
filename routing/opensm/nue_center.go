package opensm

import (
	"cmp"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
)

// center is the switch with the highest betweenness (Brandes, Journal of Mathematical
// Sociology 2001) for the paths from the destinations of a lane, and from the switches on
// shortest paths between them, to these destinations and all switches; parallel cables are paths of
// their own. Of equals it is the first.
//
// On tori many switches are equally central but for rounding, which decides then. So sums
// are in OpenSM's order: over the paths from each switch, in order, and from each of its
// destinations behind it, neighbours in the order of ports. Cost: switches times links.
func (s *Subnet) center(ends []topology.TerminalID) int32 {
	w := newBrandes(s, ends)
	between := make([]float64, s.nodes())
	hull := w.hull()
	for from := range s.nodes() {
		if !hull[from] {
			continue
		}
		w.search(from)
		hosts := w.hosts[from]
		// From a host of a switch all is as from the switch, but that the switch is passed
		// and the host is no end.
		for range 1 + len(hosts) {
			for at := range between {
				if int32(at) != from {
					between[at] += w.behind[at]
				}
			}
		}
		for _, host := range hosts {
			sum := 0.0
			for _, share := range w.first {
				if share.to != host {
					sum += share.pairs
				}
			}
			between[from] += sum
		}
	}
	best := int32(0)
	for at, b := range between {
		if b > between[best] {
			best = int32(at)
		}
	}
	return best
}

// brandes is searches in a network of switches and, numbered behind them, hosts.
type brandes struct {
	peers    [][]int32 // by switch, in the order of ports
	hosts    [][]int32 // likewise
	switches int32
	distance []int32
	paths    []float64 // shortest ones from the beginning
	behind   []float64 // pairs whose paths go on from the node, by the share of them
	before   [][]int32 // neighbours from which the node is reached, one for each cable
	queue    []int32
	first    []share // of the neighbours of the beginning, in the order in which they are added
}

// share is the pairs whose paths go on to a node.
type share struct {
	to    int32
	pairs float64
}

func newBrandes(s *Subnet, ends []topology.TerminalID) *brandes {
	n := s.nodes()
	w := &brandes{peers: make([][]int32, n), hosts: make([][]int32, n), switches: n}
	number := make(map[topology.TerminalID]int32, len(ends))
	for i, t := range ends {
		number[t] = n + int32(i)
	}
	type cable struct {
		port uint8
		to   int32
	}
	var cables []cable
	for at := range n {
		cables = cables[:0]
		for _, l := range s.links(at) {
			cables = append(cables, cable{l.Port, l.Peer})
		}
		for _, h := range s.hosts(at) {
			if host, is := number[h.Terminal]; is {
				cables = append(cables, cable{h.Port, host})
				w.hosts[at] = append(w.hosts[at], host)
			}
		}
		slices.SortFunc(cables, func(a, b cable) int { return cmp.Compare(a.port, b.port) })
		for _, c := range cables {
			w.peers[at] = append(w.peers[at], c.to)
		}
	}
	all := int(n) + len(ends)
	w.distance, w.paths, w.behind, w.before = make([]int32, all), make([]float64, all), make([]float64, all), make([][]int32, all)
	return w
}

// hull marks the switches on shortest paths between hosts.
func (w *brandes) hull() []bool {
	hull := make([]bool, w.switches)
	leads := make([]bool, len(w.distance)) // to a host
	for from := range w.switches {
		if len(w.hosts[from]) == 0 {
			continue
		}
		w.search(from)
		clear(leads)
		for i := len(w.queue) - 1; i >= 0; i-- {
			at := w.queue[i]
			if at >= w.switches {
				leads[at] = true
			}
			if leads[at] {
				for _, u := range w.before[at] {
					leads[u] = true
				}
			}
		}
		for at := range hull {
			hull[at] = hull[at] || leads[at]
		}
	}
	return hull
}

// search looks at the shortest paths from a switch.
func (w *brandes) search(from int32) {
	for n := range w.distance {
		w.distance[n], w.paths[n], w.behind[n], w.before[n] = -1, 0, 0, w.before[n][:0]
	}
	w.distance[from], w.paths[from] = 0, 1
	w.queue = append(w.queue[:0], from)
	for head := 0; head < len(w.queue); head++ {
		n := w.queue[head]
		if n >= w.switches {
			continue // a host leads nowhere else
		}
		for _, to := range w.peers[n] {
			if w.distance[to] < 0 {
				w.distance[to] = w.distance[n] + 1
				w.queue = append(w.queue, to)
			}
			if w.distance[to] == w.distance[n]+1 {
				w.paths[to] += w.paths[n]
				w.before[to] = append(w.before[to], n)
			}
		}
	}
	w.first = w.first[:0]
	for i := len(w.queue) - 1; i > 0; i-- {
		at := w.queue[i]
		for _, u := range w.before[at] {
			pairs := w.paths[u] / w.paths[at] * (1 + w.behind[at])
			if w.behind[u] += pairs; u == from {
				w.first = append(w.first, share{at, pairs})
			}
		}
	}
}
