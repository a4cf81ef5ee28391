package core_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestInvariants: what the checked build checks holds in a network that is full, with
// virtual channels given in a stage of their own or not, credits late or not; and each
// damage to it is found.
func TestInvariants(t *testing.T) {
	full := func(t *testing.T, set func(*fabric.Config)) *core.Fabric {
		config := fabric.DefaultConfig()
		config.Switch.BufferFlits = 4
		set(&config)
		n := dragonflyNetwork(t, "val", 2, 4, 2)
		f := n.fabric(t, config)
		f.Attach(fabric.Ends{Source: n.traffic(0.9, 3), Sink: measure.NewMeter(100)})
		f.Advance(1000)
		return f
	}
	for name, set := range map[string]func(*fabric.Config){
		"one stage":  func(*fabric.Config) {},
		"two stages": func(c *fabric.Config) { c.Switch.VCAllocCycles = 1 },
		"in series":  func(c *fabric.Config) { c.Switch.VCAllocCycles, c.Switch.Pipeline = 1, fabric.Serial },
		"credits back": func(c *fabric.Config) {
			c.Switch.VCReuse, c.Switch.VCAllocCycles, c.Switch.VCAllocator = fabric.CreditsBack, 1, fabric.InputFirst
		},
		"two inputs a port": func(c *fabric.Config) { c.Switch.InputSpeedup, c.Switch.VCReuse = 2, fabric.CreditsBack },
		"cut-through":       func(c *fabric.Config) { c.Switch.FlowControl = "cut-through" },
		"credit sensing":    func(c *fabric.Config) { c.Switch.CreditSensing = "on" },
	} {
		f := full(t, set)
		for range 50 {
			f.Advance(1)
			panicked := checks(f)
			simtest.FatalIf(t, panicked != "", "%s: %s", name, panicked)
		}
	}
	for name, damage := range core.Damages {
		f := full(t, func(*fabric.Config) {})
		damage(f)
		panicked := checks(f)
		simtest.ErrorIf(t, !strings.HasPrefix(panicked, "core: in cycle 999, "), "%s: panics with %q", name, panicked)
	}
}

// checks is what the checks of f panic with; empty if they do not.
func checks(f *core.Fabric) (panicked string) {
	defer func() {
		if p := recover(); p != nil {
			panicked = fmt.Sprint(p)
		}
	}()
	f.CheckAll()
	return ""
}
