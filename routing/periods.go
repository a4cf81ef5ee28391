package routing

import (
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// Periods is a routing in a network whose faults come and go: one routing for each
// period, of the same algorithm, so that packets under way can go on with the next
// one. As a routing of its own it is what the deadlock certificate needs: every
// decision of every period, since packets of several periods meet.
type Periods struct{ list []fabric.Routing }

// widener is implemented by routings whose virtual-channel classes depend on
// what is down: all periods must have the same.
type widener interface{ widen(vcs int) }

// BuildPeriods builds a routing for every period by build, which is given env with
// the period's Down.
func BuildPeriods(env Env, periods []topology.Period, build func(Env) (fabric.Routing, error)) (*Periods, error) {
	e := &Periods{}
	vcs := 0
	for _, period := range periods {
		env.Down = period.Down
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

// During is the routing of a period.
func (e *Periods) During(period int) fabric.Routing { return e.list[period] }

// VCs implements [fabric.Routing].
func (e *Periods) VCs() int {
	vcs := 0
	for _, r := range e.list {
		vcs = max(vcs, r.VCs())
	}
	return vcs
}

// InjectionVCs implements [fabric.Routing].
func (e *Periods) InjectionVCs(vcs int) uint32 {
	set := uint32(0)
	for _, r := range e.list {
		set |= r.InjectionVCs(vcs)
	}
	return set
}

// Route is that of the first period.
func (e *Periods) Route(v *fabric.View, h *fabric.Head) fabric.Hop { return e.list[0].Route(v, h) }

// IgnoresTerminals implements [TerminalBlind].
func (e *Periods) IgnoresTerminals() bool {
	return !slices.ContainsFunc(e.list, func(r fabric.Routing) bool { return !ignoresTerminals(r) })
}

// Explore implements [fabric.Explorer]. With several periods no choice has a
// known probability.
func (e *Periods) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	for _, r := range e.list {
		r.(fabric.Explorer).Explore(vcs, h, func(hop fabric.Hop, state uint32, weight float64) {
			if len(e.list) > 1 {
				weight = 0
			}
			yield(hop, state, weight)
		})
	}
}
