package traffic

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/kinds/telemetry"
	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/traffic"
	"github.com/weft-sim/weft/sim/stats"
)

func runTraffic(ctx context.Context, c *trafficConfig, run *experiments.Run) (trafficRow, error) {
	var o *trafficOutcome
	var err error
	if c.Measure.Find == "" {
		o, err = c.replicate(ctx, run)
	} else {
		o, err = c.findSaturation(ctx, run)
	}
	if err != nil {
		return trafficRow{}, err
	}
	run.Replications = c.Measure.Replications
	g, clock := o.topology.Graph(), c.Fabric.Clock.Nanoseconds()
	o.Observed.Write(run, g, c.Fabric.Clock, c.Measure.Links, c.Trace.Packets > 0)
	if grouped, ok := o.topology.(topology.Grouped); ok && c.Measure.Global {
		writeGlobalChannels(run, grouped, &o.Carried)
	}
	if c.Measure.Queues > 0 {
		writeQueues(run, g, o.samples, clock)
	}
	writeProgram(run, o.measures, clock)
	if c.Measure.Histogram {
		t := run.Table(tables.Named("histogram"))
		o.latency.Buckets(func(from, to, count int64) { t.Add(float64(from)*clock, float64(to)*clock, count) })
	}
	if c.Measure.Levels {
		writeLevels(run, o.levels, o.Carried.Window, clock)
	}
	if len(c.Measure.Pairs) > 0 {
		writePairs(run, c.Measure.Pairs, o, clock)
	}
	if c.Measure.Lapse > 0 {
		writeLapse(run, c, o)
	}
	if c.Measure.Fairness {
		writeFairness(run, g, &o.Carried, o.silent)
	}
	return o.row(clock), nil
}

// atLoad is the configuration with another offered load.
func (c *trafficConfig) atLoad(load float64) *trafficConfig {
	other := *c
	other.Traffic.Load = load
	return &other
}

// trafficOutcome sums up the replications of a point. Times are in cycles.
type trafficOutcome struct {
	topology topology.Topology
	senders  float64                        // share of the terminals
	silent   func(topology.TerminalID) bool // as of trafficParts
	offered  float64
	telemetry.Observed
	latency *stats.Histogram // of all replications
	samples *fabric.Samples  // of the first replication; nil unless asked for

	// Across replications, each counting as much as the others.
	accepted, mean, network, hops, minimal stats.Running
	percentiles                            [len(percentiles)]stats.Running

	measures        []measure.Measure   // of all replications
	levels          []measure.Tally     // likewise; nil unless asked for
	pairs           []measure.Tally     // of all replications, by measure.pairs
	lapse           []measure.LapseStep // of all replications
	halfWidth       float64             // of mean: of a single replication, by batch means
	acceptedHalf    float64             // of accepted, likewise
	packets, cycles int64
	window          int64            // the longest
	budget          int64            // of a replication, the largest
	saturatedLoad   float64          // the lowest found; NaN: none
	evidence        measure.Evidence // of all
	settled         bool             // all: warm-up and precision
	faults          fabric.FaultTally
}

// percentiles are those in the columns of the results.
var percentiles = [...]float64{0.5, 0.95, 0.99}

// replicate runs all replications of a point.
func (c *trafficConfig) replicate(ctx context.Context, run *experiments.Run) (*trafficOutcome, error) {
	o := &trafficOutcome{offered: c.offered(), latency: &stats.Histogram{}, settled: true, saturatedLoad: math.NaN()}
	bound, err := c.LoadBound(run.Seed)
	if err != nil {
		return nil, err
	}
	for i := range c.Measure.Replications {
		parts, result, err := c.simulate(ctx, run, bound, i)
		if err != nil {
			return nil, err
		}
		o.topology, o.senders, o.silent = parts.topology, parts.senders, parts.silent()
		if o.Carried.Timings, err = parts.fabric.ChannelTimings(parts.topology.Graph()); err != nil {
			return nil, err
		}
		o.add(result)
	}
	return o, nil
}

func (c *trafficConfig) simulate(ctx context.Context, run *experiments.Run, bound float64, replication int) (*trafficParts, *measure.Result, error) {
	seed := run.SeedOf(replication)
	parts, err := c.build(seed)
	if err != nil {
		return nil, nil, err
	}
	f, err := parts.Routed.Fabric(parts.topology.Graph(), parts.fabric, seed)
	if err != nil {
		return nil, nil, err
	}
	if parts.workload == nil {
		if parts.workload, err = c.workload(parts, seed); err != nil {
			return nil, nil, err
		}
	}
	count, kept := network.Counter(f, run), run.Checkpoint()
	budget := c.budget(f.LongestLatency(), parts.workload.Closed())
	plan := measure.Plan{
		Warmup: c.Measure.Warmup, Window: c.Measure.Window, Budget: budget, Precision: c.Measure.Precision, Longest: c.longestPacket(), Bound: bound * parts.senders,
		Levels: c.Measure.Levels, Pairs: parts.pairs, Lapse: network.CyclesOf(c.Measure.Lapse, c.Fabric.Clock), Blame: c.Measure.Blame, Trace: parts.trace, Series: c.Measure.Series, Threads: run.Threads, Worth: network.WorthOpen,
		Progress: func() {
			count()
			c.advance(run, replication, f.Cycle(), budget)
		},
		From: kept.Open(), Snapshot: kept.SaveTo,
	}
	if c.Measure.Find != "" {
		plan.Window, plan.Least, plan.Decide = 0, plan.Window, true
	}
	result, err := measure.Run(ctx, f, parts.workload, c.offered()*parts.senders, plan)
	if err != nil {
		return nil, nil, err
	}
	result.Accepted /= parts.senders
	result.AcceptedHalf /= parts.senders
	plan.Progress()
	run.OnOneThread(f.OnOneThread())
	return parts, result, nil
}

// advance tells how far a replication has come. The drain, short where the network
// keeps up, does not count.
func (c *trafficConfig) advance(run *experiments.Run, replication int, cycle, budget int64) {
	m := &c.Measure
	total, fixed := m.Warmup+m.Window, m.Warmup > 0 && m.Window > 0
	if !fixed {
		total = max(total, budget)
	}
	done, all := int64(replication)*total+min(cycle, total), int64(m.Replications)*total
	switch {
	case m.Find != "":
		run.Advance(cycle, 0, "cycles at load "+strconv.FormatFloat(c.Traffic.Load, 'g', -1, 64)) // how many loads there will be is not known
	case fixed:
		run.Advance(done, all, "cycles")
	default:
		run.AdvanceAtMost(done, all, "cycles")
	}
}

// add enters a replication.
func (o *trafficOutcome) add(r *measure.Result) {
	o.Observed.Add(o.topology.Graph(), r.ChannelFlits, r.Window, r.Blame)
	o.latency.Merge(r.Latency())
	if o.mean.N() == 0 {
		o.Traces, o.Series = r.Traces, r.Series
		if len(r.Samples) > 0 {
			o.samples = r.Samples[0]
		}
	}
	measure.AddEach(&o.measures, r.Measures, (*measure.Measure).Add)
	measure.AddEach(&o.levels, r.Levels(), (*measure.Tally).Add)
	measure.AddEach(&o.lapse, r.Lapse(), (*measure.LapseStep).Add)
	measure.AddEach(&o.pairs, r.Pairs(), (*measure.Tally).Add)
	if r.Closed {
		o.offered = math.NaN()
	}
	o.accepted.Add(r.Accepted)
	o.mean.Add(r.MeanLatency())
	o.network.Add(r.MeanNetworkLatency())
	o.hops.Add(r.MeanHops())
	o.minimal.Add(r.MinimalFraction())
	for i, q := range percentiles {
		o.percentiles[i].Add(r.Latency().Quantile(q))
	}
	o.halfWidth, o.acceptedHalf = r.HalfWidth(), r.AcceptedHalf
	if o.mean.N() > 1 {
		o.halfWidth, o.acceptedHalf = o.mean.HalfWidth(0.95), o.accepted.HalfWidth(0.95)
	}
	o.packets += r.Packets()
	o.cycles += r.Cycles
	o.window, o.budget = max(o.window, r.Window), max(o.budget, r.Budget)
	o.faults.Add(r.Faults)
	o.evidence.Add(r.Evidence)
	o.settled = o.settled && r.Settled
}

// row is the outcome in the columns of the results; clock is the length of a cycle in nanoseconds.
func (o *trafficOutcome) row(clock float64) trafficRow {
	state, reason := o.evidence.Judge()
	if state == measure.Saturated { // not drained: the packets that waited longest are not among those that latencies are of
		clock = math.NaN()
	}
	half := func(i int) float64 { return stats.Finite(o.percentiles[i].HalfWidth(0.95) * clock) }
	return trafficRow{
		OfferedLoad: o.offered, AcceptedLoad: o.accepted.Mean(),
		LatencyMean: o.mean.Mean() * clock, LatencyCI95: stats.Finite(o.halfWidth * clock),
		LatencyP50: o.latency.Quantile(0.5) * clock, LatencyP95: o.latency.Quantile(0.95) * clock, LatencyP99: o.latency.Quantile(0.99) * clock,
		LatencyMax:     float64(o.latency.Max()) * clock,
		NetworkLatency: o.network.Mean() * clock, Hops: o.hops.Mean(), MinimalFraction: o.minimal.Mean(),
		Packets: o.packets, Cycles: o.cycles, State: state.String(), StateReason: reason, Saturated: state == measure.Saturated, Converged: o.settled && state == measure.Steady,
		Dropped: o.faults.Dropped, Retransmitted: o.faults.Retransmitted, Lost: o.faults.Lost, Unreachable: o.faults.Unreachable,
		AcceptedCI95: stats.Finite(o.acceptedHalf), P50CI95: half(0), P95CI95: half(1), P99CI95: half(2), SaturatedLoad: o.saturatedLoad,
	}
}

// findSaturation looks for the highest load at which the network is steady and the lowest at which
// it is saturated, among the multiples of measure.load_precision up to the highest load that the
// process can offer and the channels can carry ([search]). The outcome belongs to the steady load,
// or, where there is none, to the lowest load without it. The runs are written to search.csv.
//
// A run goes on until its verdict is known, at most for the budget, with measure.window as the
// least window. What is undecided even then is neither: the search goes on below it for the
// steady load and above it for the saturated one, and a warning says so. Cost: about
// log2(1/load_precision) points, and the runs that confirm.
func (c *trafficConfig) findSaturation(ctx context.Context, run *experiments.Run) (*trafficOutcome, error) {
	t, runs := run.Table(tables.Named("search")), 0
	clock := c.Fabric.Clock.Nanoseconds()
	bound, err := c.atLoad(c.searchLoad(1)).LoadBound(run.Seed)
	if err != nil {
		return nil, err
	}
	tried := map[int]*trafficOutcome{}
	try := func(k int, least int64) (trial, error) {
		at := c.atLoad(c.searchLoad(k))
		at.Measure.Window = least
		o, err := at.replicate(ctx, run)
		if err != nil {
			return trial{}, err
		}
		state, reason := o.evidence.Judge()
		t.Add(runs, o.offered, o.accepted.Mean(), o.mean.Mean()*clock, o.window, state.String(), reason)
		tried[k] = o
		runs++
		return trial{state, o.window, o.cycles / int64(c.Measure.Replications), o.budget}, nil
	}
	highest := c.lastStep(bound)
	steady, saturated, err := search(highest, c.Measure.Window, try)
	if err != nil {
		return nil, err
	}
	found := tried[max(1, steady)]
	switch {
	case saturated <= highest:
		found.saturatedLoad = tried[saturated].offered
	case bound > 0 && c.searchLoad(saturated) > bound && highest < c.highestStep():
		found.saturatedLoad = c.searchLoad(saturated) // proven
	}
	if steady == 0 {
		found.offered = math.NaN()
	}
	if n := saturated - steady - 1; n > 0 {
		loads := fmt.Sprintf("load %.4g is", c.searchLoad(steady+1))
		if n > 1 {
			loads = fmt.Sprintf("loads from %.4g to %.4g are", c.searchLoad(steady+1), c.searchLoad(saturated-1))
		}
		run.Warn(fmt.Sprintf("measure.find: %s undecided after %d cycles (measure.budget)", loads, tried[steady+1].budget))
	}
	return found, nil
}

// budget is the most cycles of a replication, warm-up and window, where they are found; latency is
// that of the slowest channel.
func (c *trafficConfig) budget(latency int64, closed bool) int64 {
	load := c.Traffic.Load
	if closed {
		load = 0
	}
	return cmp.Or(c.Measure.Budget, measure.DefaultBudget(c.longestPacket(), load, latency))
}

func (c *trafficConfig) longestPacket() int {
	return slices.Max(append([]int{1}, c.Traffic.PacketFlits...))
}

// searchedLoads lists the loads that a search tries if the network keeps up to the bound and not
// beyond; proven: it knows of the bound.
func (c *trafficConfig) searchedLoads(bound, proven float64) []float64 {
	var loads []float64
	try := func(k int) (measure.State, error) {
		loads = append(loads, c.searchLoad(k))
		if c.searchLoad(k) <= bound {
			return measure.Steady, nil
		}
		return measure.Saturated, nil
	}
	_, _, _ = bisect(c.lastStep(proven), try) // try does not fail
	return loads
}

// searchLoad is the load of step k, as a decimal fraction.
func (c *trafficConfig) searchLoad(k int) float64 {
	return experiments.RoundDecimal(float64(k) * c.Measure.LoadPrecision)
}

// leastLoad is the least load that the point offers.
func (c *trafficConfig) leastLoad() float64 {
	if c.Measure.Find != "" {
		return c.searchLoad(1)
	}
	return c.Traffic.Load
}

// lastStep is the last step that a search tries, where loads above a bound are proven saturated;
// 0: none is known.
func (c *trafficConfig) lastStep(bound float64) int {
	if bound == 0 {
		return c.highestStep()
	}
	return max(1, min(c.highestStep(), int(math.Floor(bound/c.Measure.LoadPrecision+1e-9))))
}

// highestStep is the last step whose load the process can offer, at least 1.
func (c *trafficConfig) highestStep() int {
	sizes, err := traffic.NewSizes(c.Traffic.PacketFlits, c.Traffic.PacketWeights)
	if err != nil {
		return 1 // building the point reports it
	}
	all := int(math.Floor(1/c.Measure.LoadPrecision + 1e-9))
	return 1 + sort.Search(all-1, func(i int) bool {
		_, err := c.Traffic.Process.Build(traffic.ProcessEnv{Load: c.searchLoad(i + 2), MeanFlits: sizes.Mean()})
		return err != nil
	})
}

// trial is what a search keeps of the runs at a load: their verdict and, in cycles, the longest window,
// the length of a run in the mean, and the budget.
type trial struct {
	state                  measure.State
	window, cycles, budget int64
}

// search finds the largest k from 1 to n that is steady, 0 if none is, and the smallest that is
// saturated, n+1 if none is, with windows of least cycles at first.
//
// Near its capacity a network may look steady for thousands of cycles before it fills. So the step
// that is found steady must have been observed for as long as the one that is found saturated took to
// prove so, or for a quarter of the budget. Otherwise it is tried again with such a window, as are
// all steps after it.
func search(n int, least int64, try func(k int, least int64) (trial, error)) (steady, saturated int, err error) {
	tried := map[int]trial{}
	state := func(k int) (measure.State, error) {
		if _, ok := tried[k]; !ok {
			if tried[k], err = try(k, least); err != nil {
				return measure.Undecided, err
			}
		}
		return tried[k].state, nil
	}
	for {
		if steady, saturated, err = bisect(n, state); err != nil || steady == 0 || saturated > n {
			return steady, saturated, err
		}
		full := tried[saturated]
		least = max(least, min(full.cycles, full.budget/4))
		if tried[steady].window >= least {
			return steady, saturated, nil
		}
		delete(tried, steady)
	}
}

// bisect finds the largest k from 1 to n that is steady, 0 if none is, and the smallest that is
// saturated, n+1 if none is, where all below a steady one are steady and all above a saturated
// one saturated. Those between the two are undecided. No k is tried twice.
func bisect(n int, try func(k int) (measure.State, error)) (steady, saturated int, err error) {
	saturated = n + 1
	from, to := saturated, steady // undecided: the first and the last; from > to while there are none
	for {
		k := 0
		switch low, high := min(from, saturated), max(to, steady); {
		case low-steady > 1:
			k = steady + (low-steady)/2
		case saturated-high > 1:
			k = high + (saturated-high)/2
		default:
			return steady, saturated, nil
		}
		state, err := try(k)
		if err != nil {
			return 0, 0, err
		}
		switch state {
		case measure.Steady:
			steady = k
		case measure.Saturated:
			saturated = k
		default:
			from, to = min(from, k), max(to, k)
		}
		if to <= steady || from >= saturated { // overruled
			from, to = saturated, steady
		}
	}
}
