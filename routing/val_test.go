package routing

import (
	"maps"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestOnlyDetour: of three groups, of a terminal on each of two switches, a packet from the first to
// the second has one detour, by way of the third. Within its group it has none.
func TestOnlyDetour(t *testing.T) {
	topo := simtest.Must(topology.Registry.New("dragonfly", struct{}{}, param.Set("p", 1), param.Set("a", 2), param.Set("h", 1)))(t)
	r := simtest.Must(Registry.New("val", Env{Topology: topo}))(t).(*valiant)
	random := sim.NewStream(1, "detours", 0)
	if state, ok := r.drawDetour(&fabric.Head{Switch: 0, Dst: 2}, &random); !ok || state&viaMask != 2 {
		t.Errorf("detour by way of group %d, %v; want group 2", state&viaMask, ok)
	}
	if _, ok := r.drawDetour(&fabric.Head{Switch: 0, Dst: 1}, &random); ok {
		t.Error("a packet within its group has a detour")
	}
}

// TestAnyRouter: with any-router a detour leads through every switch but those of the source's group, the
// destination's among them. Switches 0 and 1 are the group of the source, 2 and 3 that of the destination.
func TestAnyRouter(t *testing.T) {
	topo := simtest.Must(topology.Registry.New("dragonfly", struct{}{}, param.Set("p", 1), param.Set("a", 2), param.Set("h", 1)))(t)
	u := simtest.Must(Registry.New("ugal-l", Env{Topology: topo}, param.Set("intermediate", "any-router")))(t).(*ugal)
	random := sim.NewStream(1, "detours", 0)
	drawn := map[uint32]bool{}
	for range 200 {
		if via, ok := u.drawIntermediate(&fabric.Head{Switch: 0, Dst: 2}, &random); ok {
			drawn[via] = true
		}
	}
	want := map[uint32]bool{2: true, 3: true, 4: true, 5: true}
	simtest.ErrorIf(t, !maps.Equal(drawn, want), "detours through %v, want 2 to 5", drawn)
}
