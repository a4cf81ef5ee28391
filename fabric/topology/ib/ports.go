package ib

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/sim/input"
)

// ReadPorts reads what ibnetdiscover --ports prints, "a list of connected ports with relevant information (like
// LID, portnum, GUID, width, speed, and NodeDescription)" by its manual page; the fields are as in
// dump_ports_report in rdma-core's infiniband-diags/ibnetdiscover.c:
//
//	SW     4  2 0xb8599f0300000001 4x HDR - CA     1  1 0x0c42a10300000001 ( 'leaf' - 'node1 mlx5_0' )
//	SW     4  1 0xb8599f0300000001 4x SDR                                    'leaf'
//
// type, LID, port, GUID of the port (of a switch: its own), width and speed, the first four of the peer, and both
// names. Ports of an adapter stand together, from the highest to the lowest. Its GUID is not in the report: it is
// taken to be the GUID of the port listed first. Ports without peers are skipped.
func ReadPorts(r io.Reader, name string) (*Imported, error) {
	return readReport(r, name, (*report).port)
}

// ReadLinkInfo reads what iblinkinfo prints without options (manual page: "a header with the node information and
// then a list for each port"; print_node_header and print_port in rdma-core's infiniband-diags/iblinkinfo.c):
//
//	CA: node1 mlx5_0:
//	      0x0c42a10300000001      1    1[  ] ==( 4X          53.125 Gbps Active/  LinkUp)==>       4    2[  ] "leaf" ( )
//	Switch: 0xb8599f0300000001 leaf:
//	           4    1[  ] ==(                Down/ Polling)==>             [  ] "" ( )
//	           4    2[  ] ==( 4X          53.125 Gbps Active/  LinkUp)==>       1    1[  ] "node1 mlx5_0" ( )
//
// or with --line, each port with the GUID and name of its node before it, and the GUID of the peer's behind the arrow:
//
//	0xb8599f0300000001 "leaf"  4    2[  ] ==( 4X  53.125 Gbps Active/  LinkUp)==>  0x0c42a10300000001  1    1[  ] "node1 mlx5_0" ( )
//
// There, a node of which two ports have one LID is a switch. A port line has the LID, the port, that on the chassis, width, rate of a lane and state, then the peer's LID,
// port and name. A node is told by LID and name. The GUID of an adapter's first port is taken as the adapter's.
// Ports that are down are skipped.
func ReadLinkInfo(r io.Reader, name string) (*Imported, error) {
	return readReport(r, name, (*report).link)
}

// report collects nodes from lines of their ports.
type report struct {
	*listing
	owner map[string]*nodeRecord         // by what the ends of cables call it
	last  int                            // port of the line before
	lids  map[*nodeRecord]map[int32]bool // of nodes whose kind is not known, and whether a second port has it
}

// readReport reads a report by its lines; parse is false for a line that it does not know.
func readReport(r io.Reader, name string, parse func(p *report, line int, text string) bool) (*Imported, error) {
	p := &report{listing: newListing(name), owner: map[string]*nodeRecord{}, lids: map[*nodeRecord]map[int32]bool{}}
	return p.read(r, func(in *input.Lines) {
		switch {
		case in.Text == "" || in.Text[0] == '#' || parse(p, in.Number, in.Text):
		case chatter().MatchString(in.Text) || prompt().MatchString(in.Text):
			p.warn(in.Number, "skipped %s", input.Quote(in.Text))
		default:
			in.Problem("%s is not a line of a port, as ibnetdiscover --ports and iblinkinfo print them", input.Quote(in.Text))
		}
	}, p.join)
}

// join puts the ids of nodes in the place of what the ends of cables call them.
func (p *report) join(int) {
	for n, lids := range p.lids {
		if slices.Contains(slices.Collect(maps.Values(lids)), true) {
			delete(p.byID, n.id)
			n.kind, n.id = switchNode, "S"+n.id[1:]
			p.byID[n.id] = n
			for i := range n.ends {
				n.lid, n.ends[i].lid = n.ends[i].lid, 0
			}
		}
	}
	some := map[bool]bool{} // nodes that are switches, or are not
	lost := 0               // line of a cable to a node that is not listed
	for _, n := range p.nodes {
		some[n.kind == switchNode] = true
		for i := range n.ends {
			if peer := p.owner[n.ends[i].peer]; peer != nil {
				n.ends[i].peer = peer.id
			} else if lost == 0 {
				lost = n.ends[i].line
			}
		}
	}
	if len(some) == 1 && lost > 0 {
		p.ProblemAt(lost, "leads to a node that is not listed, as all of its kind: print the fabric again without --switches-only or --cas-only")
	}
}

// node begins a node, of which identify tells the GUID.
func (p *report) node(line int, kind nodeKind, description string) {
	p.current = &nodeRecord{kind: kind, line: line, description: description}
}

// identify gives the current node its GUID, and takes it in.
func (p *report) identify(line int, guid uint64) {
	n := p.current
	n.guid, n.id = guid, fmt.Sprintf("%c-%016x", n.kind, guid)
	p.take(line, n)
}

// end adds a port of the current node, by others' name for it. With a peer it ends a cable.
func (p *report) end(e cableEnd, called string) {
	n := p.current
	p.last = e.port
	switch other := p.owner[called]; {
	case e.port < 1 || e.port > maxPorts || e.peer != "" && (e.peerPort < 1 || e.peerPort > maxPorts):
		p.ProblemAt(e.line, "port %d of %q, which leads to port %d: want ports 1 to %d", e.port, n.id, e.peerPort, maxPorts)
		return
	case max(e.lid, e.peerLID) > maxLID:
		p.ProblemAt(e.line, "LID %d: want at most %d", max(e.lid, e.peerLID), maxLID)
		return
	case p.listed(e.line, n, e.port):
		return
	case e.peer != "" && other != nil && other != n:
		p.ProblemAt(e.line, "%s is %q, and %q of line %d: want nodes that differ", called, n.id, other.id, other.line)
		return
	}
	n.ports = max(n.ports, e.port)
	if n.kind == switchNode {
		n.lid, e.lid, e.guid = e.lid, 0, 0
	}
	if e.peer != "" {
		p.owner[called] = n
		n.ends = append(n.ends, e)
	}
}

// maxLID is the highest of 16 bits.
const maxLID = 1<<16 - 1

// number reads digits of which the line's expression bounds the count.
func number(text string, base int) uint64 {
	v, _ := strconv.ParseUint(text, base, 64)
	return v
}

// rate notes what is wrong with a rate, if anything is.
func (p *report) rate(line int, text string) cableRate {
	rate, err := parseRate(text)
	if err != nil {
		p.ProblemAt(line, "%v", err)
	}
	return rate
}

// portLine matches a line of ibnetdiscover --ports.
var portLine = input.Pattern(`^(SW|CA|RT)\s+(\d{1,9})\s+(\d{1,9})\s+0x([0-9A-Fa-f]{1,16})\s+([\d?]+x?)\s+(\S+)(?:\s+-\s+(SW|CA|RT)\s+(\d{1,9})\s+(\d{1,9})\s+0x([0-9A-Fa-f]{1,16})\s+\(\s*'(.*?)'\s+-\s+'.*'\s*\)|\s+'(.*)')$`)

// portKinds are the types of nodes in reports.
var portKinds = map[string]nodeKind{"SW": switchNode, "CA": adapterNode, "RT": routerNode, "Router": routerNode}

func (p *report) port(line int, text string) bool {
	m := portLine().FindStringSubmatch(text)
	if m == nil {
		return false
	}
	kind, description := portKinds[m[1]], m[11]+m[12]
	guid := number(m[4], 16)
	e := cableEnd{line: line, lid: int32(number(m[2], 10)), port: int(number(m[3], 10)), guid: guid, peerLID: -1}
	if m[7] != "" {
		e.rate = p.rate(line, m[5]+m[6])
		e.peerLID, e.peerPort = int32(number(m[8], 10)), int(number(m[9], 10))
		e.peer = fmt.Sprintf("%s 0x%016x", m[7], number(m[10], 16))
	}
	n := p.current
	if n == nil || n.kind != kind || kind == switchNode && n.guid != guid || kind != switchNode && (n.description != description || e.port >= p.last) {
		p.node(line, kind, description)
		p.identify(line, guid)
	}
	p.end(e, fmt.Sprintf("%s 0x%016x", m[1], guid))
	return true
}

var (
	// linkNode matches a header of iblinkinfo.
	linkNode = input.Pattern(`^(?:Switch:? 0x([0-9A-Fa-f]{1,16})|(CA|Router):) (.*):$`)
	// linkLine matches a line of one of its ports, linkPeer what follows the arrow.
	linkLine  = input.Pattern(`^(?:0x([0-9A-Fa-f]{1,16})\s+)?(\d{1,9})\s+(\d{1,9})\[[ \d]*\]\s+==\((.*?)\s*(\w+) */\s*[\w ]+\)(?: \(HOQ:.*\))?==>\s*(.*)$`)
	linkWhole = input.Pattern(`^0x([0-9A-Fa-f]{1,16}) "\s*(.*?)"\s+(\d.* ==\(.*\)==>\s+)(?:0x([0-9A-Fa-f]{1,16})\s+)?(\S.*)$`)
	linkPeer  = input.Pattern(`^(\d{1,9})\s+(\d{1,9})\[[ \d]*\]\s+"(.*)"\s+\(.*\)$`)
)

// laneSpeeds are a lane's speeds as libibmad's mad_dump_linkspeed and mad_dump_linkspeedext print.
var laneSpeeds = map[string]string{"2.5 Gbps": "SDR", "5.0 Gbps": "DDR", "10.0 Gbps": "QDR", "10.0 Gbps (FDR10)": "FDR10",
	"14.0625 Gbps": "FDR", "25.78125 Gbps": "EDR", "53.125 Gbps": "HDR", "106.25 Gbps": "NDR", "212.5 Gbps": "XDR"}

func (p *report) link(line int, text string) bool {
	whole := linkWhole().FindStringSubmatch(text)
	if whole != nil {
		guid := number(whole[1], 16) // of a node of unknown kind: an adapter until its ports tell
		if p.current = p.byID[fmt.Sprintf("%c-%016x", adapterNode, guid)]; p.current == nil {
			p.node(line, adapterNode, whole[2])
			p.identify(line, guid)
			p.lids[p.current] = map[int32]bool{}
		}
		text = whole[3] + whole[5]
	} else if m := linkNode().FindStringSubmatch(text); m != nil {
		if m[2] == "" {
			p.node(line, switchNode, m[3])
			p.identify(line, number(m[1], 16))
		} else {
			p.node(line, portKinds[m[2]], m[3])
		}
		return true
	}
	m := linkLine().FindStringSubmatch(text)
	switch {
	case m == nil:
		return false
	case p.current == nil:
		p.ProblemAt(line, "port line without a node before it")
		return true
	case whole == nil && (m[1] == "") != (p.current.kind == switchNode):
		p.ProblemAt(line, "%s of %s %q: want a GUID before the LID at adapters and routers, and none at switches", input.Quote(text), p.current.kind, p.current.description)
		return true
	}
	e := cableEnd{line: line, lid: int32(number(m[2], 10)), port: int(number(m[3], 10)), guid: number(m[1], 16), peerLID: -1}
	called := linkName(e.lid, p.current.description)
	if whole != nil {
		called = "0x" + p.current.id[2:]
		lids := p.lids[p.current]
		_, again := lids[e.lid]
		lids[e.lid] = again && e.lid > 0
	}
	if m[5] != "Down" {
		if peer := linkPeer().FindStringSubmatch(m[6]); peer != nil {
			e.peerLID, e.peerPort = int32(number(peer[1], 10)), int(number(peer[2], 10))
			e.peer = linkName(e.peerLID, peer[3])
			if whole != nil {
				e.peer = fmt.Sprintf("0x%016x", number(whole[4], 16))
			}
		} else if !strings.HasSuffix(m[6], `"Port not available"`) {
			return false
		}
		e.rate = p.lanes(line, strings.Fields(m[4]))
	}
	if p.current.id == "" {
		p.identify(line, e.guid)
	}
	p.end(e, called)
	return true
}

// linkName is what iblinkinfo calls a node at the end of a cable.
func linkName(lid int32, description string) string {
	return fmt.Sprintf("%q, LID %d", description, lid)
}

// lanes reads a port's width and speed, "4X 25.78125 Gbps", unknown if the tool could not name
// them.
func (p *report) lanes(line int, words []string) cableRate {
	if len(words) == 0 || words[0] == "undefined" || len(words) > 1 && strings.Trim(words[1], "0123456789.") != "" {
		return cableRate{text: unknownRate}
	}
	speed := strings.Join(words[1:], " ")
	name, known := laneSpeeds[speed]
	if !known {
		p.ProblemAt(line, "speed %s: want 2.5, 5.0, 10.0 (also with (FDR10)), 14.0625, 25.78125, 53.125, 106.25 or 212.5 Gbps", input.Quote(speed))
		return cableRate{}
	}
	return p.rate(line, strings.ToLower(words[0])+name)
}
