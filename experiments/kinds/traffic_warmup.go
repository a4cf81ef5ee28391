package kinds

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/traffic"
	"github.com/weft-sim/weft/sim"
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

// trafficForks says what a network that is warm can go on with: other traffic, and other
// programs.
var trafficForks = experiments.Forks[trafficConfig]{
	Tables: []string{"traffic", "program"},
	Later: func(c *trafficConfig) []string {
		return append(c.Faults().Later(),
			"measure.window", "measure.precision", "measure.replications", "measure.find", "measure.load_precision", "measure.global_channels",
			"measure.links", "measure.series", "measure.histogram", "measure.fairness",
			"trace.choose", "trace.every", "trace.sources", "trace.destinations")
	},
	Check: func(c *trafficConfig, warmup func(string) bool) error {
		if c.Measure.Find == "" || warmup("traffic.load") || warmup("program.type") {
			return nil
		}
		return experiments.At("measure.find", errors.New("looks for a load: give the common warm-up one, as by warmup = { \"traffic.load\" = 0.3 } in [sweep] fork"))
	},
}

// predecessor builds the workload of a warm-up, for the network of another point.
func (c *trafficConfig) predecessor(parts *trafficParts, seed uint64) (fabric.Workload, error) {
	warm := *parts
	var err error
	if warm.sizes, err = traffic.NewSizes(c.Traffic.PacketFlits, c.Traffic.PacketWeights); err != nil {
		return nil, err
	}
	if warm.pattern, err = c.Traffic.Pattern.Build(traffic.Env{Topology: parts.topology, TopologyName: c.Topology.Type.Name(), Seed: seed}); err != nil {
		return nil, err
	}
	return c.workload(&warm, seed)
}

// warmUpPart names the warm-up of a replication. What fails after the warm-up can add to
// the virtual channels of its routing, too, on which packets choose theirs. A search that
// does not go on from a common warm-up has one for each load that it tries.
func (c *trafficConfig) warmUpPart(parts *trafficParts, replication int, forks bool) experiments.Warmup {
	var beside []string
	if len(c.Faults().AfterWarmup()) > 0 {
		beside = append(beside, fmt.Sprintf("virtual channels of the routing = %d", parts.Routing.VCs()))
	}
	if c.Measure.Find != "" && !forks {
		beside = append(beside, fmt.Sprintf("load tried = %v", c.Traffic.Load))
	}
	return experiments.Warmup{Part: replication, Beside: strings.Join(beside, ", ")}
}

// warmUp simulates the warm-up of a replication, in the configuration of the fork if there
// is one.
func (c *trafficConfig) warmUp(ctx context.Context, run *experiments.Run, part experiments.Warmup) ([]byte, error) {
	if config, _, ok := run.Fork(); ok {
		c = config.(*trafficConfig)
	}
	seed := replicationSeed(run.Seed, part.Part)
	parts, err := c.build(seed)
	if err != nil {
		return nil, err
	}
	f, err := parts.Routed.Fabric(parts.topology.Graph(), parts.fabric, seed)
	if err != nil {
		return nil, err
	}
	count := fabricCounter(f, run)
	plan := c.plan(parts, run)
	plan.Progress = func() {
		count()
		run.Advance(f.Cycle(), 0, "cycles of the common warm-up")
	}
	kept := run.WarmCheckpoint(part)
	plan.From, plan.Snapshot = kept.Open(), kept.SaveTo
	state, err := measure.WarmUp(ctx, f, parts.workload, plan)
	if err != nil {
		return nil, fmt.Errorf("warm-up: %w", err)
	}
	count()
	return state, nil
}

// successorSeed is the seed of the traffic that follows a warm-up: the numbers of that are
// not drawn again.
func successorSeed(seed uint64) uint64 {
	stream := sim.NewStream(seed, "behind the warm-up", 0)
	return stream.Uint64()
}

// cyclesOf is the number of cycles that begin in a time.
func cyclesOf(t, clock sim.Time) int64 { return int64((t + clock - 1) / clock) }
