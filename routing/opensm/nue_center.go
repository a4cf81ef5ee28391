package opensm

// center is the switch with the highest betweenness (Brandes, Journal of Mathematical
// Sociology 2001) among those on shortest paths between the hosts of a lane, for the
// paths between these switches and hosts; parallel cables are paths of their own. hosts
// counts the hosts of each node. Of equals it is the first in order.
//
// On tori many switches are equally central but for rounding, which decides then. So sums
// are in OpenSM's order: over the paths from each switch, in order, and once more for each
// of its hosts, neighbours in the order of ports. Cost: switches times links.
func (s *Subnet) center(order []int32, hosts []int) int32 {
	n := len(order)
	hull := s.hull(order, hosts)
	between, behind, paths := make([]float64, n), make([]float64, n), make([]uint64, n)
	before := make([][]int32, n) // neighbours from which a node is reached, one for each cable
	search := breadth{s: s}
	for _, from := range order {
		if !hull[from] {
			continue
		}
		search.from(hull, from)
		for _, at := range search.queue {
			paths[at], before[at] = 0, before[at][:0]
		}
		paths[from] = 1
		for _, at := range search.queue {
			for _, l := range s.links(at) {
				if to := l.Peer; search.hops[to] == search.hops[at]+1 {
					paths[to] += paths[at]
					before[to] = append(before[to], at)
				}
			}
		}
		// From a host of the switch all is as from the switch, but that the switch is
		// passed and the host is no end.
		for host := range 1 + hosts[from] {
			clear(behind)
			for i := len(search.queue) - 1; i >= 0; i-- {
				at := search.queue[i]
				ends := hosts[at]
				if at == from && host > 0 {
					ends--
				}
				behind[at] += float64(ends)
				for _, u := range before[at] {
					behind[u] += float64(float64(paths[u]) / float64(paths[at]) * (1 + behind[at]))
				}
				if at != from || host > 0 {
					between[at] += behind[at]
				}
			}
		}
	}
	best := int32(-1)
	for _, at := range order {
		if hull[at] && (best < 0 || between[at] > between[best]) {
			best = at
		}
	}
	return best
}

// hull marks the switches of hosts and those on shortest paths between marked ones, as
// far as they are found in one pass in order.
func (s *Subnet) hull(order []int32, hosts []int) []bool {
	hull := make([]bool, len(order))
	for at, count := range hosts {
		hull[at] = count > 0
	}
	done := make([]bool, len(order))
	queue := make([]int32, 0, len(order))
	search := breadth{s: s}
	for _, from := range order {
		if !hull[from] {
			continue
		}
		search.from(nil, from)
		clear(done)
		done[from] = true
		for _, end := range order {
			if !hull[end] || done[end] {
				continue
			}
			done[end] = true
			queue = append(queue[:0], end)
			for head := 0; head < len(queue); head++ {
				at := queue[head]
				for _, l := range s.links(at) {
					if !done[l.Peer] && search.hops[l.Peer]+1 == search.hops[at] {
						hull[l.Peer], done[l.Peer] = true, true
						queue = append(queue, l.Peer)
					}
				}
			}
		}
	}
	return hull
}

// escape enters the tree of escape around a root: the dependencies of paths from the root
// to all nodes, of paths from the nodes with hosts to the root, of turns from these into
// other branches, and of all turns at the root.
func (w *nueSearch) escape(root int32, hosts []int) {
	enter := func(c, d int32) {
		w.channelMark[c], w.channelMark[d] = nueEscape, nueEscape
		w.mark[w.at(c, d)] = nueEscape
	}
	for _, n := range w.order {
		for l := w.tree[n]; l >= 0; l = w.tree[w.begin[l]] {
			w.channelMark[l] = nueEscape
			node := w.begin[l]
			next := w.tree[node]
			if next < 0 {
				break
			}
			enter(next, l)
			if hosts[n] == 0 {
				continue
			}
			enter(w.back[l], w.back[next])
			for c := w.start[node]; c < w.start[node+1]; c++ {
				if branch := w.tree[w.peer[c]]; branch >= 0 && w.begin[branch] == node && branch != l {
					w.mark[w.at(w.back[l], branch)] = nueEscape
				}
			}
		}
	}
	for c := w.start[root]; c < w.start[root+1]; c++ {
		for d := w.start[root]; d < w.start[root+1]; d++ {
			if c != d && w.tree[w.peer[c]] == c && w.tree[w.peer[d]] == d {
				enter(w.back[c], d)
			}
		}
	}
}
