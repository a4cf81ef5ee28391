package topology

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// Directory finds the switches and cables of a graph by the names that
// [Graph.SwitchName] and [Graph.PortName] give them.
type Directory struct {
	graph    *Graph
	switches map[string]SwitchID
}

// NewDirectory lists the names of g. Cost: linear in the number of switches.
func NewDirectory(g *Graph) *Directory {
	d := &Directory{g, map[string]SwitchID{}}
	for s := g.Switches() - 1; s >= 0; s-- { // of equal names the first counts
		d.switches[g.SwitchName(SwitchID(s))] = SwitchID(s)
	}
	return d
}

// Switch finds a switch: "switch 3", or the name of an imported one.
func (d *Directory) Switch(name string) (SwitchID, error) {
	if s, ok := d.switches[name]; ok {
		return s, nil
	}
	near := ""
	if len(d.switches) < 10_000 { // comparing all names takes time
		known := make([]string, d.graph.Switches())
		for s := range known {
			known[s] = d.graph.SwitchName(SwitchID(s))
		}
		near = param.DidYouMean(name, known)
	}
	return 0, fmt.Errorf("no switch is called %q%s; the first is %q, the last %q", name, near,
		d.graph.SwitchName(0), d.graph.SwitchName(SwitchID(d.graph.Switches()-1)))
}

// Links finds cables between switches, one end of each: "switch 3 port 1" is
// the cable at that port, "switch 3 - switch 4" are all cables between the two.
func (d *Directory) Links(name string) ([]PortID, error) {
	for i := 0; ; {
		n := strings.Index(name[i:], " - ")
		if n < 0 {
			break
		}
		i += n
		from, first := d.switches[name[:i]]
		to, second := d.switches[name[i+3:]]
		if first && second {
			return d.between(from, to)
		}
		i++
	}
	if i := strings.LastIndex(name, " port "); i >= 0 {
		number, err := strconv.Atoi(name[i+len(" port "):])
		if err == nil {
			s, err := d.Switch(name[:i])
			if err != nil {
				return nil, err
			}
			return d.at(s, number)
		}
	}
	return nil, fmt.Errorf("%q names no cable between switches: want a port, such as %q, or two switches, such as \"%s - %s\"", name,
		d.graph.SwitchName(0)+" port 1", d.graph.SwitchName(0), d.graph.SwitchName(SwitchID(min(1, d.graph.Switches()-1))))
}

// between lists the ports of one switch that lead to another.
func (d *Directory) between(from, to SwitchID) ([]PortID, error) {
	var ports []PortID
	for p, end := d.graph.Ports(from); p < end; p++ {
		if peer, ok := d.graph.PeerPort(p); ok && d.graph.PortSwitch[peer] == to {
			ports = append(ports, p)
		}
	}
	if len(ports) == 0 {
		return nil, fmt.Errorf("no cable joins %s and %s", d.graph.SwitchName(from), d.graph.SwitchName(to))
	}
	return ports, nil
}

// at finds the cable at a port by the number that PortName gives it.
func (d *Directory) at(s SwitchID, number int) ([]PortID, error) {
	name := fmt.Sprintf("%s port %d", d.graph.SwitchName(s), number)
	for p, end := d.graph.Ports(s); p < end; p++ {
		if d.graph.PortName(p) != name {
			continue
		}
		if t, ok := d.graph.PeerTerminal(p); ok {
			return nil, fmt.Errorf("%s leads to %s: only cables between switches can fail", name, d.graph.TerminalName(t))
		}
		return []PortID{p}, nil
	}
	return nil, fmt.Errorf("%s has no cable at port %d", d.graph.SwitchName(s), number)
}

// RandomLinks draws a share of all cables between switches, one end of each, to
// the nearest whole number: the first ones of an order that depends on the seed,
// so that a larger share contains a smaller one.
func (g *Graph) RandomLinks(fraction float64, seed uint64) []PortID {
	var links []PortID
	for p, peer := range g.Peer {
		if peer > int32(p) {
			links = append(links, PortID(p))
		}
	}
	stream := sim.NewStream(seed, "failures", 0)
	sim.Shuffle(&stream, links)
	return links[:int(fraction*float64(len(links))+0.5)]
}
