package opensm

func init() {
	register(Engine{
		Name:   "dnup",
		Doc:    "down*/up*: up*/down* with ranks that rise from the switches with adapters",
		Source: "OpenSM's osm_ucast_dnup.c",
		Route:  routeDownUp,
	})
}

// routeDownUp is up*/down* turned round: rank 0 are the switches with adapters, a
// path must not come nearer to them and then leave again on its way, seen from
// the destination; steps between equal ranks are free, so that rings of switches
// with adapters can deadlock.
func routeDownUp(s *Subnet, o *Options) (*Tables, error) {
	var leaves []int32
	for n := range s.nodes() {
		if len(s.hosts(n)) > 0 {
			leaves = append(leaves, n)
		}
	}
	d := directed{s: s, start: down, forbidden: [2]direction{up, down}}
	d.rank = s.ranks(leaves)
	d.between = func(from, to int32) direction {
		switch from, to := d.rank[from], d.rank[to]; {
		case to < from:
			return up
		case to > from:
			return down
		}
		return level
	}
	b := balancer{s: s, o: o}
	return b.route("dnup", d.hops(func(int32) bool { return false }, nil))
}
