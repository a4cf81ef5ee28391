package opensm

// center is the switch with the highest betweenness (Brandes, Journal of Mathematical
// Sociology 2001) in the network of all switches and the destinations of a lane, of
// which count hang from each switch; parallel cables are paths of their own. Of equals
// it is the first. Cost: switches times links.
func (s *Subnet) center(count []int) int32 {
	n := len(s.Switches)
	between := make([]float64, n)
	all := n
	for _, c := range count {
		all += c
	}
	w := brandes{s: s, distance: make([]int32, n), paths: make([]float64, n), behind: make([]float64, n)}
	for from := range s.nodes() {
		w.search(from)
		for i := len(w.queue) - 1; i > 0; i-- {
			at := w.queue[i]
			for _, l := range s.links(at) {
				if u := l.Peer; w.distance[u] == w.distance[at]-1 {
					w.behind[u] += w.paths[u] / w.paths[at] * (float64(1+count[at]) + w.behind[at])
				}
			}
			between[at] += w.behind[at] * float64(1+count[from])
		}
	}
	best := 0
	for at, c := range count {
		// Paths of the switch's own destinations, to others and to each other.
		between[at] += float64(2*c*(all-1-c) + c*(c-1))
		if between[at] > between[best]*(1+1e-9) {
			best = at
		}
	}
	return int32(best)
}

// brandes is one search: distances and numbers of shortest paths from a node.
type brandes struct {
	s        *Subnet
	distance []int32
	paths    []float64
	behind   []float64 // pairs whose paths go on from the node, by the share of them
	queue    []int32
}

func (w *brandes) search(from int32) {
	for n := range w.distance {
		w.distance[n], w.paths[n], w.behind[n] = -1, 0, 0
	}
	w.distance[from], w.paths[from] = 0, 1
	w.queue = append(w.queue[:0], from)
	for head := 0; head < len(w.queue); head++ {
		n := w.queue[head]
		for _, l := range w.s.links(n) {
			if w.distance[l.Peer] < 0 {
				w.distance[l.Peer] = w.distance[n] + 1
				w.queue = append(w.queue, l.Peer)
			}
			if w.distance[l.Peer] == w.distance[n]+1 {
				w.paths[l.Peer] += w.paths[n]
			}
		}
	}
}
