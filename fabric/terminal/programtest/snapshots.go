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
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/snapshot"
)

// checkSnapshots ends runs of a program at several moments, and has others go on from what
// they have left: alone, and where it follows another program, each of those that are
// registered, in a network that is warm.
func checkSnapshots(t *testing.T, name string) {
	topo, err := topology.Registry.New("dragonfly", struct{}{}, param.Set("p", 2), param.Set("a", 4), param.Set("h", 2))
	if err != nil {
		t.Fatal(err)
	}
	config := fabric.DefaultConfig()
	config.Channels = map[string]fabric.ChannelConfig{"global": {Latency: 100 * sim.Nanosecond}}
	run := func(before string, plan measure.Plan) (string, error) {
		r, err := routing.Registry.New("ugal-l", routing.Env{Topology: topo, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		f, err := core.New(topo.Graph(), config, r, 1)
		if err != nil {
			t.Fatal(err)
		}
		plan.Warmup, plan.Window = 500, 700
		w := Make(t, name, topo, 0.3)
		if before != "" {
			plan.After, plan.Settle = w, 250
			w = Make(t, before, topo, 0.6)
		}
		result, err := measure.Run(context.Background(), f, w, 0.3, plan)
		if err != nil {
			return "", err
		}
		return fmt.Sprint(result.Packets(), result.Accepted, result.MeanLatency(), result.Measures, result.Cycles, result.Evidence, result.ChannelFlits), nil
	}
	for _, before := range append(terminal.Registry.Names(), "") {
		want, err := run(before, measure.Plan{Threads: 2})
		if err != nil {
			t.Fatal(err)
		}
		for i, at := range []int{3, 6, 11} { // in the warm-up, settling or measuring, measuring
			var kept []byte
			killed, calls := errors.New("killed"), 0
			_, err := run(before, measure.Plan{Threads: 1 + i%2, Snapshot: func(_ bool, state func(*snapshot.Archive) error) (err error) {
				if calls++; calls > at {
					if kept, err = snapshot.Encode(state); err == nil {
						err = killed
					}
				}
				return err
			}})
			if !errors.Is(err, killed) {
				t.Fatalf("after %q: a run is not ended: %v", before, err)
			}
			if got, err := run(before, measure.Plan{Threads: 1 + (i+1)%3, From: snapshot.Reader(kept)}); err != nil || got != want {
				t.Errorf("after %q: from slice %d on (%v)\n%.200s\nwant\n%.200s", before, at, err, got, want)
			}
		}
	}
}
