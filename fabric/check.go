package fabric

import (
	"errors"
	"fmt"
	"math"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
)

// Check finds what is wrong with the settings for a graph and a routing, as
// [New] does, without building the network. The errors are *param.ParamError
// with dotted keys, joined. Cost: linear in the channel classes.
func (c *Config) Check(g *topology.Graph, routing Routing) error {
	_, err := c.ChannelTimings(g)
	if err := errors.Join(c.CheckSettings(routing), err); err != nil {
		return err
	}
	return c.checkMemory(g, routing)
}

// CheckSettings checks the settings by themselves and for a routing; errors as of [Config.Check].
func (c *Config) CheckSettings(routing Routing) error {
	var problems []error
	for _, part := range []struct {
		prefix string
		config any
	}{{"fabric.", &c.Fabric}, {"switch.", &c.Switch}, {"terminal.", &c.Terminal}} {
		problems = append(problems, prefixed(part.prefix, param.Validate(part.config))...)
	}
	problems = append(problems, c.checkUnit(routing)...)
	vcs, need := c.Switch.VCs, routing.VCs()
	if vcs != 0 && vcs < need && !c.Fabric.AllowDeadlock {
		problems = append(problems, &param.ParamError{Key: "switch.vcs", Value: vcs,
			Want: fmt.Sprintf("at least %d: what this routing needs to be free of deadlock (0 sets it so)", need)})
	}
	if need > MaxVCs {
		problems = append(problems, &param.ParamError{Key: "switch.vcs", Value: vcs,
			Want: fmt.Sprintf("%d virtual channels for this routing on this topology, and weft's switch has at most %d", need, MaxVCs)})
	}
	if vcs == 0 {
		vcs = need
	}
	own, ok := routing.(LaneArbitration)
	problems = append(problems, prefixed("switch.", errors.Join(c.Switch.checkLanes(min(vcs, MaxVCs), ok && own.ArbitratesLanes())...))...)
	problems = append(problems, prefixed("terminal.", errors.Join(c.checkTerminalLanes(routing.InjectionVCs(min(vcs, MaxVCs)))...))...)
	return errors.Join(problems...)
}

// MaxVCs is the largest number of virtual channels of a channel.
const MaxVCs = 16

// prefixed lists joined errors and puts prefix before their keys.
func prefixed(prefix string, err error) []error {
	all := param.Errors(err)
	for _, e := range all {
		if p, ok := e.(*param.ParamError); ok {
			p.Key = prefix + p.Key
		}
	}
	return all
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

// BufferWarnings names the channel classes whose buffers are too shallow for
// their credit round trip, so that a virtual channel can never be full. It
// returns nothing for settings that New would refuse.
func (c *Config) BufferWarnings(g *topology.Graph) []string {
	timings, err := c.ChannelTimings(g)
	if err != nil {
		return nil
	}
	used := make([]bool, len(g.Classes))
	for _, class := range g.PortClass {
		used[class] = true
	}
	var warnings []string
	for i, class := range g.Classes {
		if !used[i] {
			continue
		}
		t := timings[i]
		trip := c.Switch.RoundTrip(t.Latency)
		need := int64(math.Ceil(float64(trip) / t.CyclesPerFlit))
		if int64(c.Switch.BufferFlits) >= need {
			continue
		}
		warnings = append(warnings, fmt.Sprintf(
			"is too small: channel %q can never be full on one virtual channel: %d flits of buffer for a credit round trip of %d cycles carry at most %.3f flits a cycle; switch.buffer_flits = %d would fill it",
			class.Name, c.Switch.BufferFlits, trip, float64(c.Switch.BufferFlits)/float64(trip), need))
	}
	return warnings
}
