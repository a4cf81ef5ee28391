package routing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
)

// Registry holds every routing that experiment files can name.
var Registry = param.NewRegistry[Env, fabric.Routing]("routing")

// Need is what a routing asks of a topology; the zero Need asks for nothing but
// the graph.
type Need = param.Need[Env]

// Has is the need of a capability: an interface of the topology beyond its graph.
// what is its name in messages, as in "needs a topology with groups".
func Has[Capability topology.Topology](what string) Need {
	return Need{What: what, Met: func(env Env) bool { _, ok := env.Topology.(Capability); return ok }}
}

// The capabilities of package topology.
var (
	Groups      = Has[topology.Grouped]("groups")
	Coordinates = Has[topology.Grid]("coordinates")
	Levels      = Has[topology.Tree]("levels")
	AllToAll    = Has[topology.Hamming]("all-to-all dimensions")
)

// Use says where a routing can be used.
type Use struct {
	// On is what it needs of the topology. A name may be registered once for each
	// need, with settings of its own: val is one routing on groups and another on
	// coordinates.
	On Need
	// Faults tells that it can be built for a network with faults ([Env].Down).
	Faults bool
	// NetworkDecides tells that the routing makes no promise of freedom from
	// deadlock: it depends on the network, and the certificate tells.
	NetworkDecides bool
}

// Register adds a routing under name; see [param.RegisterFor] for the tags of the
// configuration. One more is deadlocks:"none|flat": choices with which the routing
// can deadlock, for demonstrations. Networks with faults are refused here for
// routings that do not go around them.
func Register[C any](name, doc string, use Use, defaults C, build func(config C, env Env) (fabric.Routing, error)) {
	param.RegisterFor(Registry, use.On, name, doc, defaults, func(config C, env Env) (fabric.Routing, error) {
		if env.Down != nil && !use.Faults {
			return nil, refuseFaults(name, env)
		}
		return build(config, env)
	})
	if use.Faults && !slices.Contains(aroundFaults, name) {
		aroundFaults = append(aroundFaults, name)
	}
	if use.NetworkDecides {
		networkDecides = append(networkDecides, name)
	}
}

// networkDecides belongs to the registry.
var networkDecides []string

// NetworkDecides tells whether routing name is registered as one that can deadlock on
// some networks.
func NetworkDecides(name string) bool { return slices.Contains(networkDecides, name) }

// aroundFaults belongs to the registry.
var aroundFaults []string

// AroundFaults lists the routings that can be built for some networks with faults
// ([Env].Down), in alphabetical order.
func AroundFaults() []string { return slices.Sorted(slices.Values(aroundFaults)) }

// refuseFaults reports that routing name cannot go around what is down.
func refuseFaults(name string, env Env) error {
	topology := ""
	if env.TopologyName != "" {
		topology = " on topology " + env.TopologyName
	}
	return fmt.Errorf("routing %q does not route around faults%s (%s); routings that can: %s", name, topology, env.Down.Describe(), strings.Join(AroundFaults(), ", "))
}

// Lacks implements [param.EnvWithNeeds]: the topology has nothing that routing name
// needs.
func (env Env) Lacks(name string, needs []string) error {
	topology := env.TopologyName
	if topology == "" {
		topology = "this topology"
	}
	return fmt.Errorf("routing %q needs a topology with %s; %s has none", name, strings.Join(needs, " or "), topology)
}
