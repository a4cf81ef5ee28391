package core_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/traffic"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim/param"
)

// A load sweep: a torus under uniform traffic at three loads.
func Example() {
	topo := must(topology.Registry.New("torus", struct{}{}, param.Set("dims", []int{4, 4})))
	dor := must(routing.Registry.New("dor", routing.Env{Topology: topo}))
	pattern := must(traffic.Patterns.New("uniform", traffic.Env{Topology: topo}))
	sizes := must(traffic.NewSizes([]int{1}, nil))
	for _, load := range []float64{0.1, 0.5, 0.9} {
		process := must(traffic.Processes.New("bernoulli", traffic.ProcessEnv{Load: load, MeanFlits: sizes.Mean()}))
		f := must(core.New(topo.Graph(), fabric.DefaultConfig(), dor, 1))
		r := must(measure.Run(context.Background(), f, measure.NewOpenLoop(f.Graph().Terminals(), pattern, process, sizes, f.Seed()), load, measure.Plan{Warmup: 1000, Window: 5000}))
		fmt.Printf("load %.1f: accepted %.2f, mean latency %.1f cycles\n", load, r.Accepted, r.MeanLatency())
	}
	// Output:
	// load 0.1: accepted 0.10, mean latency 8.3 cycles
	// load 0.5: accepted 0.50, mean latency 8.9 cycles
	// load 0.9: accepted 0.90, mean latency 12.8 cycles
}

func must[T any](x T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return x
}
