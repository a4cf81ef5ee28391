package cost

import (
	"errors"
	"math"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// ring is a ring of four switches with two terminals each.
func ring(t *testing.T) *topology.Graph {
	t.Helper()
	x := simtest.Must(param.Make(topology.Registry, "torus", struct{}{}, func(c *topology.GridConfig) { c.Dims, c.Terminals = []int{4}, 2 }))(t)
	return x.Graph()
}

// Cabinets of 4 units hold two switches with two terminals of half a unit each: cabinets 0
// (switches 0, 1) and 1 (2, 3) stand side by side, as a square of 2 x 0.6 x 2.4 m² has a side
// of 1.7 m, three cabinets. Cables 0-1 and 2-3 stay inside (1.5 m), 1-2 and 3-0 are 2 + 0.6 m:
// beyond the reach of 2.5 m. Terminals: 8 cables of 1.5 m. Ports 4 * (2+2).
func TestCostOfRing(t *testing.T) {
	floor := Floor{CabinetUnits: 4, TerminalUnits: 0.5}
	price := Price{SwitchPort: 10, SwitchPortW: 2, CopperReach: 2.5, Copper: 3, CopperMetre: 1, CopperWatts: 0.5, Optical: 20, OpticalMetre: 2, OpticalWatts: 5}
	c := simtest.Must(Of(ring(t), floor, price))(t)
	want := Cost{Switches: 4, Terminals: 8, Cabinets: 2, Ports: 16, Radix: 4, Inside: Kind{10, 15}, Copper: Kind{10, 15}, Optical: Kind{2, 5.2}, Longest: 2.6,
		Watts: 16*2 + 10*0.5 + 2*5, Price: 16*10 + 10*3 + 15 + 2*20 + 5.2*2}
	simtest.ErrorIf(t, c != want, "%+v, want %+v", c, want)
}

// A switch whose terminals need more than a cabinet begins a new one and takes as many as
// it needs: here 1 + 2*4 = 9 units, three cabinets of 4 each.
func TestCostOfLargeSwitches(t *testing.T) {
	floor := DefaultFloor
	floor.CabinetUnits, floor.TerminalUnits = 4, 4
	c, err := Of(ring(t), floor, DefaultPrice)
	simtest.ErrorIf(t, err != nil || c.Cabinets != 12, "%+v, %v", c, err)
	floor.CabinetUnits, floor.TerminalUnits = 1, 1e7
	_, err = Of(ring(t), floor, DefaultPrice)
	simtest.ErrorIf(t, !errors.As(err, new(*param.ParamError)), "%v, want a problem of cabinet_units", err)
}

// Every registered family has a plan, in which all its cables are counted once and none is
// shorter than one within a cabinet.
func TestCostOfFamilies(t *testing.T) {
	for _, name := range topology.Registry.Names() {
		config := simtest.Must(topology.Registry.Config(name))(t)
		x, err := topology.Registry.Build(name, config, struct{}{})
		if err != nil {
			continue // one that reads a file
		}
		g := x.Graph()
		c, err := Of(g, DefaultFloor, DefaultPrice)
		if err != nil || c.Copper.Cables+c.Optical.Cables != g.SwitchLinks()+g.Terminals() || c.Cabinets < 1 ||
			c.Copper.Metres < float64(c.Copper.Cables)*inside-1e-6 || math.IsNaN(c.Price) || c.Price <= 0 {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}
