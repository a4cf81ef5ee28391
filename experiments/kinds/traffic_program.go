package kinds

import (
	"math"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/terminal"
	"github.com/weft-sim/weft/fabric/traffic"
)

// openLoop is the program of files that name none.
const openLoop = "open-loop"

// programTable is the [program] table.
type programTable struct {
	Type experiments.Choice[terminal.Env, fabric.Workload] `toml:"type" doc:"program that every terminal runs"`
}

// process makes the times of packets, if each counts for so many flits of the load.
func (c *trafficConfig) process(flits float64) (traffic.Process, error) {
	return c.Traffic.Process.Build(traffic.ProcessEnv{Load: c.Traffic.Load, MeanFlits: flits})
}

// workload builds the program for the terminals of the point.
func (c *trafficConfig) workload(parts *trafficParts, seed uint64) (fabric.Workload, error) {
	var processErr error // which has its own keys
	w, err := c.Program.Type.Build(terminal.Env{
		Terminals: parts.topology.Graph().Terminals(), Pattern: parts.pattern, Sizes: parts.sizes, MeanFlits: parts.sizes.Mean(),
		Process: func(flits float64) (core.Process, error) {
			var process traffic.Process
			process, processErr = c.process(flits)
			return process, processErr
		},
		Seed: seed, Clock: c.Fabric.Clock,
	})
	if processErr != nil {
		return nil, processErr
	}
	return w, err
}

// addMeasures enters what the program of a replication has noted.
func (o *trafficOutcome) addMeasures(measures []core.Measure) {
	if o.measures == nil {
		o.measures = make([]core.Measure, len(measures))
	}
	for i := range measures {
		o.measures[i].Add(&measures[i])
	}
}

// writeProgram keeps the times that the program has noted, such as round trips.
func writeProgram(run *experiments.Run, measures []core.Measure, clock float64) {
	if len(measures) == 0 {
		return
	}
	t := run.Table("program", "measure", "count", "mean_ns", "p50_ns", "p95_ns", "p99_ns", "max_ns")
	for i := range measures {
		m := &measures[i]
		if m.Cycles.N() == 0 {
			t.Add(m.Name, int64(0), math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN())
			continue
		}
		quantile := func(q float64) float64 { return m.Cycles.Quantile(q) * clock }
		t.Add(m.Name, m.Cycles.N(), m.Mean()*clock, quantile(0.5), quantile(0.95), quantile(0.99), float64(m.Cycles.Max())*clock)
	}
}
