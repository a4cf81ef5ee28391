package network

import (
	"fmt"
	"reflect"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
)

// TopologyTable is the [topology] table of every kind that has a network.
type TopologyTable struct {
	Type experiments.Choice[struct{}, topology.Topology] `toml:"type" doc:"family of the network"`
}

// RoutingTable is the [routing] table of every kind that routes packets.
type RoutingTable struct {
	Type experiments.Choice[routing.Env, fabric.Routing] `toml:"type" doc:"algorithm that chooses the way of packets"`
}

// Build makes the routing. Points of a file share those that depend on the network only
// ([routing.Use].Fixed), which are built once for each topology that the file shares.
func (r *RoutingTable) Build(env routing.Env) (fabric.Routing, error) {
	at := reflect.ValueOf(env.Topology)
	if !routing.Fixed(r.Type.Name()) || env.Down != nil || at.Kind() != reflect.Pointer {
		return r.Type.Build(env)
	}
	// The topology is kept with what is built for it, so that no other can have its place.
	type built struct {
		topology topology.Topology
		routing  fabric.Routing
	}
	key := fmt.Sprintf("%s\non %x, %d %v", r.Type.Fingerprint(), at.Pointer(), env.VCs, env.AllowDeadlock)
	value, err := r.Type.Shared().Get(key, func() (any, error) {
		made, err := r.Type.Build(env)
		return built{env.Topology, made}, err
	})
	return value.(built).routing, err
}
