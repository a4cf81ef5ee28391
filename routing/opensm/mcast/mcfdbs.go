package mcast

import (
	"bufio"
	"cmp"
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

// memberGUIDs lists the port GUIDs of a group's members, ascending.
func memberGUIDs(names *topology.Names, g *multicast.Group) []topology.GUID {
	guids := make([]topology.GUID, 0, g.Size())
	for _, t := range g.Terminals {
		guids = append(guids, names.Terminals[t].PortGUID)
	}
	for _, s := range g.Switches {
		guids = append(guids, names.Switches[s].GUID)
	}
	slices.Sort(guids)
	return guids
}

// parseHex reads "0x1f".
func parseHex(s string, bits int) (uint64, error) {
	digits, ok := strings.CutPrefix(s, "0x")
	if !ok {
		digits, ok = strings.CutPrefix(s, "0X")
	}
	if !ok {
		return 0, fmt.Errorf("%s: want 0x and hex digits", input.Quote(s))
	}
	return strconv.ParseUint(digits, 16, bits)
}

// MFTRow is one entry of a switch's multicast forwarding table as subnet managers print it.
type MFTRow struct {
	MLID  uint16
	Ports []uint8 // physical numbers, ascending; 0 is the switch itself
}

// MFTs holds the rows of every switch (len = switches), by ascending MLID.
type MFTs [][]MFTRow

// TablesOf returns the forwarding tables of a forest with MLIDs for colours. With a table per port
// there is no such form, which is an error, as is a row for a port beyond 254.
func TablesOf(f *multicast.Forest, mlid func(multicast.Colour) (uint16, error)) (MFTs, error) {
	if f.Env().PerPort {
		return nil, fmt.Errorf("tables per port cannot be written as one table per switch")
	}
	names := topology.NamesOf(f.Env().Graph)
	tables := make(MFTs, f.Env().Graph.Switches())
	for _, t := range f.Tables() {
		for i, c := range t.Colours {
			number, err := mlid(c)
			if err != nil {
				return nil, err
			}
			row := MFTRow{MLID: number}
			if t.Local[i] {
				row.Ports = append(row.Ports, 0)
			}
			for _, p := range t.Ports[i] {
				port := names.Port[p]
				if port > 254 {
					return nil, fmt.Errorf("%s: InfiniBand switches have at most 254 ports", f.Env().Graph.PortName(p))
				}
				row.Ports = append(row.Ports, uint8(port))
			}
			slices.Sort(row.Ports)
			tables[t.Switch] = append(tables[t.Switch], row)
		}
		slices.SortFunc(tables[t.Switch], func(a, b MFTRow) int { return cmp.Compare(a.MLID, b.MLID) })
	}
	return tables, nil
}

// WriteMCFDBs writes forwarding tables as OpenSM dumps them (opensm.mcfdbs):
// switches in OpenSM's order, those without rows left out.
func WriteMCFDBs(w io.Writer, graph *topology.Graph, tables MFTs) error {
	out := bufio.NewWriter(w)
	names := topology.NamesOf(graph)
	for _, s := range topology.GUIDOrder(names) {
		if len(tables[s]) == 0 {
			continue
		}
		fmt.Fprintf(out, "\nSwitch 0x%016x\nLID    : Out Port(s)\n", names.Switches[s].GUID)
		for _, row := range tables[s] {
			fmt.Fprintf(out, "0x%04X :", row.MLID)
			for _, port := range row.Ports {
				fmt.Fprintf(out, " 0x%03X ", port)
			}
			fmt.Fprintln(out)
		}
	}
	return out.Flush()
}

// ReadMCFDBs reads tables in the form of [WriteMCFDBs] for the switches of graph, matched by GUID.
func ReadMCFDBs(r io.Reader, name string, graph *topology.Graph) (MFTs, error) {
	in := input.NewLines(r, name)
	ids := ib.NewIdentities(topology.NamesOf(graph))
	tables := make(MFTs, graph.Switches())
	listed := make([]bool, graph.Switches())
	at := noSwitch
	for in.Next() {
		text := in.Text
		switch {
		case text == "" || strings.HasPrefix(text, "LID"):
		case strings.HasPrefix(text, "Switch "):
			at = unknownSwitch
			guid, err := parseHex(strings.TrimSpace(text[len("Switch "):]), 64)
			s, known := ids.Switches[topology.GUID(guid)]
			switch {
			case err != nil:
				in.Problem("switch without a GUID: %s", input.Quote(text))
			case !known:
				in.Problem("switch %016x is not in the fabric", guid)
			case listed[s]:
				in.Problem("switch %016x is a duplicate", guid)
			default:
				at = s
				listed[s] = true
			}
		default:
			row, err := parseMFTRow(text)
			switch {
			case err != nil:
				in.Problem("%v", err)
			case at == noSwitch:
				in.Problem("row before any switch")
			case at == unknownSwitch:
			case len(tables[at]) > 0 && tables[at][len(tables[at])-1].MLID >= row.MLID:
				in.Problem("row %#x is out of order", row.MLID)
			case int32(slices.Max(row.Ports)) > ids.Names.Switches[at].Ports:
				in.Problem("row %#x has a port beyond %d", row.MLID, ids.Names.Switches[at].Ports)
			default:
				tables[at] = append(tables[at], row)
			}
		}
	}
	return tables, in.Finish()
}

// parseMFTRow reads "0xC001 : 0x001  0x002 ".
func parseMFTRow(text string) (MFTRow, error) {
	key, list, ok := strings.Cut(text, ":")
	mlid, err := parseHex(strings.TrimSpace(key), 16)
	if !ok || err != nil || mlid < BroadcastMLID {
		return MFTRow{}, fmt.Errorf("%s: want an MLID from 0xC000, a colon and ports", input.Quote(text))
	}
	row := MFTRow{MLID: uint16(mlid)}
	for _, word := range strings.Fields(list) {
		port, err := parseHex(word, 8)
		if err != nil || len(row.Ports) > 0 && row.Ports[len(row.Ports)-1] >= uint8(port) {
			return MFTRow{}, fmt.Errorf("row %#x: port %s: want ascending port numbers up to 0x0FE", mlid, input.Quote(word))
		}
		row.Ports = append(row.Ports, uint8(port))
	}
	if len(row.Ports) == 0 {
		return MFTRow{}, fmt.Errorf("row %#x has no ports", mlid)
	}
	return row, nil
}

// Installed is what forwarding tables that a subnet has make of its groups.
type Installed struct {
	Entries int     // MLIDs of the groups that some switch has a row for
	MaxEFI  int     // most groups over one cable between switches, both directions together
	MeanEFI float64 // over all such cables
	// Problems name the groups whose packets do not reach all of their members once
	// and nobody else, or that have no rows.
	Problems []string
}

// inspect follows the packets of groups through forwarding tables, as of [ReadMCFDBs], from every
// member or 32 evenly chosen. Cost: linear in the cables that the packets cross.
func inspect(graph *topology.Graph, tables MFTs, groups []SAGroup) *Installed {
	x := &inspector{graph: graph, tables: tables, ports: make([][]topology.PortID, graph.Switches()), load: make([]int, graph.NumPorts())}
	names := topology.NamesOf(graph)
	for p := range topology.PortID(graph.NumPorts()) {
		s := graph.PortSwitch[p]
		for len(x.ports[s]) <= int(names.Port[p]) {
			x.ports[s] = append(x.ports[s], topology.NoPort)
		}
		x.ports[s][names.Port[p]] = p
	}
	found := &Installed{}
	for i := range groups {
		if x.count(groups[i].MLID) {
			found.Entries++
		}
		if problem := x.group(&groups[i]); problem != "" {
			found.Problems = append(found.Problems, fmt.Sprintf("MLID %#x: %s", groups[i].MLID, problem))
		}
	}
	cables, total := 0, 0
	for p, load := range x.load {
		if peer := graph.Peer[p]; peer > int32(p) {
			if _, ok := graph.PeerPort(topology.PortID(p)); ok {
				cables++
				total += load
				found.MaxEFI = max(found.MaxEFI, load)
			}
		}
	}
	if cables > 0 {
		found.MeanEFI = float64(total) / float64(cables)
	}
	return found
}

type inspector struct {
	graph  *topology.Graph
	tables MFTs
	ports  [][]topology.PortID // by switch and physical number; NoPort: none
	load   []int               // groups over the cable at a port, kept at the lower of its two
}

func (x *inspector) row(s topology.SwitchID, mlid uint16) []uint8 {
	i, ok := slices.BinarySearchFunc(x.tables[s], mlid, func(r MFTRow, m uint16) int { return int(r.MLID) - int(m) })
	if !ok {
		return nil
	}
	return x.tables[s][i].Ports
}

// count adds a group to the cables that its rows name, and tells whether there are any rows.
func (x *inspector) count(mlid uint16) (any bool) {
	seen := map[topology.PortID]bool{}
	for s := range topology.SwitchID(x.graph.Switches()) {
		for _, number := range x.row(s, mlid) {
			any = true
			p := x.port(s, number)
			if p == topology.NoPort {
				continue
			}
			if peer, ok := x.graph.PeerPort(p); ok {
				if p = min(p, peer); !seen[p] {
					seen[p] = true
					x.load[p]++
				}
			}
		}
	}
	return any
}

func (x *inspector) port(s topology.SwitchID, number uint8) topology.PortID {
	if int(number) >= len(x.ports[s]) || number == 0 {
		return topology.NoPort
	}
	return x.ports[s][number]
}

// group sends packets from members; "" means that all others hear each of them.
func (x *inspector) group(g *SAGroup) string {
	for i := 0; i < len(g.Terminals); i += 1 + len(g.Terminals)/multicast.MostSenders {
		t := g.Terminals[i]
		if problem := x.send(g, x.graph.TerminalPort[t], x.graph.TerminalSwitch(t)); problem != "" {
			return fmt.Sprintf("from %s %s", x.graph.TerminalName(t), problem)
		}
	}
	for i := 0; i < len(g.Switches); i += 1 + len(g.Switches)/multicast.MostSenders {
		s := g.Switches[i]
		if problem := x.send(g, topology.NoPort, s); problem != "" {
			return fmt.Sprintf("from %s %s", x.graph.SwitchName(s), problem)
		}
	}
	return ""
}

// send follows a packet that enters switch s by port in (NoPort: from its own management port). The
// sender's terminal is in the row of its switch, as in OpenSM's tables, and switches send nothing
// back by the port that a packet came in by: it counts as served.
func (x *inspector) send(g *SAGroup, in topology.PortID, s topology.SwitchID) string {
	type arrival struct {
		in topology.PortID
		s  topology.SwitchID
	}
	got := multicast.Group{}
	queue := []arrival{{in, s}}
	for head := 0; head < len(queue); head++ {
		if head > x.graph.Switches() {
			return "packets run in a circle"
		}
		a := queue[head]
		row := x.row(a.s, g.MLID)
		if row == nil {
			return fmt.Sprintf("packets end at %s, which has no row", x.graph.SwitchName(a.s))
		}
		for _, number := range row {
			if number == 0 {
				got.Switches = append(got.Switches, a.s)
				continue
			}
			p := x.port(a.s, number)
			if p == topology.NoPort {
				return fmt.Sprintf("packets leave %s by port %d, which leads nowhere", x.graph.SwitchName(a.s), number)
			}
			if t, ok := x.graph.PeerTerminal(p); ok {
				got.Terminals = append(got.Terminals, t)
			} else if peer, ok := x.graph.PeerPort(p); ok && p != a.in {
				queue = append(queue, arrival{peer, x.graph.PortSwitch[peer]})
			}
		}
	}
	slices.Sort(got.Terminals)
	slices.Sort(got.Switches)
	if !slices.Equal(got.Terminals, g.Terminals) || !slices.Equal(got.Switches, g.Switches) {
		return fmt.Sprintf("packets reach %d terminals and switches, not just the %d members", len(got.Terminals)+len(got.Switches), g.Size())
	}
	return ""
}
