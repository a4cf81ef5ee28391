package opensm

import (
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
)

// routeUpDown is up*/down* routing: switches are ranked by their distance from the
// roots, and no path may go up after it has gone down. Among the ports with the fewest
// hops each switch chooses as minhop does.
//
// Deadlock: none on trees. On other networks OpenSM's form can: a switch keeps one
// hop count and direction for a destination, so that a path that begins as one legal way
// can go on by another; a step between two roots counts as up both ways; and with
// connect_roots all paths to roots are legal. The certificate tells.
func routeUpDown(s *Subnet, o *Options) (*Tables, error) {
	distance, err := s.distances()
	if err != nil {
		return nil, err
	}
	var roots []int32
	if o.HasRoots {
		roots = s.nodesOf(o.Roots)
	} else {
		roots = s.findRoots(distance)
	}
	if len(roots) == 0 {
		return nil, &Refusal{"updn", "updn_lid_matrices: disabling UPDN algorithm, no root nodes were found"}
	}
	d := directed{s: s, start: up, forbidden: [2]direction{down, up}}
	d.rank = s.ranks(roots)
	d.between = func(from, to int32) direction {
		if step := d.byRank(from, to); step != level {
			return step
		}
		if d.rank[from] == 0 || s.guid(from) > s.guid(to) {
			return up
		}
		return down
	}
	m := d.hops(func(n int32) bool { return o.ConnectRoots && len(roots) > 1 && d.rank[n] == 0 }, distance)
	b := balancer{s: s, o: o}
	return b.route("updn", m)
}

// nodesOf finds the nodes with the given GUIDs; others are left out.
func (s *Subnet) nodesOf(guids []uint64) []int32 {
	return slices.DeleteFunc(topology.Numbers[int32](len(s.Switches)), func(n int32) bool { return !slices.Contains(guids, uint64(s.guid(n))) })
}

// findRoots are the switches that see nearly all adapters at one distance: exactly one number of
// hops has above 90 % of all adapters, and exactly one above 5 %.
func (s *Subnet) findRoots(distance []uint8) []int32 {
	n := len(s.Switches)
	all := len(s.Hosts)
	var roots []int32
	for from := range n {
		var at [256]int
		for to := range n {
			at[distance[to*n+from]] += len(s.hosts(int32(to)))
		}
		most, some := 0, 0
		for _, count := range at {
			if 10*count > 9*all {
				most++
			}
			if 20*count > all {
				some++
			}
		}
		if most == 1 && some == 1 {
			roots = append(roots, int32(from))
		}
	}
	return roots
}

// routeDownUp is up*/down* turned round: switches with adapters have rank 0, and seen from the
// destination a path must not come nearer to them and then leave again. Steps between equal ranks
// are free, so that rings of switches with adapters can deadlock.
func routeDownUp(s *Subnet, o *Options) (*Tables, error) {
	d := directed{s: s, start: down, forbidden: [2]direction{up, down}}
	d.rank = s.ranks(s.leaves())
	d.between = d.byRank
	b := balancer{s: s, o: o}
	return b.route("dnup", d.hops(func(int32) bool { return false }, nil))
}

// direction is where a step between switches leads.
type direction uint8

const (
	up direction = iota
	down
	level
)

// directed searches the shortest paths under a rule about up and down, from destinations to
// sources.
type directed struct {
	s         *Subnet
	rank      []uint8
	start     direction                      // in which a search begins
	forbidden [2]direction                   // a step of the second must not follow one of the first
	between   func(from, to int32) direction // of a step
	// Of the search:
	step    []direction // len = links: from the switch of the link
	least   []uint8     // len = nodes: fewest hops to the destination
	by      []uint8     // len = links: hops to the destination by the link
	current []direction
	waiting []bool
	queue   []int32
}

// byRank is the direction of a step to a lower or higher rank, level between equal ones.
func (d *directed) byRank(from, to int32) direction {
	switch from, to := d.rank[from], d.rank[to]; {
	case to < from:
		return up
	case to > from:
		return down
	}
	return level
}

// hops is the matrix of the legal paths, by a search from each destination; to unrestricted ones
// all paths are legal. Cost: about switches times links, more where a shorter way reaches switches
// again.
func (d *directed) hops(unrestricted func(n int32) bool, distance []uint8) hopMatrix {
	n := len(d.s.Switches)
	m := make(hopMatrix, len(d.s.Links)*n)
	for _, l := range d.s.Links {
		d.step = append(d.step, d.between(l.From, l.Peer))
	}
	d.least, d.by, d.current, d.waiting = make([]uint8, n), make([]uint8, len(d.s.Links)), make([]direction, n), make([]bool, n)
	for to := range d.s.nodes() {
		if unrestricted(to) {
			for l, link := range d.s.Links {
				m[l*n+int(to)] = byOneMore(distance[int(to)*n+int(link.Peer)])
			}
			continue
		}
		d.search(to)
		for l, h := range d.by {
			m[l*n+int(to)] = h
		}
	}
	return m
}

// search enters the hops to one destination. A switch is in the queue at most once, with the
// direction of the step that put it there.
func (w *directed) search(to int32) {
	for n := range w.least {
		w.least[n] = noPath
	}
	for l := range w.by {
		w.by[l] = noPath
	}
	w.least[to], w.current[to] = 0, w.start
	w.queue = append(w.queue[:0], to)
	for head := 0; head < len(w.queue); head++ {
		n := w.queue[head]
		w.waiting[n] = false
		for l := w.s.Start[n]; l < w.s.Start[n+1]; l++ {
			if w.current[n] == w.forbidden[0] && w.step[l] == w.forbidden[1] {
				continue
			}
			link := &w.s.Links[l]
			if w.least[n] >= noPath-1 || w.least[n]+1 >= w.by[link.Back] {
				continue
			}
			w.by[link.Back] = w.least[n] + 1
			w.least[link.Peer] = min(w.least[link.Peer], w.least[n]+1)
			if !w.waiting[link.Peer] {
				w.waiting[link.Peer], w.current[link.Peer] = true, w.step[l]
				w.queue = append(w.queue, link.Peer)
			}
		}
	}
}
