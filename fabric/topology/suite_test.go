package topology_test

import (
	"fmt"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	_ "github.com/weft-sim/weft/fabric/topology/families"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
)

// TestConformance holds every registered topology to the conformance suite, and to the samples.
func TestConformance(t *testing.T) {
	for _, name := range topology.Registry.Names() {
		t.Run(name, func(t *testing.T) {
			topologytest.Conform(t, name)
			for _, s := range samples {
				for _, config := range s.configs {
					if s.family == name {
						t.Run(fmt.Sprintf("%+v", config), func(t *testing.T) {
							topologytest.Check(t, name, topologytest.Sample{Config: config, TightBisection: s.tight})
						})
					}
				}
			}
		})
	}
}
