package core_test

import (
	"errors"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/routing/certify"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// dependencyGraph is the whole channel dependency graph of n.
func (n network) dependencyGraph(t testing.TB, vcs int) (certify.Certificate, map[topology.Dependency]bool) {
	t.Helper()
	return routingtest.Certificate(t, n.topo, n.routing, vcs)
}

// checkWaits holds a wait-for cycle to its meaning: each wants the channel that the next one holds,
// and every step is a dependency of the certificate's graph.
func checkWaits(t *testing.T, g map[topology.Dependency]bool, waits []core.Wait) {
	t.Helper()
	simtest.ErrorIf(t, len(waits) < 2, "a cycle of %d", len(waits))
	for i, w := range waits {
		next := waits[(i+1)%len(waits)]
		simtest.ErrorIf(t, w.Wants != next.Holds, "step %d wants %+v, the next holds %+v", i, w.Wants, next.Holds)
		simtest.ErrorIf(t, !g[w.Dependency()], "step %d, %+v, is not in the certificate's graph", i, w.Dependency())
	}
}

// TestDeadlocks: what the certificate refuses does deadlock under load, in all
// forms of flow control, and the watchdog's cycle is one of the certificate's
// graph. Short buffers make the deadlock a matter of a few hundred cycles.
func TestDeadlocks(t *testing.T) {
	noDatelines := func(dims ...int) network {
		return unsafeNetwork(t, "torus", "dor", func(c *topology.GridConfig) { c.Dims, c.Terminals = dims, 2 }, func(c *routing.DORConfig) { c.Rule = "none" })
	}
	for _, c := range []struct {
		name  string
		net   network
		vcs   int
		flits int
		set   func(*fabric.Config)
	}{
		{"torus without datelines", noDatelines(8), 1, 1, nil},
		{"torus without datelines, wormhole", noDatelines(8, 2), 2, 5, nil},
		{"torus without datelines, cut-through", noDatelines(8), 2, 2, func(c *fabric.Config) { c.Switch.FlowControl = "cut-through" }},
		{"torus without datelines, packets", noDatelines(8), 2, 2, packets},
		{"VAL with two virtual channels", unsafeNetwork(t, "dragonfly", "val", func(c *topology.DragonflyConfig) { c.P, c.A, c.H = 4, 4, 2 },
			func(c *routing.ValConfig) {}), 2, 4, nil},
		{"PAR with two virtual channels", unsafeNetwork(t, "dragonfly", "par", func(c *topology.DragonflyConfig) { c.P, c.A, c.H = 4, 4, 2 },
			func(c *routing.UGALSettings) {}), 2, 4, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			certificate, g := c.net.dependencyGraph(t, c.vcs)
			simtest.FatalIf(t, certificate.Acyclic(), "certified")
			config := fabric.DefaultConfig()
			config.Fabric.AllowDeadlock = true
			config.Switch.VCs, config.Switch.BufferFlits = c.vcs, 2
			if c.set != nil {
				c.set(&config)
			}
			f := c.net.fabric(t, config)
			source := c.net.traffic(1, c.flits)
			_, err := measure.Run(t.Context(), f, source, 1, measure.Plan{Warmup: 5000, Window: 20000})
			var deadlock *core.DeadlockError
			simtest.FatalIf(t, !errors.As(err, &deadlock), "no deadlock: %v", err)
			checkWaits(t, g, deadlock.Waits)
			again := f.WaitForCycle()
			simtest.ErrorIf(t, len(again) != len(deadlock.Waits),
				"looking changes what is seen: %d buffers, then %d", len(deadlock.Waits), len(again))
		})
	}
}

// TestNoWaits: a network that drains has no wait-for cycle at its end.
func TestNoWaits(t *testing.T) {
	f, _ := dragonflyNetwork(t, "min", 2, 4, 2).run(t, fabric.DefaultConfig(), 0.9, 1, measure.Plan{Warmup: 200, Window: 500})
	waits := f.WaitForCycle()
	simtest.ErrorIf(t, waits != nil, "%+v", waits)
}

// unsafeNetwork builds a network whose routing may lack virtual channels.
func unsafeNetwork[C, R any](t testing.TB, family, algorithm string, set func(*C), choose func(*R)) network {
	t.Helper()
	topo := simtest.Must(param.Make(topology.Registry, family, struct{}{}, set))(t)
	r := simtest.Must(param.Make(routing.Registry, algorithm, routing.Env{Topology: topo, Seed: 1, VCs: 1, AllowDeadlock: true}, choose))(t)
	return network{topo, r}
}
