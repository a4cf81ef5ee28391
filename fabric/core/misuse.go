package core

import (
	"errors"
	"fmt"
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// checkRouting reports a routing that was made for another network.
func checkRouting(g *topology.Graph, r fabric.Routing) error {
	made, ok := r.(fabric.GraphRouting)
	if !ok || sameNetwork(g, made.Graph()) {
		return nil
	}
	other := made.Graph()
	return fmt.Errorf("the routing was made for another network, of %d switches and %d terminals; this one has %d and %d, and other cables",
		other.Switches(), other.Terminals(), g.Switches(), g.Terminals())
}

// sameNetwork tells whether two graphs have the same cables.
func sameNetwork(a, b *topology.Graph) bool {
	return a == b || slices.Equal(a.PortStart, b.PortStart) && slices.Equal(a.Peer, b.Peer)
}

// sizedSource is implemented by sources that are made for so many terminals.
type sizedSource interface{ Terminals() int }

// CheckSource tells why f cannot be started with a source; nil: it can.
func (f *Fabric) CheckSource(source fabric.Source) error {
	if f.source != nil {
		return errors.New("the fabric has been run or attached before; a run needs a new one")
	}
	if s, ok := source.(sizedSource); ok && s.Terminals() != f.graph.Terminals() {
		return fmt.Errorf("the source has %d terminals, the network %d", s.Terminals(), f.graph.Terminals())
	}
	return nil
}

// misuse panics with what the routing has done.
func (n *network) misuse(format string, args ...any) {
	panic(&fabric.Misuse{Of: "routing", By: n.routing, Did: fmt.Sprintf(format, args...)})
}

// badHop reports a routing that breaks its contract.
func (n *network) badHop(h *fabric.Head, hop fabric.Hop) {
	if hop == fabric.Discard {
		n.misuse("discards a packet for terminal %d at %s, in a network without faults: a packet may be discarded (fabric.Discard) only where faults leave it no path; return a port", h.Dst, n.graph.SwitchName(h.Switch))
	}
	n.misuse("sent a packet for terminal %d at %s, virtual channel %d, state %#x, to port %d, virtual channels %#b: want a port of that switch, and some of its %d virtual channels",
		h.Dst, n.graph.SwitchName(h.Switch), h.VC, h.State, hop.Port, hop.VCs, n.unicastVCs)
}

// misdelivered reports a routing that led a packet to the wrong terminal.
func (n *network) misdelivered(d *fabric.Delivery, want topology.TerminalID) {
	n.misuse("delivered a packet from terminal %d for %d to %d", d.Src, want, d.Dst)
}
