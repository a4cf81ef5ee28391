package network

import "github.com/weft-sim/weft/routing"

// FollowTopology chooses the routing where none is given and the kind's default does not fit the topology:
// minimal on groups, dimension order on grids, the nearest common ancestor on trees, else
// shortest paths by tables. What is wrong with the configuration is left to the kind's check.
func FollowTopology(r *RoutingTable, t *TopologyTable, given func(key string) bool) {
	if given("routing.type") {
		return
	}
	built, err := t.Type.BuildShared(struct{}{})
	if err != nil {
		return
	}
	fits := func(name string) bool {
		_, err := routing.Registry.New(name, routing.Env{Topology: built})
		return err == nil
	}
	if fits(r.Type.Name()) {
		return
	}
	for _, name := range []string{"min", "dor", "nca"} {
		if fits(name) && r.Type.Choose(name) == nil {
			return
		}
	}
	_ = r.Type.Choose("table") // registered, as package routing is here
}
