package kinds

import (
	"fmt"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric/topology"
)

// writeLinks keeps how much every channel carried in the window, by virtual
// channel: links.csv. Channels out of switch ports come first, in port order,
// then those out of terminals.
func writeLinks(run *experiments.Run, g *topology.Graph, c *carried) {
	t := run.Table("links", "from", "to", "class", "vc", "flits", "flits_per_cycle")
	ends := g.NumPorts() + g.Terminals()
	vcs := len(c.flits) / ends
	for i, flits := range c.flits {
		from, to, class := channelEnds(g, i/vcs)
		t.Add(from, to, class, i%vcs, flits, float64(flits)/float64(c.window))
	}
}

// carried is what channels have carried in the windows of all replications.
type carried struct {
	flits  []int64 // len = (ports+terminals)*vcs, as core.Result.ChannelFlits
	window int64   // cycles
}

func (c *carried) add(flits []uint32, window int64) {
	if c.flits == nil {
		c.flits = make([]int64, len(flits))
	}
	for i, n := range flits {
		c.flits[i] += int64(n)
	}
	c.window += window
}

// rate is the load of channel i on all virtual channels together, in flits per
// cycle.
func (c *carried) rate(i, channels int) float64 {
	vcs := len(c.flits) / channels
	sum := int64(0)
	for _, n := range c.flits[i*vcs : (i+1)*vcs] {
		sum += n
	}
	return float64(sum) / float64(c.window)
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
		panic(fmt.Sprintf("kinds: port %d leads nowhere", port))
	}
	return g.PortName(port), g.TerminalName(terminal), class
}
