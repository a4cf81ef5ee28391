package network

import (
	"math"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// FollowClock sets the flit clock, fabric.clock, where it is not given: to the time
// of a flit on fabric.link or, beside an imported fabric that states the rates of
// its cables, on the fastest of them; a default of the kind's own is not exceeded.
// Where channels have a latency, of which the clock must be a divisor, it is the
// longest that is. What is wrong with the configuration is left to the kind's check.
func FollowClock(f *fabric.PhysicalConfig, t *TopologyTable, channels map[string]fabric.ChannelConfig, given func(key string) bool) {
	if given("fabric.clock") {
		return
	}
	if f.Link != "" {
		if clock, err := f.LinkTime(); err == nil {
			f.Clock = clock
		}
		return
	}
	if _, imported := t.Type.Config().(topology.PathConfig); !imported {
		return
	}
	built, err := t.Type.BuildShared(struct{}{})
	if err != nil {
		return
	}
	clock := sim.Time(math.MaxInt64)
	latency := sim.Time(0) // greatest common divisor
	for _, class := range built.Graph().Classes {
		over := channels[class.Name]
		rate := class.Rate
		if over.Rate != 0 {
			rate = over.Rate
		}
		if over.Link != "" {
			if _, linked, err := topology.ParseLink(over.Link); err == nil {
				rate = linked
			}
		}
		if rate != 0 && over.CyclesPerFlit == 0 {
			clock = min(clock, fabric.FlitTime(rate, f.FlitBytes))
		}
		latency = divisor(latency, over.Latency)
	}
	if clock == math.MaxInt64 {
		return
	}
	if own := f.Clock; own != fabric.DefaultConfig().Fabric.Clock {
		clock = min(clock, own)
	}
	if latency != 0 {
		for part := (latency + clock - 1) / clock; part < 1<<22; part++ {
			if latency%part == 0 {
				clock = latency / part
				break
			}
		}
	}
	f.Clock = clock
}

// divisor is the greatest common divisor.
func divisor(a, b sim.Time) sim.Time {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
