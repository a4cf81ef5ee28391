package opensm

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
)

// routeNue is Nue: the adapters are dealt to the virtual lanes in turn, by the GUIDs of their
// ports, and each lane keeps one channel dependency graph. A spanning tree around a central switch
// is its way of escape. For each destination paths grow from its switch as in sssp, by channels
// whose dependencies close no cycle ([nueSearch.grow]); where that leaves switches without a path,
// a neighbour is led another way, and if that fails all paths to the destination follow the tree.
// Switches as destinations come last, by plain searches; nothing is sent to them in lanes.
func routeNue(s *Subnet, o *Options) (*Tables, error) {
	lanes := max(1, min(o.NueMaxVLs, o.OperationalVLs))
	if o.NueMaxVLs == 0 {
		lanes = o.OperationalVLs
	}
	if !o.QoS {
		lanes = 1
	}
	t := newTables("nue", s)
	w := newNueSearch(t)
	order := topology.Numbers[topology.TerminalID](s.adapterPorts())
	slices.SortFunc(order, func(a, b topology.TerminalID) int { // by GUID, as in OpenSM's maps
		return topology.CompareGUID(s.Names.Terminals[a].PortGUID, s.Names.Terminals[b].PortGUID)
	})
	lane := make([]uint8, len(order)) // by terminal
	for l := range lanes {
		var ends []topology.TerminalID
		for i := l; i < len(order); i += lanes {
			ends = append(ends, order[i])
			lane[order[i]] = uint8(l)
		}
		if len(ends) > 0 && !w.lane(ends) {
			return nil, &Refusal{"nue", "mark_escape_paths: ERR NUE45: unsupported network state (detached and inaccessible switches found; gracefully shutdown this routing engine)"}
		}
	}
	for _, n := range w.order {
		w.span(n)
		w.enter(int(s.SwitchLID[n]), 0)
	}
	t.Lanes = lanes
	t.level = func(_ int32, lid int) uint8 {
		if e := s.Ends[lid]; e.Terminal >= 0 {
			return lane[e.Terminal]
		}
		return 0
	}
	return t, nil
}

// nueSearch is the work of the engine: the weights of all links, and the graph and the
// search of the lane and destination at hand. Channels are indices in Subnet.Links, in
// the direction of the search: away from the destination.
type nueSearch struct {
	*nueGraph
	t      *Tables
	s      *Subnet
	paths  *Paths
	order  []int32  // the nodes, in OpenSM's order
	weight []uint64 // by channel, as in paths
	tree   []int32  // by node: channel of the lane's tree of escape that leads there, -1 none
	// Of the destination:
	source int32
	used   []int32   // by node: channel that it is reached by, -1 none; as in paths
	dist   []uint64  // by node, as in paths
	far    []uint64  // by channel: distance at its end when it was last looked at
	others [][]int32 // by node: further channels into it that are in the graph
	found  []int32   // by node: how many times paths were led another way before it was found
	heap   heap      // of channels
}

func newNueSearch(t *Tables) *nueSearch {
	s := t.Subnet
	n, links := int(s.nodes()), len(s.Links)
	paths := NewPaths(s, s.lidCount)
	paths.order = topology.Numbers[int32](len(s.Switches))
	slices.SortFunc(paths.order, func(a, b int32) int { // by LID, the low byte first, as OpenSM compares them on little-endian machines
		return cmp.Compare(bits.ReverseBytes16(uint16(s.SwitchLID[a])), bits.ReverseBytes16(uint16(s.SwitchLID[b])))
	})
	return &nueSearch{t: t, s: s, nueGraph: newNueGraph(s), paths: paths, order: paths.order, weight: paths.weight,
		tree: make([]int32, n), used: paths.Used, dist: paths.distance, far: make([]uint64, links+n),
		others: make([][]int32, n), found: make([]int32, n), heap: newHeap(links)}
}

// lane routes to one lane's adapters. Not ok if the escape tree does not reach every switch.
func (w *nueSearch) lane(ends []topology.TerminalID) (ok bool) {
	hosts := make([]int, w.s.nodes())
	for _, t := range ends {
		hosts[w.s.home(t)]++
	}
	root := w.s.center(w.order, hosts)
	if !w.span(root) {
		return false
	}
	copy(w.tree, w.used)
	w.clear()
	w.escape(root, hosts)
	for _, t := range ends {
		for i := range 1 << w.s.LMC {
			w.grow(w.s.home(t))
			w.enter(int(w.s.TerminalLID[t])+i, w.s.hostPort(t))
		}
	}
	return true
}

// span searches shortest paths from a node to all others, whatever their dependencies. Not ok if
// some have none.
func (w *nueSearch) span(root int32) (ok bool) {
	w.source = root
	return w.paths.search(Unreached, root) == 0
}

// enter fills a LID's column and adds to its paths' links the LIDs of a switch and its adapters,
// modulo 256 as in OpenSM.
func (w *nueSearch) enter(lid int, port uint8) {
	w.t.LFT[w.source][lid] = port
	for n, l := range w.used {
		if l < 0 {
			continue
		}
		w.t.LFT[n][lid] = w.s.Links[w.back[l]].Port
		for at := int32(n); at != w.source; at = w.begin[w.used[at]] {
			w.weight[w.used[at]] += uint64(uint8(w.paths.lids[n]))
		}
	}
}

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
		// From a host of the switch only this differs: the switch is passed, and the host is no
		// end.
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

// hull marks the switches of hosts, and those on shortest paths between marked ones, in one pass in
// order.
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

// escape enters the escape tree around a root: the dependencies of paths from the root to all
// nodes, of paths from nodes with hosts to the root, of turns from these into other branches, and
// of all turns at the root.
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
