package fabric

import (
	"fmt"

	"github.com/weft-sim/weft/fabric/topology"
)

// badHop reports a routing that breaks its contract.
func (n *network) badHop(h *Head, hop Hop) {
	panic(fmt.Sprintf("fabric: routing %T sent a packet for terminal %d at %s, virtual channel %d, state %#x, to port %d, virtual channels %#b",
		n.routing, h.Dst, n.graph.SwitchName(h.Switch), h.VC, h.State, hop.Port, hop.VCs))
}

// misdelivered reports a routing that led a packet to the wrong terminal.
func (n *network) misdelivered(d *Delivery, want topology.TerminalID) {
	panic(fmt.Sprintf("fabric: routing %T delivered a packet from terminal %d for %d to %d", n.routing, d.Src, want, d.Dst))
}
