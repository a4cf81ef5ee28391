package kinds

import (
	"fmt"
	"math"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// warmupWarnings finds a warm-up that ends before a packet can have arrived over the
// slowest channel between switches: the window would count how an empty network fills, and
// the accepted load would be too low. preflightTraffic compares with the idle latency, too.
func (c *trafficConfig) warmupWarnings(parts *trafficParts) []experiments.Warning {
	g := parts.topology.Graph()
	timings, err := parts.fabric.ChannelTimings(g)
	first := firstArrival(g, timings)
	if warmup := c.Measure.Warmup; err != nil || warmup == 0 || first <= warmup {
		return nil
	}
	return []experiments.Warning{{Key: "measure.warmup", Message: fmt.Sprintf(
		"= %d: ends before a packet can have arrived over the slowest channel between switches, after %d cycles on channels alone; 0 warms up until the mean latency has settled", c.Measure.Warmup, first)}}
}

// firstArrival is the least time in cycles that a flit takes on channels if one of them is the
// slowest between switches; 0 if there is one switch.
func firstArrival(g *topology.Graph, timings []fabric.ChannelTiming) int64 {
	between := int64(0)
	for p, peer := range g.Peer {
		if peer >= 0 {
			between = max(between, timings[g.PortClass[p]].Latency)
		}
	}
	if between == 0 {
		return 0
	}
	terminal := int64(math.MaxInt64)
	for _, p := range g.TerminalPort {
		terminal = min(terminal, timings[g.PortClass[p]].Latency)
	}
	return 2*terminal + between
}
