package experiments

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/sim"
)

// network names what the point's packets are routed through.
func (c *trafficConfig) network(parts *trafficParts, seed uint64) *network {
	vcs := c.Switch.VCs
	if vcs == 0 {
		vcs = max(1, parts.routing.VCs())
	}
	return &network{topology: &c.Topology, routing: &c.Routing, graph: parts.topology.Graph(), built: parts.routing, vcs: vcs, seed: seed}
}

// explainVCs adds to the complaint about too few virtual channels the cycle of
// channels that they leave.
func (c *trafficConfig) explainVCs(err error, seed uint64) {
	fault := lacksVCs(err)
	if fault == nil {
		return
	}
	unsafe := *c
	unsafe.allowDeadlock = true
	parts, err := unsafe.build(seed)
	if err != nil {
		return
	}
	shared := c.Topology.Type.shared
	if shared == nil {
		shared = &sharedBuilds{}
	}
	if proof := unsafe.network(parts, seed).prove(shared); proof.err == nil && !proof.acyclic {
		fault.Want += allowHint + ": " + proof.text + proof.cycle
	}
}

func preflightTraffic(c *trafficConfig, p *Preflight) error {
	parts, err := c.build(p.Seed)
	if err != nil {
		return err
	}
	n := c.network(parts, p.Seed)
	if err := p.certify(n, c.allowDeadlock); err != nil || !p.Thorough {
		return err
	}
	return nil
}

var _ = fabric.Config{}
var _ = sim.Nanosecond
