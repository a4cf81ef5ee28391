package opensm

func init() {
	register(Engine{
		Name:   "minhop",
		Doc:    "shortest paths, each switch spreading destinations over its ports by itself",
		Source: "OpenSM's osm_ucast_mgr.c",
		Route: func(s *Subnet, o *Options) (*Tables, error) {
			return routeMinHop("minhop", s, o, false)
		},
	})
}

// routeMinHop routes by shortest paths. The result can have cycles of channels: it
// is free from deadlock on trees only.
func routeMinHop(engine string, s *Subnet, o *Options, oneNeighbour bool) (*Tables, error) {
	m, err := s.minHops()
	if err != nil {
		return nil, err
	}
	b := balancer{s: s, o: o, oneNeighbour: oneNeighbour}
	return b.route(engine, m)
}

// minHops is the matrix of all shortest paths and detours: by each link one hop
// more than its far end has.
func (s *Subnet) minHops() (hopMatrix, error) {
	distance, err := s.distances()
	if err != nil {
		return hopMatrix{}, err
	}
	n := len(s.Switches)
	m := hopMatrix{n, make([]uint8, len(s.Links)*n)}
	for l, link := range s.Links {
		// Distances are the same both ways.
		for d, hops := range distance[int(link.Peer)*n:][:n] {
			if hops < noPath-1 {
				m.hops[l*n+d] = hops + 1
			} else {
				m.hops[l*n+d] = noPath
			}
		}
	}
	return m, nil
}
