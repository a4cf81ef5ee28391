package mpi

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/kinds/telemetry"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/skeletons"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/stats"
)

// runMPI computes a point: the means over its replications.
func runMPI(ctx context.Context, c *Config, run *experiments.Run) (mpiRow, error) {
	var sum mpiSum
	var seen mpiObserved
	for i := range c.Measure.Replications {
		row, err := c.simulate(ctx, run, i, &seen)
		if err != nil {
			return mpiRow{}, err
		}
		sum.add(&row)
	}
	run.Replications = c.Measure.Replications
	if seen.timeline != nil {
		seen.timeline.Graph = seen.graph
		seen.timeline.Write(run)
	}
	seen.Write(run, seen.graph, c.Fabric.Clock, c.Measure.Links, c.Trace.Packets > 0)
	return sum.row(), nil
}

// mpiSum sums up the rows of replications.
type mpiSum struct {
	fields []stats.Running // by field of mpiRow; truth counts as 1
}

func (s *mpiSum) add(row *mpiRow) {
	v := reflect.ValueOf(row).Elem()
	if s.fields == nil {
		s.fields = make([]stats.Running, v.NumField())
	}
	for i := range s.fields {
		switch f := v.Field(i); f.Kind() {
		case reflect.Float64:
			s.fields[i].Add(f.Float())
		case reflect.Int64:
			s.fields[i].Add(float64(f.Int()))
		case reflect.Bool:
			if s.fields[i].Add(0); f.Bool() {
				s.fields[i].Add(1)
			}
		}
	}
}

// row has the means; half-widths in the fields whose names end in CI95; and what
// is true of any replication.
func (s *mpiSum) row() mpiRow {
	var row mpiRow
	v := reflect.ValueOf(&row).Elem()
	for i := range s.fields {
		switch f := v.Field(i); f.Kind() {
		case reflect.Float64:
			of, interval := strings.CutSuffix(v.Type().Field(i).Name, "CI95")
			if !interval {
				f.SetFloat(s.fields[i].Mean())
				continue
			}
			mean, _ := v.Type().FieldByName(of)
			f.SetFloat(stats.Finite(s.fields[mean.Index[0]].HalfWidth(0.95)))
		case reflect.Int64:
			f.SetInt(int64(math.Round(s.fields[i].Mean())))
		case reflect.Bool:
			f.SetBool(s.fields[i].Max() > 0)
		}
	}
	return row
}

func (c *Config) simulate(ctx context.Context, run *experiments.Run, replication int, seen *mpiObserved) (mpiRow, error) {
	seed := run.SeedOf(replication)
	progress := run.CountEvents(ctx, 0)
	var checkpoint mpi.Checkpoint
	if !c.Measure.Timeline {
		kept := run.Checkpoint()
		checkpoint = mpi.Checkpoint{From: kept.Open(), Save: kept.SaveTo}
	}
	w, err := c.build()
	if err != nil {
		return mpiRow{}, err
	}
	if c.Job.Machine == "loggops" {
		return c.simulateLogGOPS(ctx, run, w, replication == 0, checkpoint, seen)
	}
	config, err := c.Runtime(seed)
	if err != nil {
		return mpiRow{}, err
	}
	config.Progress, config.Checkpoint = progress, checkpoint
	if c.Measure.Timeline && replication == 0 {
		config.Timeline = telemetry.NewTimeline(w.Ranks())
	}
	row := mpiRow{Links: math.NaN(), Network: math.NaN(), Bound: math.NaN()}
	over := func(r mpi.Result, err error) (mpi.Result, error) { return r, err }
	if c.Job.Machine == "fabric" {
		if config.Divide, over, err = c.overFabric(&config.Adapter, run, seed, seen, config.Timeline != nil, &row); err != nil {
			return mpiRow{}, err
		}
	} else {
		run.OnOneThread("a receiving adapter that is behind holds back its senders in the same instant (machine loggp)")
		network := c.LogGP
		network.HCA = config.Adapter
		config.Transport = network.New
	}
	r, err := over(config.Run(w))
	if err != nil {
		return mpiRow{}, Stopped(ctx, err)
	}
	progress(int64(r.Stats.Events))
	nodeOf, _, err := c.Placement.Place(w.Ranks(), seed)
	if err != nil {
		return mpiRow{}, err
	}
	slices.Sort(nodeOf)
	nodes := len(slices.Compact(nodeOf)) // with ranks
	ranks := float64(w.Ranks())
	row.Messages, row.Control, row.Handshakes = r.Stats.Messages, r.Stats.Control, r.Stats.Handshakes
	row.QPs, row.QPsPeak, row.KernelTime, row.ConnectWait = float64(r.Stats.QPs)/ranks, r.Stats.QPsPeak, r.Stats.KernelTime.Seconds()/ranks, r.Stats.ConnectWait.Seconds()/ranks
	row.Misses, row.MissTime = r.HCA.ContextMisses, r.HCA.MissTime.Seconds()/float64(nodes)
	row.NotReady, row.Leaders = r.Stats.NotReady, math.NaN()
	if p, err := c.program(); err == nil {
		if l, ok := p.(interface{ Leaders() int }); ok && l.Leaders() > 0 { // of an alltoall by leaders, a node
			row.Leaders = float64(l.Leaders())
		}
	}
	for _, t := range r.CPU {
		row.CPU += t.Busy.Seconds() / float64(len(r.CPU))
		row.Copies += t.Copies.Seconds() / float64(len(r.CPU))
		row.CPUMax, row.CopiesMax = max(row.CPUMax, t.Busy.Seconds()), max(row.CopiesMax, t.Copies.Seconds())
	}
	row.Adapter, row.AdapterMax = (r.HCA.SendBusy+r.HCA.RecvBusy).Seconds()/float64(2*nodes), r.HCA.Busiest.Seconds()
	memory := c.Connections.Footprint(w.Ranks(), c.Placement.PerNode, r.Stats.QPsPeak)
	row.Static, row.Memory, row.NodeQPs = memory.ProcessStatic, memory.Process, memory.NodeQPs
	finish := lists.Map(r.Finish, func(t sim.Time) int64 { return int64(t) })
	row.times(c, w, finish, 1e-12)
	if replication == 0 {
		c.finishTimes(run, finish, 1000)
	}
	if config.Timeline != nil {
		seen.timeline = &telemetry.TimelineWriter{Timeline: config.Timeline}
		seen.timeline.Path("", slices.Index(r.Finish, r.Elapsed), r.Elapsed)
	}
	return row, nil
}

// simulateLogGOPS is simulate on the LogGOPS machine, which has no connections and adapters.
func (c *Config) simulateLogGOPS(ctx context.Context, run *experiments.Run, w mpi.Workload, first bool, checkpoint mpi.Checkpoint, seen *mpiObserved) (mpiRow, error) {
	progress := run.CountEvents(ctx, 0)
	run.OnOneThread("the LogGOPS machine has few steps for each event")
	machine := c.LogGOPS
	if c.Measure.Timeline && first {
		machine.Timeline = telemetry.NewTimeline(w.Ranks() * w.CPUs())
	}
	r, err := machine.RunKept(w, progress, checkpoint)
	if err != nil {
		return mpiRow{}, Stopped(ctx, err)
	}
	progress(r.Events)
	none := math.NaN()
	row := mpiRow{Messages: r.Messages, Leaders: none, CPU: none, CPUMax: none, Copies: none, CopiesMax: none, Adapter: none, AdapterMax: none, Links: none, Network: none, Bound: none}
	row.times(c, w, r.Finish, 1e-9)
	if first {
		c.finishTimes(run, r.Finish, 1)
	}
	if machine.Timeline != nil {
		seen.timeline = &telemetry.TimelineWriter{Timeline: machine.Timeline, CPUs: w.CPUs()}
		seen.timeline.Path("", machine.Timeline.Last(), sim.Time(slices.Max(r.Finish))*sim.Nanosecond)
	}
	return row, nil
}

// Runtime is the configuration of a run without its network.
func (c *Config) Runtime(seed uint64) (mpi.Config, error) {
	adapter, err := c.Adapter()
	return mpi.Config{Placement: c.Placement, Protocols: c.Protocol, Connections: c.Connections, Noise: c.Noise, Memory: c.Memory, Adapter: adapter, Seed: seed}, err
}

// Stopped is the context's error if it ended the run, otherwise err.
func Stopped(ctx context.Context, err error) error {
	if errors.Is(err, mpi.ErrStopped) {
		return ctx.Err()
	}
	return err
}

// times fills in the times of a run, given in a unit of so many seconds.
func (row *mpiRow) times(c *Config, w mpi.Workload, finish []int64, seconds float64) {
	row.Elapsed = float64(slices.Max(finish)) * seconds
	row.Total, row.First, row.Steady = row.Elapsed, math.NaN(), math.NaN()
	s, ok := w.(*mpi.ScheduleRun)
	var times []float64
	if ok {
		times = s.OperationTimes()
	}
	program, _ := c.program()
	o := BenchmarkTimes(program, times, seconds)
	row.Operation, row.OperationMin, row.OperationMax = o.Mean, o.Least, o.Most
	row.Bandwidth, row.MessageRate, row.AlgBW, row.BusBW = o.Bandwidth, o.Messages, o.AlgBW, o.BusBW
	if !ok || len(s.PhaseEnds()) == 0 {
		return
	}
	ends := s.PhaseEnds()
	row.First = float64(ends[0]) * seconds
	rest := len(ends) - 1
	if rest == 0 {
		return
	}
	row.Steady = float64(ends[rest]-ends[0]) * seconds / float64(rest)
	if n := c.Job.Extrapolate; n > len(ends) {
		row.Extrapolated = true
		row.Total = row.Elapsed + row.Steady*float64(n-len(ends))
	}
}

// finishTimes writes ranks.csv if asked for.
func (c *Config) finishTimes(run *experiments.Run, finish []int64, unitsPerNanosecond int64) {
	if !c.Job.FinishTimes {
		return
	}
	t := run.Table(tables.Named("ranks"))
	for r, at := range finish {
		t.Add(r, telemetry.Exact(at, unitsPerNanosecond))
	}
}

// OperationTimes is what benchmarks print of an operation, times in seconds; NaN where a program has none.
type OperationTimes struct {
	Mean, Least, Most float64
	skeletons.Figures
}

// BenchmarkTimes sums up the times of a program's ranks, in a unit of so many seconds; there may be none. A
// rank without operations, such as those between the two of a ping-pong, is left out.
func BenchmarkTimes(program skeletons.Program, times []float64, seconds float64) OperationTimes {
	o := OperationTimes{math.NaN(), math.NaN(), math.NaN(), skeletons.NoFigures}
	var ranks stats.Running
	for r := range times {
		if times[r] *= seconds; times[r] > 0 {
			ranks.Add(times[r])
		}
	}
	if ranks.N() == 0 {
		return o
	}
	o.Mean, o.Least, o.Most = ranks.Mean(), ranks.Min(), ranks.Max()
	if b, ok := program.(skeletons.Benchmark); ok {
		o.Figures = b.Figures(times)
	}
	return o
}
