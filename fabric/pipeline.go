package fabric

import "math"

// Values of SwitchConfig.Pipeline.
const (
	Overlapped = "overlapped"
	Serial     = "serial"
)

// Overlaps tells whether packets behind the front of a queue go through stages.
func (c *SwitchConfig) Overlaps() bool {
	return c.Pipeline == Overlapped && c.RouteCycles+c.VCAllocCycles > 0
}

// Cycles is the longest that a flit spends in an idle switch, its channels not
// included: all stages, in whole cycles.
func (c *SwitchConfig) Cycles() int64 { return int64(math.Ceil(float64(c.steps()) / c.Speedup)) }

// steps is the number of steps of the switch core that a head takes.
func (c *SwitchConfig) steps() int {
	return c.RouteCycles + c.VCAllocCycles + c.SwitchAllocCycles + c.CrossbarCycles
}

// OverlapsBookSim2 tells whether stages overlap in a switch that otherwise has the pipeline of
// most set-ups of BookSim2: stages for virtual channels and for the switch, and an internal
// speedup of 2.
func (c *SwitchConfig) OverlapsBookSim2() bool {
	return c.Pipeline == Overlapped && c.VCAllocCycles >= 1 && c.SwitchAllocCycles >= 1 && c.Speedup == 2 && !c.Hold
}

// CrossingCycles is the longest from a flit's grant to its departure by an idle
// channel, in cycles.
func (c *SwitchConfig) CrossingCycles() int64 {
	return int64(math.Ceil(float64(c.SwitchAllocCycles+c.CrossbarCycles) / c.Speedup))
}

// OutputsHoldUp tells whether so few flits may wait behind the crossbar that no
// channel can be full: they count from their grant.
func (c *SwitchConfig) OutputsHoldUp() bool {
	return c.OutputBufferFlits > 0 && int64(c.OutputBufferFlits) <= c.CrossingCycles()
}

// CyclesVary tells whether the time in an idle switch can be shorter than
// [SwitchConfig.Cycles]: n cycles have between floor(n*speedup) and
// ceil(n*speedup) steps, by the cycle that they begin in.
func (c *SwitchConfig) CyclesVary() bool {
	return math.Ceil(float64(c.Cycles()-1)*c.Speedup) >= float64(c.steps())
}

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
