package terminal_test

import (
	"context"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/terminal"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// slow is a switch with two terminals, whose channels take a flit and a half cycle for each flit.
func slow(t *testing.T) *core.Fabric {
	t.Helper()
	topo, err := topology.Registry.New("single-switch", struct{}{}, param.Set("terminals", 2))
	if err != nil {
		t.Fatal(err)
	}
	r, err := routing.Registry.New("table", routing.Env{Topology: topo, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	config := fabric.DefaultConfig()
	config.Channels = map[string]fabric.ChannelConfig{"terminal": {CyclesPerFlit: 1.5}}
	f, err := core.New(topo.Graph(), config, r, 1)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestPortCounts: a program that sends three packets of two flits in cycle 100 knows in cycle 200
// what it has sent and the other what has arrived, also when the program has been restored; it
// knows the rate of its channel: 3 flits take 4.5 ns. What it samples in the window counts: one
// value a timer in cycles 100 and 200, of which the window from cycle 150 on has one.
func TestPortCounts(t *testing.T) {
	var seen [2]terminal.Counters
	program := func(id topology.TerminalID) terminal.Program {
		s := &scripted{start: func(p *terminal.Port) { p.SetTimer(100 * sim.Nanosecond) }}
		s.timer = func(p *terminal.Port) {
			p.Sample(0, int64(p.Now()/sim.Nanosecond))
			p.Count(1)
			if seen[id] = p.Counters(); p.Now() == 100*sim.Nanosecond {
				for i := uint64(0); id == 0 && i < 3; i++ {
					p.Send(terminal.Packet{Dst: 1, Flits: 2, Tag: i})
				}
				p.SetTimer(200 * sim.Nanosecond)
			}
			if took := p.LinkTime(3); took != 4500 {
				t.Errorf("3 flits take %s", took)
			}
		}
		return s
	}
	host := func() *terminal.Host {
		return terminal.NewHost(env(1, nil), false, []string{"size [flits]", "timers [1]"}, program)
	}
	run := func(h *terminal.Host, plan core.Plan) *core.Result {
		r, err := slow(t).Run(context.Background(), h, 0.1, plan)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	h := host()
	run(h, core.Plan{Warmup: 50, Window: 100}) // up to cycle 150
	state := h.AppendState(nil)
	want := [2]terminal.Counters{{SentPackets: 3, SentFlits: 6}, {ReceivedPackets: 3, ReceivedFlits: 6}}

	r := run(host(), core.Plan{Warmup: 150, Window: 150})
	if seen != want {
		t.Errorf("%+v, want %+v", seen, want)
	}
	for i, value := range []float64{200, 1} {
		if m := &r.Measures[i]; m.Cycles.N() != 2 || m.Mean() != value {
			t.Errorf("%s: %d values, mean %v, want 2 and %v", m.Name, m.Cycles.N(), m.Mean(), value)
		}
	}

	seen = [2]terminal.Counters{}
	again := host()
	if err := again.RestoreState(state); err != nil {
		t.Fatal(err)
	}
	run(again, core.Plan{Warmup: 50, Window: 250})
	if seen != want {
		t.Errorf("restored: %+v, want %+v", seen, want)
	}
}

// TestMeasureMisuse: times are not values, and values not below 0.
func TestMeasureMisuse(t *testing.T) {
	for want, do := range map[string]func(p *terminal.Port){
		`notes measure "window [packets]"`: func(p *terminal.Port) { p.Record(0, 0) },
		`notes measure "round trip"`:       func(p *terminal.Port) { p.Count(1) },
		"samples -1 for measure":           func(p *terminal.Port) { p.Sample(0, -1) },
	} {
		h := terminal.NewHost(env(1, nil), false, []string{"window [packets]", "round trip"}, func(topology.TerminalID) terminal.Program { return &scripted{start: do} })
		func() {
			defer func() {
				if misuse, ok := recover().(*fabric.Misuse); !ok || !strings.Contains(misuse.Error(), want) {
					t.Errorf("%v, want %s", misuse, want)
				}
			}()
			_, _ = slow(t).Run(context.Background(), h, 0.1, core.Plan{Warmup: 10, Window: 10})
		}()
	}
}
