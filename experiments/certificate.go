package experiments

import (
	"errors"
	"fmt"
	"strings"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	deadlock "github.com/weft-sim/weft/routing/proof"
	"github.com/weft-sim/weft/sim/param"
)

// certificateBudget is the number of hops that a certificate follows
// before it stops at a sample of the destinations: a second or two.
// Within it, a certificate is exact: for a dragonfly of 16,512 terminals under
// minimal routing, of 1,056 under Valiant routing.
const certificateBudget = 20_000_000

// unsafeConfig is implemented by the configurations of kinds whose networks
// can deadlock: fabric.allow_deadlock of the file.
type unsafeConfig interface {
	setAllowDeadlock()
	allowsDeadlock() bool
}

// allowHint tells how to run what is refused.
const allowHint = "; --allow-deadlock, or fabric.allow_deadlock = true, runs it all the same"

// proof is a certificate in words; err tells why there is none.
type proof struct {
	acyclic bool
	exact   bool
	fits    bool // a walk of all paths does, into the budget
	text    string
	cycle   string // by channel, indented lines
	err     error
}

// prove certifies an opened network within a budget of hops.
func (o *opened) prove(budget int, wormhole bool) proof {
	c, err := deadlock.Of(o.graph, o.routing, o.vcs, deadlock.Settings{Budget: budget, Wormhole: wormhole})
	if err != nil {
		return proof{err: err}
	}
	p := proof{acyclic: c.Acyclic(), exact: c.Exact(), fits: c.Fits, text: c.Describe(o.graph)}
	if !p.acyclic { // the cycle stands below the sentence, which goes on
		p.text, p.cycle, _ = strings.Cut(p.text, "\n")
		p.cycle = "\n" + p.cycle
	}
	return p
}

// Certificate is what [Certify] finds.
type Certificate struct {
	Acyclic bool   // no cycle among the dependencies that were followed
	Exact   bool   // all of them were
	Text    string // a sentence
	Cycle   string // by channel, indented lines; empty if there is none
}

// Certify builds the channel dependency graph of a routing with so many virtual channels,
// under wormhole flow control, and looks for cycles; where there are too many paths, among a
// sample of the destinations.
func Certify(g *topology.Graph, r fabric.Routing, vcs int) (Certificate, error) {
	p := newOpened(g, r, vcs).prove(certificateBudget, true)
	return Certificate{p.acyclic, p.exact, p.text, p.cycle}, p.err
}

// network is what certificates and channel loads are computed of.
type network struct {
	topology *TopologyTable
	routing  *RoutingTable
	vcs      int // as set; 0: as many as the routing needs
	seed     uint64
	failures *failures // nil: none
	open     func() (*opened, error)
	// cutThrough: packets hold no channel but the one that their head is in.
	cutThrough bool
}

// opened is a network that has been built. vcs is never 0.
type opened struct {
	graph   *topology.Graph
	routing fabric.Routing
	vcs     int
}

// newNetwork names the network of a kind's tables. vcs is switch.vcs.
func newNetwork(t *TopologyTable, r *RoutingTable, vcs int, seed uint64, allowDeadlock bool) *network {
	n := &network{topology: t, routing: r, vcs: vcs, seed: seed}
	n.open = func() (*opened, error) {
		topo, err := t.Type.BuildShared(struct{}{})
		if err != nil {
			return nil, err
		}
		env := routing.Env{Topology: topo, TopologyName: t.Type.Name(), VCs: vcs, Seed: seed, AllowDeadlock: allowDeadlock}
		var built fabric.Routing
		if n.failures == nil {
			built, err = r.Type.Build(env)
		} else {
			built, err = n.failures.route(r, env)
		}
		if err != nil {
			return nil, err
		}
		return newOpened(topo.Graph(), built, vcs), nil
	}
	return n
}

// through is n with the flow control of switches like s.
func (n *network) through(s *fabric.SwitchConfig) *network {
	n.cutThrough = s.FlowControl == "cut-through"
	return n
}

// withFailures is n with faults.
func (n *network) withFailures(x *failures) *network {
	if len(x.tables) > 0 {
		n.failures = x
	}
	return n
}

func newOpened(g *topology.Graph, r fabric.Routing, vcs int) *opened {
	if vcs == 0 {
		vcs = max(1, r.VCs())
	}
	return &opened{g, r, vcs}
}

// fingerprint names the network: equal for points that share it.
func (n *network) fingerprint() string {
	name := fmt.Sprintf("%s\n%s\n%d %v %d", n.topology.Type.fingerprint(), n.routing.Type.fingerprint(), n.vcs, n.cutThrough, n.seed)
	if n.failures != nil {
		name += "\n" + n.failures.fingerprint()
	}
	return name
}

// prove certifies the network, once for all points with the same network; the others need
// not even open it.
func (n *network) prove(shared *sharedBuilds) proof {
	p, _ := shared.get("certificate "+n.fingerprint(), func() (any, error) {
		o, err := n.open()
		if err != nil {
			return proof{err: err}, nil
		}
		return o.prove(certificateBudget, !n.cutThrough), nil
	})
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
		p.cyclic = append(p.cyclic, fmt.Sprintf("%s on %s %s%s", n.routing.Type.Name(), n.topology.Type.Name(), c.text, c.cycle))
	default:
		return At("routing.type", fmt.Errorf("= %q %s%s%s", n.routing.Type.Name(), c.text, allowHint, c.cycle))
	}
	return nil
}

// explainVCs adds to a complaint about too few virtual channels, if err is
// nothing else, the cycle of channels that they leave on n.
func explainVCs(err error, n *network) error {
	var fault *param.ParamError
	for _, e := range flatten(err) {
		if !errors.As(e, &fault) || fault.Key != "switch.vcs" {
			return err
		}
	}
	if fault == nil {
		return nil
	}
	shared := n.topology.Type.shared
	if shared == nil {
		shared = &sharedBuilds{}
	}
	unsafe := newNetwork(n.topology, n.routing, n.vcs, n.seed, true)
	unsafe.cutThrough = n.cutThrough
	unsafe.failures = n.failures
	if proof := unsafe.prove(shared); proof.err == nil && !proof.acyclic {
		fault.Want += allowHint + ": " + proof.text + proof.cycle
	}
	return err
}

// checkFit refuses packets that no buffer holds where they must.
func checkFit(s *fabric.SwitchConfig, most int) error {
	if s.FlowControl != "cut-through" || most <= s.BufferFlits {
		return nil
	}
	return &param.ParamError{Key: "switch.buffer_flits", Value: s.BufferFlits, Want: fmt.Sprintf("at least %d: under cut-through a packet goes on only where it fits whole", most)}
}
