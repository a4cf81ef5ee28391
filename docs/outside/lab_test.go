package main

import (
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/terminal/programtest"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// The suites that weft's own things pass are for those of others, too.
func TestConformance(t *testing.T) {
	t.Run("chords", func(t *testing.T) { topologytest.Conform(t, "chords") })
	t.Run("chord-first", func(t *testing.T) { routingtest.Conform(t, "chord-first", nil) })
	t.Run("aimd", func(t *testing.T) { programtest.Conform(t, "aimd") })
}

// TestProbe samples the chords while all terminals send to the ones opposite: of a load of 0.2
// for each terminal, which all goes by its switch's chord, 200 flits a thousand cycles.
func TestProbe(t *testing.T) {
	net, err := topology.Registry.New("chords", struct{}{}, param.Set("switches", 8))
	simtest.Check(t, err)
	way, err := routing.Registry.New("chord-first", routing.Env{Topology: net})
	simtest.Check(t, err)
	probe := fabric.Probe{Interval: 1000, Quantities: []fabric.Quantity{fabric.Sent}}
	g := net.Graph()
	for s := range topology.SwitchID(8) {
		first, _ := g.Ports(s)
		probe.Ports = append(probe.Ports, first+across)
	}
	config := fabric.DefaultConfig()
	config.Probes = []fabric.Probe{probe}
	f, err := core.New(g, config, way, 1)
	simtest.Check(t, err)
	load := measure.NewOpenLoop(8, opposite{8, 1}, routingtest.AtRate(0.2), routingtest.Single{}, 1)
	r, err := measure.Run(t.Context(), f, load, 0.2, measure.Plan{Warmup: 1000, Window: 3000})
	simtest.Check(t, err)
	for i := range probe.Ports {
		for k := 1; k < 3; k++ {
			if n := r.Samples[0].At(k, 0, i); n < 150 || n > 250 {
				t.Errorf("%s sent %d flits, want about 200", g.PortName(probe.Ports[i]), n)
			}
		}
	}
}
