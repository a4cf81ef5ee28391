package kinds

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/traffic"
	"github.com/weft-sim/weft/sim"
)

// trafficForks says what a network that is warm can go on with: other traffic, and other
// programs.
var trafficForks = experiments.Forks[trafficConfig]{
	Tables: []string{"traffic", "program"},
	Later: func(c *trafficConfig) []string {
		return append(c.Faults().Later(),
			"measure.window", "measure.precision", "measure.replications", "measure.find", "measure.load_precision", "measure.global_channels",
			"measure.links", "measure.series", "measure.histogram", "measure.fairness")
	},
	Check: func(c *trafficConfig) error {
		var problems []error
		refuse := func(given bool, key, why string) {
			if given {
				problems = append(problems, experiments.At(key, errors.New("does not go with [sweep] fork: "+why)))
			}
		}
		refuse(c.Measure.Find != "", "measure.find", "it looks for a load, and warms up at each")
		refuse(c.Measure.Blame, "measure.blame", "it follows packets from their birth on")
		refuse(c.Trace.Packets > 0, "trace.packets", "traces follow packets from their birth on")
		return errors.Join(problems...)
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
// the virtual channels of its routing, too, on which packets choose theirs.
func (c *trafficConfig) warmUpPart(parts *trafficParts, replication int) experiments.Warmup {
	w := experiments.Warmup{Part: replication}
	if len(c.Faults().AfterWarmup()) > 0 {
		w.Beside = fmt.Sprintf("virtual channels of the routing = %d", parts.Routing.VCs())
	}
	return w
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
	state, err := f.WarmUp(ctx, parts.workload, plan)
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
