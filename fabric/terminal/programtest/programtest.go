// Package programtest is the conformance suite of terminal programs: what they send arrives, they
// send nothing after their end, and neither snapshots nor the number of threads change a digit. It
// is for weft's own programs and for others:
//
//	func TestMine(t *testing.T) { programtest.Conform(t, "mine") }
package programtest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/terminal"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/traffic"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/snapshot"
	"github.com/weft-sim/weft/sim/snapshot/snapshottest"
)

// Conform holds program name, with its defaults, to the contracts of [fabric.Workload] and, if it
// is one, [fabric.Responder].
func Conform(t *testing.T, name string) {
	t.Run("threads", func(t *testing.T) { checkThreads(t, name) })
	t.Run("contract", func(t *testing.T) { checkContract(t, name) })
	t.Run("snapshots", func(t *testing.T) { checkSnapshots(t, name) })
}

// dragonfly has channels between groups long enough for several threads.
func dragonfly(t testing.TB, by string) (topology.Topology, *core.Fabric) {
	return network(t, "dragonfly", by, map[string]fabric.ChannelConfig{"global": {Latency: 100 * sim.Nanosecond}},
		param.Set("p", 2), param.Set("a", 4), param.Set("h", 2))
}

// network makes a fabric of a topology with a routing.
func network(t testing.TB, family, by string, channels map[string]fabric.ChannelConfig, settings ...param.Setting) (topology.Topology, *core.Fabric) {
	t.Helper()
	topo := simtest.Must(topology.Registry.New(family, struct{}{}, settings...))(t)
	r := simtest.Must(routing.Registry.New(by, routing.Env{Topology: topo, Seed: 1}))(t)
	config := fabric.DefaultConfig()
	config.Channels = channels
	f := simtest.Must(core.New(topo.Graph(), config, r, 1))(t)
	return topo, f
}

// Make builds a program for uniform traffic of packets of 1 and 4 flits.
func Make(t testing.TB, name string, topo topology.Topology, load float64, settings ...param.Setting) fabric.Workload {
	t.Helper()
	sizes := simtest.Must(traffic.NewSizes([]int{1, 4}, nil))(t)
	pattern := simtest.Must(traffic.Patterns.New("uniform", traffic.Env{Topology: topo, Seed: 1}))(t)
	w, err := terminal.Registry.New(name, terminal.Env{
		Terminals: topo.Graph().Terminals(), Pattern: pattern, Sizes: sizes, MeanFlits: sizes.Mean(), Seed: 1, Clock: sim.Nanosecond,
		Process: func(flits float64) (measure.Process, error) {
			return traffic.Processes.New("bernoulli", traffic.ProcessEnv{Load: load, MeanFlits: flits})
		},
	}, settings...)
	simtest.Check(t, err)
	got, want := w.Terminals(), topo.Graph().Terminals()
	simtest.FatalIf(t, got != want, "made for %d terminals, want %d", got, want)
	return w
}

// checkThreads measures a run by several numbers of threads. [measure.Run] audits its flits.
func checkThreads(t *testing.T, name string) {
	for _, load := range []float64{0.2, 0.9} {
		var want string
		for _, threads := range []int{1, 2, 3} {
			topo, f := dragonfly(t, "min")
			w := Make(t, name, topo, load)
			result := simtest.Must(measure.Run(context.Background(), f, w, load, measure.Plan{Warmup: 300, Window: 1000, Threads: threads}))(t)
			simtest.FatalIf(t, f.Threads() != threads, "%d threads, want %d", f.Threads(), threads)
			simtest.ErrorIf(t, result.Packets() == 0 || f.InjectedFlits != f.DeliveredFlits,
				"%d packets measured; %d flits entered the network and %d left it", result.Packets(), f.InjectedFlits, f.DeliveredFlits)
			got := fmt.Sprint(f.Counters, result.MeanLatency(), result.HalfWidth(), result.Latency().Max(), result.Accepted, result.Cycles, result.State, result.Reason, result.ChannelFlits)
			for _, m := range result.Measures {
				got += fmt.Sprint(" ", m.Name, m.Cycles.N(), m.Mean(), m.Cycles.Max())
			}
			if want == "" {
				want = got
			}
			simtest.ErrorIf(t, got != want, "load %v, %d threads:\n%.300s\nwant\n%.300s", load, threads, got, want)
		}
	}
}

// watched holds what a workload sends to its contract.
type watched struct {
	fabric.Workload
	t          testing.TB
	sent       int   // packets
	stop, last int64 // no births from this cycle on; the last one
}

func (w *watched) Stop(c int64) {
	w.stop = c
	w.Workload.Stop(c)
}

func (w *watched) Next(t topology.TerminalID, until int64, spec *fabric.PacketSpec) bool {
	*spec = fabric.PacketSpec{Flits: -1, Dst: -1, MLID: -1, VCs: 1}
	switch {
	case !w.Workload.Next(t, until, spec):
		if spec.Birth <= until {
			w.t.Errorf("until cycle %d terminal %d has no packet, and one of cycle %d", until, t, spec.Birth)
		}
		return false
	case spec.Flits < 1 || spec.Dst < 0 || int(spec.Dst) >= w.Terminals() || spec.Birth > until || spec.Birth < 0 || spec.VCs != 0 || spec.MLID != 0:
		w.t.Errorf("until cycle %d terminal %d sends the packet %+v", until, t, *spec)
	case spec.Birth >= w.stop:
		w.t.Errorf("a packet is born in cycle %d, the end is %d", spec.Birth, w.stop)
	}
	w.sent++
	w.last = max(w.last, spec.Birth)
	return true
}

// watchedResponder is one that hears of arrivals and of time.
type watchedResponder struct {
	*watched
	r fabric.Responder
}

func (w watchedResponder) Deliver(d *fabric.Delivery)                             { w.r.Deliver(d) }
func (w watchedResponder) Start(engine func(t topology.TerminalID) fabric.Engine) { w.r.Start(engine) }
func (w watchedResponder) Alarm(t topology.TerminalID)                            { w.r.Alarm(t) }
func (w watchedResponder) Measures() []string                                     { return w.r.Measures() }

// checkContract looks at every packet of a run, and between its parts at the state: a new program
// writes what it has read, and reads nothing longer or shorter.
func checkContract(t *testing.T, name string) {
	topo, f := network(t, "single-switch", "table", nil, param.Set("terminals", 5))
	w := &watched{Workload: Make(t, name, topo, 0.5), t: t, stop: fabric.Never}
	var workload fabric.Workload = w
	if r, ok := w.Workload.(fabric.Responder); ok {
		workload = watchedResponder{w, r}
	}
	states := 0
	check := func(bool, func(*snapshot.Archive) error) error {
		states++
		state := snapshottest.State(w)
		again := Make(t, name, topo, 0.5)
		if err := snapshottest.Restore(again, state); err != nil {
			return err
		}
		got := snapshottest.State(again)
		simtest.ErrorIf(t, string(got) != string(state), "after %d packets the restored state differs", w.sent)
		if err := snapshottest.Restore(Make(t, name, topo, 0.5), append(state, 1)); err == nil {
			t.Error("a state that is too long is accepted")
		}
		if err := snapshottest.Restore(Make(t, name, topo, 0.5), state[:len(state)-1]); err == nil {
			t.Error("a state that is too short is accepted")
		}
		return nil
	}
	if _, err := measure.Run(context.Background(), f, workload, 0.5, measure.Plan{Warmup: 300, Window: 700, Threads: 1, Snapshot: check}); err != nil {
		t.Fatal(err)
	}
	simtest.ErrorIf(t, w.sent == 0 || w.stop == fabric.Never || w.last < w.stop/2 || states < 3,
		"%d packets, the last born in cycle %d of %d; %d states", w.sent, w.last, w.stop, states)
}

// checkSnapshots ends runs of a program at several moments, and has others go on from there.
func checkSnapshots(t *testing.T, name string) {
	run := func(plan measure.Plan) (string, error) {
		topo, f := dragonfly(t, "ugal-l")
		plan.Warmup, plan.Window = 500, 700
		result, err := measure.Run(context.Background(), f, Make(t, name, topo, 0.3), 0.3, plan)
		if err != nil {
			return "", err
		}
		return fmt.Sprint(result.Packets(), result.Accepted, result.MeanLatency(), result.Measures, result.Cycles, result.Evidence, result.ChannelFlits), nil
	}
	want, err := run(measure.Plan{Threads: 2})
	simtest.Check(t, err)
	for i, at := range []int{3, 6, 11} { // in the warm-up, in the window twice
		var kept []byte
		killed, calls := errors.New("killed"), 0
		_, err := run(measure.Plan{Threads: 1 + i%2, Snapshot: func(_ bool, state func(*snapshot.Archive) error) (err error) {
			if calls++; calls > at {
				if kept, err = snapshottest.Encode(state); err == nil {
					err = killed
				}
			}
			return err
		}})
		simtest.FatalIf(t, !errors.Is(err, killed), "a run is not ended: %v", err)
		if got, err := run(measure.Plan{Threads: 1 + (i+1)%3, From: snapshot.Reader(kept)}); err != nil || got != want {
			t.Errorf("a run that goes on from its state in slice %d ends otherwise (error: %v): Archive may leave a field out\n%.200s\nwant\n%.200s", at, err, got, want)
		}
	}
}
