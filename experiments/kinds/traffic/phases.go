package traffic

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/traffic"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
)

// phaseTable is a [phase.NAME] table.
type phaseTable struct {
	At      int64                                            `toml:"at" doc:"first cycle of the phase, from the start of the window" unit:"cycles" min:"0"`
	Pattern experiments.Choice[traffic.Env, traffic.Pattern] `toml:"pattern" doc:"destinations of the packets born from then on, until the next phase"`
	Load    float64                                          `toml:"load" doc:"offered load from then on, until the next phase; -1: traffic.load" unit:"flits per terminal and cycle" min:"-1" max:"1"`
}

// Defaults implements [experiments.Defaulter].
func (p *phaseTable) Defaults() {
	p.Pattern, p.Load = experiments.Choose(traffic.Patterns, "uniform"), sameLoad
}

// sameLoad is the load of a phase that has traffic.load's.
const sameLoad = -1

// inOrder are the names of the phases.
func (c *trafficConfig) inOrder() []string {
	return slices.SortedFunc(maps.Keys(c.Phase), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.Phase[a].At, c.Phase[b].At), cmp.Compare(a, b))
	})
}

// offered is the load in the mean of the window.
func (c *trafficConfig) offered() float64 {
	load, from, more := c.Traffic.Load, int64(0), 0.0 // more than traffic.load, in flits
	for _, name := range c.inOrder() {
		phase := c.Phase[name]
		more += (load - c.Traffic.Load) * float64(phase.At-from)
		if load, from = phase.Load, phase.At; load == sameLoad {
			load = c.Traffic.Load
		}
	}
	more += (load - c.Traffic.Load) * float64(c.Measure.Window-from)
	return c.Traffic.Load + more/float64(max(c.Measure.Window, 1))
}

// phases are those of the tables [phase.NAME], by their cycles in the run.
func (c *trafficConfig) phases(parts *trafficParts, seed uint64) ([]measure.Phase, error) {
	if len(c.Phase) == 0 {
		return nil, nil
	}
	m := &c.Measure
	switch {
	case m.Find != "":
		return nil, document.At("measure.find", errors.New("does not go with [phase.NAME]: the search for a load wants traffic that stays the same"))
	case m.Warmup == 0 || m.Window == 0:
		key, what := "measure.warmup", "the warm-up"
		if m.Warmup > 0 {
			key, what = "measure.window", "the window"
		}
		return nil, document.At(key, fmt.Errorf("= 0: want a number of cycles with [phase.NAME]: what ends %s is that the traffic has settled, and it changes", what))
	case c.Program.Type.Name() != openLoop:
		return nil, document.At("program.type", fmt.Errorf("= %q: want %q with [phase.NAME]", c.Program.Type.Name(), openLoop))
	}
	names := c.inOrder()
	var phases []measure.Phase
	var problems []error
	quiet := func(p traffic.Pattern) bool { _, sparse := p.(traffic.Sparse); return sparse }
	if quiet(parts.pattern) {
		problems = append(problems, document.At("traffic.pattern", errors.New("has silent terminals, which do not go with [phase.NAME]")))
	}
	for i, name := range names {
		phase, key := c.Phase[name], "phase."+document.QuoteName(name)
		if phase.At >= m.Window {
			problems = append(problems, document.At(key+".at", fmt.Errorf("= %d: want at most %d, a cycle of the window", phase.At, m.Window-1)))
		}
		if i > 0 && phase.At == c.Phase[names[i-1]].At {
			problems = append(problems, document.At(key+".at", fmt.Errorf("= %d: phase %s begins then, too", phase.At, names[i-1])))
		}
		pattern, err := phase.Pattern.Build(traffic.Env{Topology: parts.topology, TopologyName: c.Topology.Type.Name(), Seed: seed})
		if quiet(pattern) {
			err = document.At(key+".pattern", errors.New("has silent terminals: want all to send in every phase"))
		}
		problems = append(problems, err)
		next := measure.Phase{From: m.Warmup + phase.At, Pattern: pattern}
		if phase.Load != sameLoad && parts.sizes != nil {
			next.Process, err = c.Traffic.Process.Build(traffic.ProcessEnv{Load: phase.Load, MeanFlits: parts.sizes.Mean()})
			var wrong *param.ParamError
			if errors.As(err, &wrong) && wrong.Key == "traffic.load" {
				err = &param.ParamError{Key: key + ".load", Value: phase.Load, Want: wrong.Want}
			}
			problems = append(problems, err)
		}
		phases = append(phases, next)
	}
	return phases, errors.Join(problems...)
}

var lapseTable = experiments.FurtherTable{Name: "time_lapse", Doc: "what arrived in the intervals of the window", Columns: []experiments.Column{
	{Name: "time_ns", Doc: "start of the interval, from that of the window"},
	{Name: "accepted_load", Doc: "flits delivered in it, per terminal that sends and cycle"},
	{Name: "latency_mean_ns", Doc: "mean latency of the packets that arrived in it; empty where none did"},
	{Name: "minimal_fraction", Doc: "share of those packets that took a minimal path; empty where none arrived"},
}}

// checkLapse refuses more intervals than can be kept.
func (c *trafficConfig) checkLapse() error {
	if c.Measure.Lapse == 0 {
		return nil
	}
	if c.Measure.Window == 0 && c.Measure.Replications > 1 {
		return document.At("measure.time_lapse", errors.New("of several replications needs measure.window: windows that are found differ in length"))
	}
	const rowBytes = 200 // of time_lapse.csv, with its cells
	rows := math.Ceil(float64(cmp.Or(c.Measure.Window, c.budget(0, false))) / float64(network.CyclesOf(c.Measure.Lapse, c.Fabric.Clock)))
	return input.CheckMemory("measure.time_lapse", c.Measure.Lapse, fmt.Sprintf("%.3g intervals", rows), rows*rowBytes)
}

// writeLapse keeps what arrived over time, in all replications: time_lapse.csv.
func writeLapse(run *experiments.Run, c *trafficConfig, o *trafficOutcome) {
	t, clock := run.Table(lapseTable), c.Fabric.Clock.Nanoseconds()
	every := network.CyclesOf(c.Measure.Lapse, c.Fabric.Clock)
	perCycle := float64(o.topology.Graph().Terminals()) * o.senders * float64(c.Measure.Replications)
	for i := range (o.window + every - 1) / every {
		var s measure.LapseStep
		if int(i) < len(o.lapse) {
			s = o.lapse[i]
		}
		cycles := min(every, o.window-i*every)
		t.Add(float64(i*every)*clock, float64(s.Flits)/float64(cycles)/perCycle,
			float64(s.Latency)/float64(s.Packets)*clock, 1-float64(s.NonMinimal)/float64(s.Packets))
	}
}
