package core

import (
	"fmt"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// SetFaults makes things fail during the run. It must be called before
// [Fabric.Attach]. Credit sensing, whose record of round trips a discarded
// packet would leave open, is an error where something fails during the run.
func (f *Fabric) SetFaults(plan *fabric.FaultPlan) error {
	if len(plan.Periods) == 0 || len(plan.Periods) != len(plan.Routing) || plan.Periods[0].From != 0 {
		panic("core: a fault plan without a period, or a routing for every period, from cycle 0 on")
	}
	if f.unit != nil {
		return fmt.Errorf("packets as the unit cannot be discarded on their way: set fabric.unit = \"flit\", or let faults last for the whole run and cut nobody off")
	}
	if f.sensing != nil && len(plan.Periods) > 1 {
		return fmt.Errorf("credit sensing cannot follow packets that are discarded: set switch.credit_sensing = \"off\", or let faults last for the whole run")
	}
	if (f.lanes != nil || f.laneQueues != nil) && len(plan.Periods) > 1 {
		return fmt.Errorf("arbitration between lanes cannot follow packets that are discarded while they cross a switch: leave out switch.vlarb_high and vlarb_low, or let faults last for the whole run")
	}
	for _, r := range plan.Routing {
		if err := checkRouting(f.graph, r); err != nil {
			return err
		}
	}
	x := &faults{fabric: f, plan: plan, down: plan.Periods[0].Down, whole: plan.Periods[0].Down.None(), senders: make([]sender, f.graph.Terminals())}
	if plan.AfterWarmup {
		x.origin = fabric.Never
	}
	x.learn(0)
	f.Faults, f.routing = x, x
	if f.departer != nil {
		f.departer = x
	}
	f.SourcePackets = &sourcePacketTable{}
	return nil
}

// Route implements [fabric.Routing]: packets that are sent to a channel that is down
// are discarded.
func (x *faults) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	hop := x.Routing.Route(v, h)
	if hop.Port != topology.NoPort && x.down.Port(hop.Port) {
		return fabric.Discard
	}
	return hop
}

// Depart implements [fabric.Departer].
func (x *faults) Depart(v *fabric.View, h *fabric.Head) uint32 {
	return x.Routing.(fabric.Departer).Depart(v, h)
}

// ReadsWithin implements [fabric.RemoteReader] for the routings of all periods.
func (x *faults) ReadsWithin(domain []int) bool {
	for _, routing := range x.plan.Routing {
		if r, ok := routing.(fabric.RemoteReader); ok && !r.ReadsWithin(domain) {
			return false
		}
	}
	return true
}

// learn lets switches and terminals go by the faults of a period.
func (x *faults) learn(period int) {
	x.known = period
	x.Routing = x.plan.Routing[period]
	x.part = x.plan.Periods[period].Down.Components()
}

// reachable tells whether terminals know of a path from src to dst.
func (x *faults) reachable(g *topology.Graph, src, dst topology.TerminalID) bool {
	from, to := g.TerminalSwitch(src), g.TerminalSwitch(dst)
	return !x.down.Switch(from) && x.part[from] >= 0 && x.part[from] == x.part[to]
}

// WarmedUp tells a network that its warm-up has ended, if that is news: what is to fail
// after it counts from the present cycle.
func (f *Fabric) WarmedUp() {
	if f.Faults != nil && f.Faults.origin == fabric.Never {
		f.Faults.origin = f.Cycle()
	}
}

// changes is the first cycle of the period behind one, and heard the one in which the routing
// goes by it; Never: there is none, or it is not known yet.
func (x *faults) changes(period int) int64 {
	if period+1 >= len(x.plan.Periods) || x.origin == fabric.Never {
		return fabric.Never
	}
	return x.origin + x.plan.Periods[period+1].From
}

func (x *faults) heard(period int) int64 {
	if c := x.changes(period); c < fabric.Never {
		return c + x.plan.Reroute
	}
	return fabric.Never
}

// next is the next cycle in which something changes.
func (x *faults) next() int64 { return min(x.heard(x.known), x.changes(x.now)) }
