package network

import (
	"errors"
	"fmt"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/routing/proof"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// certificateBudget is the number of hops that a certificate follows, destination by
// destination, before it stops at a sample of these: a second or two. Routings that are
// followed goal by goal need no sample.
const certificateBudget = 20_000_000

// AllowHint ends the message about a network that is refused because it can deadlock: it
// tells how to run it all the same.
const AllowHint = "; --allow-deadlock, or fabric.allow_deadlock = true, runs it all the same"

// Certificate is what is known of a network's freedom from deadlock.
type Certificate struct {
	Acyclic bool   // no cycle among the dependencies that were followed
	Exact   bool   // all of them were
	Fits    bool   // a walk of all paths is no more than a certificate may cost
	Text    string // a sentence
	Cycle   string // by channel, indented lines; empty if there is none
}

// CertifyWithin is [Certify] of a network that has been built, within a budget of hops.
// wormhole: packets hold the channels behind their heads.
func CertifyWithin(o routing.Routed, budget int, wormhole bool) (Certificate, error) {
	found, err := proof.Of(o, proof.Settings{Budget: budget, Wormhole: wormhole})
	if err != nil {
		return Certificate{}, err
	}
	c := Certificate{Acyclic: found.Acyclic(), Exact: found.Exact(), Fits: found.Fits, Text: found.Describe(o.Graph)}
	if !c.Acyclic { // the cycle stands below the sentence, which goes on
		c.Text, c.Cycle, _ = strings.Cut(c.Text, "\n")
		c.Cycle = "\n" + c.Cycle
	}
	return c, nil
}

// Certify builds the channel dependency graph of a routing with so many virtual channels,
// under wormhole flow control, and looks for cycles; where there are too many paths, among a
// sample of the destinations.
func Certify(g *topology.Graph, r fabric.Routing, vcs int) (Certificate, error) {
	return CertifyWithin(Opened(g, r, vcs), certificateBudget, true)
}

// Prove certifies the network as [Certify] does, once for all points that share it; the others
// do not even open it. The error says why there is no certificate.
func (n *Spec) Prove(shared *experiments.Shared) (Certificate, error) {
	return experiments.Cached(shared, "certificate "+n.Fingerprint(), func() (Certificate, error) {
		o, err := n.Open()
		if err != nil {
			return Certificate{}, err
		}
		return CertifyWithin(o, certificateBudget, !n.cutThrough)
	})
}

// CheckCertified notes the certificate of a network in a preflight. It refuses one that can
// deadlock, unless that is allowed. Cost: that of [Certify], once for points that share a network.
func CheckCertified(p *experiments.Preflight, n *Spec, allowed bool) error {
	c, err := n.Prove(p.Shared())
	switch {
	case err != nil:
		p.Warn("routing.type", "= %q has no certificate of freedom from deadlock: %v", n.routing.Type.Name(), err)
	case c.Acyclic:
		p.Note("deadlock", "%s", c.Text)
	case allowed:
		p.Warn("routing.type", "= %q %s", n.routing.Type.Name(), c.Text+c.Cycle)
		p.MayDeadlock(fmt.Sprintf("%s on %s %s%s", n.routing.Type.Name(), n.topology.Type.Name(), c.Text, c.Cycle))
	default:
		return experiments.At("routing.type", fmt.Errorf("= %q %s%s%s", n.routing.Type.Name(), c.Text, AllowHint, c.Cycle))
	}
	return nil
}

// ExplainVCs adds to a complaint about too few virtual channels, if err is
// nothing else, the cycle of channels that they leave on n.
func ExplainVCs(err error, n *Spec) error {
	var problem *param.ParamError
	for _, e := range param.Errors(err) {
		if !errors.As(e, &problem) || problem.Key != "switch.vcs" {
			return err
		}
	}
	if problem == nil {
		return nil
	}
	unsafe := NewSpec(n.topology, n.routing, n.vcs, n.seed, true)
	unsafe.cutThrough = n.cutThrough
	unsafe.faults = n.faults
	if c, err := unsafe.Prove(n.topology.Type.Shared()); err == nil && !c.Acyclic {
		problem.Want += AllowHint + ": " + c.Text + c.Cycle
	}
	return err
}

// CheckFit refuses packets of up to most flits that are longer than the MTU, or that no
// buffer of the switch holds, where its flow control needs one to (cut-through). The error is
// a *param.ParamError.
func CheckFit(p *fabric.PhysicalConfig, s *fabric.SwitchConfig, most int) error {
	if bytes := sim.Bytes(most) * p.FlitBytes; p.MTU > 0 && bytes > p.MTU {
		return &param.ParamError{Key: "fabric.mtu", Value: p.MTU, Want: fmt.Sprintf("at least %v, or shorter packets: the longest has %d flits of fabric.flit_bytes", bytes, most)}
	}
	if s.FlowControl != "cut-through" || most <= s.BufferFlits {
		return nil
	}
	return &param.ParamError{Key: "switch.buffer_flits", Value: s.BufferFlits, Want: fmt.Sprintf("at least %d: under cut-through a packet goes on only where it fits whole", most)}
}
