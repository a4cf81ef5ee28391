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
func memberGUIDs(names *topology.Names, g *multicast.Group) []uint64 {
	guids := make([]uint64, 0, g.Size())
	for _, t := range g.Terminals {
		guids = append(guids, names.PortGUID[t])
	}
	for _, s := range g.Switches {
		guids = append(guids, names.SwitchGUID[s])
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

// MFTRow is one entry of a switch's multicast forwarding table as subnet
// managers print it.
type MFTRow struct {
	MLID  uint16
	Ports []uint8 // physical numbers, ascending; 0 is the switch itself
}

// MFTs holds the rows of every switch (len = switches), by ascending MLID.
type MFTs [][]MFTRow

// TablesOf returns the forwarding tables of a forest with MLIDs for colours. With a
// table per port there is no such form, which is an error, as is a row for a
// port beyond 254.
func TablesOf(f *multicast.Forest, mlid func(multicast.Colour) (uint16, error)) (MFTs, error) {
	if f.Env().PerPort {
		return nil, fmt.Errorf("tables per port cannot be written as one table per switch")
	}
	names := ib.Names(f.Env().Graph)
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
	names := ib.Names(graph)
	for _, s := range ib.GUIDOrder(names) {
		if len(tables[s]) == 0 {
			continue
		}
		fmt.Fprintf(out, "\nSwitch 0x%016x\nLID    : Out Port(s)\n", names.SwitchGUID[s])
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

// ReadMCFDBs reads tables in the form of [WriteMCFDBs] for the switches of
// graph, matched by GUID. Problems are returned together, each with file and
// line.
func ReadMCFDBs(r io.Reader, name string, graph *topology.Graph) (MFTs, error) {
	in := input.NewLines(r, name)
	ids := ib.NewIdentities(ib.Names(graph))
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
			s, known := ids.Switches[guid]
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
			case int32(slices.Max(row.Ports)) > ids.Names.SwitchPorts[at]:
				in.Problem("row %#x has a port beyond %d", row.MLID, ids.Names.SwitchPorts[at])
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
