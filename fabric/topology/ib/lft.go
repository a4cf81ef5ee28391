package ib

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/input"
)

// LFTs are the linear forwarding tables of a subnet: by which port each switch
// sends packets to each terminal and to each switch.
type LFTs struct {
	graph *topology.Graph
	// next holds, by switch and destination (terminals, then switches), the
	// port; NoPort where the table has none or the destination is the switch
	// itself.
	next []topology.PortID
}

// ToTerminal is the port by which s sends to terminal t, or NoPort.
func (l *LFTs) ToTerminal(s topology.SwitchID, t topology.TerminalID) topology.PortID {
	return l.next[l.cell(s)+int(t)]
}

// ToSwitch is the port by which s sends to switch d, or NoPort.
func (l *LFTs) ToSwitch(s, d topology.SwitchID) topology.PortID {
	return l.next[l.cell(s)+l.graph.Terminals()+int(d)]
}

func (l *LFTs) cell(s topology.SwitchID) int {
	return int(s) * (l.graph.Terminals() + l.graph.Switches())
}

var (
	lftSwitch = regexp.MustCompile(`^Unicast lids .*\bguid (0x[0-9A-Fa-f]+)`)
	lftRow    = regexp.MustCompile(`^0x([0-9A-Fa-f]+)\s+(\d+)\s*#.*\bportguid (0x[0-9A-Fa-f]+)`)
	lftEnd    = regexp.MustCompile(`^(\d+)( valid)? lids dumped`)
)

// ReadLFTs reads OpenSM's dump of the forwarding tables (opensm-lfts.dump, also
// what dump_lfts prints) of a subnet whose switches and ports are those of g,
// matched by GUID. A destination with several LIDs goes by its lowest. name is
// the file's name for messages; faults are returned together with their lines.
// Every switch must have a table, and the count at its end must be right.
// Memory: 4 bytes for each switch and destination.
func ReadLFTs(r io.Reader, name string, g *topology.Graph) (*LFTs, error) {
	p := lftParser{file: listing{name: name}, names: Names(g), at: -1, listed: make([]bool, g.Switches())}
	p.lfts = &LFTs{g, make([]topology.PortID, g.Switches()*(g.Terminals()+g.Switches()))}
	for i := range p.lfts.next {
		p.lfts.next[i] = topology.NoPort
	}
	p.lid = make([]uint64, g.Terminals()+g.Switches())
	p.destination = map[uint64]int{}
	p.switches = map[uint64]topology.SwitchID{}
	for t, guid := range p.names.PortGUID {
		p.destination[guid] = t
	}
	for s, guid := range p.names.SwitchGUID {
		p.destination[guid] = g.Terminals() + s
		p.switches[guid] = topology.SwitchID(s)
	}
	in := bufio.NewScanner(input.Text(r))
	line := 0
	for in.Scan() && len(p.file.faults) < maxFaults {
		line++
		p.parse(line, strings.TrimSpace(in.Text()))
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", name, line+1, err)
	}
	if len(p.file.faults) == 0 {
		if p.at >= 0 {
			p.file.fault(line, "the file ends within the table of %s", g.SwitchName(p.at))
		}
		for s, listed := range p.listed {
			if !listed && len(p.file.faults) < maxFaults {
				p.file.fault(line, "no table of %s (%016x)", g.SwitchName(topology.SwitchID(s)), p.names.SwitchGUID[s])
			}
		}
	}
	if len(p.file.faults) > 0 {
		return nil, errors.Join(p.file.faults...)
	}
	return p.lfts, nil
}

type lftParser struct {
	file        listing // for faults
	names       *topology.Names
	lfts        *LFTs
	switches    map[uint64]topology.SwitchID
	destination map[uint64]int    // by port GUID
	listed      []bool            // len = switches
	lid         []uint64          // len = destinations: LID of the row used in the table at hand, 0 none
	at          topology.SwitchID // whose table is being read, -1 none
	rows        int               // in the table at hand
	skipping    bool              // the table at hand is of no known switch
}

func (p *lftParser) parse(line int, text string) {
	if text == "" || text[0] == '#' {
		return
	}
	if m := lftSwitch.FindStringSubmatch(text); m != nil {
		guid, err := strconv.ParseUint(m[1], 0, 64)
		s, known := p.switches[guid]
		p.skipping = true
		switch {
		case err != nil || !known:
			p.file.fault(line, "switch %s is not in the fabric", m[1])
		case p.listed[s]:
			p.file.fault(line, "switch %s is a duplicate", m[1])
		case p.at >= 0:
			p.file.fault(line, "the table of %s is cut", p.lfts.graph.SwitchName(p.at))
		default:
			p.listed[s], p.at, p.rows, p.skipping = true, s, 0, false
			clear(p.lid)
		}
	} else if m := lftRow.FindStringSubmatch(text); m != nil {
		p.row(line, m)
	} else if m := lftEnd.FindStringSubmatch(text); m != nil {
		if n, err := strconv.Atoi(m[1]); !p.skipping && (err != nil || n != p.rows || p.at < 0) {
			p.file.fault(line, "%s rows said, %d read", m[1], p.rows)
		}
		p.at = -1
	} else if !p.skipping || p.at >= 0 {
		p.file.fault(line, "%s is not a line of a forwarding table", quoteShort(text))
	}
}

// row takes "0x0001 005 # Channel Adapter portguid 0x0000000000100001: 'H0'".
func (p *lftParser) row(line int, m []string) {
	if p.at < 0 {
		if !p.skipping {
			p.file.fault(line, "row before any switch")
		}
		return
	}
	p.rows++
	lid, errLID := strconv.ParseUint(m[1], 16, 16)
	number, errPort := strconv.Atoi(m[2])
	guid, errGUID := strconv.ParseUint(m[3], 0, 64)
	to, known := p.destination[guid]
	if err := errors.Join(errLID, errPort, errGUID); err != nil || !known || lid == 0 {
		p.file.fault(line, "LID 0x%s, port %s, destination %s: want a LID of 16 bits, a port and a GUID of the fabric", m[1], m[2], m[3])
		return
	}
	if p.lid[to] != 0 && p.lid[to] < lid {
		return
	}
	p.lid[to] = lid
	port := topology.NoPort
	first, end := p.lfts.graph.Ports(p.at)
	for q := first; q < end; q++ {
		if int(p.names.Port[q]) == number {
			port = q
		}
	}
	if self := p.lfts.graph.Terminals() + int(p.at); port == topology.NoPort && !(number == 0 && to == self) {
		p.file.fault(line, "%s has no cable at port %d", p.lfts.graph.SwitchName(p.at), number)
		return
	}
	p.lfts.next[p.lfts.cell(p.at)+to] = port
}
