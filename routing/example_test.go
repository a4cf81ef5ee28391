package routing_test

import (
	"context"
	"fmt"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/routing/certify"
	"github.com/weft-sim/weft/sim/param"
)

// clockwise leads packets up a ring, never down: on virtual channel 0 until they
// have crossed the edge from the last switch to the first, on 1 from there on.
type clockwise struct {
	ring topology.Grid
	last topology.SwitchID
}

func (clockwise) VCs() int { return 2 }

func (clockwise) InjectionVCs(vcs int) uint32 { return 1 }

func (c clockwise) Route(_ *fabric.View, h *fabric.Head) fabric.Hop {
	g := c.ring.Graph()
	if g.TerminalSwitch(h.Dst) == h.Switch {
		return fabric.Hop{Port: g.TerminalPort[h.Dst], VCs: 3}
	}
	if h.Switch == c.last {
		h.State = 1
	}
	return fabric.Hop{Port: c.ring.Towards(h.Switch, 0, true), VCs: 1 << h.State}
}

// Explore lists the only decision.
func (c clockwise) Explore(_ int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	hop := c.Route(nil, &h)
	yield(hop, h.State, 1)
}

// A routing of one's own: a type with three methods runs; with Explore it can be proved free from deadlock.
func Example_ownRouting() {
	topo, err := topology.Registry.New("torus", struct{}{}, param.Set("dims", []int{6}))
	if err != nil {
		panic(err)
	}
	ring, proof := clockwise{topo.(topology.Grid), 5}, certify.New(2)
	walked, all, err := routing.Dependencies(topo.Graph(), ring, 2, 0, proof.Add)
	if err != nil {
		panic(err)
	}
	fmt.Println("free from deadlock:", proof.Certify(walked, all).Acyclic())
	f, err := core.New(topo.Graph(), fabric.DefaultConfig(), ring, 1)
	if err != nil {
		panic(err)
	}
	r, err := measure.Run(context.Background(), f, measure.NewOpenLoop(6, uniformly(6), steadily(0.2), single{}, f.Seed()), 0.2, measure.Plan{Warmup: 1000, Window: 5000})
	if err != nil {
		panic(err)
	}
	// One switch, and 0 to 5 more, all equally likely: 1 + 15/6 = 3.5.
	fmt.Printf("mean hops: %.1f\n", r.MeanHops())
	// Output:
	// free from deadlock: true
	// mean hops: 3.5
}
