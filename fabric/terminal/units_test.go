package terminal_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/terminal"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// TestUnits: programs that answer measure the same through flits as through packets.
func TestUnits(t *testing.T) {
	topo, err := topology.Registry.New("dragonfly", struct{}{}, param.Set("p", 2), param.Set("a", 4), param.Set("h", 2))
	if err != nil {
		t.Fatal(err)
	}
	n := topo.Graph().Terminals()
	for _, c := range []struct {
		program string
		set     param.Setting
	}{{"closed-loop", param.Set("window", 3)}, {"request-reply", param.Set("reply_flits", 7)}} {
		var got []string
		for _, unit := range []string{fabric.UnitFlit, fabric.UnitPacket} {
			r, err := routing.Registry.New("ugal-l", routing.Env{Topology: topo, Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			config := fabric.DefaultConfig()
			config.Fabric.Unit, config.Switch.Hold, config.Switch.FlowControl = unit, true, fabric.CutThrough
			f, err := core.New(topo.Graph(), config, r, 1)
			if err != nil {
				t.Fatal(err)
			}
			w, err := terminal.Registry.New(c.program, terminal.Env{
				Terminals: n, Pattern: shift(n), Sizes: size(5), MeanFlits: 5, Seed: 1, Clock: sim.Nanosecond,
				Process: func(float64) (measure.Process, error) { return every(40), nil },
			}, c.set)
			if err != nil {
				t.Fatal(err)
			}
			result, err := measure.Run(context.Background(), f, w, 0.3, measure.Plan{Warmup: 500, Window: 2000})
			if err != nil {
				t.Fatal(err)
			}
			line := fmt.Sprint(result.MeanLatency(), result.Packets(), f.Counters)
			for i := range result.Measures {
				m := &result.Measures[i]
				line += fmt.Sprint(" ", m.Name, m.Cycles.N(), m.Mean(), m.Cycles.Quantile(0.99), m.Cycles.Max())
			}
			got = append(got, line)
		}
		if got[0] != got[1] || got[0] == "" {
			t.Errorf("%s:\n%s\n%s", c.program, got[0], got[1])
		}
	}
}

// shift sends to the terminal half of the network away.
type shift int

func (n shift) Destination(src topology.TerminalID, _ *sim.Stream) topology.TerminalID {
	return topology.TerminalID((int(src) + int(n)/2) % int(n))
}
