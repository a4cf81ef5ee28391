package ib

import (
	"io"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/fabric/arbitration"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/input"
)

var (
	vlarbPort  = input.Pattern(`^# VLArbitration tables: Lid (\d+) port (\d+)\b`)
	vlarbTable = input.Pattern(`^# (Low|High) priority VL Arbitration Table:$`)
	vlarbRow   = input.Pattern(`^(VL|WEIGHT)\s*: ?\|(.*)\|$`)
	infoPort   = input.Pattern(`^(?:# Port info: Lid|== smpquery portinfo) (\d+) (?:port )?(\d+)$`)
	infoLimit  = input.Pattern(`^VLHighLimit:\.*(\d+)$`)
	infoField  = input.Pattern(`^[A-Za-z]\w*:\.\.+`)
)

// VLArbitration is a file's arbitration between lanes; nil for ports that it does not name.
type VLArbitration struct {
	Ports     []*arbitration.Tables // of switches (len = ports of the graph)
	Terminals []*arbitration.Tables // of adapters (len = terminals of the graph)
}

// ReadVLArbitration reads the arbitration tables of a subnet's ports as smpquery vlarb
// prints them, port after port, and the limits of high priority from what smpquery
// portinfo prints of the same ports, in any order; lids knows the LIDs (nil: as the
// fabric states them). Tables of switches' own ports, of aggregation nodes and of
// ports without a cable are passed over, and so is what smpquery sl2vl prints.
func ReadVLArbitration(r io.Reader, name string, g *topology.Graph, lids *LIDs) (*VLArbitration, error) {
	p := &vlarbParser{subnet: newSubnet(r, name, g, lids), at: noPort, about: noPort}
	p.tables = make([]*arbitration.Tables, g.NumPorts()+g.Terminals())
	p.limits = make([]int, len(p.tables))
	if err := readLines(p.Lines, p.parse, func() {
		p.endPort()
		if !p.any {
			p.Problem("no arbitration tables")
		}
	}); err != nil {
		return nil, err
	}
	for port, t := range p.tables {
		if t != nil {
			t.Limit = uint8(p.limits[port])
		}
	}
	return &VLArbitration{p.tables[:g.NumPorts()], p.tables[g.NumPorts():]}, nil
}

// noPort stands for a port whose tables are passed over.
const noPort = -1

type vlarbParser struct {
	*subnet
	tables []*arbitration.Tables // by port, then by terminal
	limits []int                 // likewise
	any    bool

	at      int  // whose tables come, or noPort
	inside  bool // after the heading of a port
	high    bool
	missing int      // tables that the port at hand still lacks
	lanes   []uint64 // of the row before the weights
	about   int      // of the portinfo at hand
}

func (p *vlarbParser) parse(text string) {
	if m := vlarbPort().FindStringSubmatch(text); m != nil {
		p.endPort()
		p.at, p.inside, p.missing = p.find(m[1], m[2]), true, 2
		p.any = true
		if p.at != noPort {
			if p.tables[p.at] != nil {
				p.Problem("the tables of %s are a duplicate", p.nameOf(p.at))
			}
			p.tables[p.at] = &arbitration.Tables{}
		}
	} else if m := vlarbTable().FindStringSubmatch(text); m != nil {
		p.high, p.lanes = m[1] == "High", nil
	} else if m := vlarbRow().FindStringSubmatch(text); m != nil {
		p.row(m[1] == "VL", m[2])
	} else if m := infoPort().FindStringSubmatch(text); m != nil {
		p.about = p.find(m[1], m[2])
	} else if m := infoLimit().FindStringSubmatch(text); m != nil {
		limit, err := strconv.ParseUint(m[1], 10, 8)
		if err != nil {
			p.Problem("VLHighLimit %s: want 0 to 255", m[1])
		} else if p.about != noPort {
			p.limits[p.about] = int(limit)
		}
	} else if text != "" && text[0] != '#' && !strings.HasPrefix(text, "== ") && !infoField().MatchString(text) && !mapPorts().MatchString(text) && !chatter().MatchString(text) {
		p.Problem("%s is not a line of an arbitration table", input.Quote(text))
	}
}

func (p *vlarbParser) nameOf(at int) string {
	if at < p.graph.NumPorts() {
		return p.graph.PortName(topology.PortID(at))
	}
	return p.graph.TerminalName(topology.TerminalID(at - p.graph.NumPorts()))
}

// find is the port or, behind all ports, the terminal that a query was about.
func (p *vlarbParser) find(lidText, portText string) int {
	to, known := p.lid(lidText, 10)
	number, _ := strconv.Atoi(portText) // the largest number if it is too large
	s := topology.SwitchID(to - p.graph.Terminals())
	switch {
	case known && s < 0:
		return p.graph.NumPorts() + to
	case !known || to == p.lids.aggregation():
		return noPort
	}
	if most := int(p.Names.Switches[s].Ports); number > most {
		p.Problem("port %d of %s: want 0 to %d", number, p.graph.SwitchName(s), most)
		return noPort
	}
	if port := p.port(s, number); port != topology.NoPort {
		return int(port)
	}
	return noPort
}

// row takes the lanes or the weights of a table.
func (p *vlarbParser) row(lanes bool, text string) {
	if !p.inside {
		p.Problem("row before any port")
		return
	}
	var values []uint64
	for _, cell := range strings.Split(text, "|") {
		v, err := strconv.ParseUint(strings.TrimSpace(cell), 0, 8)
		if err != nil {
			p.Problem("%s: want a number of 8 bits", input.Quote(cell))
			return
		}
		values = append(values, v)
	}
	if lanes {
		p.lanes = append(p.lanes, values...)
		return
	}
	if len(values) > len(p.lanes) {
		p.Problem("%d weights for %d lanes", len(values), len(p.lanes))
		return
	}
	var table []arbitration.Entry
	for i, weight := range values {
		lane := p.lanes[i]
		if lane >= arbitration.MaxLanes && weight != 0 {
			p.Problem("a weight for lane %d: want 0 to %d", lane, arbitration.MaxLanes-1)
			return
		}
		if lane < arbitration.MaxLanes {
			table = append(table, arbitration.Entry{Lane: uint8(lane), Weight: uint8(weight)})
		}
	}
	p.lanes = p.lanes[len(values):]
	if len(p.lanes) > 0 {
		p.Problem("%d lanes without a weight", len(p.lanes))
		p.lanes = nil
		return
	}
	p.missing--
	if p.at == noPort {
		return
	}
	if t := p.tables[p.at]; p.high {
		t.High = append(t.High, table...)
	} else {
		t.Low = append(t.Low, table...)
	}
}

// endPort checks that the tables of the port at hand are complete.
func (p *vlarbParser) endPort() {
	if p.inside && p.missing > 0 {
		p.Problem("the tables before are cut: want those of low and of high priority")
	}
	p.inside = false
}
