package core_test

import (
	"bytes"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestLongPauses sends packets by the same queues again after pauses of half to all of the
// 2^32 steps that numbers of steps tell apart: they must find the queues empty, as flits do.
// At two steps a cycle these are pauses of 2^30 to 2^31 cycles.
func TestLongPauses(t *testing.T) {
	n := newNetwork(t, "mesh", "dor", func(c *topology.GridConfig) { c.Dims = []int{3} })
	var arrivals [2]map[uint64]fabric.Delivery
	births := []int64{0, 5, 1<<30 + 100, 1<<30 + 1<<30/2*3, 4 << 30, 4<<30 + 3}
	for i, unit := range []string{fabric.UnitFlit, fabric.UnitPacket} {
		config := holding(fabric.DefaultConfig())
		config.Fabric.Unit = unit
		s := &script{}
		for tag, birth := range births {
			s.send(0, fabric.PacketSpec{Birth: birth, Dst: 2, Flits: 7, Tag: uint64(tag)})
		}
		n.play(t, config, s, 5<<30)
		arrivals[i] = s.byTag()
	}
	for tag := range births {
		flits, packets := arrivals[0][uint64(tag)], arrivals[1][uint64(tag)]
		simtest.ErrorIf(t, flits != packets || flits.Flits != 7, "packet %d: %+v as flits, %+v as a packet", tag, flits, packets)
	}
}

// TestRoutesAhead: in networks that are taken to be large switches route while those ahead
// of them are evaluated, and come to the same state.
func TestRoutesAhead(t *testing.T) {
	networks := []network{
		newNetwork(t, "fat-tree", "nca", func(c *topology.FatTreeConfig) { c.K, c.N = 8, 3 }),
		dragonflyNetwork(t, "val", 2, 4, 2),
		newNetwork(t, "torus", "dor", func(c *topology.GridConfig) { c.Dims = []int{5, 4} }),
	}
	run := func(t *testing.T, n network, load, speedup float64) []byte {
		config := fabric.DefaultConfig()
		packets(&config)
		config.Switch.Speedup = speedup
		f := n.fabric(t, config)
		source := n.traffic(load, 9)
		simtest.Check(t, f.Attach(fabric.Ends{Source: source, Sink: &script{}}))
		f.Advance(1500)
		return stateOf(t, f)
	}
	for i, n := range networks {
		for _, load := range []float64{0.2, 1} {
			for _, speedup := range []float64{1, 1.5, 2} {
				inTurn := run(t, n, load, speedup)
				t.Run("", func(t *testing.T) {
					core.PrefetchAlways(t.Cleanup)
					simtest.ErrorIf(t, !bytes.Equal(run(t, n, load, speedup), inTurn),
						"network %d, load %g, speedup %g: another state", i, load, speedup)
				})
			}
		}
	}
}
