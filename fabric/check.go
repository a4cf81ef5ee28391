package fabric

import (
	"errors"
	"fmt"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/input"
)

// Check finds what is wrong with the settings for a graph and a routing, as
// [New] does, without building the network. The errors are *param.ParamError
// with dotted keys, joined. Cost: linear in the channel classes.
func (c *Config) Check(g *topology.Graph, routing Routing) error {
	_, err := c.resolveChannels(g)
	if err := errors.Join(c.validate(routing), err); err != nil {
		return err
	}
	return c.checkMemory(g, routing)
}

// What a network takes at least, in bytes: a switch port; a virtual channel of its
// queue and of its output; a terminal.
const (
	portBytes     = 48
	channelBytes  = 48
	terminalBytes = 64
)

// checkMemory refuses a network that does not fit into the machine's memory.
func (c *Config) checkMemory(g *topology.Graph, routing Routing) error {
	vcs := c.Switch.VCs
	if vcs == 0 {
		vcs = routing.VCs()
	}
	bytes := float64(g.NumPorts())*float64(portBytes+channelBytes*vcs) + float64(g.Terminals())*terminalBytes
	return input.CheckMemory("switch.vcs", vcs, fmt.Sprintf("%d switch ports of so many virtual channels", g.NumPorts()), bytes)
}
