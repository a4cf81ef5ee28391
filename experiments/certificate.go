package experiments

import (
	"errors"
	"fmt"
	"strings"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/routing/certify"
	"github.com/weft-sim/weft/sim"
)

// certificateBudget is the number of routing decisions that a certificate
// examines before it stops at a sample of the destinations: a few seconds.
// Within it, a certificate is exact: up to some thousand terminals under
// minimal routings.
const certificateBudget = 1 << 23

// unsafeConfig is implemented by the configurations of kinds whose networks
// can deadlock.
type unsafeConfig interface{ setAllowDeadlock() }

// allowHint tells how to run what is refused.
const allowHint = "; --allow-deadlock runs it all the same"

// proof is a certificate in words; err tells why there is none.
type proof struct {
	acyclic bool
	exact   bool
	text    string
	cycle   string // by channel, indented lines
	err     error
}

// prove certifies routing r with vcs virtual channels on g.
func prove(g *topology.Graph, r fabric.Routing, vcs int) proof {
	dependencies := certify.New(vcs)
	walked, all, err := routing.Dependencies(g, r, vcs, certificateBudget, dependencies.Add)
	if err != nil {
		return proof{err: err}
	}
	c := dependencies.Certify(walked, all)
	p := proof{acyclic: c.Acyclic(), exact: c.Exact(), text: c.Describe(g)}
	if !p.acyclic { // the cycle stands below the sentence, which goes on
		p.text, p.cycle, _ = strings.Cut(p.text, "\n")
		p.cycle = "\n" + p.cycle
	}
	return p
}

// network is what certificates and channel loads are computed of.
type network struct {
	topology *TopologyTable
	routing  *RoutingTable
	graph    *topology.Graph
	built    fabric.Routing
	vcs      int
	seed     uint64
}

// fingerprint names the network: equal for points that share it.
func (n *network) fingerprint() string {
	return fmt.Sprintf("%s\n%s\n%d %d", n.topology.Type.fingerprint(), n.routing.Type.fingerprint(), n.vcs, n.seed)
}

// prove is prove, once for all points with the same network.
func (n *network) prove(shared *sharedBuilds) proof {
	p, _ := shared.get("certificate "+n.fingerprint(), func() (any, error) { return prove(n.graph, n.built, n.vcs), nil })
	return p.(proof)
}

// certify refuses a network that can deadlock, unless that is allowed.
func (p *Preflight) certify(n *network, allowed bool) error {
	c := n.prove(p.shared)
	switch {
	case c.err != nil:
		p.Warn("routing.type", "= %q has no certificate of freedom from deadlock: %v", n.routing.Type.Name(), c.err)
	case c.acyclic:
		p.Note("deadlock", "%s", c.text)
	case allowed:
		p.Warn("routing.type", "= %q %s", n.routing.Type.Name(), c.text+c.cycle)
	default:
		return At("routing.type", fmt.Errorf("= %q %s%s%s", n.routing.Type.Name(), c.text, allowHint, c.cycle))
	}
	return nil
}

// lacksVCs finds the complaint about too few virtual channels in a fault, if
// that is the only one.
func lacksVCs(err error) *sim.ParamError {
	all := flatten(err)
	var fault *sim.ParamError
	for _, e := range all {
		if !errors.As(e, &fault) || fault.Key != "switch.vcs" {
			return nil
		}
	}
	return fault
}
