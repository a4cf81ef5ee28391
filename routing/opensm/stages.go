package opensm

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
)

// Stages implements [routing.Staged]: one, to each terminal. Packets to it that start at
// one switch have one service level.
func (r *routed) Stages() (fabric.Routing, []routing.Stage) {
	s := r.tables.Subnet
	stage := routing.Stage{
		Goals: len(r.home),
		Start: func(goal int, at topology.SwitchID) (uint32, bool) {
			level := r.tables.Level(s.Node[at], int(s.TerminalLID[goal]))
			return routedStarted | uint32(level), at != r.home[goal]
		},
		Head: func(goal int, _ topology.SwitchID, state uint32) (topology.TerminalID, uint32) {
			return topology.TerminalID(goal), state
		},
		Ends: func(int, topology.SwitchID) (ends, goesOn bool) { return false, true },
	}
	if r.tables.lanes != nil {
		stage.Came = func(in topology.PortID) uint8 { return uint8(r.graph.LocalPort(in)) }
	}
	return r, []routing.Stage{stage}
}
