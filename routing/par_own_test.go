package routing

import (
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
)

// TestOwnPARDiverts: a packet that has come to the gateway of its minimal path by a local hop may
// leave it by its global channels only, all of them, on the virtual channel of its source group.
func TestOwnPARDiverts(t *testing.T) {
	const a, h = 4, 2
	topo, err := topology.Registry.New("dragonfly", struct{}{}, param.Set("p", 1), param.Set("a", a), param.Set("h", h))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Registry.New("par-own", Env{Topology: topo}, param.Set("global_vc", "same"))
	if err != nil {
		t.Fatal(err)
	}
	g, grouped := topo.Graph(), topo.(topology.Grouped)
	explorer := r.(fabric.Explorer)
	for dst := range g.Terminals() {
		head := fabric.Head{Switch: 0, In: g.TerminalPort[0], Dst: topology.TerminalID(dst)}
		if grouped.GroupOf(g.TerminalSwitch(head.Dst)) == 0 {
			continue
		}
		explorer.Explore(3, head, func(hop fabric.Hop, state uint32, _ float64) {
			peer, _ := g.PeerPort(hop.Port)
			at := head
			if at.Switch, at.In, at.State = g.PortSwitch[peer], peer, state; !undecided(state) || grouped.GroupOf(at.Switch) != 0 {
				return
			}
			ports := map[topology.PortID]bool{}
			explorer.Explore(3, at, func(hop fabric.Hop, _ uint32, _ float64) {
				ports[hop.Port] = true
				if peer, ok := g.PeerPort(hop.Port); !ok || grouped.GroupOf(g.PortSwitch[peer]) == 0 || hop.VCs != 1 {
					t.Errorf("terminal %d: port %d, virtual channels %b at its gateway", dst, hop.Port, hop.VCs)
				}
			})
			if len(ports) != h {
				t.Errorf("terminal %d: %d ways out of its gateway, want %d", dst, len(ports), h)
			}
		})
	}
}
