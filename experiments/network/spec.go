package network

import (
	"fmt"

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

// Spec names a network by the tables of an experiment file, without building it: what
// certificates and channel loads are computed of.
type Spec struct {
	topology *TopologyTable
	routing  *RoutingTable
	vcs      int // as set; 0: as many as the routing needs
	seed     uint64
	faults   *Faults // nil: none
	// Open builds the network.
	Open func() (routing.Routed, error)
	// cutThrough: packets hold no channel but the one that their head is in.
	cutThrough bool
}

// NewSpec names the network of a kind's tables. vcs is switch.vcs, 0 for as many as the
// routing needs; with allowDeadlock the routing is built with fewer than it needs, too.
func NewSpec(t *TopologyTable, r *RoutingTable, vcs int, seed uint64, allowDeadlock bool) *Spec {
	n := &Spec{topology: t, routing: r, vcs: vcs, seed: seed}
	n.Open = func() (routing.Routed, error) {
		topo, err := t.Type.BuildShared(struct{}{})
		if err != nil {
			return routing.Routed{}, err
		}
		env := routing.Env{Topology: topo, TopologyName: t.Type.Name(), VCs: vcs, Seed: seed, AllowDeadlock: allowDeadlock, Shared: t.Type.Shared()}
		var built fabric.Routing
		if n.faults == nil {
			built, err = r.Type.Build(env)
		} else {
			built, err = n.faults.route(r, env)
		}
		if err != nil {
			return routing.Routed{}, err
		}
		return Opened(topo.Graph(), built, vcs), nil
	}
	return n
}

// Through is n with the flow control of switches like s.
func (n *Spec) Through(s *fabric.SwitchConfig) *Spec {
	n.cutThrough = s.FlowControl == "cut-through"
	return n
}

// WithFaults is n with the faults of a kind's tables, around which it routes.
func (n *Spec) WithFaults(x *Faults) *Spec {
	if len(x.Tables) > 0 {
		n.faults = x
	}
	return n
}

// Opened is a network that has been built, with so many virtual channels a channel; with
// vcs = 0, as many as the routing needs, at least one.
func Opened(g *topology.Graph, r fabric.Routing, vcs int) routing.Routed {
	if vcs == 0 {
		vcs = max(1, r.VCs())
	}
	return routing.Routed{Graph: g, Routing: r, VCs: vcs}
}

// Fingerprint names the network: equal for points that share it.
func (n *Spec) Fingerprint() string {
	name := fmt.Sprintf("%s\n%s\n%d %v %d", n.topology.Type.Fingerprint(), n.routing.Type.Fingerprint(), n.vcs, n.cutThrough, n.seed)
	if n.faults != nil {
		name += "\n" + n.faults.fingerprint()
	}
	return name
}
