package routing_test

import (
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/routing/routingtest"
)

// TestServiceLevels: routings with two service levels keep the contracts of routings, on channels of
// each level that are none of the other's.
func TestServiceLevels(t *testing.T) {
	kept, refused := 0, 0
	for _, name := range []string{"dor", "nca", "ugal-l", "par", "q-adaptive"} {
		routingtest.Each(t, name, nil, func(t *testing.T, n topologytest.Network, v routingtest.Variant, r fabric.Routing) {
			two, err := routing.ServiceLevels(r, 2)
			if err != nil {
				if !strings.Contains(err.Error(), "level = 1: want 0, or another routing") && !strings.Contains(err.Error(), "a channel can have 16") {
					t.Error(err)
				}
				refused++
				return
			}
			kept++
			routingtest.ConformOn(t, n, v, two)
			k := two.VCs() / 2
			g := n.Topology.Graph()
			for vc := range two.VCs() {
				port := g.TerminalPort[0]
				h := fabric.Head{Switch: g.PortSwitch[port], In: port, VC: uint8(vc), Dst: 1}
				two.(fabric.Explorer).Explore(two.VCs(), h, func(hop fabric.Hop, _ uint32, _ float64) {
					if other := hop.VCs >> (vc / k * k) << (vc / k * k); other != hop.VCs || hop.VCs>>((vc/k+1)*k) != 0 {
						t.Errorf("from channel %d of %d a packet may take %b", vc, two.VCs(), hop.VCs)
					}
				})
			}
		})
	}
	if kept < 10 || refused == 0 {
		t.Errorf("%d routings with levels, %d without", kept, refused)
	}
}
