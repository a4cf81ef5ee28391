package fabric

import (
	"fmt"
	"math"

	"github.com/weft-sim/weft/fabric/topology"
)

// RoundTrip is the shortest credit round trip of a channel class in cycles:
// from a flit's grant at one switch until its credit can be used there again,
// if the next switch passes the flit on at once. channel is the class's
// latency.
func (c *SwitchConfig) RoundTrip(channel int64) int64 {
	cycles := func(steps int) int64 { return int64(math.Ceil(float64(steps) / c.Speedup)) }
	out := cycles(c.SwitchAllocCycles + c.CrossbarCycles)
	back := cycles(c.RouteCycles + c.VCAllocCycles + c.SwitchAllocCycles)
	return out + channel + back + channel + int64(c.CreditCycles)
}

// BufferWarnings names the channel classes whose buffers are too shallow for
// their credit round trip, so that a virtual channel can never be full. It
// returns nothing for settings that New would refuse.
func (c *Config) BufferWarnings(g *topology.Graph) []string {
	timings, err := c.resolveChannels(g)
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
		trip := c.Switch.RoundTrip(int64(t.latency))
		interval := float64(t.interval) / (1 << intervalShift)
		need := int64(math.Ceil(float64(trip) / interval))
		if int64(c.Switch.BufferFlits) >= need {
			continue
		}
		warnings = append(warnings, fmt.Sprintf(
			"is too small: channel %q can never be full on one virtual channel: %d flits of buffer for a credit round trip of %d cycles carry at most %.3f flits a cycle; switch.buffer_flits = %d would fill it",
			class.Name, c.Switch.BufferFlits, trip, float64(c.Switch.BufferFlits)/float64(trip), need))
	}
	return warnings
}
