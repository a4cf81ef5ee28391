package mcast

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/ib"
	"github.com/weft-sim/weft/routing/multicast"
	"github.com/weft-sim/weft/sim/input"
)

// Whose rows come in a dump that lists rows switch by switch, where it is no switch of the fabric.
const (
	noSwitch      topology.SwitchID = -1 // before the first
	unknownSwitch topology.SwitchID = -2 // after one that the fabric does not have: its rows say nothing new
)

// cutHex reads the hexadecimal number behind prefix, 0x or not, up to a space, colon or the end.
func cutHex(text, prefix string) (uint64, bool) {
	_, rest, ok := strings.Cut(text, prefix)
	if !ok {
		return 0, false
	}
	rest = strings.TrimPrefix(rest, "0x")
	if end := strings.IndexAny(rest, " \t:"); end >= 0 {
		rest = rest[:end]
	}
	v, err := strconv.ParseUint(rest, 16, 64)
	return v, err == nil
}

// LIDMatrix is the min-hop table that a subnet manager holds after its unicast routing, as OpenSM
// dumps it (opensm-lid-matrix.dump): hop counts by switch, destination switch and port. Where
// routing avoids some shortest paths (up*/ down*, dimension order) it says other than
// [multicast.MinHop], and multicast follows it.
type LIDMatrix struct {
	hopTable
	graph  *topology.Graph
	lowest []topology.PortID // len = n*n: [to*n+from]
}

// Graph is the graph that the table is for.
func (m *LIDMatrix) Graph() *topology.Graph { return m.graph }

// LowestPort is the lowest port of s with the smallest hop count to w; NoPort if there is none.
func (m *LIDMatrix) LowestPort(s, w topology.SwitchID) topology.PortID {
	return m.lowest[int(w)*m.n+int(s)]
}

// ReadLIDMatrix reads the dump of a subnet whose switches and ports are those of graph, matched
// by GUID. Every switch must have the row to itself; those to switches that it has no path to are
// missing (updn), and rows of hosts (which some engines write) are skipped.
func ReadLIDMatrix(r io.Reader, name string, graph *topology.Graph) (*LIDMatrix, error) {
	n := graph.Switches()
	m := &LIDMatrix{newHopTable(n), graph, slices.Repeat([]topology.PortID{topology.NoPort}, n*n)}
	in := input.NewLines(r, name)
	ids := ib.NewIdentities(topology.NamesOf(graph))
	from := noSwitch
	seen := make([]bool, n*n)
	for in.Next() {
		text := in.Text
		switch {
		case text == "" || text[0] == '#':
		case strings.HasPrefix(text, "Switch:"):
			from = unknownSwitch
			guid, ok := cutHex(text, "guid ")
			if !ok {
				in.Problem("a switch without a GUID: %s", input.Quote(text))
			} else if s, known := ids.Switches[topology.GUID(guid)]; !known {
				in.Problem("switch %016x is not in the fabric", guid)
			} else {
				from = s
			}
		case strings.HasPrefix(text, "0x"):
			m.readRow(in, ids, from, seen)
		default:
			in.Problem("%s is not a line of a min-hop table", input.Quote(text))
		}
	}
	if err := in.Finish(); err != nil {
		return nil, err
	}
	var problems []error
	for s := range n {
		if !seen[s*n+s] {
			problems = append(problems, fmt.Errorf("%s: %s has no row to itself: the file is cut or of another fabric", name, graph.SwitchName(topology.SwitchID(s))))
		}
		if len(problems) == input.MostProblems {
			break
		}
	}
	return m, errors.Join(problems...)
}

// readRow reads "0x0003: 02 ff ff ff ff 02 # portguid 0x0000000000200001":
// destination LID, smallest count, count by port.
func (m *LIDMatrix) readRow(in *input.Lines, ids *ib.Identities, from topology.SwitchID, seen []bool) {
	values, comment, _ := strings.Cut(in.Text, "#")
	guid, ok := cutHex(comment, "portguid ")
	if !ok {
		in.Problem("row without a port GUID: %s", input.Quote(in.Text))
		return
	}
	to, isSwitch := ids.Switches[topology.GUID(guid)]
	if _, isHost := ids.Terminals[topology.GUID(guid)]; !isSwitch && !isHost {
		in.Problem("port %016x is not in the fabric", guid)
		return
	}
	if from == noSwitch {
		in.Problem("row before any switch")
	}
	if from < 0 {
		return
	}
	_, list, ok := strings.Cut(values, ":")
	fields := strings.Fields(list)
	if want := int(ids.Names.Switches[from].Ports) + 1; !ok || len(fields) != want {
		in.Problem("%d hop counts, want %d: the smallest, then one for each port of %s", len(fields), want, m.graph.SwitchName(from))
		return
	}
	counts := make([]uint8, len(fields))
	for i, f := range fields {
		v, err := strconv.ParseUint(f, 16, 8)
		if err != nil {
			in.Problem("hop count %s: want two hex digits", input.Quote(f))
			return
		}
		counts[i] = uint8(v)
	}
	if !isSwitch {
		return
	}
	cell := int(to)*m.n + int(from)
	if seen[cell] {
		in.Problem("a second row from %s to %016x", m.graph.SwitchName(from), guid)
		return
	}
	seen[cell] = true
	m.hops[cell] = counts[0]
	for p := range m.graph.Links(from) {
		if counts[0] != multicast.Unreachable && counts[ids.Names.Port[p]] == counts[0] {
			m.lowest[cell] = p
			return
		}
	}
}

// MLIDs of OpenSM's multicast groups (InfiniBand Architecture Specification, volume 1, 4.1.3): from
// 0xC000, which the default partition's broadcast group has even without a member, to 0xFFFE.
const (
	BroadcastMLID = 0xC000
	FirstMLID     = 0xC001
	LastMLID      = 0xFFFE
)

// SAGroup is one multicast group of a subnet administrator's database.
type SAGroup struct {
	multicast.Group
	MLID uint16
	MGID [2]uint64 // prefix and interface id
	Line int       // of its record in the file; 0 if not from a file
}

// ReadSADump reads the multicast groups of an OpenSM SA dump (opensm-sa.dump) on the given
// fabric, in file order, groups without members among them; their ids count from 0, their names
// are MGIDs. Members are port GUIDs of hosts or GUIDs of switches; a port that the fabric does
// not have is an error. Records of services and subscriptions are skipped. Two groups on one
// MLID are an error, as in OpenSM, but for IPv6 solicited-node groups, which become one group.
func ReadSADump(r io.Reader, name string, graph *topology.Graph) ([]SAGroup, error) {
	in := input.NewLines(r, name)
	p := saParser{in: in, ids: ib.NewIdentities(topology.NamesOf(graph)), byMLID: map[uint16]int{}, byMGID: map[[2]uint64]int{}, current: -1}
	for in.Next() {
		text := in.Text
		switch {
		case text == "" || text[0] == '#':
		case strings.HasPrefix(text, "MC Group"):
			p.group(text)
		case strings.HasPrefix(text, "mcm_port"):
			p.member(text)
		case strings.HasPrefix(text, "Service Record:"), strings.HasPrefix(text, "InformInfo Record:"), strings.HasPrefix(text, "GUIDInfo Record:"):
			p.current = -1
			p.skipped = true
		default:
			in.Problem("%s is not a record of an SA dump", input.Quote(text))
		}
	}
	if err := in.Finish(); err != nil {
		return nil, err
	}
	for i := range p.groups {
		g := &p.groups[i]
		g.Group = multicast.NewGroup(multicast.GroupID(i), g.Terminals, g.Switches)
		g.Name = fmt.Sprintf("%016x:%016x", g.MGID[0], g.MGID[1])
	}
	return p.groups, nil
}

type saParser struct {
	in      *input.Lines
	ids     *ib.Identities
	groups  []SAGroup
	byMLID  map[uint16]int
	byMGID  map[[2]uint64]int
	current int  // group whose members come, -1 none
	skipped bool // the last record was of another kind, or has a problem
}

// saGroupFields and saMemberFields are the records' fields, in the order of OpenSM's reader; those
// without a width are 128-bit GIDs.
var (
	saGroupFields = []saKey{
		{"mgid", 0}, {"port_gid", 0}, {"qkey", 32}, {"mlid", 16}, {"mtu", 8}, {"tclass", 8}, {"pkey", 16}, {"rate", 8},
		{"pkt_life", 8}, {"sl_flow_hop", 32}, {"scope_state", 8}, {"proxy_join", 8},
	}
	saMemberFields = []saKey{{"port_gid", 0}, {"scope_state", 8}, {"proxy_join", 8}}
)

type saKey struct {
	key  string
	bits int
}

// group reads "MC Group 0xc001 : mgid=0x..:0x.. port_gid=... proxy_join=0x0".
func (p *saParser) group(text string) {
	p.current, p.skipped = -1, true
	head, fields, ok := strings.Cut(text, ": ")
	mlid, isNumber := cutHex(head+" ", "MC Group ")
	if !ok || !isNumber || mlid < BroadcastMLID || mlid > LastMLID {
		p.in.Problem("group record without an MLID of 0xc000 to 0xfffe: %s", input.Quote(text))
		return
	}
	g := SAGroup{MLID: uint16(mlid), Line: p.in.Number}
	for _, f := range saGroupFields {
		rest, value, err := saField(fields, f.key, f.bits)
		if err != nil {
			p.in.Problem("group %#x: %v", mlid, err)
			return
		}
		fields = rest
		switch f.key {
		case "mgid":
			g.MGID = value
		case "mlid":
			if value[0] != mlid {
				p.in.Problem("group %#x has mlid=%#x", mlid, value[0])
				return
			}
		}
	}
	if first, twice := p.byMGID[g.MGID]; twice {
		p.in.Problem("MGID %016x:%016x is a duplicate: first in line %d", g.MGID[0], g.MGID[1], p.groups[first].Line)
		return
	}
	if first, taken := p.byMLID[g.MLID]; taken {
		if !solicitedNode(g.MGID) || !solicitedNode(p.groups[first].MGID) {
			p.in.Problem("MLID %#x is a duplicate: the group in line %d has it", mlid, p.groups[first].Line)
			return
		}
		p.byMGID[g.MGID] = first
		p.current, p.skipped = first, false
		return
	}
	p.current, p.skipped = len(p.groups), false
	p.byMLID[g.MLID], p.byMGID[g.MGID] = p.current, p.current
	p.groups = append(p.groups, g)
}

// solicitedNode tells the groups that OpenSM may put on one MLID (consolidate_ipv6_snm_req): scope
// in the second byte, IPv6 signature, partition key, then ::1:ffxx:xxxx.
func solicitedNode(mgid [2]uint64) bool {
	return mgid[0]&0xfff0_ffff_0000_ffff == 0xff10_601b_0000_0000 && mgid[1]&0xffff_ffff_ff00_0000 == 0x0000_0001_ff00_0000
}

// member reads "mcm_port: port_gid=0x..:0x.. scope_state=0x21 proxy_join=0x0".
func (p *saParser) member(text string) {
	if p.current < 0 {
		if !p.skipped {
			p.in.Problem("member record before any group")
		}
		return
	}
	_, fields, ok := strings.Cut(text, ":")
	if !ok {
		p.in.Problem("%s: a member record has a colon after mcm_port", input.Quote(text))
		return
	}
	var guid uint64
	for _, f := range saMemberFields {
		rest, value, err := saField(fields, f.key, f.bits)
		if err != nil {
			p.in.Problem("member: %v", err)
			return
		}
		fields = rest
		if f.key == "port_gid" {
			guid = value[1]
		}
	}
	g := &p.groups[p.current]
	if t, known := p.ids.Terminals[topology.GUID(guid)]; known {
		g.Terminals = append(g.Terminals, t)
	} else if s, known := p.ids.Switches[topology.GUID(guid)]; known {
		g.Switches = append(g.Switches, s)
	} else {
		p.in.Problem("group %#x: port %016x is not in the fabric", g.MLID, guid)
	}
}

// saField finds " key=0x1f" (or " key=0x1f:0x2" for a GID) and returns what follows it.
func saField(text, key string, bits int) (rest string, value [2]uint64, err error) {
	_, text, ok := strings.Cut(" "+text, " "+key+"=")
	if !ok {
		return "", value, fmt.Errorf("%s= is missing or out of order", key)
	}
	word, rest, _ := strings.Cut(text, " ")
	parts := []string{word}
	if bits == 0 {
		bits = 64
		if parts = strings.Split(word, ":"); len(parts) != 2 {
			return "", value, fmt.Errorf("%s=%s: want two numbers of 64 bits", key, word)
		}
	}
	for i, part := range parts {
		if value[i], err = parseHex(part, bits); err != nil {
			return "", value, fmt.Errorf("%s=%s: want 0x and up to %d hex digits", key, word, bits/4)
		}
	}
	return rest, value, nil
}

// mlidOf gives the i-th group an MLID of its own, past the broadcast group's.
func mlidOf(i int) (uint16, error) {
	if i < 0 || FirstMLID+i > LastMLID {
		return 0, fmt.Errorf("multicast entry %d has no MLID: they end at %#x, so %d entries can be named", i, LastMLID, LastMLID-FirstMLID+1)
	}
	return uint16(FirstMLID + i), nil
}

// WriteSADump writes groups as OpenSM's SA dump: a record for each group and each member, by
// ascending port GUID. OpenSM restores groups from it (-S) if each has its own MLID.
func WriteSADump(w io.Writer, graph *topology.Graph, groups []SAGroup) error {
	out := bufio.NewWriter(w)
	names := topology.NamesOf(graph)
	for i := range groups {
		g := &groups[i]
		wellKnown := ""
		if g.MLID == BroadcastMLID {
			wellKnown = " (well known)"
		}
		fmt.Fprintf(out, "MC Group 0x%04x %s: mgid=0x%016x:0x%016x port_gid=0x%016x:0x%016x qkey=0x00000b1b mlid=0x%04x mtu=0x84 tclass=0x00 pkey=0xffff rate=0x83 pkt_life=0x92 sl_flow_hop=0x00000000 scope_state=0x21 proxy_join=0x0\n\n",
			g.MLID, wellKnown, g.MGID[0], g.MGID[1], 0, 0, g.MLID)
		for _, guid := range memberGUIDs(names, &g.Group) {
			fmt.Fprintf(out, "mcm_port: port_gid=0xfe80000000000000:0x%016x scope_state=0x21 proxy_join=0x0\n\n", guid)
		}
	}
	return out.Flush()
}
