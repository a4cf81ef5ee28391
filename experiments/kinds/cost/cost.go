// Package cost is the kind cost: cables, power and price of a network, by a floor plan.
package cost

import (
	"context"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/experiments/verdict"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/cost"
)

func init() {
	experiments.Register(experiments.Kind[costConfig, costResult]{
		Name:        "cost",
		RestsOn:     verdict.Formula,
		BeginsAgain: "it is computed in a moment",
		Doc:         "what networks take: cabinets, cables by kind and length, power and price, by a floor plan",
		Defaults: func() costConfig {
			return costConfig{network.TopologyTable{Type: experiments.Choose(topology.Registry, "dragonfly")}, cost.DefaultFloor, cost.DefaultPrice}
		},
		Run: runCost,
	})
}

type costConfig struct {
	Topology network.TopologyTable `toml:"topology" doc:"the network"`
	Floor    cost.Floor            `toml:"floor" doc:"cabinets are filled in the order of switches and stand in rows, as square as can be"`
	Price    cost.Price            `toml:"price" doc:"prices in a currency of yours, and power; the defaults are assumptions, not offers"`
}

type costResult struct {
	Switches     int     `column:"switches" doc:"switches"`
	Terminals    int     `column:"terminals" doc:"terminals"`
	Radix        int     `column:"radix_ports" doc:"ports in use of the switch that has the most"`
	Ports        int     `column:"ports" doc:"switch ports in use"`
	Cabinets     int     `column:"cabinets" doc:"cabinets"`
	Inside       int     `column:"cables_inside" doc:"cables within a cabinet"`
	Copper       int     `column:"cables_copper" doc:"copper cables"`
	CopperMetres float64 `column:"copper_m" doc:"lengths of the copper cables together"`
	Optical      int     `column:"cables_optical" doc:"optical cables"`
	OptMetres    float64 `column:"optical_m" doc:"lengths of the optical cables together"`
	Longest      float64 `column:"longest_cable_m" doc:"the longest cable"`
	Watts        float64 `column:"power_w" doc:"power of switches and cables"`
	Price        float64 `column:"price" doc:"price of switches and cables"`
	PerTerminal  float64 `column:"price_per_terminal" doc:"price of a terminal's share" best:"lowest price of a terminal's share"`
}

func runCost(_ context.Context, c *costConfig, _ *experiments.Run) (costResult, error) {
	t, err := c.Topology.Type.BuildShared(struct{}{})
	if err != nil {
		return costResult{}, err
	}
	k, err := cost.Of(t.Graph(), c.Floor, c.Price)
	if err != nil {
		return costResult{}, document.Under("floor", "floor.cabinet_units", err)
	}
	return costResult{k.Switches, k.Terminals, k.Radix, k.Ports, k.Cabinets, k.Inside.Cables, k.Copper.Cables, k.Copper.Metres,
		k.Optical.Cables, k.Optical.Metres, k.Longest, k.Watts, k.Price, k.Price / float64(k.Terminals)}, nil
}
