package routing_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/families"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestDeadlockOnRecord: the UGAL of the BookSim that was published with PolarFly, whose hops use
// any virtual channel, deadlocks on Slim Fly q = 5 under a permutation of switches: in the atlas's
// reference (deadlock_slimfly_q5.csv) three seeds of three at loads of 0.55 and 0.6, none at 0.5;
// and its minimal routing can on PolarStar ER_3 x Paley(5), by the cycle in its dependencies
// (cdg_checks.csv). The certificate names both before they run; forced, the run ends with a cycle
// of buffers each of which is in the dependency graph; with numbered hops it goes on.
func TestDeadlockOnRecord(t *testing.T) {
	slimfly, polarstar := edgeList(t, "slimfly_q5", 4), build(t, "polarstar", func(c *families.PolarStarConfig) { c.P = 4 })
	next := param.Set("next_hops", "testdata/slimfly_q5.nexthop.gz")
	credits, four, any := param.Set("sensing", "credits"), param.Set("candidates", 4), param.Set("hop_vcs", "any")
	for _, c := range []struct {
		name     string
		topo     topology.Topology
		routing  string
		settings []param.Setting
		pattern  measure.Pattern
		load     float64
		vcs      int
		deadlock bool
	}{
		{"ugallnew at 0.55", slimfly, "ugal-l", []param.Setting{next, credits, four, any}, rperm(t, "slimfly_q5"), 0.55, 4, true},
		{"ugallnew at 0.6", slimfly, "ugal-l", []param.Setting{next, credits, four, any}, rperm(t, "slimfly_q5"), 0.6, 4, true},
		{"numbered at 0.6", slimfly, "ugal-l", []param.Setting{next, credits, four}, rperm(t, "slimfly_q5"), 0.6, 4, false},
		{"PolarStar MIN", polarstar, "table", []param.Setting{param.Set("ties", "one"), any}, uniformly(polarstar.Graph().Terminals()), 1, 1, true},
		{"PolarStar MIN, numbered", polarstar, "table", []param.Setting{param.Set("ties", "one")}, uniformly(polarstar.Graph().Terminals()), 1, 3, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := must(t, c.topo, 0, c.routing, c.settings...)
			proof, dependencies := routingtest.Certificate(t, c.topo, r, c.vcs)
			if proof.Acyclic() == c.deadlock {
				t.Errorf("certificate: %s", proof.Describe(c.topo.Graph()))
			}
			config := fabric.DefaultConfig()
			config.Switch.VCs, config.Switch.BufferFlits, config.Switch.VCAllocCycles, config.Switch.CreditCycles = c.vcs, 16, 1, 2
			_, err := simulate(t, c.topo, config, r, c.pattern, c.load, 1, measure.Plan{Warmup: 3000, Window: 1000})
			var stopped *core.DeadlockError
			if !errors.As(err, &stopped) {
				simtest.ErrorIf(t, err != nil || c.deadlock, "the run ended with %v", err)
				return
			}
			simtest.FatalIf(t, !c.deadlock || len(stopped.Waits) == 0, "%v", err)
			for i, wait := range stopped.Waits {
				simtest.ErrorIf(t, !dependencies[wait.Dependency()] || wait.Wants != stopped.Waits[(i+1)%len(stopped.Waits)].Holds,
					"step %d is not in the dependency graph: %v", i, err)
			}
			simtest.ErrorIf(t, !strings.Contains(err.Error(), "buffers, each waiting for the next:\n  VC "), "%v", err)
			t.Log(strings.SplitN(err.Error(), "\n", 2)[0])
		})
	}
}

// TestBookSim2Detours: with detour_vc = "booksim2" packets stay on VC 0 from the source's
// group to the intermediate router, L0 G0 L0: 3 virtual channels, one fewer than rising
// ones need, and a cycle in the dependencies. Without a router in between nothing could
// rise, and the setting is refused.
func TestBookSim2Detours(t *testing.T) {
	topo := dragonfly(t, 2, 4, 2, 0)
	flat := param.Set("detour_vc", "booksim2")
	for _, via := range []string{"router", "any-router"} {
		through := param.Set("intermediate", via)
		if r := must(t, topo, 0, "ugal-l", through); r.VCs() != 4 {
			t.Errorf("%s: rising, %d virtual channels, want 4", via, r.VCs())
		}
		r := must(t, topo, 3, "ugal-l", through, flat)
		if proof, _ := routingtest.Certificate(t, topo, r, 3); r.VCs() != 3 || proof.Acyclic() {
			t.Errorf("%s: %d virtual channels, want 3 with a cycle: %s", via, r.VCs(), proof.Describe(topo.Graph()))
		}
	}
	for _, name := range []string{"ugal-l", "ugal-g"} { // refused, and no setting of ugal-g at all
		_, err := try(topo, 0, name, flat)
		simtest.ErrorIf(t, err == nil, "%s takes detour_vc = \"booksim2\" with intermediate groups", name)
	}
}
