package kinds

import (
	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/sim/stats"
)

// addLevels sums up the service levels of replications.
func (o *trafficOutcome) addLevels(r *core.Result) {
	for i, t := range r.Levels() {
		if o.levels == nil {
			o.levels = make([]core.LevelTally, len(r.Levels()))
		}
		o.levels[i].Add(&t)
	}
}

// writeLevels keeps what was measured of the service levels in use: levels.csv.
func writeLevels(run *experiments.Run, levels []core.LevelTally, window int64, clock float64) {
	t := run.Table("levels", "service_level", "packets_measured", "flits_per_cycle",
		"latency_mean_ns", "latency_p50_ns", "latency_p99_ns", "latency_max_ns")
	for i := range levels {
		l := &levels[i]
		if l.Packets == 0 && l.Flits == 0 {
			continue
		}
		t.Add(i, l.Packets, float64(l.Flits)/float64(window), stats.Finite(float64(l.Sum)/float64(l.Packets))*clock,
			l.Latency.Quantile(0.5)*clock, l.Latency.Quantile(0.99)*clock, float64(l.Latency.Max())*clock)
	}
}
