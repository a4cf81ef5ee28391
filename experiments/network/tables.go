package network

import (
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
