package fabric

import (
	"errors"

	"github.com/weft-sim/weft/fabric/topology"
)

// Check finds what is wrong with the settings for a graph and a routing, as
// [New] does, without building the network. The errors are *sim.ParamError
// with dotted keys, joined. Cost: linear in the channel classes.
func (c *Config) Check(g *topology.Graph, routing Routing) error {
	_, err := c.resolveChannels(g)
	return errors.Join(c.validate(routing), err)
}
