package ib

import (
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/fabric/arbitration"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/input"
)

var (
	vlarbPort  = regexp.MustCompile(`^# VLArbitration tables: Lid (\d+) port (\d+)\b`)
	vlarbTable = regexp.MustCompile(`^# (Low|High) priority VL Arbitration Table:$`)
	vlarbRow   = regexp.MustCompile(`^(VL|WEIGHT)\s*: ?\|(.*)\|$`)
	infoPort   = regexp.MustCompile(`^(?:# Port info: Lid|== smpquery portinfo) (\d+) (?:port )?(\d+)$`)
	infoLimit  = regexp.MustCompile(`^VLHighLimit:\.*(\d+)$`)
	infoField  = regexp.MustCompile(`^[A-Za-z]\w*:\.\.+`)
)

// ReadVLArbitration reads the arbitration tables of a subnet's switch ports as
// smpquery vlarb prints them, port after port, and the limits of high priority from
// what smpquery portinfo prints of the same ports, in any order; lids knows the LIDs
// (nil: as the fabric states them). The result is by port (len = ports of g); nil
// for ports that the file does not name. Tables of adapters and of ports without a
// cable are passed over, and so is what smpquery sl2vl prints.
//
// name is the file's name for messages; problems are returned together with their
// lines.
func ReadVLArbitration(r io.Reader, name string, g *topology.Graph, lids *LIDs) ([]*arbitration.Tables, error) {
	p := &vlarbParser{Problems: input.Problems{Name: name}, subnet: newSubnet(g), at: topology.NoPort, about: topology.NoPort}
	if lids != nil {
		p.lids = lids
	}
	p.tables = make([]*arbitration.Tables, g.NumPorts())
	p.limits = make([]int, g.NumPorts())
	if err := readLines(r, &p.Problems, p.parse, func(lines int) {
		p.endPort(lines)
		if !p.any {
			p.ProblemAt(lines, "no arbitration tables")
		}
	}); err != nil {
		return nil, err
	}
	for port, t := range p.tables {
		if t != nil {
			t.Limit = uint8(p.limits[port])
		}
	}
	return p.tables, nil
}

type vlarbParser struct {
	input.Problems
	*subnet
	tables []*arbitration.Tables
	limits []int // len = ports
	any    bool

	at      topology.PortID // whose tables come; NoPort: to be passed over
	inside  bool            // after the heading of a port
	high    bool
	missing int             // tables that the port at hand still lacks
	lanes   []uint64        // of the row before the weights
	about   topology.PortID // of the portinfo at hand
}

func (p *vlarbParser) parse(line int, text string) {
	if m := vlarbPort.FindStringSubmatch(text); m != nil {
		p.endPort(line)
		p.at, p.inside, p.missing = p.find(line, m[1], m[2]), true, 2
		p.any = true
		if p.at != topology.NoPort {
			if p.tables[p.at] != nil {
				p.ProblemAt(line, "the tables of %s are a duplicate", p.graph.PortName(p.at))
			}
			p.tables[p.at] = &arbitration.Tables{}
		}
	} else if m := vlarbTable.FindStringSubmatch(text); m != nil {
		p.high, p.lanes = m[1] == "High", nil
	} else if m := vlarbRow.FindStringSubmatch(text); m != nil {
		p.row(line, m[1] == "VL", m[2])
	} else if m := infoPort.FindStringSubmatch(text); m != nil {
		p.about = p.find(line, m[1], m[2])
	} else if m := infoLimit.FindStringSubmatch(text); m != nil {
		limit, err := strconv.ParseUint(m[1], 10, 8)
		if err != nil {
			p.ProblemAt(line, "VLHighLimit %s: want 0 to 255", m[1])
		} else if p.about != topology.NoPort {
			p.limits[p.about] = int(limit)
		}
	} else if text != "" && text[0] != '#' && !strings.HasPrefix(text, "== ") && !infoField.MatchString(text) && !mapPorts.MatchString(text) && !chatter.MatchString(text) {
		p.ProblemAt(line, "%s is not a line of an arbitration table", input.Quote(text))
	}
}

// find is the port that a query was about; NoPort for those of adapters and those
// without a cable.
func (p *vlarbParser) find(line int, lidText, portText string) topology.PortID {
	lid, err := strconv.Atoi(lidText)
	to, known := p.lids.of(lid)
	number, err2 := strconv.Atoi(portText)
	if err != nil || err2 != nil || !known {
		p.ProblemAt(line, "LID %s: no port of the fabric has it", lidText)
		return topology.NoPort
	}
	s, ok := p.lids.Switch(lid)
	if !ok || to == p.lids.aggregation() {
		return topology.NoPort
	}
	if most := int(p.names.SwitchPorts[s]); number > most {
		p.ProblemAt(line, "port %d of %s: want 0 to %d", number, p.graph.SwitchName(s), most)
		return topology.NoPort
	}
	return p.port(s, number)
}

// row takes the lanes or the weights of a table.
func (p *vlarbParser) row(line int, lanes bool, text string) {
	if !p.inside {
		p.ProblemAt(line, "row before any port")
		return
	}
	var values []uint64
	for _, cell := range strings.Split(text, "|") {
		v, err := strconv.ParseUint(strings.TrimSpace(cell), 0, 8)
		if err != nil {
			p.ProblemAt(line, "%s: want a number of 8 bits", input.Quote(cell))
			return
		}
		values = append(values, v)
	}
	if lanes {
		p.lanes = append(p.lanes, values...)
		return
	}
	if len(values) > len(p.lanes) {
		p.ProblemAt(line, "%d weights for %d lanes", len(values), len(p.lanes))
		return
	}
	var table []arbitration.Entry
	for i, weight := range values {
		lane := p.lanes[i]
		if lane >= arbitration.MaxLanes && weight != 0 {
			p.ProblemAt(line, "a weight for lane %d: want 0 to %d", lane, arbitration.MaxLanes-1)
			return
		}
		if lane < arbitration.MaxLanes {
			table = append(table, arbitration.Entry{Lane: uint8(lane), Weight: uint8(weight)})
		}
	}
	p.lanes = p.lanes[len(values):]
	if len(p.lanes) > 0 {
		p.ProblemAt(line, "%d lanes without a weight", len(p.lanes))
		p.lanes = nil
		return
	}
	p.missing--
	if p.at == topology.NoPort {
		return
	}
	if t := p.tables[p.at]; p.high {
		t.High = append(t.High, table...)
	} else {
		t.Low = append(t.Low, table...)
	}
}

// endPort checks that the tables of the port at hand are complete.
func (p *vlarbParser) endPort(line int) {
	if p.inside && p.missing > 0 {
		p.ProblemAt(line, "the tables before are cut: want those of low and of high priority")
	}
	p.inside = false
}
