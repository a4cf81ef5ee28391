package topology_test

import (
	"fmt"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
)

func init() {
	topology.CheckGraph, topology.Families = topologytest.CheckGraph, topologytest.Families
}

// TestConformance holds every registered topology to the conformance suite, and
// to the samples.
func TestConformance(t *testing.T) {
	for _, name := range topology.Registry.Names() {
		t.Run(name, func(t *testing.T) {
			topologytest.Conform(t, name)
			for _, s := range topology.Samples {
				for _, config := range s.Configs {
					if s.Family == name {
						t.Run(fmt.Sprintf("%+v", config), func(t *testing.T) {
							topologytest.Check(t, name, topologytest.Sample{Config: config, TightBisection: s.Tight})
						})
					}
				}
			}
		})
	}
}
