package ib

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/lists"
)

// ServiceLevels is how many service levels InfiniBand has.
const ServiceLevels = 16

// DropLane stands for dropping in a table of lanes: management's, which no service level may use.
const DropLane = 15

// Lanes is the virtual lane of each service level: 4 bits each, level 0 lowest.
type Lanes uint64

// IdentityLanes has lane n for level n, but OpenSM's lane 7 for the last level.
const IdentityLanes Lanes = 0x7edcba9876543210

// Lane is the virtual lane of a service level.
func (l Lanes) Lane(level int) int { return int(l >> (4 * level) & 15) }

// NewLanes makes a table of 16 lanes.
func NewLanes(lanes []int) (Lanes, error) {
	if len(lanes) != ServiceLevels {
		return 0, fmt.Errorf("%d lanes: want %d, one for each service level", len(lanes), ServiceLevels)
	}
	var l Lanes
	for level, lane := range lanes {
		if lane < 0 || lane > DropLane {
			return 0, fmt.Errorf("lane %d of service level %d: want 0 to %d", lane, level, DropLane)
		}
		l |= Lanes(lane) << (4 * level)
	}
	return l, nil
}

// SL2VL maps a subnet's service levels to virtual lanes: a table for each pair of ports of a switch
// (in, out) and one for each adapter. Memory: 8 bytes each.
type SL2VL struct {
	graph *topology.Graph
	start []int32 // of each switch in pairs
	pairs []Lanes // by switch, in, out
	host  []Lanes // len = terminals
}

// NewSL2VL gives all ports the same table.
func NewSL2VL(g *topology.Graph, all Lanes) *SL2VL {
	m := &SL2VL{graph: g, host: slices.Repeat([]Lanes{all}, g.Terminals())}
	for s := range g.Switches() {
		m.start = append(m.start, int32(len(m.pairs)))
		degree := g.Degree(topology.SwitchID(s))
		m.pairs = append(m.pairs, slices.Repeat([]Lanes{all}, degree*degree)...)
	}
	return m
}

// Switch is the table of packets that come in at one port of a switch and leave by another.
func (m *SL2VL) Switch(in, out topology.PortID) Lanes { return m.pairs[m.cell(in, out)] }

// Host is the table of packets that leave a terminal.
func (m *SL2VL) Host(t topology.TerminalID) Lanes { return m.host[t] }

func (m *SL2VL) cell(in, out topology.PortID) int {
	s := m.graph.PortSwitch[in]
	return int(m.start[s]) + m.graph.LocalPort(in)*m.graph.Degree(s) + m.graph.LocalPort(out)
}

var (
	mapNode  = input.Pattern(`^(Channel Adapter|Switch|Router) (0x[0-9A-Fa-f]+),`)
	mapRow   = input.Pattern(`^(\d+)\s+(\d+)\s*:\s+(.*)$`)
	mapBytes = input.Pattern(`^(0x[0-9A-Fa-f]+) (\d+) (\d+) ((?:0x[0-9A-Fa-f]{2} ?){8})$`)
	mapQuery = input.Pattern(`^# SL2VL table: Lid (\d+)$`)
	mapPorts = input.Pattern(`^ports: in\s+(\d+), out\s+(\d+): \|(.*)\|$`)
	mapAll   = input.Pattern(`^all ports: ([\d,]+)$`)
)

// ReadSL2VL reads the tables of a subnet; its switches and ports are found in g. Four forms are
// told apart line by line: OpenSM's opensm-sl2vl.dump, the .slvl of ibdiagnet ("guid in out" and
// eight bytes of two lanes), what smpquery sl2vl prints, node after node, whose LIDs lids knows
// (nil: as the fabric states them), where what its other queries print is passed over, and weft's
// own, "all ports: " and the lanes.
//
// Rows of ports without a cable are passed over. Every switch must have a row for every two of
// its ports that have cables; an adapter without a table maps like the switch at its cable does
// from that cable back to it.
func ReadSL2VL(r io.Reader, name string, g *topology.Graph, lids *LIDs) (*SL2VL, error) {
	p := &sl2vlParser{subnet: newSubnet(r, name, g, lids), m: NewSL2VL(g, 0), at: -1, seenHost: make([]bool, g.Terminals())}
	p.seen = make([]bool, len(p.m.pairs))
	return p.m, readLines(p.Lines, p.parse, p.end)
}

type sl2vlParser struct {
	*subnet
	m        *SL2VL
	seen     []bool // len = pairs
	seenHost []bool
	at       int  // whose tables are being read: a terminal, or terminals + a switch; -1: none
	skipping bool // a node that is not known
}

func (p *sl2vlParser) parse(text string) {
	if m := mapQuery().FindStringSubmatch(text); m != nil {
		lid, err := strconv.Atoi(m[1])
		to, known := p.lids.of(lid)
		if p.node(to, err == nil && known); err != nil || !known {
			p.Problem("LID %s is not in the fabric", m[1])
		}
	} else if text == "" || text[0] == '#' || strings.HasPrefix(text, "== ") {
		return
	} else if m := mapNode().FindStringSubmatch(text); m != nil {
		p.turn(m[2])
	} else if m := mapRow().FindStringSubmatch(text); m != nil {
		p.row(m[1], m[2], strings.Fields(m[3]), 10)
	} else if m := mapPorts().FindStringSubmatch(text); m != nil {
		p.row(m[1], m[2], strings.FieldsFunc(m[3], func(r rune) bool { return r == '|' || r == ' ' }), 10)
	} else if m := mapBytes().FindStringSubmatch(text); m != nil {
		p.turn(m[1])
		p.row(m[2], m[3], strings.Split(strings.NewReplacer("0x", "", " ", "").Replace(m[4]), ""), 16)
	} else if m := mapAll().FindStringSubmatch(text); m != nil {
		row, ok := p.lanes(strings.Split(m[1], ","), 10)
		for cell, seen := range p.seen { // those that no row is of
			if ok && !seen {
				p.m.pairs[cell], p.seen[cell] = row, true
			}
		}
	} else if text == "-" {
		p.Problem("no tables, as weft routes writes without qos: leave the file out")
	} else if !p.skipping && !vlarbRow().MatchString(text) && !infoField().MatchString(text) && !chatter().MatchString(text) {
		p.Problem("%s is not a line of an SL2VL table", input.Quote(text))
	}
}

// turn turns to the node with a GUID.
func (p *sl2vlParser) turn(text string) { p.node(p.guid(text)) }

// node turns to a destination, if it is known.
func (p *sl2vlParser) node(to int, known bool) {
	if p.at, p.skipping = to, !known || to == p.lids.aggregation(); p.skipping {
		p.at = -1
	}
}

// row takes the lanes of a pair of ports, numbers of the given base.
func (p *sl2vlParser) row(inText, outText string, lanes []string, base int) {
	if p.at < 0 {
		if !p.skipping {
			p.Problem("row before any node")
		}
		return
	}
	row, ok := p.lanes(lanes, base)
	if !ok {
		return
	}
	in, errIn := strconv.Atoi(inText)
	out, errOut := strconv.Atoi(outText)
	if p.at < p.graph.Terminals() {
		p.m.host[p.at], p.seenHost[p.at] = row, true
		return
	}
	s := topology.SwitchID(p.at - p.graph.Terminals())
	if most := int(p.Names.Switches[s].Ports); errIn != nil || errOut != nil || in > most || out > most {
		p.Problem("ports %s and %s of %s: want 0 to %d", inText, outText, p.graph.SwitchName(s), most)
		return
	}
	from, to := p.port(s, in), p.port(s, out)
	if from == topology.NoPort || to == topology.NoPort {
		return // port 0 is the switch itself; others have no cable
	}
	cell := p.m.cell(from, to)
	if p.seen[cell] {
		p.Problem("the row of ports %d and %d of %s is a duplicate", in, out, p.graph.SwitchName(s))
	}
	p.m.pairs[cell], p.seen[cell] = row, true
}

// lanes reads a table, of numbers of the given base.
func (p *sl2vlParser) lanes(lanes []string, base int) (Lanes, bool) {
	list := make([]int, len(lanes))
	for i, text := range lanes {
		v, err := strconv.ParseUint(text, base, 8)
		if err != nil {
			p.Problem("lane %s: want 0 to %d", input.Quote(text), DropLane)
			return 0, false
		}
		list[i] = int(v)
	}
	row, err := NewLanes(list)
	if err != nil {
		p.Problem("%v", err)
	}
	return row, err == nil
}

// end checks the file as a whole.
func (p *sl2vlParser) end() {
	for s := range topology.SwitchID(p.graph.Switches()) {
		first, end := p.graph.Ports(s)
		for in := first; in < end; in++ {
			for out := first; out < end && !p.Full(); out++ {
				if in != out && !p.seen[p.m.cell(in, out)] {
					p.Problem("no row of %s for packets from port %d to port %d", p.graph.SwitchName(s), p.Names.Port[in], p.Names.Port[out])
					in, out = end, end // one says it
				}
			}
		}
	}
	for t, port := range p.graph.TerminalPort {
		if cell := p.m.cell(port, port); !p.seenHost[t] {
			p.m.host[t] = p.m.pairs[cell]
			if !p.seen[cell] {
				p.m.host[t] = IdentityLanes
			}
		}
	}
}

// PathLevels are the service levels of paths between terminals, as the subnet manager answers.
// Memory: a byte a pair.
type PathLevels struct {
	terminals int
	level     []uint8 // by source, destination
}

// maxPairs bounds the pairs of terminals that tables are held for: 1 GiB.
const maxPairs = 1 << 30

// noLevel marks a pair that a file has not named.
const noLevel = 255

// Of is the service level of packets from src to dst.
func (l *PathLevels) Of(src, dst topology.TerminalID) int {
	return int(l.level[int(src)*l.terminals+int(dst)])
}

var (
	levelColumns = input.Pattern(`^#.*:((?: \d+)+)$`)
	levelDigits  = input.Pattern(`^(\d+) ([0-9A-Fa-f]+)$`)
	levelTriple  = input.Pattern(`^(0x[0-9A-Fa-f]+) (\d+) (\d+)$`)
	levelRow     = input.Pattern(`^0x([0-9A-Fa-f]+)\s*:\s*(\d+)$`)
)

// ReadPathLevels reads the service levels of the paths of a subnet whose end ports are the
// terminals of g. Three forms are told apart line by line: the .psl of ibdiagnet (port GUID of the
// source, LID of the destination, level), OpenSM's dump of path SLs (a heading for each source,
// then destination LID and level), and weft's own of a line for each source LID with a hexadecimal
// digit for each destination, whose LIDs a comment before ends with: "# ...: 1 5 8".
//
// lids knows the LIDs; nil: as the fabric states them. Of several LIDs of a port the first
// named counts. Every pair of different terminals must have a level. Switches, as sources or
// destinations, are passed over.
func ReadPathLevels(r io.Reader, name string, g *topology.Graph, lids *LIDs) (*PathLevels, error) {
	n := g.Terminals()
	if n > 0 && n > maxPairs/n {
		return nil, fmt.Errorf("%s: service levels of the pairs of %d terminals are too many", name, n)
	}
	p := &levelParser{subnet: newSubnet(r, name, g, lids), at: -1, levels: &PathLevels{n, slices.Repeat([]uint8{noLevel}, n*n)}}
	return p.levels, readLines(p.Lines, p.parse, p.end)
}

type levelParser struct {
	*subnet
	levels   *PathLevels
	columns  []int // destinations of the digits; -1: a switch
	at       int   // source whose rows come; -1: none
	skipping bool  // a source that is no terminal
}

func (p *levelParser) parse(text string) {
	if m := levelColumns().FindStringSubmatch(text); m != nil {
		p.columns = lists.Map(strings.Fields(m[1]), func(lid string) int { return p.terminal(lid, 10) })
	} else if text == "" || text[0] == '#' {
		return
	} else if m := levelTriple().FindStringSubmatch(text); m != nil {
		if p.source(m[1]); p.at >= 0 {
			p.set(p.at, p.terminal(m[2], 10), m[3], 10)
		}
	} else if m := mapNode().FindStringSubmatch(text); m != nil {
		p.source(m[2])
	} else if m := levelRow().FindStringSubmatch(text); m != nil {
		switch {
		case p.at >= 0:
			p.set(p.at, p.terminal(m[1], 16), m[2], 10)
		case !p.skipping:
			p.Problem("row before any node")
		}
	} else if m := levelDigits().FindStringSubmatch(text); m != nil {
		p.digits(m[1], m[2])
	} else if !chatter().MatchString(text) {
		p.Problem("%s is not a line of a table of service levels", input.Quote(text))
	}
}

// terminal is the one with a LID; -1 for switches and, with a problem, for LIDs that nobody has.
func (p *levelParser) terminal(text string, base int) int {
	if to, known := p.lid(text, base); known && to < p.graph.Terminals() {
		return to
	}
	return -1
}

// source turns to the port with a GUID.
func (p *levelParser) source(text string) {
	p.at, p.skipping = -1, true
	if to, known := p.guid(text); known && to < p.graph.Terminals() {
		p.at = to
	}
}

// set enters a level, unless a lower LID of the destination has one.
func (p *levelParser) set(src, dst int, text string, base int) {
	level, err := strconv.ParseUint(text, base, 8)
	if err != nil || level >= ServiceLevels {
		p.Problem("service level %s: want 0 to %d", text, ServiceLevels-1)
		return
	}
	if dst < 0 {
		return
	}
	if cell := &p.levels.level[src*p.levels.terminals+dst]; *cell == noLevel {
		*cell = uint8(level)
	}
}

// digits takes a line of the reduced form.
func (p *levelParser) digits(lid, digits string) {
	if len(p.columns) == 0 {
		p.Problem("levels before the line with the LIDs of the destinations")
		return
	}
	if len(digits) != len(p.columns) {
		p.Problem("%d levels for %d destinations", len(digits), len(p.columns))
		return
	}
	src := p.terminal(lid, 10)
	if src < 0 {
		return
	}
	for i, dst := range p.columns {
		p.set(src, dst, digits[i:i+1], 16)
	}
}

// end checks that every pair has a level.
func (p *levelParser) end() {
	n := p.levels.terminals
	for src := range n {
		for dst := range n {
			cell := &p.levels.level[src*n+dst]
			if *cell != noLevel {
				continue
			}
			*cell = 0
			if src != dst && !p.Full() {
				p.Problem("no service level from %s to %s", p.graph.TerminalName(topology.TerminalID(src)), p.graph.TerminalName(topology.TerminalID(dst)))
				break
			}
		}
	}
}
