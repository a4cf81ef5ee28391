package topology

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

// Down tells which cables and switches of a graph are out of order. Ports keep their numbers, to
// compare networks with and without faults. A nil *Down is a network in order. It is read-only once
// built.
type Down struct {
	graph    *Graph
	port     []bool // len = ports: the channels of its cable carry nothing
	switches []bool // len = switches
}

// NewDown is a network in order, for faults to be entered.
func NewDown(g *Graph) *Down { return &Down{g, make([]bool, g.NumPorts()), make([]bool, g.Switches())} }

// FailLink takes the cable at port p down, both ways.
func (d *Down) FailLink(p PortID) {
	d.port[p] = true
	if peer, ok := d.graph.PeerPort(p); ok {
		d.port[peer] = true
	}
}

// FailSwitch takes a switch down and with it all of its cables.
func (d *Down) FailSwitch(s SwitchID) {
	d.switches[s] = true
	for first, end := d.graph.Ports(s); first < end; first++ {
		d.FailLink(first)
	}
}

// Port tells whether the channels of the cable at port p carry nothing.
func (d *Down) Port(p PortID) bool { return d != nil && d.port[p] }

// Switch tells whether switch s is down.
func (d *Down) Switch(s SwitchID) bool { return d != nil && d.switches[s] }

// None tells whether nothing is down.
func (d *Down) None() bool {
	return d == nil || !slices.Contains(d.port, true) && !slices.Contains(d.switches, true)
}

// Links is the number of cables between switches that are down.
func (d *Down) Links() int {
	n := 0
	if d != nil {
		d.graph.eachLink(func(p, _ PortID) {
			if d.port[p] {
				n++
			}
		})
	}
	return n
}

// Components numbers the parts of the network with faults, by switch (len = switches): paths join
// switches of equal numbers. Switches that are down have -1. Cost: linear in the number of ports.
func (d *Down) Components() []int32 {
	component := make([]int32, d.graph.Switches())
	distance := slices.Repeat([]int16{Unreachable}, len(component))
	neighbors, parts := d.graph.NeighborsWithout(d), int32(0)
	for s := range component {
		if d.switches[s] {
			component[s] = -1
		} else if distance[s] == Unreachable {
			for _, t := range neighbors.search(distance, []SwitchID{SwitchID(s)}) {
				component[t] = parts
			}
			parts++
		}
	}
	return component
}

// Cut counts the pairs of terminals that no path joins, both ways, and gives the first of them.
func (d *Down) Cut() (pairs int64, src, dst TerminalID) {
	component := d.Components()
	terminals := d.graph.Terminals()
	size := make([]int64, len(component)) // terminals, by component
	joined := int64(0)                    // ordered pairs
	for t := range terminals {
		if c := component[d.graph.TerminalSwitch(TerminalID(t))]; c >= 0 {
			joined += 2 * size[c]
			size[c]++
		}
	}
	pairs = int64(terminals)*int64(terminals-1) - joined
	if pairs == 0 {
		return 0, 0, 0
	}
	// Terminal 0 lacks a path to some terminal: it is in no part, or the other is in another.
	own := component[d.graph.TerminalSwitch(0)]
	for t := TerminalID(1); ; t++ {
		if c := component[d.graph.TerminalSwitch(t)]; own < 0 || c != own {
			return pairs, 0, t
		}
	}
}

// Describe names what is down: switches, and the cables of those that are not.
func (d *Down) Describe() string {
	const most = 3
	var names []string
	for s, down := range d.switches {
		if down {
			names = append(names, d.graph.SwitchName(SwitchID(s)))
		}
	}
	for p, down := range d.port {
		peer, ok := d.graph.PeerPort(PortID(p))
		if down && ok && peer > PortID(p) && !d.switches[d.graph.PortSwitch[p]] && !d.switches[d.graph.PortSwitch[peer]] {
			names = append(names, "the link from "+d.graph.PortName(PortID(p))+" to "+d.graph.PortName(peer))
		}
	}
	if len(names) == 0 {
		return "nothing is down"
	}
	more := ""
	if n := len(names); n > most {
		names, more = names[:most], fmt.Sprintf(" and %d more", n-most)
	}
	return strings.Join(names, ", ") + more
}

// Failure is a fault of cables and switches for some time.
type Failure struct {
	Links    []PortID   // one end of each cable
	Switches []SwitchID // down with all of their cables
	At       int64      // first cycle
	Until    int64      // first cycle after it; 0: never
}

// Period is a span of time with the same things down, up to the next period.
type Period struct {
	From int64 // cycle
	Down *Down
}

// Periods divides time by failures, from cycle 0 on. What several failures cover is down until the
// last of them ends. No failures give no periods. Cost: periods * (ports + failures).
func Periods(g *Graph, failures []Failure) []Period {
	if len(failures) == 0 {
		return nil
	}
	times := []int64{0}
	for _, f := range failures {
		times = append(times, f.At)
		if f.Until != 0 {
			times = append(times, f.Until)
		}
	}
	slices.Sort(times)
	var periods []Period
	for _, from := range slices.Compact(times) {
		d := NewDown(g)
		for _, f := range failures {
			if from < f.At || f.Until != 0 && from >= f.Until {
				continue
			}
			for _, p := range f.Links {
				d.FailLink(p)
			}
			for _, s := range f.Switches {
				d.FailSwitch(s)
			}
		}
		periods = append(periods, Period{from, d})
	}
	return periods
}

// Directory finds switches and cables by the names of [Graph.SwitchName] and [Graph.PortName], and by GUIDs.
type Directory struct {
	graph    *Graph
	switches map[string]SwitchID
	shared   map[string]bool // names of several switches
}

// NewDirectory lists the names of g. Cost: linear in the number of switches.
func NewDirectory(g *Graph) *Directory {
	d := &Directory{g, map[string]SwitchID{}, map[string]bool{}}
	for s := range SwitchID(g.Switches()) {
		name := g.SwitchName(s)
		_, d.shared[name] = d.switches[name]
		d.switches[name] = s
		if guid := at(g.identities().Switches, s).GUID; guid != 0 {
			d.switches[fmt.Sprintf("0x%016x", uint64(guid))] = s
		}
	}
	return d
}

// Switch finds a switch: "switch 3", or the name or the GUID ("0x0002c90300a1b2c3") of an imported one.
func (d *Directory) Switch(name string) (SwitchID, error) {
	s, ok := d.switches[name]
	if guid := uint64(at(d.graph.identities().Switches, s).GUID); ok && d.shared[name] && guid != 0 {
		return 0, fmt.Errorf("several switches are called %q: want a GUID, such as \"0x%016x\" of the last of them", name, guid)
	} else if ok && d.shared[name] {
		return 0, fmt.Errorf("several switches are called %q: want names that differ in the topology's file", name)
	} else if ok {
		return s, nil
	}
	near := ""
	if len(d.switches) < 10_000 { // comparing all names takes time
		known := lists.Make(d.graph.Switches(), func(s int) string { return d.graph.SwitchName(SwitchID(s)) })
		near = param.DidYouMean(name, known)
	}
	return 0, fmt.Errorf("no switch is called %q%s; the first is %q, the last %q", name, near,
		d.graph.SwitchName(0), d.graph.SwitchName(SwitchID(d.graph.Switches()-1)))
}

// Links finds cables between switches, by one end: "switch 3 port 1" is the cable at that port,
// "switch 3 - switch 4" all cables between the two.
func (d *Directory) Links(name string) ([]PortID, error) {
	for i := 0; ; {
		n := strings.Index(name[i:], " - ")
		if n < 0 {
			break
		}
		i += n
		_, first := d.switches[name[:i]]
		_, second := d.switches[name[i+3:]]
		if first && second {
			from, err := d.Switch(name[:i])
			to, other := d.Switch(name[i+3:])
			if err = cmp.Or(err, other); err != nil {
				return nil, err
			}
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
	for p, s := range d.graph.Links(from) {
		if s == to {
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

// RandomLinks draws a share of all cables between switches (one end of each, rounded): the first of
// an order that depends on the seed, so that a larger share contains a smaller one.
func (g *Graph) RandomLinks(fraction float64, seed uint64) []PortID {
	var links []PortID
	g.eachLink(func(p, _ PortID) { links = append(links, p) })
	stream := sim.NewStream(seed, "failures", 0)
	sim.Shuffle(&stream, links)
	return links[:int(fraction*float64(len(links))+0.5)]
}
