package ib

import (
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/input"
)

// ServiceLevels is how many service levels InfiniBand has.
const ServiceLevels = 16

// DropLane is the virtual lane that stands for dropping in a table of lanes: that
// of management, which no service level may use.
const DropLane = 15

// Lanes is the virtual lane of each service level: 4 bits each, level 0 lowest.
type Lanes uint64

// IdentityLanes is the table with lane n for level n, but the last level's, which
// has the lane OpenSM gives it: 7.
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

// SL2VL is the mapping from service levels to virtual lanes of a subnet: a table
// for each pair of ports of a switch, by which the packet came in and by which it
// leaves, and one for each adapter. Memory: 8 bytes each.
type SL2VL struct {
	graph *topology.Graph
	start []int32 // of each switch in pairs
	pairs []Lanes // by switch, in, out
	host  []Lanes // len = terminals
}

// NewSL2VL gives all ports the same table.
func NewSL2VL(g *topology.Graph, all Lanes) *SL2VL {
	m := &SL2VL{graph: g}
	for s := range g.Switches() {
		m.start = append(m.start, int32(len(m.pairs)))
		degree := g.Degree(topology.SwitchID(s))
		for range degree * degree {
			m.pairs = append(m.pairs, all)
		}
	}
	for range g.Terminals() {
		m.host = append(m.host, all)
	}
	return m
}

// Switch is the table of packets that come in at one port of a switch and leave by
// another.
func (m *SL2VL) Switch(in, out topology.PortID) Lanes { return m.pairs[m.cell(in, out)] }

// Host is the table of packets that leave a terminal.
func (m *SL2VL) Host(t topology.TerminalID) Lanes { return m.host[t] }

func (m *SL2VL) cell(in, out topology.PortID) int {
	s := m.graph.PortSwitch[in]
	return int(m.start[s]) + m.graph.LocalPort(in)*m.graph.Degree(s) + m.graph.LocalPort(out)
}

var (
	mapNode  = regexp.MustCompile(`^(Channel Adapter|Switch|Router) (0x[0-9A-Fa-f]+),`)
	mapRow   = regexp.MustCompile(`^(\d+)\s+(\d+)\s*:\s+(.*)$`)
	mapBytes = regexp.MustCompile(`^(0x[0-9A-Fa-f]+) (\d+) (\d+) ((?:0x[0-9A-Fa-f]{2} ?){8})$`)
	mapQuery = regexp.MustCompile(`^# SL2VL table: Lid (\d+)$`)
	mapPorts = regexp.MustCompile(`^ports: in\s+(\d+), out\s+(\d+): \|(.*)\|$`)
)

// ReadSL2VL reads the tables of a subnet whose switches and ports are those of g.
// Three forms are told apart line by line: OpenSM's opensm-sl2vl.dump, the .slvl of
// ibdiagnet ("guid in out" and eight bytes of two lanes), and what smpquery sl2vl
// prints, node after node, whose LIDs lids knows (nil: as the fabric states them); what
// its other queries print is passed over.
//
// name is the file's name for messages; problems are returned together with their
// lines. Rows of ports without a cable are passed over. Every switch must have a
// row for every two of its ports that have cables; an adapter without a table
// maps like the switch at its cable does from that cable back to it.
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
	if m := mapQuery.FindStringSubmatch(text); m != nil {
		lid, err := strconv.Atoi(m[1])
		to, known := p.lids.of(lid)
		if p.node(to, err == nil && known); err != nil || !known {
			p.Problem("LID %s is not in the fabric", m[1])
		}
	} else if text == "" || text[0] == '#' || strings.HasPrefix(text, "== ") {
		return
	} else if m := mapNode.FindStringSubmatch(text); m != nil {
		p.turn(m[2])
	} else if m := mapRow.FindStringSubmatch(text); m != nil {
		p.row(m[1], m[2], strings.Fields(m[3]), 10)
	} else if m := mapPorts.FindStringSubmatch(text); m != nil {
		p.row(m[1], m[2], strings.FieldsFunc(m[3], func(r rune) bool { return r == '|' || r == ' ' }), 10)
	} else if m := mapBytes.FindStringSubmatch(text); m != nil {
		p.turn(m[1])
		p.row(m[2], m[3], strings.Split(strings.NewReplacer("0x", "", " ", "").Replace(m[4]), ""), 16)
	} else if !p.skipping && !vlarbRow.MatchString(text) && !infoField.MatchString(text) && !chatter.MatchString(text) {
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
	list := make([]int, len(lanes))
	for i, text := range lanes {
		v, err := strconv.ParseUint(text, base, 8)
		if err != nil {
			p.Problem("lane %s: want 0 to %d", input.Quote(text), DropLane)
			return
		}
		list[i] = int(v)
	}
	row, err := NewLanes(list)
	if err != nil {
		p.Problem("%v", err)
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
