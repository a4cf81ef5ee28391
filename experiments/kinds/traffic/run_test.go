package traffic

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/engine/enginetest"
	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/stats"
)

const smallTorus = `
seed = 3
topology = { type = "torus", dims = [8] }
routing = { type = "dor" }
traffic = { pattern = "tornado", load = 0.2 }
[measure]
warmup = 300
window = 1000
`

// replicationOf simulates a replication of the first point of a file of kind traffic.
func replicationOf(t *testing.T, f *experiments.File, seed uint64, bound float64, replication int) *measure.Result {
	t.Helper()
	_, r := simtest.Must2(f.Points[0].Config().(*trafficConfig).simulate(t.Context(), &experiments.Run{Seed: seed}, bound, replication))(t)
	return r
}

func sumOf(values []float64) (sum float64) {
	for _, x := range values {
		sum += x
	}
	return sum
}

// TestPercentilesHaveTheirIntervals: of two replications with medians of 10 and 12, 95th percentiles of 20 and 26 and
// 99th of 40 and 50 cycles of 2 ns. Student's t of one degree of freedom is 12.706, half the difference its
// factor: 12.706 * 2 * 1, 3 and 5 ns.
func TestPercentilesHaveTheirIntervals(t *testing.T) {
	o := &trafficOutcome{latency: &stats.Histogram{}}
	for i, pair := range [][2]float64{{10, 12}, {20, 26}, {40, 50}} {
		o.percentiles[i].Add(pair[0])
		o.percentiles[i].Add(pair[1])
	}
	row := o.row(2)
	for i, got := range []float64{row.P50CI95, row.P95CI95, row.P99CI95} {
		simtest.Near(t, got, 12.7062*2*[]float64{1, 3, 5}[i], 1e-3, "half-width of percentile %v in ns:", percentiles[i])
	}
}

// TestReplications: the row sums up runs with the derived seeds.
func TestReplications(t *testing.T) {
	f := enginetest.Load(t, smallTorus+"replications = 3\nlinks = true\nhistogram = true\n")
	o := enginetest.Execute(t, f, engine.Execution{})
	var means [3]float64
	var accepted, packets, flits, window float64
	for i := range means {
		r := replicationOf(t, f, 3, 0, i)
		means[i] = r.MeanLatency()
		accepted, packets, window = accepted+r.Accepted/3, packets+float64(r.Packets()), window+float64(r.Window)
		for _, n := range r.ChannelFlits {
			flits += float64(n)
		}
	}
	simtest.ErrorIf(t, means[0] == means[1] || means[1] == means[2], "replications are not independent")
	mean, half := enginetest.Spread(means)
	sum := func(x *results.Table, name string) float64 { return sumOf(enginetest.Numbers(t, x, name)) }
	for name, x := range map[string][2]float64{
		"replications": {sum(o.Results, "replications"), 3},
		"mean":         {sum(o.Results, "latency_mean_ns"), mean},
		"half-width":   {sum(o.Results, "latency_ci95_ns"), half},
		"accepted":     {sum(o.Results, "accepted_load"), accepted},
		"packets":      {sum(o.Results, "packets_measured"), packets},
		"histogram":    {sum(o.Tables["histogram"], "packets"), packets},
		"links":        {sum(o.Tables["links"], "flits"), flits},
		"rate":         {sum(o.Tables["links"], "flits_per_cycle"), flits / window},
	} {
		simtest.Near(t, x[0], x[1], 1e-6*x[1], "%s:", name)
	}
	simtest.Equal(t, enginetest.Single(t, enginetest.OutcomeOf(t, smallTorus), "latency_mean_ns"), means[0], "a single replication gives")
}

// TestJainIndex: 1 for equal shares, k/n if k of n have everything; for 1, 2, 3, 0 it is 36/(4*14).
func TestJainIndex(t *testing.T) {
	for shares, want := range map[[4]float64]float64{{2, 2, 2, 2}: 1, {0, 3, 0, 0}: 0.25, {1, 2, 3, 0}: 36.0 / 56} {
		simtest.Near(t, network.JainIndex(shares[:]), want, 1e-12, "%v:", shares)
	}
	simtest.ErrorIf(t, !math.IsNaN(network.JainIndex([]float64{0, 0})), "nothing shared has an index")
}

// TestFairness: with all packets for terminal 0, whose own go to the others, it receives the most, and what it
// does is most of all that arrives: 7 of 8 terminals send to it alone. Jain's index is then near that of one share of 7p and seven of p/7: (8p)^2 / (8 (49 p^2 + p^2/7)) = 0.163.
func TestFairness(t *testing.T) {
	o := enginetest.OutcomeOf(t, oneSwitch, "traffic.pattern=hot-spot", "traffic.fraction=1.0", "traffic.load=0.1", "measure.warmup=500", "measure.window=20000", "measure.fairness=true")
	x, rows := o.Tables["fairness"], o.Tables["fairness"].Rows
	simtest.FatalIf(t, len(rows) != 2 || !slices.Contains(rows[1], "received"), "%v", rows)
	simtest.Equal(t, enginetest.Column(t, x, "max_terminal")[1], "terminal 0", "the most is received by")
	number := func(column string, row int) float64 { return enginetest.Numbers(t, x, column)[row] }
	simtest.Near(t, number("jain_index", 0), 1, 0.01, "Jain's index of sent")
	simtest.Near(t, number("jain_index", 1), 0.163, 0.01, "Jain's index of received")
	for i := range rows {
		simtest.Near(t, number("mean_flits_per_cycle", i), 0.1, 0.005, "mean of %s:", rows[i])
	}
	simtest.Near(t, number("max_flits_per_cycle", 1), 0.7, 0.02, "most received")
	simtest.Near(t, number("min_flits_per_cycle", 1), 0.1/7, 0.005, "least received")
}

// TestWarmupWarning: on a mesh whose channels take 1,000 cycles a packet from the next switch arrives after
// 3,000 cycles of channels; a warm-up of 2,999 is warned of, of 3,000 and by itself not, and neither is any on one switch.
func TestWarmupWarning(t *testing.T) {
	const mesh = "mesh routing.type=dor channel.grid.latency=1us measure.warmup="
	for set, want := range map[string]bool{mesh + "2999": true, mesh + "3000": false, mesh + "0": false, "single-switch routing.type=table measure.warmup=1": false} {
		f := enginetest.Load(t, "kind = \"traffic\"\n", strings.Fields("fabric.clock=1ns channel.terminal.latency=1us switch.buffer_flits=4000 measure.window=1000 topology.type="+set)...)
		simtest.Equal(t, strings.Contains(fmt.Sprint(f.Warnings), "after 3000 cycles on channels alone"), want, "%s: in warnings %v", set, f.Warnings)
	}
}

// TestBisect: for every number of steps and every place of the changes from steady to undecided and to saturated,
// the last steady and the first saturated step, in no more tries than two bisections need, one where nothing is undecided, and none twice.
func TestBisect(t *testing.T) {
	for n := 1; n <= 40; n++ {
		for last := 0; last <= n; last++ {
			for first := last + 1; first <= n+1; first++ {
				tried := map[int]bool{}
				steady, saturated, err := bisect(n, func(k int) (measure.State, error) {
					simtest.FatalIf(t, tried[k] || k < 1 || k > n, "n = %d: tried %d again or outside", n, k)
					tried[k] = true
					switch {
					case k <= last:
						return measure.Steady, nil
					case k >= first:
						return measure.Saturated, nil
					}
					return measure.Undecided, nil
				})
				most := int(math.Ceil(math.Log2(float64(n + 1))))
				if first > last+1 {
					most *= 2
				}
				simtest.FatalIf(t, err != nil || steady != last || saturated != first || len(tried) > most,
					"n = %d, steady to %d, saturated from %d: got %d and %d after %d tries, %v", n, last, first, steady, saturated, len(tried), err)
			}
		}
	}
}

// TestSearchConfirms: steps 7 to 10 look steady in windows of less than 1000, 500, 200 and 90 cycles, and
// are found saturated after 1300, 900, 600 and 400; those below are steady. Windows of 100 cycles
// find 9 steady and 10 saturated after 400. Step 9 is tried for 400 and is saturated after 600,
// step 8 for 600 and is saturated after 900; 6 and 7 are then tried for 600, and 7, steady, for 900.
// A budget of 1600 cycles bounds what confirms to 400: step 8 is steady for as long; of 400, to the 100 that all have.
func TestSearchConfirms(t *testing.T) {
	calm, full := map[int]int64{7: 1000, 8: 500, 9: 200, 10: 90}, map[int]int64{7: 1300, 8: 900, 9: 600, 10: 400}
	for _, c := range []struct {
		budget            int64
		steady, saturated int
		tries             string
	}{
		{100_000, 7, 8, "5/100 8/100 9/100 10/100 9/400 8/600 6/600 7/600 7/900"},
		{1600, 8, 9, "5/100 8/100 9/100 10/100 9/400 8/400"},
		{400, 9, 10, "5/100 8/100 9/100 10/100"},
	} {
		var tries []string
		steady, saturated, err := search(10, 100, func(k int, least int64) (trial, error) {
			tries = append(tries, fmt.Sprintf("%d/%d", k, least))
			if calm, ok := calm[k]; ok && least >= calm {
				return trial{measure.Saturated, full[k] / 2, full[k], c.budget}, nil
			}
			return trial{measure.Steady, least, 2 * least, c.budget}, nil
		})
		simtest.Alike(t, fmt.Sprint("budget ", c.budget), err, nil, steady, c.steady, saturated, c.saturated, strings.Join(tries, " "), c.tries)
	}
}

// TestBisectOverruled: what is undecided counts for nothing beside a saturated step below it or a
// steady one above it.
func TestBisectOverruled(t *testing.T) {
	for name, c := range map[string]struct {
		states            [7]measure.State
		steady, saturated int
	}{
		"saturated below": {[7]measure.State{measure.Steady, measure.Saturated, measure.Saturated, measure.Undecided, measure.Saturated, measure.Saturated, measure.Saturated}, 1, 2},
		"steady above":    {[7]measure.State{measure.Steady, measure.Steady, measure.Steady, measure.Undecided, measure.Steady, measure.Steady, measure.Saturated}, 6, 7},
	} {
		steady, saturated, _ := bisect(7, func(k int) (measure.State, error) { return c.states[k-1], nil })
		simtest.Alike(t, name, steady, c.steady, saturated, c.saturated)
	}
}

// TestFindSaturation: tornado on a ring of 8 sends everything 3 switches on,
// so that each channel carries 3 terminals' packets and can take 1/3 flit of each:
// in steps of 0.02 the last load below that is 0.32, which is steady (a queue at
// 0.96 of its capacity), no load above 1/3 is tried, and the first above is known to be saturated.
// A window of ten times the length finds the same.
func TestFindSaturation(t *testing.T) {
	text := smallTorus + "find = \"saturation\"\nload_precision = 0.02\n"
	var found [2]float64
	for i, window := range []string{"window = 1000\n", "window = 10000\n"} {
		text := strings.Replace(strings.Replace(text, ", load = 0.2", "", 1), "window = 1000\n", window, 1)
		o := enginetest.OutcomeOf(t, text)
		found[i] = enginetest.Numbers(t, o.Results, "offered_load")[0]
		simtest.ErrorIf(t, found[i] < 0.28 || found[i] > 1.0/3 || o.Results.State(0) != measure.Steady,
			"%sfound %v, %v; want 0.28 to 1/3, steady", window, found[i], o.Results.State(0))
		search := o.Tables["search"]
		saturated, undecided := 0.34, 0
		windows := enginetest.Numbers(t, search, "window_cycles")
		for i, tried := range enginetest.Numbers(t, search, "offered_load") {
			simtest.ErrorIf(t, tried > 1.0/3, "tried %v: the channels carry 1/3", tried)
			switch search.State(i) {
			case measure.Saturated:
				saturated = min(saturated, tried)
			case measure.Undecided:
				undecided++
				simtest.ErrorIf(t, windows[i] < 90_000, "load %v is undecided in a window of %v cycles; the budget is 100,000", tried, windows[i])
			}
		}
		simtest.Equal(t, enginetest.Numbers(t, o.Results, "saturated_load")[0], saturated, "lowest saturated load")
		simtest.Equal(t, undecided > 0, len(o.Warnings) == 1, "%d loads are undecided, warnings %v:", undecided, o.Warnings)
	}
	simtest.Near(t, found[0], found[1], 0.03, "found, and with a window ten times as long:")
	w := enginetest.Load(t, text).Warnings
	simtest.ErrorIf(t, len(w) != 1 || w[0].Key != "traffic.load", "warnings %v", w)
	for step, beyond := range map[string]int{"0.02": 0, "0.5": 1} { // of loads from one step on, which carry 1/3 or do not, whatever traffic.load
		report := simtest.Must(enginetest.Load(t, text, "traffic.load=0.9", "measure.load_precision="+step).Preflight(true))(t)
		simtest.Equal(t, report.Beyond, beyond, "step %s: points beyond the bound", step)
	}
}

// TestFindNothing: where a budget of a few cycles leaves every load undecided, no load is said to
// be steady, and a warning names those that were tried.
func TestFindNothing(t *testing.T) {
	o := enginetest.OutcomeOf(t, strings.Replace(smallTorus, ", load = 0.2", "", 1)+"find = \"saturation\"\nload_precision = 0.1\n", "measure.warmup=50", "measure.window=0", "measure.budget=60")
	row := o.Results
	simtest.Alike(t, "found", row.Rows[0][simtest.Must(row.Column("offered_load"))(t)], "", row.State(0), measure.Undecided)
	simtest.FatalIf(t, len(o.Warnings) != 1, "warnings %v", o.Warnings)
	simtest.Equal(t, o.Warnings[0].Reason, "measure.find: loads from 0.1 to 0.3 are undecided after 60 cycles (measure.budget)", "warning")
}

// TestFindBehindLongCables: four switches joined by cables of 5,000 cycles keep up with nearly every
// load; the budget grows with the cables, and a load of 0.01 is no answer.
func TestFindBehindLongCables(t *testing.T) {
	o := enginetest.OutcomeOf(t, `
topology = { type = "hyperx", dims = [4], terminals = 2 }
routing = { type = "dor" }
traffic = { pattern = "uniform" }
switch = { buffer_flits = 16384 }
channel.hyperx = { latency = "5us" }
measure = { find = "saturation", load_precision = 0.2 }
`)
	simtest.ErrorIf(t, enginetest.Single(t, o, "offered_load") < 0.8, "found %v\n%v", o.Results.Rows, o.Tables["search"].Rows)
}

// TestFindBounds: nothing beyond what the process can offer is tried: bursts of load 0.5 make
// averages below that, in steps of 0.1 up to 0.4. A single switch keeps up with all of them, and with
// load 1, beyond which no load is saturated.
func TestFindBounds(t *testing.T) {
	o := enginetest.OutcomeOf(t, oneSwitch, "traffic.pattern=neighbour", "traffic.process=on-off", "traffic.peak=0.5",
		"measure.warmup=500", "measure.window=5000", "measure.find=saturation",
		"measure.load_precision=0.1")
	simtest.Equal(t, enginetest.Numbers(t, o.Results, "offered_load")[0], 0.4, "found %v:", o.Tables["search"].Rows)
	o = enginetest.OutcomeOf(t, oneSwitch, "traffic.pattern=neighbour", "measure.window=5000", "measure.find=saturation", "measure.load_precision=0.5")
	simtest.ErrorIf(t, enginetest.Single(t, o, "offered_load") != 1 || enginetest.Column(t, o.Results, "saturated_load")[0] != "", "found %v", o.Results.Rows)
}

// TestTrafficTables: what the further tables count agrees with the row.
func TestTrafficTables(t *testing.T) {
	o := enginetest.OutcomeOf(t, enginetest.Mesh9, "traffic.load=0.3", "measure.warmup=500", "measure.window=2000",
		"measure.links=true")
	// A 3x3 mesh has 12 cables, 24 channels between switches, and 9 terminals with a channel each
	// way. What the terminals' channels carry away in the window is the accepted load; all channels
	// together carry a flit once for each switch that it crosses and once to get in.
	links := o.Tables["links"]
	vcs := len(links.Rows) / (24 + 2*9)
	simtest.FatalIf(t, vcs*(24+2*9) != len(links.Rows), "%d rows", len(links.Rows))
	delivered, total := 0.0, 0.0
	from, to, between := enginetest.Column(t, links, "from"), enginetest.Column(t, links, "to"), enginetest.Column(t, links, "between_switches")
	for i, flits := range enginetest.Numbers(t, links, "flits") {
		total += flits
		if strings.HasPrefix(from[i], "switch") && strings.HasPrefix(to[i], "terminal") {
			delivered += flits
		}
		simtest.Equal(t, between[i] == "true", strings.HasPrefix(from[i], "switch") && strings.HasPrefix(to[i], "switch"),
			"%s to %s: between switches %s", from[i], to[i], between[i])
	}
	simtest.Near(t, delivered/2000/9, enginetest.Single(t, o, "accepted_load"), 0.002, "channels to terminals carry")
	want := enginetest.Single(t, o, "accepted_load") * (enginetest.Single(t, o, "hops_mean") + 1)
	simtest.Near(t, total/2000/9, want, 0.02*want, "all channels carry, of a terminal,")
}

// TestPipelineNote: a switch with BookSim2's stages whose pipeline is left at the default is
// noted; one that says which it is, and the default switch, are not.
func TestPipelineNote(t *testing.T) {
	const stages = "kind = \"traffic\"\n[switch]\nvc_alloc_cycles = 1\nspeedup = 2\n"
	for text, want := range map[string]int{
		stages:                                 1,
		stages + "pipeline = \"serial\"\n":     0,
		stages + "pipeline = \"overlapped\"\n": 0,
		"kind = \"traffic\"\n":                 0,
	} {
		simtest.Equal(t, warnings(enginetest.Load(t, text), "switch.pipeline"), want, "notes of the pipeline:\n%s:", text)
	}
}

// TestPrograms: a closed loop has no offered load and its round trips in program.csv,
// the sum of the latencies of packet and acknowledgement.
func TestPrograms(t *testing.T) {
	o := enginetest.OutcomeOf(t, enginetest.Mesh9+"[program]\ntype = \"closed-loop\"\nack_flits = 2\n[measure]\nwarmup = 500\nwindow = 2000\nreplications = 2\n")
	simtest.Equal(t, enginetest.Column(t, o.Results, "offered_load")[0], "", "offered load")
	means := enginetest.Numbers(t, o.Tables["program"], "mean_ns")
	simtest.FatalIf(t, len(means) != 3, "%v", means)
	// Packets at both edges of the window are not the same: some of hundreds.
	sum := means[0] + means[1]
	simtest.Near(t, means[2], sum, 0.01*sum, "a round trip, in ns, beside a packet and an acknowledgement:")
}

// TestSeriesChangesNothing: intervals of 600/7 cycles end within the slices of 16 that a verdict goes by.
func TestSeriesChangesNothing(t *testing.T) {
	const text = "kind = \"traffic\"\nseed = 40495\ntopology = { type = \"single-switch\" }\nrouting = { type = \"table\" }\nswitch = { buffer_flits = 2 }\nmeasure = { warmup = 300, window = 600 }\n" +
		"traffic.load = 0.3\nphase.a = { at = 333, load = 0.1 }\nphase.b = { at = 500, load = 0.2 }\n"
	simtest.EqualSlices(t, enginetest.OutcomeOf(t, text, "measure.series=7").Results.Rows[0], enginetest.OutcomeOf(t, text).Results.Rows[0], "results:")
}

// TestTrafficProblems: what does not go with a program, or with the MTU, is refused, by key.
func TestTrafficProblems(t *testing.T) {
	const head = "kind = \"traffic\"\n[topology]\ntype = \"mesh\"\ndims = [3, 3]\n[routing]\ntype = \"table\"\n"
	enginetest.Refusals(t, head, map[string]string{
		"[program]\ntype = \"closed-loop\"\n[measure]\nfind = \"saturation\"\n":                             "measure.find",
		"[program]\ntype = \"request-reply\"\n[fault.one]\nlinks = [\"switch 0 - switch 1\"]\n":             "program.type",
		"[program]\ntype = \"closed-loop\"\nreply_flits = 1\n":                                              "reply_flits",
		"[program]\ntype = \"closed-loop\"\nwindow = 0\n":                                                   "program.window",
		"[fabric]\nmtu = \"256B\"\n[traffic]\npacket_flits = [1, 5]\n":                                      "fabric.mtu = 256B: want at least 320B, or shorter packets: the longest has 5 flits",
		"[program]\ntype = \"request-reply\"\nreply_flits = 33\n[switch]\nflow_control = \"cut-through\"\n": "switch.buffer_flits = 32: want at least 33",
		"[fabric]\nmtu = \"256B\"\n[program]\ntype = \"closed-loop\"\nack_flits = 5\n":                      "fabric.mtu = 256B: want at least 320B",
		"[program]\ntype = \"closed-lop\"\n":                                                                "closed-loop",
	})
}
