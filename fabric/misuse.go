package fabric

import (
	"errors"
	"fmt"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
)

// GraphRouting is implemented by routings that are made for one graph, as those
// of package routing are; [New] refuses another.
type GraphRouting interface{ Graph() *topology.Graph }

// checkRouting reports a routing that was made for another network.
func checkRouting(g *topology.Graph, r Routing) error {
	made, ok := r.(GraphRouting)
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

// ready reports why f cannot be started with a source.
func (f *Fabric) ready(source Source) error {
	if f.source != nil {
		return errors.New("the fabric has been run or attached before; a run needs a new one")
	}
	if s, ok := source.(sizedSource); ok && s.Terminals() != f.graph.Terminals() {
		return fmt.Errorf("the source has %d terminals, the network %d", s.Terminals(), f.graph.Terminals())
	}
	return nil
}

// badHop reports a routing that breaks its contract.
func (n *network) badHop(h *Head, hop Hop) {
	panic(fmt.Sprintf("fabric: routing %T sent a packet for terminal %d at %s, virtual channel %d, state %#x, to port %d, virtual channels %#b",
		n.routing, h.Dst, n.graph.SwitchName(h.Switch), h.VC, h.State, hop.Port, hop.VCs))
}

// misdelivered reports a routing that led a packet to the wrong terminal.
func (n *network) misdelivered(d *Delivery, want topology.TerminalID) {
	panic(fmt.Sprintf("fabric: routing %T delivered a packet from terminal %d for %d to %d", n.routing, d.Src, want, d.Dst))
}
