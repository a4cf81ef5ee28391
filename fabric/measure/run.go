// Package measure runs networks and measures them: [Run] takes a [core.Fabric] through warm-up,
// window, drain and audit, and judges whether it keeps up ([Evidence]); [RunToEnd] runs a host
// of finitely many packets. The [Meter] measures the packets of the window, and [OpenLoop] is the
// workload whose packets are born regardless of what becomes of them.
package measure

import (
	"context"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/observe"
	"github.com/weft-sim/weft/sim/snapshot"
)

// Plan says how long a run measures. Zero values leave the choice to the run.
type Plan struct {
	Warmup    int64             // cycles before the window; 0: found by the run
	Window    int64             // cycles of the window; 0: as long as Precision needs
	Least     int64             // cycles of a window that is found, at least
	Budget    int64             // most cycles of warm-up and window together, where they are found; 0: [DefaultBudget]
	Longest   int               // flits of the longest packet; 0 counts as 1
	Bound     float64           // highest load that the channels can carry, proven, in flits per terminal and cycle; 0: none is known
	Precision float64           // wanted half-width of the 95 % interval of the mean latency, relative to it
	Decide    bool              // end a window that is found when the verdict is known, whatever the interval
	Blame     bool              // divide the latency of measured packets into its parts
	Trace     observe.TracePlan // packets whose lives are recorded
	Levels    bool              // tell the packets of service levels apart; without a LevelReader all are of level 0
	Pairs     []Pair            // of terminals whose packets are counted by themselves
	Lapse     int64             // cycles of the intervals of the window in which arrivals are counted; 0: they are not
	Series    int               // intervals of the window for which the channels' load is kept; 0: none
	Threads   int               // that may simulate the network; results do not depend on it. Workloads must allow a thread for each terminal
	Worth     int64             // terminals times cycles of a window from which a second thread is used; 0: from where it pays
	Progress  func()            // called every few hundred cycles; may be nil
	// From is a state to go on from, given by Snapshot in a run with the same network, workload,
	// and plan but for Threads.
	From *snapshot.Archive
	// Snapshot, if not nil, is called every few hundred cycles until the window's packets have
	// arrived, then once with done set, also when the run's context ends; state writes the run. Its
	// error ends the run. It is not called for networks that cannot be kept.
	Snapshot func(done bool, state func(*snapshot.Archive) error) error
}

// Result is the outcome of a measured run. Times are in cycles.
type Result struct {
	*Meter   `snap:"-"`
	Warmup   int64   // cycles before the window
	Window   int64   // cycles of the window
	Cycles   int64   `snap:"-"` // simulated in all
	Budget   int64   `snap:"-"` // the most cycles of warm-up and window, where they are found
	Closed   bool    `snap:"-"` // the workload is closed
	Offered  float64 `snap:"-"` // flits per terminal and cycle, as asked for; 0: the workload is closed
	Accepted float64 // flits per terminal and cycle delivered in the window
	// AcceptedHalf is half the 95 % confidence interval of Accepted; infinite if the window is too
	// short. If a saturated network's window is found, it is wider by how much was accepted more or
	// less before.
	AcceptedHalf float64
	State        State  `snap:"-"` // whether the network keeps up
	Reason       string `snap:"-"` // of State
	Evidence     Evidence
	// ChannelFlits counts the flits sent in the window (len = (ports+terminals)*vcs) by virtual
	// channel: out of each switch port, then out of each terminal.
	ChannelFlits []uint32
	Faults       fabric.FaultTally      `snap:"-"` // of the whole run
	Settled      bool                   // the warm-up settled and Precision was reached (where asked for)
	Series       *observe.Series        `snap:"-"` // where asked for
	Blame        *observe.Blame         `snap:"-"` // where asked for
	Traces       []*observe.PacketTrace `snap:"-"` // likewise
	Measures     []Measure              `snap:"-"` // what the workload has noted
	Samples      []*fabric.Samples      `snap:"-"` // what the probes of the settings have seen of the window
}

// Run drives a new fabric with a workload of as many terminals: warm-up, window, drain of the
// window's packets, then of all others, and the audit of flits and credits. offered is the
// workload's load; a closed one's is 0, whatever is given.
func Run(ctx context.Context, f *core.Fabric, source fabric.Workload, offered float64, plan Plan) (*Result, error) {
	r, err := prepare(ctx, f, source, offered, plan)
	if err != nil {
		return nil, err
	}
	if err := r.begin(); err != nil {
		return nil, err
	}
	if err := r.run(); err != nil {
		return nil, err
	}
	if responder, ok := r.statistics.source.(fabric.Responder); ok {
		r.result.Measures = r.result.noted(responder.Measures())
	}
	r.result.Samples = f.Samples()
	if r.trace != nil {
		r.result.Traces = r.trace.Packets()
	}
	return r.result, nil
}

func prepare(ctx context.Context, f *core.Fabric, source fabric.Workload, offered float64, plan Plan) (*runner, error) {
	if err := f.Check(source); err != nil {
		return nil, err
	}
	if source.Closed() {
		offered = 0
	}
	timings, err := f.Config.ChannelTimings(f.Graph())
	if err != nil {
		return nil, err
	}
	slice := unit(plan.Longest, offered, f.LongestLatency())
	counts := &statistics{f: f, source: source, timings: timings, meter: NewMeter(slice), progress: &progress{each: slice}}
	r := &runner{f: f, plan: plan, ctx: ctx, watch: f.Watch(), statistics: counts}
	r.each = r.statistics.progress.each
	r.first = r.each
	r.write = r.state
	r.result = &Result{Meter: r.statistics.meter, Offered: offered, Closed: source.Closed()}
	r.result.Budget = r.budget()
	f.ProbeWithin(r.result.Meter.Bounds)
	if plan.Levels {
		r.result.Meter.tellLevels(f.Routing())
	}
	r.result.Meter.lapse.Every = plan.Lapse
	if len(plan.Pairs) > 0 {
		r.result.Meter.tellPairs(plan.Pairs)
	}
	if plan.Blame {
		r.result.Blame = observe.StartBlame(f, r.result.Meter)
	}
	if plan.Trace.Packets > 0 {
		r.trace = observe.StartTrace(f, r.result.Meter, plan.Trace)
	}
	return r, nil
}

// begin starts the terminals, of a new run or of one that goes on.
func (r *runner) begin() error {
	f := r.f
	left := r.plan.From
	if left != nil {
		if err := r.restore(left); err != nil {
			return err
		}
	}
	f.Divide(r.plan.Threads, r.plan.Worth)
	if err := f.Attach(r); err != nil {
		return err
	}
	if left != nil {
		r.watch.ArchiveNetwork(left)
		return left.End()
	}
	return nil
}

// Part implements [fabric.Host]: the workload, with a part of the meter.
func (r *runner) Part(int) fabric.Ends {
	return fabric.Ends{Source: r.statistics.source, Sink: r.result.Part()}
}

// runner takes a run through its phases.
type runner struct {
	f          *core.Fabric
	plan       Plan
	ctx        context.Context
	watch      *core.Watchdog
	statistics *statistics // nil: nobody asks
	result     *Result
	trace      *observe.Tracer               // nil: no packets are traced
	write      func(*snapshot.Archive) error // the run, between two slices
	course
}

// course is how far a run has come, beside its statistics.
type course struct {
	phase  phase
	first  int64 // cycles of the first slices
	each   int64 // cycles of a slice now
	warm   bool  // the warm-up has settled
	opened bool  // the window is open, perhaps anew before the warm-up has settled
	look   int64 // cycle in which a warm-up that is found is looked at next
	until  int64 // cycle up to which a window that is found goes, for now
	narrow int   // looks in a row at which its interval was narrow enough
	grown  int64 // cycle from which on the run was saturated at all looks; 0: it is not
	stood  int   // looks in a row at which the run was steady
}

// phase is a part of a run.
type phase uint8

const (
	warming phase = iota
	measuring
	draining
	emptying
)

func (r *runner) run() error {
	phases := [...]func() error{warming: r.warmUp, measuring: r.measure, draining: r.drain, emptying: r.finish}
	for ; int(r.phase) < len(phases); r.phase++ {
		if err := phases[r.phase](); err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) advanceTo(cycle int64) error {
	return r.advanceUntil(func() bool { return r.f.Cycle() >= cycle }, cycle)
}

// advanceUntil simulates until the run is over or cycle end, slice by slice, between which the run
// can be kept.
func (r *runner) advanceUntil(over func() bool, end int64) error {
	for !over() {
		if err := r.slice(end); err != nil {
			return err
		}
	}
	return nil
}

// slice is a step of advanceUntil. A run that is told to end is kept before it does.
func (r *runner) slice(end int64) error {
	told := r.ctx.Err()
	if err := r.keep(false); err != nil {
		return err
	}
	if told != nil {
		return told
	}
	if r.statistics == nil {
		return r.advance(min(r.each, end-r.f.Cycle()))
	}
	return r.advance(min(r.statistics.progress.left(), end-r.f.Cycle()))
}

// keep lets the run be kept between two slices.
func (r *runner) keep(done bool) error {
	if r.plan.Snapshot == nil {
		return nil
	}
	return r.plan.Snapshot(done, r.write)
}

// advance simulates some cycles and looks for signs of life. The intervals of a series end within
// them: what is noted is the same with and without.
func (r *runner) advance(cycles int64) error {
	until := r.f.Cycle() + cycles
	if r.statistics != nil && r.statistics.series != nil && r.phase <= measuring {
		for series := r.statistics.series; series.left() <= until-r.f.Cycle(); series.note() {
			r.f.Advance(series.left())
		}
	}
	r.f.Advance(until - r.f.Cycle())
	if r.statistics != nil {
		r.statistics.note(cycles)
	}
	if r.plan.Progress != nil {
		r.plan.Progress()
	}
	return r.watch.Look()
}

// emptyingCycles is how often a network that empties, or runs to its end, is looked at.
const emptyingCycles = 100

// goOn is advance for the parts of runs that are not kept.
func (r *runner) goOn() error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	return r.advance(emptyingCycles)
}

// ToEnd is what a run to the end is watched by, and goes on from; all is optional.
type ToEnd struct {
	Progress func() // called every hundred cycles, while nothing is simulated
	// From and Snapshot are those of [Plan]. The host must be a [snapshot.Archiver].
	From     *snapshot.Archive
	Snapshot func(done bool, state func(*snapshot.Archive) error) error
}

// RunToEnd drives the fabric with a host of finitely many packets, such as a [core.HostModel],
// whose packets are born when others arrive: until nothing is left to send, all packets have
// arrived and all credits are home. It ends with the audit of flits and credits. What the sink was
// told is the result. The fabric must be new, or divided by [core.Fabric.DivideFor].
func RunToEnd(ctx context.Context, f *core.Fabric, host fabric.Host, plan ToEnd) error {
	r := &runner{f: f, plan: Plan{Progress: plan.Progress, Snapshot: plan.Snapshot}, ctx: ctx, watch: f.Watch(), course: course{each: emptyingCycles}}
	f.ProbeWithin(func() (from, to int64) { return 0, fabric.Never })
	kept, _ := host.(snapshot.Archiver)
	left := plan.From
	if left != nil {
		if kept.Archive(left); left.Err() != nil {
			return left.Err()
		}
	}
	if err := f.Attach(host); err != nil {
		return err
	}
	if left != nil {
		r.watch.ArchiveNetwork(left)
		if err := left.End(); err != nil {
			return err
		}
	}
	r.write = func(a *snapshot.Archive) error {
		kept.Archive(a)
		r.watch.ArchiveNetwork(a)
		return a.Err()
	}
	if err := r.advanceUntil(f.Ended, fabric.Never); err != nil {
		return err
	}
	return f.Rest()
}

// A written run is how far it has come, what it has measured, the workload, and the network.

// state writes the run between two slices, which are all the same for any number of threads.
func (r *runner) state(a *snapshot.Archive) error {
	r.archive(a)
	r.statistics.source.Archive(a)
	r.watch.ArchiveNetwork(a)
	return a.Err()
}

// restore reads all but the network, which stays in the archive until the terminals have started.
func (r *runner) restore(a *snapshot.Archive) error {
	r.archive(a)
	if a.Err() != nil {
		return a.Err()
	}
	if r.phase >= draining {
		r.conclude()
	}
	r.statistics.source.Archive(a)
	return a.Err()
}

func (r *runner) archive(a *snapshot.Archive) {
	a.Mark("run")
	snapshot.Value(a, &r.course)
	r.statistics.archive(a)
	snapshot.Value(a, r.result)
	if a.Reading() && r.phase >= draining && r.statistics.series != nil {
		r.result.Series = &r.statistics.series.Series
	}
}

// archive archives what has been counted. A series is written as the plan asks for one.
func (s *statistics) archive(a *snapshot.Archive) {
	snapshot.Value(a, s)
	s.meter.archive(a)
	snapshot.Value(a, s.progress)
	has := s.series != nil
	if snapshot.Bool(a, &has); has {
		if s.series == nil {
			s.series = &seriesRecorder{f: s.f}
		}
		snapshot.Value(a, s.series)
	}
}

// archive archives a meter with what its parts have measured, which it takes over.
func (m *Meter) archive(a *snapshot.Archive) {
	if !a.Reading() {
		m.gather()
	}
	snapshot.Value(a, m)
}
