package core_test

import (
	"errors"
	"runtime/debug"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestNetworkTooLarge: a ring of 1000 switches with a terminal each has 3000 ports;
// with 8 virtual channels they take at least 3000*(48+48*8) + 1000*64 = 1,360,000
// bytes. A machine of that has room for them, one with a byte less has not.
func TestNetworkTooLarge(t *testing.T) {
	config := simtest.Must(topology.Registry.Config("torus"))(t)
	torus := config.(*topology.GridConfig)
	torus.Dims, torus.Terminals = []int{1000}, 1
	topo := simtest.Must(topology.Registry.Build("torus", torus, struct{}{}))(t)
	c := fabric.DefaultConfig()
	c.Switch.VCs = 8
	r := minimalRouting(t, topo)
	before := debug.SetMemoryLimit(1_360_000)
	defer debug.SetMemoryLimit(before)
	simtest.Check(t, c.Check(topo.Graph(), r))
	debug.SetMemoryLimit(1_359_999)
	var problem *param.ParamError
	err := c.Check(topo.Graph(), r)
	simtest.ErrorIf(t, !errors.As(err, &problem) || problem.Key != "switch.vcs", "too large: %v", err)
	// 3000 ports of 16 bytes.
	debug.SetMemoryLimit(47_999)
	_, err = topology.Registry.Build("torus", torus, struct{}{})
	simtest.ErrorIf(t, !errors.As(err, &problem) || problem.Key != "dims", "too large a graph: %v", err)
}
