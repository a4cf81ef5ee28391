package routing_test

import (
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim/param"
)

// TestSharedSteps: routings on groups take the same ways by either form of their tables,
// with the same random numbers, in dragonflies with a channel between two groups, with
// several, and with several of one switch.
func TestSharedSteps(t *testing.T) {
	nets := []topology.Topology{
		dragonfly(t, 2, 4, 2, 0), dragonfly(t, 2, 4, 2, 4), dragonfly(t, 1, 3, 1, 2), dragonfly(t, 2, 1, 4, 0), dragonfly(t, 1, 3, 5, 3),
	}
	for _, name := range []string{"min", "val", "ugal-g", "ugal-l", "ugal-l-vc", "ugal-l-vch", "ugal-l-cr", "ugal-pb", "par", "q-adaptive"} {
		for _, gateway := range []string{"random", "hashed"} {
			for i, net := range nets {
				whole := must(t, net, 0, name, settings(name, gateway)...)
				restore := routing.ShareSteps()
				shared := must(t, net, 0, name, settings(name, gateway)...)
				restore()
				if a, b := digestOf(t, net, whole), digestOf(t, net, shared); a != b {
					t.Errorf("%s, gateways %s, network %d: digests %#x and %#x", name, gateway, i, a, b)
				}
				if a, b := dependencies(t, net, whole, whole.VCs()), dependencies(t, net, shared, shared.VCs()); !slices.Equal(a, b) {
					t.Errorf("%s, gateways %s, network %d: %d and %d dependencies, or others", name, gateway, i, len(a), len(b))
				}
			}
		}
	}
}

func settings(name, gateway string) []param.Setting {
	if name == "q-adaptive" {
		return nil // takes any gateway
	}
	return []param.Setting{param.Set("gateway", gateway)}
}
