package opensm

func init() {
	register(Engine{
		Name:   "dor",
		Doc:    "shortest paths by the lowest numbered port's neighbour: dimension order where ports are cabled alike",
		Source: "OpenSM's osm_ucast_mgr.c; dimension order: Sullivan and Bashkow, ISCA 1977",
		// DOR takes, of the ports on shortest paths, only those to the neighbour
		// that the lowest of them leads to. Tori can deadlock with it.
		Route: func(s *Subnet, o *Options) (*Tables, error) {
			return routeMinHop("dor", s, o, true)
		},
	})
}
