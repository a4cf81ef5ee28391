package topology_test

import (
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
)

func init() {
	topology.CheckGraph, topology.Families = topologytest.CheckGraph, topologytest.Families
}

// TestConformance holds every registered topology to the conformance suite, and
// to the samples of the families' own tests.
func TestConformance(t *testing.T) {
	for _, name := range topology.Registry.Names() {
		t.Run(name, func(t *testing.T) {
			topologytest.Conform(t, name)
			for _, s := range topology.Samples[name] {
				t.Run(s.Name, func(t *testing.T) {
					config, err := topology.Registry.Config(name)
					if err != nil {
						t.Fatal(err)
					}
					s.Set(config)
					topologytest.Check(t, name, topologytest.Sample{Config: config, TightBisection: s.TightBisection})
				})
			}
		})
	}
}
