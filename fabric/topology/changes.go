package topology

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-sim/weft/sim/lists"
)

// Changes tell what differs between a network and the same network later.
type Changes struct {
	// SwitchTo is the later number of each switch of the first network, -1 if gone (len =
	// switches); TerminalTo likewise of terminals.
	SwitchTo   []SwitchID
	TerminalTo []TerminalID
	// Switches, Cables (between switches) and Hosts are the changes: those gone, then the new, then
	// the others, each in the networks' order.
	Switches, Cables, Hosts []Change
}

// ChangeKind is what has happened to a part of a network.
type ChangeKind int

// The kinds of changes.
const (
	Gone ChangeKind = iota
	New
	Altered
)

// Change is one difference, in words.
type Change struct {
	Kind ChangeKind
	Text string
}

// Compare finds what has changed from network a to network b. Switches are the same if they have
// the same GUID, or, where only one of two has gone and come, the same name; hosts likewise by the
// GUIDs of their ports. Networks without GUIDs go by names, and those without names by numbers.
// Cost: linear in the networks, but for sorting.
func Compare(a, b *Graph) *Changes {
	was, is := a.identities(), b.identities()
	ofSwitch := func(s SwitchName) part { return part{s.GUID, s.Name} }
	ofTerminal := func(t AdapterPort) part { return part{t.PortGUID, t.Name} }
	switches := matchParts(partsOf(a.Switches(), was.Switches, ofSwitch), partsOf(b.Switches(), is.Switches, ofSwitch))
	terminals := matchParts(partsOf(a.Terminals(), was.Terminals, ofTerminal), partsOf(b.Terminals(), is.Terminals, ofTerminal))
	c := &Changes{
		SwitchTo:   lists.Map(switches, func(to int) SwitchID { return SwitchID(to) }),
		TerminalTo: lists.Map(terminals, func(to int) TerminalID { return TerminalID(to) }),
	}
	x := comparison{c, a, b, inverse(switches, b.Switches())}
	x.switches()
	x.cables()
	x.hosts(inverse(terminals, b.Terminals()))
	for _, list := range []*[]Change{&c.Switches, &c.Cables, &c.Hosts} {
		slices.SortStableFunc(*list, func(a, b Change) int { return cmp.Compare(a.Kind, b.Kind) })
	}
	return c
}

// part is what a switch or a terminal goes by.
type part struct {
	guid GUID   // 0: none
	name string // "" : none, or not its alone
}

// partsOf lists n parts by their names, which may be nil, without what several parts are called.
func partsOf[N any](n int, names []N, of func(N) part) []part {
	parts, count := make([]part, n), map[string]int{}
	for i, name := range names {
		parts[i] = of(name)
		count[parts[i].name]++
	}
	for i := range parts {
		if count[parts[i].name] > 1 {
			parts[i].name = ""
		}
	}
	return parts
}

// matchParts finds for each part of a the one of b that it has become; -1: none.
func matchParts(a, b []part) []int {
	to := make([]int, len(a))
	taken := make([]bool, len(b))
	named := false
	byGUID, byName := map[GUID]int{}, map[string]int{}
	for i, p := range b {
		named = named || p != (part{})
		if p.guid != 0 {
			byGUID[p.guid] = i
		}
		if p.name != "" {
			byName[p.name] = i
		}
	}
	for i, p := range a {
		named = named || p != (part{})
		to[i] = -1
		if j, ok := byGUID[p.guid]; ok && p.guid != 0 {
			to[i], taken[j] = j, true
		}
	}
	for i, p := range a {
		if j, ok := byName[p.name]; to[i] < 0 && ok && p.name != "" && !taken[j] {
			to[i], taken[j] = j, true
		}
	}
	if !named {
		copy(to, Numbers[int](min(len(a), len(b))))
	}
	return to
}

// inverse is the mapping back; -1: none.
func inverse[N ~int | ~int32](to []N, n int) []int {
	back := slices.Repeat([]int{-1}, n)
	for i, j := range to {
		if j >= 0 {
			back[j] = i
		}
	}
	return back
}

// comparison writes changes down.
type comparison struct {
	*Changes
	a, b *Graph
	back []int // earlier number of each switch of b; -1: new
}

func (x *comparison) switches() {
	for s, to := range x.SwitchTo {
		name := x.a.SwitchName(SwitchID(s))
		if to < 0 {
			x.Switches = append(x.Switches, Change{Gone, withGUID(name, x.a.switchGUID(SwitchID(s)))})
			continue
		}
		if later := x.b.SwitchName(to); later != name {
			x.Switches = append(x.Switches, Change{Altered, fmt.Sprintf("%s is now called %s", withGUID(name, x.a.switchGUID(SwitchID(s))), later)})
		}
		if was, is := x.a.switchGUID(SwitchID(s)), x.b.switchGUID(to); was != is {
			x.Switches = append(x.Switches, Change{Altered, fmt.Sprintf("%s has been replaced by %s", withGUID(name, was), withGUID(x.b.SwitchName(to), is))})
		}
	}
	for s, from := range x.back {
		if from < 0 {
			x.Switches = append(x.Switches, Change{New, withGUID(x.b.SwitchName(SwitchID(s)), x.b.switchGUID(SwitchID(s)))})
		}
	}
}

func (g *Graph) switchGUID(s SwitchID) GUID { return at(g.identities().Switches, s).GUID }

func withGUID(name string, guid GUID) string {
	if guid == 0 {
		return name
	}
	return fmt.Sprintf("%s (0x%016x)", name, guid)
}

// cableEnd is an end of a cable: the later number of its switch, or the complement of the earlier
// one if the switch has gone.
type cableEnd struct {
	sw     int
	number int
}

func (x *comparison) cables() {
	before, after := x.a.cableList(func(s SwitchID) int {
		if to := x.SwitchTo[s]; to >= 0 {
			return int(to)
		}
		return ^int(s)
	}), x.b.cableList(func(s SwitchID) int { return int(s) })
	index := lists.Table(after, func(c listedCable) ([2]cableEnd, PortID) { return c.ends, c.port })
	for _, c := range before {
		p, still := index[c.ends]
		if !still {
			x.Cables = append(x.Cables, Change{Gone, x.a.cableText(c.port)})
			continue
		}
		delete(index, c.ends)
		if was, is := x.a.className(c.port), x.b.className(p); was != is {
			x.Cables = append(x.Cables, Change{Altered, fmt.Sprintf("%s is now %s", x.a.cableText(c.port), is)})
		}
	}
	for _, c := range after {
		if _, fresh := index[c.ends]; fresh {
			x.Cables = append(x.Cables, Change{New, x.b.cableText(c.port)})
		}
	}
}

type listedCable struct {
	ends [2]cableEnd
	port PortID
}

// cableList lists the cables between switches, each with its ends in order.
func (g *Graph) cableList(number func(SwitchID) int) []listedCable {
	var list []listedCable
	g.eachLink(func(p, q PortID) {
		c := listedCable{[2]cableEnd{{number(g.PortSwitch[p]), g.portNumber(p)}, {number(g.PortSwitch[q]), g.portNumber(q)}}, p}
		if a, b := c.ends[0], c.ends[1]; b.sw < a.sw || a.sw == b.sw && b.number < a.number {
			c.ends[0], c.ends[1] = b, a
		}
		list = append(list, c)
	})
	return list
}

// portNumber is the number of a port on its switch: the physical one, if known.
func (g *Graph) portNumber(p PortID) int {
	if ports := g.identities().Port; ports != nil {
		return int(ports[p])
	}
	return g.LocalPort(p)
}

func (g *Graph) className(p PortID) string { return g.Classes[g.PortClass[p]].Name }

func (g *Graph) cableText(p PortID) string {
	q, _ := g.PeerPort(p)
	return fmt.Sprintf("%s - %s, %s", g.PortName(p), g.PortName(q), g.className(p))
}

func (x *comparison) hosts(back []int) {
	for t, to := range x.TerminalTo {
		t := TerminalID(t)
		name, p := x.a.hostText(t), x.a.TerminalPort[t]
		if to < 0 {
			x.Hosts = append(x.Hosts, Change{Gone, fmt.Sprintf("%s from %s", name, x.a.PortName(p))})
			continue
		}
		q := x.b.TerminalPort[to]
		if later := x.b.hostText(to); later != name {
			x.Hosts = append(x.Hosts, Change{Altered, fmt.Sprintf("%s is now %s", name, later)})
		}
		if x.SwitchTo[x.a.PortSwitch[p]] != x.b.PortSwitch[q] || x.a.portNumber(p) != x.b.portNumber(q) {
			x.Hosts = append(x.Hosts, Change{Altered, fmt.Sprintf("%s has moved from %s to %s", name, x.a.PortName(p), x.b.PortName(q))})
		}
		if was, is := x.a.className(p), x.b.className(q); was != is {
			x.Hosts = append(x.Hosts, Change{Altered, fmt.Sprintf("%s: its cable was %s and is now %s", name, was, is)})
		}
	}
	for t, from := range back {
		if from < 0 {
			x.Hosts = append(x.Hosts, Change{New, fmt.Sprintf("%s at %s", x.b.hostText(TerminalID(t)), x.b.PortName(x.b.TerminalPort[t]))})
		}
	}
}

// hostText is the name of a terminal with its port's GUID.
func (g *Graph) hostText(t TerminalID) string {
	return withGUID(g.TerminalName(t), at(g.identities().Terminals, t).PortGUID)
}
