// Package programtest is the conformance suite of terminal programs: whatever they
// send arrives, they send nothing after their end, they go on from a saved state as
// if nothing had happened, and the number of threads does not change a digit. It is
// for weft's own programs and for those that others register:
//
//	func TestMine(t *testing.T) { programtest.Conform(t, "mine") }
package programtest

import (
	"context"
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
)

// Conform holds the registered program name, with its defaults, to the contracts of
// [fabric.Workload] and, if it is one, of [fabric.Responder].
func Conform(t *testing.T, name string) {
	t.Run("threads", func(t *testing.T) { checkThreads(t, name) })
	t.Run("state", func(t *testing.T) { checkState(t, name) })
	t.Run("snapshots", func(t *testing.T) { checkSnapshots(t, name) })
	t.Run("end", func(t *testing.T) { checkEnd(t, name) })
}

// Make builds a program for uniform traffic of packets of 1 and 4 flits.
func Make(t testing.TB, name string, topo topology.Topology, load float64, settings ...param.Setting) fabric.Workload {
	t.Helper()
	sizes, err := traffic.NewSizes([]int{1, 4}, nil)
	if err != nil {
		t.Fatal(err)
	}
	pattern, err := traffic.Patterns.New("uniform", traffic.Env{Topology: topo, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	w, err := terminal.Registry.New(name, terminal.Env{
		Terminals: topo.Graph().Terminals(), Pattern: pattern, Sizes: sizes, MeanFlits: sizes.Mean(), Seed: 1, Clock: sim.Nanosecond,
		Process: func(flits float64) (measure.Process, error) {
			return traffic.Processes.New("bernoulli", traffic.ProcessEnv{Load: load, MeanFlits: flits})
		},
	}, settings...)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := w.Terminals(), topo.Graph().Terminals(); got != want {
		t.Fatalf("made for %d terminals, want %d", got, want)
	}
	return w
}

// checkThreads measures a run on a dragonfly, whose channels between groups are long
// enough for several threads to share it. [measure.Run] audits it: every flit
// that entered the network has left it.
func checkThreads(t *testing.T, name string) {
	topo, err := topology.Registry.New("dragonfly", struct{}{}, param.Set("p", 2), param.Set("a", 4), param.Set("h", 2))
	if err != nil {
		t.Fatal(err)
	}
	config := fabric.DefaultConfig()
	config.Channels = map[string]fabric.ChannelConfig{"global": {Latency: 100 * sim.Nanosecond}}
	for _, load := range []float64{0.2, 0.9} {
		var want string
		for _, threads := range []int{1, 2, 3} {
			r, err := routing.Registry.New("min", routing.Env{Topology: topo, Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			f, err := core.New(topo.Graph(), config, r, 1)
			if err != nil {
				t.Fatal(err)
			}
			w := Make(t, name, topo, load)
			result, err := measure.Run(context.Background(), f, w, load, measure.Plan{Warmup: 300, Window: 1000, Threads: threads})
			if err != nil {
				t.Fatal(err)
			}
			if f.Threads() != threads {
				t.Fatalf("%d threads, want %d", f.Threads(), threads)
			}
			if result.Packets() == 0 || f.InjectedFlits != f.DeliveredFlits {
				t.Errorf("%d packets measured; %d flits entered the network and %d left it", result.Packets(), f.InjectedFlits, f.DeliveredFlits)
			}
			got := fmt.Sprint(f.Counters, result.MeanLatency(), result.HalfWidth(), result.Latency().Max(), result.Accepted, result.Cycles, result.State, result.Reason, result.ChannelFlits)
			for _, m := range result.Measures {
				got += fmt.Sprint(" ", m.Name, m.Cycles.N(), m.Mean(), m.Cycles.Max())
			}
			if want == "" {
				want = got
			}
			if got != want {
				t.Errorf("load %v, %d threads:\n%.300s\nwant\n%.300s", load, threads, got, want)
			}
		}
	}
}

// single is a small topology.
func single(t testing.TB) topology.Topology {
	t.Helper()
	topo, err := topology.Registry.New("single-switch", struct{}{}, param.Set("terminals", 5))
	if err != nil {
		t.Fatal(err)
	}
	return topo
}

// checkState saves a program in the middle of a run, restores it into a new one and
// goes on with both.
func checkState(t *testing.T, name string) {
	topo := single(t)
	for _, middle := range []int64{0, 37, 200} {
		w := Make(t, name, topo, 0.5)
		whole := newIdeal(t, w)
		whole.start(w)
		whole.run(middle)
		state := w.AppendState(nil)
		again := Make(t, name, topo, 0.5)
		if err := again.RestoreState(state); err != nil {
			t.Fatal(err)
		}
		if got := again.AppendState(nil); string(got) != string(state) {
			t.Errorf("cycle %d: the restored state differs", middle)
		}
		resumed := whole.clone()
		resumed.start(again)
		whole.run(middle + 500)
		resumed.run(middle + 500)
		if got, want := fmt.Sprint(resumed.sent), fmt.Sprint(whole.sent); got != want {
			t.Errorf("saved in cycle %d: sends\n%.300s\nwant\n%.300s", middle, got, want)
		}
		if len(whole.sent) == 0 {
			t.Error("nothing is sent")
		}
		if err := Make(t, name, topo, 0.5).RestoreState(append(state, 1)); err == nil {
			t.Error("a state that is too long is accepted")
		}
		if err := Make(t, name, topo, 0.5).RestoreState(state[:len(state)-1]); err == nil {
			t.Error("a state that is too short is accepted")
		}
	}
}

// checkEnd ends the births in the middle of a run.
func checkEnd(t *testing.T, name string) {
	const end = 150
	w := Make(t, name, single(t), 0.5)
	network := newIdeal(t, w)
	network.start(w)
	network.run(100)
	w.Stop(end)
	network.run(1000)
	last := int64(-1)
	for _, s := range network.sent {
		last = max(last, s.birth)
	}
	if last >= end || last < end/2 {
		t.Errorf("the last packet is born in cycle %d, the end is %d", last, end)
	}
	if len(network.flying) > 0 {
		t.Errorf("%d packets are under way", len(network.flying))
	}
	sent := len(network.sent)
	w.Stop(0)
	network.run(1100)
	if len(network.sent) != sent {
		t.Error("packets are sent behind the end")
	}
}
