package traffic

import (
	"errors"
	"fmt"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/stats"
)

var levelsTable = experiments.Undocumented("levels", append([]string{"service_level"}, tallyColumns...)...)

// tallyColumns are those of [tallyCells].
var tallyColumns = []string{"packets_measured", "flits_per_cycle", "latency_mean_ns", "latency_p50_ns", "latency_p99_ns", "latency_max_ns"}

// tallyCells are what was measured of some packets, in tallyColumns.
func tallyCells(l *measure.Tally, window int64, clock float64) []any {
	return []any{l.Packets, float64(l.Flits) / float64(window), stats.Finite(float64(l.Sum)/float64(l.Packets)) * clock,
		l.Latency.Quantile(0.5) * clock, l.Latency.Quantile(0.99) * clock, float64(l.Latency.Max()) * clock}
}

// writeLevels keeps what was measured of the service levels in use: levels.csv.
func writeLevels(run *experiments.Run, levels []measure.Tally, window int64, clock float64) {
	t := run.Table(levelsTable)
	for i := range levels {
		if l := &levels[i]; l.Packets > 0 || l.Flits > 0 {
			t.Add(append([]any{i}, tallyCells(l, window, clock)...)...)
		}
	}
}

var pairsTable = experiments.FurtherTable{Name: "pairs", Doc: "packets between terminals that measure.pairs names", Columns: []experiments.Column{
	{Name: "source", Doc: "name of the terminal that sends; *: any"},
	{Name: "destination", Doc: "name of the terminal that receives; *: any"},
	{Name: "packets_measured", Doc: "packets born in the window and delivered"},
	{Name: "flits_per_cycle", Doc: "flits delivered in the window, by its length"},
	{Name: "latency_mean_ns", Doc: "mean packet latency; in a point that is saturated latencies are of the packets that have arrived"},
	{Name: "latency_p50_ns", Doc: "median packet latency"}, {Name: "latency_p99_ns", Doc: "99th percentile of packet latency"}, {Name: "latency_max_ns", Doc: "largest packet latency"},
}}

// pairsOf finds the terminals that measure.pairs names.
func pairsOf(g *topology.Graph, names []string) ([]measure.Pair, error) {
	find := topology.Finder{Graph: g}
	var pairs []measure.Pair
	var problems []error
	for i, pair := range names {
		problem := func(err error) { problems = append(problems, document.At(fmt.Sprintf("measure.pairs[%d]", i), err)) }
		end := func(name string) topology.TerminalID {
			if name = strings.TrimSpace(name); name == anyTerminal {
				return measure.AnyTerminal
			}
			t, err := find.Terminal(name)
			if err != nil {
				problem(fmt.Errorf("= %q: %w", pair, err))
			}
			return t
		}
		src, dst, ok := strings.Cut(pair, ",")
		if !ok {
			problem(fmt.Errorf(`= %q: want "SOURCE,DESTINATION"`, pair))
			continue
		}
		pairs = append(pairs, measure.Pair{Src: end(src), Dst: end(dst)})
	}
	return pairs, errors.Join(problems...)
}

// anyTerminal stands for all terminals in a pair.
const anyTerminal = "*"

// writePairs keeps what was measured of pairs of terminals: pairs.csv.
func writePairs(run *experiments.Run, names []string, o *trafficOutcome, clock float64) {
	t, g := run.Table(pairsTable), o.topology.Graph()
	pairs, _ := pairsOf(g, names) // as when the point was built
	name := func(t topology.TerminalID) string {
		if t == measure.AnyTerminal {
			return anyTerminal
		}
		return g.TerminalName(t)
	}
	for i, p := range pairs {
		t.Add(append([]any{name(p.Src), name(p.Dst)}, tallyCells(&o.pairs[i], o.Carried.Window, clock)...)...)
	}
}
