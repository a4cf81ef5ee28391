package routing

import (
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// Eras is a routing in a network whose faults come and go: one routing for each
// era, of the same algorithm, so that packets under way can go on with the next
// one. As a routing of its own it is what the deadlock certificate needs: every
// decision of every era, since packets of several eras meet.
type Eras struct{ list []fabric.Routing }

// widener is implemented by routings whose virtual-channel classes depend on
// what is down: all eras must have the same.
type widener interface{ widen(vcs int) }

// BuildEras builds a routing for every era by build, which is given env with
// the era's Down.
func BuildEras(env Env, eras []topology.Era, build func(Env) (fabric.Routing, error)) (*Eras, error) {
	e := &Eras{}
	vcs := 0
	for _, era := range eras {
		env.Down = era.Down
		r, err := build(env)
		if err != nil {
			return nil, err
		}
		e.list = append(e.list, r)
		vcs = max(vcs, r.VCs())
	}
	for _, r := range e.list {
		if w, ok := r.(widener); ok {
			w.widen(vcs)
		}
	}
	return e, nil
}

// During is the routing of an era.
func (e *Eras) During(era int) fabric.Routing { return e.list[era] }

// VCs implements [fabric.Routing].
func (e *Eras) VCs() int {
	vcs := 0
	for _, r := range e.list {
		vcs = max(vcs, r.VCs())
	}
	return vcs
}

// InjectionVCs implements [fabric.Routing].
func (e *Eras) InjectionVCs(vcs int) uint32 {
	set := uint32(0)
	for _, r := range e.list {
		set |= r.InjectionVCs(vcs)
	}
	return set
}

// Route is that of the first era.
func (e *Eras) Route(v *fabric.View, h *fabric.Head) fabric.Hop { return e.list[0].Route(v, h) }

// IgnoresTerminals implements [TerminalBlind].
func (e *Eras) IgnoresTerminals() bool {
	return !slices.ContainsFunc(e.list, func(r fabric.Routing) bool { return !ignoresTerminals(r) })
}

// Explore implements [fabric.Explorer]. With several eras no choice has a
// known probability.
func (e *Eras) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	for _, r := range e.list {
		r.(fabric.Explorer).Explore(vcs, h, func(hop fabric.Hop, state uint32, weight float64) {
			if len(e.list) > 1 {
				weight = 0
			}
			yield(hop, state, weight)
		})
	}
}
