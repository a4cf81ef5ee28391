package fabric

import (
	"context"

	"github.com/weft-sim/weft/fabric/topology"
)

// Plan says how long a run measures. Zero values leave the choice
// to the run.
type Plan struct {
	Warmup    int64     // cycles before the window; 0: found by the run
	Window    int64     // cycles of the window; 0: as long as Precision needs
	Budget    int64     // most cycles of warm-up and window together, where they are found
	Bound     float64   // highest load that the channels can carry, proven, in flits per terminal and cycle; 0: none is known
	Precision float64   // wanted half-width of the 95 % interval of the mean latency, relative to it
	Blame     bool      // divide the latency of measured packets into its parts
	Trace     TracePlan // packets whose lives are recorded
	Levels    bool      // tell the packets of service levels apart; without a LevelReader all are of level 0
	Series    int       // intervals of the window for which the channels' load is kept; 0: none
	Threads   int       // that may simulate the network; results do not depend on it. Workloads must allow a thread for each terminal
	Progress  func()    // called every few hundred cycles; may be nil
}

// Result is the outcome of a measured run. Times are in cycles.
type Result struct {
	*Meter
	Warmup   int64   // cycles before the window
	Window   int64   // cycles of the window
	Cycles   int64   // simulated in all
	Closed   bool    // the workload is closed
	Offered  float64 // flits per terminal and cycle, as asked for; 0: the workload is closed
	Accepted float64 // flits per terminal and cycle delivered in the window
	State    State   // whether the network keeps up
	Reason   string  // of State
	Evidence Evidence
	// ChannelFlits counts the flits sent in the window (len =
	// (ports+terminals)*vcs): on each virtual channel out of each switch port,
	// then out of each terminal.
	ChannelFlits []uint32
	Faults       FaultTally     // of the whole run
	Settled      bool           // the warm-up settled and Precision was reached (where asked for)
	Series       *Series        // where asked for
	Blame        *Blame         // where asked for
	Traces       []*PacketTrace // likewise
	Measures     []Measure      // what the workload has noted
}

const (
	sliceCycles  = 100  // resolution of warm-up detection and of confidence intervals
	leastSlices  = 40   // of a window: 4,000 cycles
	warmupSlices = 200  // most slices of a warm-up that is found
	stallCycles  = 5000 // without any movement: a deadlock; longer than any channel in use
)

// Run drives the fabric with a workload: warm-up, window, drain of the window's
// packets, then of all others, and the audit of flits and credits. offered is the
// load that the workload was made for; that of a closed one is 0, whatever is given.
// The fabric must be new, and the workload have as many terminals.
func (f *Fabric) Run(ctx context.Context, source Workload, offered float64, plan Plan) (*Result, error) {
	if err := f.ready(source); err != nil {
		return nil, err
	}
	if plan.Blame || plan.Trace.Packets > 0 {
		if err := f.config.CheckWith(Observers); err != nil {
			return nil, err
		}
	}
	if source.Closed() {
		offered = 0
	}
	r := &runner{f: f, source: source, plan: plan, ctx: ctx, watch: f.Watch(), statistics: newStatistics(f, source)}
	r.result = &Result{Meter: r.statistics.meter, Offered: offered, Closed: source.Closed()}
	if plan.Levels {
		r.result.Meter.levels = newLevelMeter(f.routing)
	}
	if plan.Blame {
		r.result.Blame = f.StartBlame(r.result.Meter)
	}
	var trace *Tracer
	if plan.Trace.Packets > 0 {
		trace = f.StartTrace(r.result.Meter, plan.Trace)
	}
	f.split(plan.Threads, Never, worthThreads)
	f.start(source, func(d *domain) Sink { return d.listen(source, r.result.part()) })
	responder, responds := source.(Responder)
	if responds {
		responder.Start(func(t topology.TerminalID) Engine { return f.owner(t).listener })
	}
	if err := r.run(); err != nil {
		return nil, err
	}
	if responds {
		r.result.Measures = r.result.noted(responder.Measures())
	}
	if trace != nil {
		r.result.Traces = trace.Packets()
	}
	return r.result, nil
}

// runner takes a run through its phases.
type runner struct {
	f          *Fabric
	source     Workload
	plan       Plan
	ctx        context.Context
	watch      *Watchdog
	statistics *statistics // nil: nobody asks
	warm       bool        // the warm-up has settled
	result     *Result
}

func (r *runner) run() error {
	for _, phase := range []func() error{r.warmUp, r.measure, r.drain} {
		if err := phase(); err != nil {
			return err
		}
	}
	return r.finish()
}

// advance simulates some cycles and looks for signs of life.
func (r *runner) advance(cycles int64) error {
	for cycles > 0 {
		n := min(cycles, sliceCycles)
		r.f.Advance(n)
		cycles -= n
		if r.statistics != nil {
			r.statistics.note(n)
		}
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if r.plan.Progress != nil {
			r.plan.Progress()
		}
		if err := r.watch.Look(); err != nil {
			return err
		}
	}
	return nil
}

// longestLatency is the latency of the slowest channel.
func (f *Fabric) longestLatency() int64 {
	longest := int64(0)
	for i := range f.out {
		longest = max(longest, int64(f.out[i].latency)+f.pace(&f.out[i]).interval>>intervalShift)
	}
	return longest
}
