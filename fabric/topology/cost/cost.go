// Package cost lays a network out on the floor of a machine room and counts what it takes:
// cabinets, cables by length and kind, watts and price, by settings that the user can change.
package cost

import (
	"fmt"
	"math"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
)

// Floor says how switches and terminals stand.
type Floor struct {
	CabinetUnits  float64 `toml:"cabinet_units" doc:"rack units of a cabinet" min:"1" max:"1000"`
	TerminalUnits float64 `toml:"terminal_units" doc:"rack units of a terminal, which stands with its switch; a switch takes one" min:"0" max:"1000"`
}

// DefaultFloor is an assumption: cabinets of the usual height, two nodes a unit.
var DefaultFloor = Floor{CabinetUnits: 42, TerminalUnits: 0.5}

// Assumptions: switches of one unit, cabinets of 600 x 1200 mm, aisles of a cabinet's depth. In
// metres.
const (
	switchUnits  = 1
	cabinetWidth = 0.6 // from a cabinet to the next one in its row
	rowPitch     = 2.4 // from a row of cabinets to the next one
	inside       = 1.5 // length of a cable within a cabinet
	slack        = 2   // what a cable between cabinets has beyond their distance
)

// maxCabinets bounds plans.
const maxCabinets = 1 << 24

// plan is where switches stand.
type plan struct {
	cabinet  []int32 // of each switch; its terminals may take the ones that follow, too
	cabinets int
	columns  int // cabinets of a row
}

// newPlan fills cabinets in the order of switch numbers (families number neighbours close
// together), each switch in one cabinet with its terminals if they fit, else from a new one on. The
// cabinets' rows make the floor as square as can be.
func newPlan(g *topology.Graph, f Floor) (*plan, error) {
	p := &plan{cabinet: make([]int32, g.Switches())}
	free := 0.0
	for s, n := range g.TerminalCounts() {
		need := switchUnits + float64(n)*f.TerminalUnits
		if need > free {
			more := max(1, int(math.Ceil(need/f.CabinetUnits)))
			p.cabinet[s] = int32(p.cabinets)
			if p.cabinets += more; p.cabinets > maxCabinets {
				return nil, &param.ParamError{Key: "cabinet_units", Value: f.CabinetUnits, Want: fmt.Sprintf("larger cabinets: there are more than %d", maxCabinets)}
			}
			free = float64(more)*f.CabinetUnits - need
			if more > 1 { // what is left is in the last of them, the switch in the first
				free = 0
			}
			continue
		}
		p.cabinet[s] = int32(p.cabinets - 1)
		free -= need
	}
	side := math.Sqrt(float64(p.cabinets) * cabinetWidth * rowPitch)
	p.columns = max(1, int(math.Round(side/cabinetWidth)))
	return p, nil
}

// Price says what parts cost and draw. Prices are in a currency of the user's. The defaults are
// assumptions, rounded list prices of 400 Gb/s InfiniBand and Ethernet parts in US dollars of 2024,
// and nobody's offer: passive copper to 3 m, optics beyond.
type Price struct {
	SwitchPort   float64 `toml:"switch_port" doc:"price of a switch, for each of its ports in use" min:"0"`
	SwitchPortW  float64 `toml:"switch_port_watts" doc:"power of a switch, for each of its ports in use" min:"0"`
	CopperReach  float64 `toml:"copper_reach_m" doc:"longest cable of copper, in metres" min:"0"`
	Copper       float64 `toml:"copper" doc:"price of a copper cable of no length" min:"0"`
	CopperMetre  float64 `toml:"copper_metre" doc:"price of a metre of copper cable" min:"0"`
	CopperWatts  float64 `toml:"copper_watts" doc:"power of a copper cable, both ends" min:"0"`
	Optical      float64 `toml:"optical" doc:"price of an optical cable of no length, with both transceivers" min:"0"`
	OpticalMetre float64 `toml:"optical_metre" doc:"price of a metre of optical cable" min:"0"`
	OpticalWatts float64 `toml:"optical_watts" doc:"power of an optical cable, both ends" min:"0"`
}

// DefaultPrice are the assumptions.
var DefaultPrice = Price{
	SwitchPort: 500, SwitchPortW: 15, CopperReach: 3, Copper: 100, CopperMetre: 40, CopperWatts: 0.2,
	Optical: 1500, OpticalMetre: 5, OpticalWatts: 24,
}

// Kind is a kind of cable, and how many there are of it, with their lengths together in metres.
type Kind struct {
	Cables int
	Metres float64
}

func (k *Kind) add(metres float64) {
	k.Cables++
	k.Metres += metres
}

// Cost is what a network takes.
type Cost struct {
	Switches, Terminals, Cabinets int
	// Ports are the switch ports in use; Radix is the most of a switch.
	Ports, Radix int
	// Inside are the cables within cabinets; Copper and Optical all cables of a kind.
	Inside, Copper, Optical Kind
	Longest                 float64 // metres
	Watts, Price            float64
}

// Of counts what a network takes. A terminal's cable stays in its cabinet. Errors are
// *param.ParamError for keys of the floor. Cost: linear in ports.
func Of(g *topology.Graph, f Floor, p Price) (Cost, error) {
	plan, err := newPlan(g, f)
	if err != nil {
		return Cost{}, err
	}
	c := Cost{Switches: g.Switches(), Terminals: g.Terminals(), Cabinets: plan.cabinets, Ports: g.NumPorts()}
	for s := range topology.SwitchID(g.Switches()) {
		c.Radix = max(c.Radix, g.Degree(s))
	}
	for port := range topology.PortID(g.NumPorts()) {
		length := float64(inside)
		peer, ok := g.PeerPort(port)
		switch {
		case ok && peer < port:
			continue
		case ok:
			if a, b := int(plan.cabinet[g.PortSwitch[port]]), int(plan.cabinet[g.PortSwitch[peer]]); a != b { // along rows and aisles
				x, y := a%plan.columns-b%plan.columns, a/plan.columns-b/plan.columns
				length = slack + cabinetWidth*math.Abs(float64(x)) + rowPitch*math.Abs(float64(y))
			}
		}
		if !ok || plan.cabinet[g.PortSwitch[port]] == plan.cabinet[g.PortSwitch[peer]] {
			c.Inside.add(length)
		}
		kind := &c.Copper
		if length > p.CopperReach {
			kind = &c.Optical
		}
		kind.add(length)
		c.Longest = math.Max(c.Longest, length)
	}
	for _, k := range []*Kind{&c.Inside, &c.Copper, &c.Optical} {
		k.Metres = math.Round(k.Metres*1000) / 1000 // sums of lengths in millimetres
	}
	c.Watts = float64(c.Ports)*p.SwitchPortW + float64(c.Copper.Cables)*p.CopperWatts + float64(c.Optical.Cables)*p.OpticalWatts
	c.Price = float64(c.Ports)*p.SwitchPort +
		float64(c.Copper.Cables)*p.Copper + c.Copper.Metres*p.CopperMetre +
		float64(c.Optical.Cables)*p.Optical + c.Optical.Metres*p.OpticalMetre
	return c, nil
}
