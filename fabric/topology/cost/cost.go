package cost

import (
	"math"

	"github.com/weft-sim/weft/fabric/topology"
)

// Price says what parts cost and draw. Prices are in a currency of the user's. The defaults
// are assumptions, round numbers of the order of list prices of 400 Gb/s InfiniBand and
// Ethernet parts in US dollars of 2024, and no offer of anybody: passive copper to 3 m, optics
// beyond.
type Price struct {
	SwitchPort    float64 `toml:"switch_port" doc:"price of a switch, for each of its ports in use" min:"0"`
	SwitchPortW   float64 `toml:"switch_port_watts" doc:"power of a switch, for each of its ports in use" min:"0"`
	CopperReach   float64 `toml:"copper_reach_m" doc:"longest cable of copper, in metres" min:"0"`
	Copper        float64 `toml:"copper" doc:"price of a copper cable of no length" min:"0"`
	CopperMetre   float64 `toml:"copper_metre" doc:"price of a metre of copper cable" min:"0"`
	CopperWatts   float64 `toml:"copper_watts" doc:"power of a copper cable, both ends" min:"0"`
	Optical       float64 `toml:"optical" doc:"price of an optical cable of no length, with both transceivers" min:"0"`
	OpticalMetre  float64 `toml:"optical_metre" doc:"price of a metre of optical cable" min:"0"`
	OpticalWatts  float64 `toml:"optical_watts" doc:"power of an optical cable, both ends" min:"0"`
	TerminalCable bool    `toml:"terminal_cables" doc:"count the cables of terminals, too"`
}

// DefaultPrice are the assumptions.
var DefaultPrice = Price{
	SwitchPort: 500, SwitchPortW: 15, CopperReach: 3, Copper: 100, CopperMetre: 40, CopperWatts: 0.2,
	Optical: 1500, OpticalMetre: 5, OpticalWatts: 24, TerminalCable: true,
}

// Kind is a kind of cable, and how many there are of it, with their lengths together in
// metres.
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
	// Inside are the cables within cabinets; Copper and Optical those of each kind, the
	// former among them.
	Inside, Copper, Optical Kind
	Longest                 float64 // metres
	Watts, Price            float64
}

// Of counts what a network takes. A cable of a terminal stays in its cabinet. Errors are
// *param.ParamError for keys of the floor. Cost: linear in the number of ports.
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
		length := f.Inside
		peer, ok := g.PeerPort(port)
		switch {
		case ok && peer < port:
			continue
		case ok:
			length = plan.length(g.PortSwitch[port], g.PortSwitch[peer])
		case !p.TerminalCable:
			continue
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
