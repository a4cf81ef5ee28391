package network

import (
	"slices"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
)

// Use is what decides which settings of a network change something.
type Use struct {
	Config  *fabric.Config
	Routing fabric.Routing
	Faults  *Faults         // nil: the kind has none
	Sized   *topology.Graph // where what is sent is sized in flits; nil: in bytes
	// Reacts tells that something beside the routing reads marks: what terminals do, or a
	// series of samples.
	Reacts bool
}

// countsBytes tells whether something in a network whose packets are sized in flits counts bytes.
func (u *Use) countsBytes() bool {
	own, ok := u.Routing.(fabric.LaneArbitration)
	f := &u.Config.Fabric
	if f.Link != "" || f.MTU > 0 || u.Config.Switch.VLArbLow+u.Config.Switch.VLArbHigh+u.Config.Terminal.VLArbLow+u.Config.Terminal.VLArbHigh != "" || ok && own.ArbitratesLanes() || u.Config.Switch.Marks() {
		return true
	}
	return slices.ContainsFunc(u.Sized.Classes, func(c topology.Class) bool {
		own := u.Config.Channels[c.Name]
		return c.Rate != 0 || own.Rate != 0 || own.Link != ""
	})
}

// Idle warns of the settings that change nothing.
func (u *Use) Idle() []experiments.Warning {
	list := slices.Clone(idle)
	if r, ok := u.Routing.(param.Idler); ok {
		for _, s := range r.IdleSettings() {
			list = append(list, experiments.Idle[*Use]{Key: "routing." + s.Key, When: func(*Use) bool { return true }, Because: s.Because})
		}
	}
	return experiments.IdleOf(list, u)
}

const noFaults = "nothing fails"

var idle = []experiments.Idle[*Use]{
	{Key: "recovery.*", When: func(u *Use) bool { return u.Faults != nil && len(u.Faults.Tables) == 0 }, Because: noFaults},
	{Key: "recovery.timeout", When: func(u *Use) bool {
		return u.Faults != nil && len(u.Faults.Tables) > 0 && u.Faults.Recovery.Retries == 0
	}, Because: "recovery.retries is 0"},
	{Key: "fabric.flit_bytes", When: func(u *Use) bool { return u.Sized != nil && !u.countsBytes() }, Because: "no rate, link or size is in bytes"},
	{Key: "switch.pipeline", When: func(u *Use) bool {
		return u.Config.Switch.RouteCycles+u.Config.Switch.VCAllocCycles == 0
	}, Because: "route_cycles and vc_alloc_cycles are 0"},
	{Key: "switch.credits_undelayed", When: func(u *Use) bool { return !u.Config.Switch.SensesCredits(u.Routing) }, Because: "no credits are delayed: switch.credit_sensing is off"},
	{Key: "switch.marking", When: func(u *Use) bool { return !u.Reacts && !fabric.NeedsOf(u.Routing).Marked }, Because: "nothing reacts to marks: neither the routing nor what the terminals do"},
}
