package traffic

import (
	"slices"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/network"
)

// deaf lists the programs that do not react to marks.
var deaf = []string{openLoop, "request-reply", "closed-loop"}

// builtTraffic is a point and what it builds.
type builtTraffic struct {
	*trafficConfig
	parts *trafficParts
}

// idle warns of the settings of the point that change nothing.
func (c *trafficConfig) idle(parts *trafficParts) []experiments.Warning {
	use := network.Use{Config: &parts.fabric, Routing: parts.Routing, Faults: c.Faults(), Sized: parts.topology.Graph(),
		Reacts: !slices.Contains(deaf, c.Program.Type.Name()) || c.Measure.Queues > 0 && slices.Contains(c.Measure.QueueSamples, "marked")}
	return append(use.Idle(), experiments.IdleOf(idleTraffic, builtTraffic{c, parts})...)
}

const closedProgram = "the program is closed and offers no load"

var idleTraffic = []experiments.Idle[builtTraffic]{
	{Key: "traffic.load", When: builtTraffic.searches, Because: "measure.find looks for the load"},
	{Key: "traffic.load", When: builtTraffic.closed, Because: closedProgram},
	{Key: "traffic.process", When: builtTraffic.closed, Because: closedProgram},
	{Key: "measure.budget", When: func(b builtTraffic) bool {
		return !b.searches() && b.Measure.Warmup > 0 && b.Measure.Window > 0
	}, Because: "measure.warmup and measure.window are given"},
	{Key: "measure.load_precision", When: func(b builtTraffic) bool { return !b.searches() }, Because: "measure.find looks for no load"},
	{Key: "measure.queue_ports", When: builtTraffic.samplesNothing, Because: "measure.queues is 0"},
	{Key: "measure.queue_samples", When: builtTraffic.samplesNothing, Because: "measure.queues is 0"},
	{Key: "trace.*", When: func(b builtTraffic) bool { return b.Trace.Packets == 0 }, Because: "trace.packets is 0"},
}

func (b builtTraffic) searches() bool       { return b.Measure.Find != "" }
func (b builtTraffic) closed() bool         { return b.parts.workload.Closed() }
func (b builtTraffic) samplesNothing() bool { return b.Measure.Queues == 0 }
