package experiments

import (
	"math"
	"reflect"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// clocked are the parts of a point's configuration that its flit clock depends on.
type clocked struct {
	physical *fabric.PhysicalConfig
	topology *Choice[struct{}, topology.Topology]
	channels map[string]fabric.ChannelConfig
}

// clockedParts finds them; physical is nil for kinds without a fabric.
func clockedParts(config any) clocked {
	var c clocked
	for _, table := range fieldsOf(reflect.ValueOf(config).Elem()).list {
		switch x := table.value.Addr().Interface().(type) {
		case *fabric.PhysicalConfig:
			c.physical = x
		case *TopologyTable:
			c.topology = &x.Type
		case *map[string]fabric.ChannelConfig:
			c.channels = *x
		}
	}
	return c
}

// followClock sets the flit clock of a point that does not state it: to the time
// of a flit on fabric.link or, beside an imported fabric that states the rates of
// its cables, on the fastest of them; a default of the kind's own is not exceeded.
// Where channels have a latency, of which the clock must be a divisor, it is the
// longest that is. What is wrong with the configuration is reported by the kind.
func followClock(d *document, config, defaults any) {
	c := clockedParts(config)
	if c.physical == nil || c.topology == nil {
		return
	}
	table, _ := d.tree["fabric"].(map[string]any)
	_, given := table["clock"]
	if c.physical.Link != "" {
		if clock, err := c.physical.LinkTime(); err == nil && !given {
			c.physical.Clock = clock
		}
		return
	}
	if _, imported := c.topology.Config().(topology.PathConfig); !imported || given {
		return
	}
	t, err := c.topology.BuildShared(struct{}{})
	if err != nil {
		return
	}
	clock := sim.Time(math.MaxInt64)
	latency := sim.Time(0) // greatest common divisor
	for _, class := range t.Graph().Classes {
		over := c.channels[class.Name]
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
			clock = min(clock, fabric.FlitTime(rate, c.physical.FlitBytes))
		}
		latency = divisor(latency, over.Latency)
	}
	if clock == math.MaxInt64 {
		return
	}
	if own := clockedParts(defaults).physical.Clock; own != fabric.DefaultConfig().Fabric.Clock {
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
	c.physical.Clock = clock
}

// divisor is the greatest common divisor.
func divisor(a, b sim.Time) sim.Time {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
