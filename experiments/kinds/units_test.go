package kinds

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/engine/enginetest"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/simtest"
)

// unitCase is an example, or the like, on which flits and packets as the unit are compared.
type unitCase struct {
	name, file string
	set        []string
	x          string // what is swept
	values     []float64
}

// Settings of unit cases: packets of 16 flits, in buffers of four, five seeds.
var (
	unitSettings = []string{"switch.flow_control=cut-through", "switch.buffer_flits=64", "measure.warmup=2000", "measure.replications=5"}
	smallGroups  = []string{"topology.p=2", "topology.a=4", "topology.h=2"}
	// 64 B at 100 Gb/s are 5.12 ns.
	at100 = []string{"fabric.flit_bytes=64B", "channel.terminal.rate=100Gb/s", "measure.window=20000", "measure.warmup=5000"}
	long  = []string{"measure.window=12000"}
)

func with(lists ...[]string) (all []string) {
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

const loads = "traffic.load"

var (
	packets16 = []string{"traffic.packet_flits=16"}
	tenths    = []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8}
	twentieth = []float64{0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4}
	rated     = []float64{0.03, 0.06, 0.09, 0.12}
)

var unitCases = []unitCase{
	{"dragonfly, min", "examples/quickstart", with(packets16, []string{"routing.type=min"}), loads, tenths[:6]},
	{"dragonfly, val", "examples/quickstart", with(packets16, smallGroups, long, []string{"routing.type=val"}), loads, tenths[:4]},
	{"dragonfly, worst case, ugal-l", "examples/quickstart", with(packets16, smallGroups, long, []string{"routing.type=ugal-l", "traffic.pattern=worst-case"}), loads, twentieth[:6]},
	{"dragonfly, par", "examples/quickstart", with(packets16, smallGroups, long, []string{"routing.type=par"}), loads, tenths[:5]},
	{"fat tree, permutation, random", "examples/fat-tree", with(packets16, []string{"routing.up=random"}), loads, tenths[:6]},
	{"fat tree, permutation, least loaded", "examples/fat-tree", with(packets16, []string{"routing.up=least-loaded"}), loads, tenths[:6]},
	{"torus, uniform", "examples/torus", with(packets16, []string{"traffic.pattern=uniform"}), loads, tenths[:5]},
	{"torus, transpose", "examples/torus", with(packets16, long, []string{"traffic.pattern=transpose"}), loads, tenths[:3]},
	{"mesh, packets of 8 flits", "examples/mesh", []string{"traffic.packet_flits=8", "switch.buffer_flits=32"}, loads, twentieth},
	{"mesh, packets of 1, 8 and 32 flits", "examples/mesh", with(long, []string{"traffic.packet_flits=[1,8,32]"}), loads, twentieth[:7]},
	{"mesh, requests and replies", "examples/request-reply", with(packets16, []string{"program.reply_flits=2"}), loads, twentieth[:8]},
	{"mesh, closed loops", "examples/closed-loop", packets16, "program.window", []float64{1, 2, 4, 8}},
	{"dragonfly of BookSim2", "examples/booksim-dragonfly", with(packets16, []string{"switch.buffer_flits=256", "switch.speedup=2", "traffic.pattern=uniform"}), loads, tenths[:6]},
	{"mesh of BookSim2", "examples/booksim-mesh", with(packets16, []string{"switch.speedup=1"}), loads, twentieth[:6]},
	{"fat tree at 100 and 200 Gb/s, clock of 0.64 ns", "examples/fat-tree", with(packets16, at100, []string{"fabric.clock=640ps", "routing.up=random", "channel.level1.rate=200Gb/s", "channel.level2.rate=200Gb/s", "traffic.pattern=uniform"}), loads, rated},
	{"fat tree at 100 and 200 Gb/s, clock of 1 ns", "examples/fat-tree", with(packets16, at100, []string{"routing.up=random", "channel.level1.rate=200Gb/s", "channel.level2.rate=200Gb/s", "traffic.pattern=uniform"}), loads, rated},
	{"torus at 100 Gb/s, clock of 1 ns", "examples/torus", with(packets16, at100, []string{"channel.grid.rate=100Gb/s", "traffic.pattern=uniform"}), loads, rated},
	{"torus, speedup 1.5", "examples/torus", with(packets16, []string{"switch.speedup=1.5", "traffic.pattern=uniform"}), loads, tenths[:5]},
}

// unitModels are what is compared: packets, flits of the same switch, and flits of a
// switch that arbitrates them one by one.
var unitModels = []struct {
	name string
	set  []string
}{
	{"packets", []string{"fabric.unit=packet", "switch.hold=true"}},
	{"flits, hold", []string{"switch.hold=true"}},
	{"flits", nil},
}

var unitColumns = []string{"accepted_load", "latency_mean_ns", "latency_ci95_ns", "latency_p99_ns", "hops_mean"}

// unitPoint is a point of a model.
type unitPoint struct {
	x, accepted, mean, ci, p99, hops float64
	state                            string
}

// run computes a case with a model.
func (c *unitCase) run(t *testing.T, model int, values []float64, more ...string) []unitPoint {
	t.Helper()
	list := strings.ReplaceAll(strings.Trim(fmt.Sprint(values), "[]"), " ", ",")
	set := with(unitSettings, c.set, unitModels[model].set, more, []string{"sweep." + c.x + "=[" + list + "]"})
	results := enginetest.Execute(t, simtest.Must(experiments.Open(c.file, experiments.Options{Set: set}))(t), engine.Execution{}).Results
	state := enginetest.Column(t, results, "state")
	points := make([]unitPoint, len(values))
	for k, name := range unitColumns {
		column := enginetest.Numbers(t, results, name)
		for i := range points {
			p := &points[i]
			*[]*float64{&p.accepted, &p.mean, &p.ci, &p.p99, &p.hops}[k] = column[i]
			p.x, p.state = values[i], state[i]
		}
	}
	return points
}

// agrees tells whether packets measure what flits of the same switch do: within 2 % in
// the mean latency, 5 % in its 99th percentile and 2 % in the accepted load, or, in the
// mean, within the intervals.
func (p *unitPoint) agrees(flits *unitPoint) bool {
	off := func(a, b float64) float64 { return math.Abs(a/b - 1) }
	return (off(p.mean, flits.mean) < 0.02 || math.Abs(p.mean-flits.mean) < math.Hypot(p.ci, flits.ci)) && off(p.p99, flits.p99) < 0.05 && off(p.accepted, flits.accepted) < 0.02
}

// rounded tells whether flits and packets differ by no more than what flits wait for at
// every channel, up to a cycle, where not all times are whole cycles.
func (p *unitPoint) rounded(flits *unitPoint) bool {
	return math.Abs(flits.mean-p.mean) <= flits.hops+1 && math.Abs(p.accepted/flits.accepted-1) < 0.02
}

// exact tells whether all times of a case are whole cycles.
func (c *unitCase) exact() bool {
	return !strings.Contains(c.name, "clock of 1 ns") && !strings.Contains(c.name, "speedup 1.5")
}

// steady are the points of flits that are to be compared: those that are steady, up to
// 0.9 of the highest steady load.
func (c *unitCase) steady(flits []unitPoint) (kept []int) {
	highest := 0.0
	for _, p := range flits {
		if p.state == "steady" {
			highest = p.x
		}
	}
	for i, p := range flits {
		if p.state == "steady" && (p.x <= 0.9*highest || c.x != loads) {
			kept = append(kept, i)
		}
	}
	return kept
}

// compare holds some points of packets to those of flits of the same switch.
func (c *unitCase) compare(t *testing.T, packets, flits []unitPoint, kept []int) {
	t.Helper()
	for _, i := range kept {
		p, q := &packets[i], &flits[i]
		if c.exact() && (p.mean != q.mean || p.ci != q.ci || p.p99 != q.p99) || !p.agrees(q) && (c.exact() || !p.rounded(q)) {
			t.Errorf("%s, %s = %v: packets %+v, flits %+v", c.name, c.x, q.x, *p, *q)
		}
	}
}

// TestUnitsAgree compares the units on some points; TestUnitTable does on all.
func TestUnitsAgree(t *testing.T) {
	for _, name := range []string{"fat tree, permutation, least loaded", "torus at 100 Gb/s, clock of 1 ns"} {
		for _, c := range unitCases {
			if c.name != name {
				continue
			}
			values, short := c.values[1:3], []string{"measure.window=1500", "measure.warmup=1000", "measure.replications=3"}
			c.compare(t, c.run(t, 0, values, short...), c.run(t, 1, values, short...), []int{0, 1}) // steady in longer windows
		}
	}
}

// TestUnitTable rewrites the table of docs/validation.md, on request.
func TestUnitTable(t *testing.T) {
	if !*updateValidation {
		t.Skip("with -update-validation only")
	}
	table := &results.Table{Columns: []string{"case", "swept", "value", "model", "state", "accepted_load", "latency_mean_ns", "latency_ci95_ns", "latency_p99_ns", "compared"}}
	for _, c := range unitCases {
		points := make([][]unitPoint, len(unitModels))
		for model := range unitModels {
			points[model] = c.run(t, model, c.values)
		}
		compared := c.steady(points[1])
		c.compare(t, points[0], points[1], compared)
		for i := range c.values {
			for model := range unitModels {
				p := &points[model][i]
				table.Rows = append(table.Rows, []string{c.name, c.x, results.FormatCell(p.x), unitModels[model].name, p.state,
					fmt.Sprintf("%.5f", p.accepted), fmt.Sprintf("%.3f", p.mean), fmt.Sprintf("%.3f", p.ci), results.FormatCell(p.p99), fmt.Sprint(slices.Contains(compared, i))})
			}
		}
	}
	simtest.Check(t, table.WriteFile("../../docs/validation-units.csv"))
	lines, _ := unitSummary(t, table)
	t.Logf("for docs/validation.md:\n%s", strings.Join(lines, "\n"))
}

// unitSummary is the table of docs/validation.md: by case the points compared, the
// largest difference of packets from flits, and what holding ports changes at the lowest
// and at the highest of these points.
func unitSummary(t *testing.T, table *results.Table) (lines []string, points int) {
	t.Helper()
	accepted, mean, p99 := enginetest.Numbers(t, table, "accepted_load"), enginetest.Numbers(t, table, "latency_mean_ns"), enginetest.Numbers(t, table, "latency_p99_ns")
	percent := func(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }
	const name, compared = 0, 9
	for i := 0; i < len(table.Rows); {
		first, n := i, 0
		var off [3]float64
		holding := [2]float64{math.NaN(), math.NaN()}
		for ; i < len(table.Rows) && table.Rows[i][name] == table.Rows[first][name]; i += len(unitModels) {
			if table.Rows[i][compared] != "true" {
				continue
			}
			n++
			for k, x := range [][]float64{mean, p99, accepted} {
				off[k] = max(off[k], math.Abs(x[i]/x[i+1]-1))
			}
			holding[1] = mean[i+1]/mean[i+2] - 1
			if n == 1 {
				holding[0] = holding[1]
			}
		}
		points += n
		lines = append(lines, fmt.Sprintf("| %s | %d | %s | %s | %s | %+.1f %% | %+.1f %% |", table.Rows[first][name], n, percent(off[0]), percent(off[1]), percent(off[2]), 100*holding[0], 100*holding[1]))
	}
	return lines, points
}

// TestUnitTableIsTrue: what docs/validation.md says of the table follows from it: in all networks but
// two, with a clock that is no divisor of a flit's time, means and percentiles are equal.
func TestUnitTableIsTrue(t *testing.T) {
	text := simtest.Must(os.ReadFile("../../docs/validation-units.csv"))(t)
	table := simtest.Must(results.ReadTable("validation-units.csv", bytes.NewReader(text)))(t)
	page := simtest.Must(os.ReadFile("../../docs/validation.md"))(t)
	lines, points := unitSummary(t, table)
	equal := 0
	for _, line := range lines {
		if strings.Contains(line, " | 0.0 % | 0.0 % | 0.") {
			equal++
			continue
		}
		cells := strings.Split(line, " | ")
		want := strings.TrimSuffix(cells[2], " %") + " and " + cells[3]
		simtest.ErrorIf(t, !strings.Contains(strings.ReplaceAll(string(page), "\n", " "), want), "docs/validation.md lacks %q: %s", want, line)
	}
	for _, want := range []string{fmt.Sprintf("%d steady points of %d networks and patterns", points, len(lines)), fmt.Sprintf("In %d of %d networks means", equal, len(lines))} {
		simtest.ErrorIf(t, !strings.Contains(string(page), want), "docs/validation.md lacks %q", want)
	}
}

// TestUnitsSame: examples whose times are all whole cycles measure the same with flits and with packets
// as the unit, under switches that hold their ports, for groups.
func TestUnitsSame(t *testing.T) {
	type example struct {
		name string
		set  []string
	}
	columns := []string{"latency_mean_ns", "latency_p99_ns", "latency_max_ns", "unicast_latency_mean_ns", "deliveries", "redundant"}
	for _, c := range simtest.Some(t, 0,
		example{"multicast-packets", []string{"messages.count=3", "messages.warmup=1"}},
		example{"multicast-torus", []string{"switch.hold=true", "messages.count=3"}},
	) {
		var got [2][][]float64
		for i, unit := range []string{"flit", "packet"} {
			f := simtest.Must(experiments.Open("examples/"+c.name, experiments.Options{Quick: true, Set: append(slices.Clone(c.set), "fabric.unit="+unit)}))(t)
			o := enginetest.Execute(t, f, engine.Execution{})
			for _, name := range columns {
				got[i] = append(got[i], enginetest.Numbers(t, o.Results, name))
			}
		}
		for k, name := range columns {
			same := func(a, b float64) bool { return a == b || a != a && b != b }
			simtest.ErrorIf(t, !slices.EqualFunc(got[0][k], got[1][k], same), "%s: %s of flits %v, of packets %v", c.name, name, got[0][k], got[1][k])
		}
	}
}
