// Package proof certifies routings: it gathers the channel dependencies of a routing by
// the cheapest walk that covers them, and has them searched for cycles.
package proof

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/routing/certify"
)

// Settings say how much a proof may cost and what it is of.
type Settings struct {
	// Budget is the hops that walks to destinations follow before they stop at a sample of them; 0:
	// no limit.
	Budget int
	// Wormhole tells that packets hold the channels behind their head.
	Wormhole bool
}

// Proof is a certificate, and how it came about.
type Proof struct {
	certify.Certificate
	// Fits tells that a walk of all paths is within the budget; of the wider routing's paths, if
	// that was proven.
	Fits bool
}

// Of certifies a routing. In this order:
//   - the wider routing of a [routing.Widener], if it has no cycle;
//   - the walk to all destinations, if by the first few of them a tenth of the budget is
//     enough;
//   - the walk to goals of a [routing.Staged] routing, if there is no cycle, within 512 MiB;
//   - the walk to destinations until the budget is spent.
//
// The form does not depend on the number of threads. Routings with escape channels are always
// followed to destinations.
func Of(o routing.Routed, s Settings) (Proof, error) {
	g, r, vcs := o.Graph, o.Routing, o.VCs
	if wide := routing.Widened(r); wide != nil {
		if p, err := Of(routing.Routed{Graph: g, Routing: wide, VCs: vcs}, s); err == nil && p.Acyclic() && p.Exact() {
			return p, nil
		}
	}
	if escape, ok := r.(fabric.EscapeRouting); ok {
		dependencies := certify.NewEscape(vcs)
		walked, all, err := routing.EscapeDependencies(g, escape, vcs, s.Wormhole, s.Budget, dependencies.Add)
		return certified(dependencies, walked, all, err)
	}
	if s.Budget > 0 && routing.WalkExceeds(g, r, vcs, s.Budget/10) {
		if p, ok, err := byGoals(g, r, vcs); ok || err != nil {
			p.Fits = !routing.WalkExceeds(g, r, vcs, s.Budget)
			return p, err
		}
	}
	dependencies := certify.New(vcs)
	walked, all, err := routing.Dependencies(g, r, vcs, s.Budget, dependencies.Add)
	return certified(dependencies, walked, all, err)
}

func certified(dependencies *certify.Graph, walked, all int, err error) (Proof, error) {
	if err != nil {
		return Proof{}, err
	}
	return Proof{dependencies.Certify(walked, all), walked == all}, nil
}

// byGoals is the proof by a walk to goals; ok is false where there is none.
func byGoals(g *topology.Graph, r fabric.Routing, vcs int) (p Proof, ok bool, err error) {
	if _, staged := r.(routing.Staged); !staged {
		return p, false, nil
	}
	dependencies := certify.NewLocal(g, vcs)
	if dependencies == nil {
		return p, false, nil
	}
	ok, err = routing.StagedDependencies(g, r, vcs, dependencies.AddAll)
	if err != nil || !ok {
		return p, false, err
	}
	p.Certificate, ok = dependencies.Certify(routing.Ends(g, r))
	return p, ok, nil
}
