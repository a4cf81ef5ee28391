package experiments

import (
	"fmt"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// writeLinks keeps how much every channel carried in the window, by virtual
// channel: links.csv. Channels out of switch ports come first, in port order,
// then those out of terminals.
func writeLinks(run *Run, g *topology.Graph, r *fabric.Result) {
	t := run.Table("links", "from", "to", "class", "vc", "flits", "flits_per_cycle")
	ends := g.NumPorts() + g.Terminals()
	vcs := len(r.ChannelFlits) / ends
	for i, flits := range r.ChannelFlits {
		from, to, class := channelEnds(g, i/vcs)
		t.Add(from, to, class, i%vcs, int64(flits), float64(flits)/float64(r.Window))
	}
}

// channelEnds names both ends and the class of channel i: out of port i, or of
// terminal i - ports.
func channelEnds(g *topology.Graph, i int) (from, to, class string) {
	if i >= g.NumPorts() {
		terminal := topology.TerminalID(i - g.NumPorts())
		port := g.TerminalPort[terminal]
		return g.TerminalName(terminal), g.PortName(port), g.Classes[g.PortClass[port]].Name
	}
	port := topology.PortID(i)
	class = g.Classes[g.PortClass[port]].Name
	if peer, ok := g.PeerPort(port); ok {
		return g.PortName(port), g.PortName(peer), class
	}
	terminal, ok := g.PeerTerminal(port)
	if !ok {
		panic(fmt.Sprintf("experiments: port %d leads nowhere", port))
	}
	return g.PortName(port), g.TerminalName(terminal), class
}
