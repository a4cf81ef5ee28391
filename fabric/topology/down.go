package topology

import (
	"fmt"
	"slices"
)

// Down tells which cables and switches of a graph are out of order. Ports keep
// their numbers, so that what is said about a network with faults can be
// compared with the whole one. A nil *Down is a network in order. It is
// read-only once built.
type Down struct {
	graph    *Graph
	port     []bool // len = ports: the channels of its cable carry nothing
	switches []bool // len = switches
}

// NewDown is a network in order, for faults to be entered.
func NewDown(g *Graph) *Down {
	return &Down{g, make([]bool, g.NumPorts()), make([]bool, g.Switches())}
}

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
		for p, down := range d.port {
			if down && d.graph.Peer[p] > int32(p) {
				n++
			}
		}
	}
	return n
}

// Components numbers the parts into which the faults divide the network, by
// switch (len = switches): paths join two switches if their numbers are equal.
// Switches that are down have -1. Cost: linear in the number of ports.
func (d *Down) Components() []int32 {
	component := make([]int32, d.graph.Switches())
	for s := range component {
		component[s] = -1
	}
	parts := int32(0)
	var queue []SwitchID
	for s := range component {
		if component[s] >= 0 || d.switches[s] {
			continue
		}
		component[s] = parts
		for queue = append(queue[:0], SwitchID(s)); len(queue) > 0; {
			at := queue[len(queue)-1]
			queue = queue[:len(queue)-1]
			for p, end := d.graph.Ports(at); p < end; p++ {
				peer, ok := d.graph.PeerPort(p)
				if !ok || d.port[p] {
					continue
				}
				if next := d.graph.PortSwitch[peer]; component[next] < 0 {
					component[next] = parts
					queue = append(queue, next)
				}
			}
		}
		parts++
	}
	return component
}

// Cut describes the pairs of terminals that no path joins: how many there are,
// both ways counted, and the first of them.
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
	// Terminal 0 lacks a path to some other, or every path is that of a part
	// that it is not in, which is the same.
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
	text := names[0]
	for _, name := range names[1:] {
		text += ", " + name
	}
	return text + more
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

// Periods divides time by failures; the first period begins in cycle 0. What several
// failures cover is down until the last of them ends. No failures give no
// periods. Cost: periods * (ports + failures).
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
