package terminal_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/terminal"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/traffic"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/snapshot"
)

// token is a program of one's own: a packet goes round all terminals, and each hands it on
// as soon as it has come. What is recorded is the time of a way to the next terminal.
type token struct{ terminals int }

func (x token) Start(p *terminal.Port) {
	if p.Terminal() == 0 {
		x.pass(p)
	}
}

func (x token) pass(p *terminal.Port) {
	p.Send(terminal.Packet{Dst: topology.TerminalID((int(p.Terminal()) + 1) % x.terminals), Flits: 4})
}

func (x token) Arrived(p *terminal.Port, a *terminal.Arrival) {
	p.Record(0, a.Born)
	x.pass(p)
}

func (token) Timer(*terminal.Port)      {}
func (token) Pending() sim.Time         { return sim.MaxTime } // nothing is waited for
func (token) Archive(*snapshot.Archive) {}

// A terminal program of one's own, measured as the others are. In an idle network a way takes
// 1 cycle to the terminal's channel, 1 on it, 2 for each of two switches and the channel behind
// it, and 3 for the flits behind the head: 9, of which a window of 8,000 holds 888.
func Example_ownProgram() {
	topo := must(topology.Registry.New("torus", struct{}{}, param.Set("dims", []int{8}), param.Set("terminals", 1)))
	dor := must(routing.Registry.New("dor", routing.Env{Topology: topo}))
	sizes := must(traffic.NewSizes([]int{4}, nil))
	env := terminal.Env{Terminals: 8, Sizes: sizes, MeanFlits: 4, Seed: 1, Clock: sim.Nanosecond}
	host := terminal.NewHost(env, true, []string{"way"}, func(topology.TerminalID) terminal.Program { return token{8} })
	f := must(core.New(topo.Graph(), fabric.DefaultConfig(), dor, 1))
	r := must(measure.Run(context.Background(), f, host, 0, measure.Plan{Warmup: 1000, Window: 8000}))
	for _, m := range r.Measures {
		fmt.Printf("%s: %d times, %.1f cycles in the mean\n", m.Name, m.Cycles.N(), m.Mean())
	}
	// Output:
	// way: 888 times, 9.0 cycles in the mean
}

func must[T any](x T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return x
}
