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
