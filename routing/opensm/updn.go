package opensm

import "slices"

func init() {
	register(Engine{
		Name:   "updn",
		Doc:    "up*/down*: no path goes down from the roots and up again",
		Source: "Schroeder et al., Autonet, IEEE JSAC 1991; OpenSM's osm_ucast_updn.c",
		Route:  routeUpDown,
	})
}

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
		switch from, to := d.rank[from], d.rank[to]; {
		case to < from:
			return up
		case to > from:
			return down
		case from == 0:
			return up
		}
		if s.guid(from) > s.guid(to) {
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
	var nodes []int32
	for n := range s.nodes() {
		if slices.Contains(guids, s.guid(n)) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// findRoots are the switches that see nearly all adapters at one distance: of the
// numbers of adapters by hops, exactly one is above 90 % of all and exactly one
// above 5 %.
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
