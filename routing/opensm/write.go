package opensm

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/fabric/topology/ib"
	"github.com/weft-sim/weft/sim/lists"
)

// SL2VLSets are the tables of service levels to virtual lanes in OpenSM's configuration: qos_sl2vl
// for all ports, and tables for adapters (qos_ca_), port 0 of switches (qos_sw0_) and other ports
// of switches (qos_swe_). A table that is nil is as the first, which is by default 0 to 14 and 7.
type SL2VLSets struct {
	All, Adapter, SwitchZero, SwitchPort *[16]uint8
}

// defaultSL2VL is OpenSM's own.
var defaultSL2VL = [16]uint8{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 7}

// written is a table for a port of so many data lanes: the first table that is not nil, or
// OpenSM's.
func written(vls int, tables ...*[16]uint8) [16]uint8 {
	table := *cmp.Or(append(tables, &defaultSL2VL)...)
	for sl, vl := range table {
		if vl != ib.DropLane {
			table[sl] = vl & uint8(vls-1)
		}
	}
	return table
}

// WriteLFT writes the forwarding tables in a reduced form: a line for each switch, its GUID and
// LID, then the output port for LID 1, 2, ...; 0 is the switch itself, "-" no entry.
func (t *Tables) WriteLFT(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "# switch_guid lid: out port for LID 1..%d ('-' = no entry)\n", t.Subnet.MaxLID)
	var line []byte
	for n, row := range t.LFT {
		line = fmt.Appendf(line[:0], "%016x %d:", t.Subnet.guid(int32(n)), t.Subnet.SwitchLID[n])
		for _, port := range row[1:] {
			line = append(line, ' ')
			if port == noPath {
				line = append(line, '-')
			} else {
				line = strconv.AppendUint(line, uint64(port), 10)
			}
		}
		out.Write(append(line, '\n'))
	}
	return out.Flush()
}

// WriteSL writes the service levels between adapters in a reduced form: after a comment that lists
// the LIDs of the columns, a line for each LID with one hexadecimal digit a column.
func (t *Tables) WriteSL(w io.Writer) error {
	out := bufio.NewWriter(w)
	lids := t.Subnet.hostLIDs()
	fmt.Fprint(out, "# one line per source LID; column i is the SL (hex) to the i-th CA LID of:")
	for _, lid := range lids {
		fmt.Fprintf(out, " %d", lid)
	}
	fmt.Fprintln(out)
	for _, from := range lids {
		fmt.Fprintf(out, "%d ", from)
		for _, to := range lids {
			out.WriteByte("0123456789abcdef"[t.Level(t.Subnet.Ends[from].Node, to)])
		}
		out.WriteByte('\n')
	}
	return out.Flush()
}

// SL2VL is the one table of all ports as a line, or "file" where ports differ and
// [Tables.WriteSL2VL] is needed to say it. Without qos no table is written: "-".
func (t *Tables) SL2VL(o *Options) string {
	if !o.QoS {
		return "-"
	}
	first := t.table(o, t.Subnet.home(t.Subnet.Manager), 0, 0, true)
	if t.lanes != nil {
		return "file"
	}
	for n := range t.Subnet.nodes() {
		if t.table(o, n, 0, 1, false) != first {
			return "file"
		}
	}
	words := lists.Make(len(first), func(sl int) string { return strconv.Itoa(int(first[sl])) })
	return "all ports: " + strings.Join(words, ",")
}

// table is the SL2VL table of packets from port in to port out of a switch, or of an adapter.
func (t *Tables) table(o *Options, n int32, in, out uint8, adapter bool) [16]uint8 {
	if t.lanes != nil {
		if adapter {
			out = 0
		}
		var table [16]uint8
		for sl := range uint8(16) {
			table[sl] = t.lanes(n, in, out, sl)
		}
		return table
	}
	own := o.SL2VL.SwitchPort
	if adapter {
		own = o.SL2VL.Adapter
	}
	return written(o.OperationalVLs, own, o.SL2VL.All)
}

// WriteSL2VL writes the tables of all ports as OpenSM dumps them (opensm-sl2vl.dump): end ports by
// GUID, of a switch each connected output port with all input ports.
func (t *Tables) WriteSL2VL(w io.Writer, o *Options) error {
	out := bufio.NewWriter(w)
	s := t.Subnet
	for _, e := range s.ends() {
		const rule = "#--------------------------------------------------------\n"
		kind, guid, name := s.describe(e)
		fmt.Fprintf(out, "%s 0x%016x, base LID %d, \"%s\"\n", kind, guid, s.BaseLID(e), name)
		fmt.Fprint(out, "#in out : 0  1  2  3  4  5  6  7  8  9  10 11 12 13 14 15\n", rule)
		if e.Terminal >= 0 {
			writeLanes(out, 0, 0, t.table(o, e.Node, 0, 0, true))
		} else {
			for _, port := range s.portNumbers(s.Switches[e.Node]) {
				for in := range s.numPorts(e.Node) + 1 {
					writeLanes(out, in, int(port), t.table(o, e.Node, uint8(in), uint8(port), false))
				}
			}
		}
		fmt.Fprint(out, rule, "\n")
	}
	return out.Flush()
}

func writeLanes(out io.Writer, in, port int, table [16]uint8) {
	fmt.Fprintf(out, "%-3d %-3d :", in, port)
	for _, vl := range table {
		fmt.Fprintf(out, " %-2d", vl)
	}
	fmt.Fprintln(out)
}

// WriteLFTDump writes the forwarding tables as OpenSM dumps them
// (opensm-lfts.dump), which its engine "file" reads: LIDs without an entry are left
// out, and the last line of each table gives the highest LID.
func (t *Tables) WriteLFTDump(w io.Writer) error {
	out := bufio.NewWriter(w)
	s := t.Subnet
	for n, row := range t.LFT {
		fmt.Fprintf(out, "Unicast lids [0-%d] of switch Lid %d guid 0x%016x ('%s'):\n", s.MaxLID, s.SwitchLID[n], s.guid(int32(n)), s.Names.Switches[s.Switches[n]].Name)
		for lid, port := range row {
			if port == noPath {
				continue
			}
			kind, guid, name := s.describe(s.Ends[lid])
			fmt.Fprintf(out, "0x%04x %03d # %s portguid 0x%016x: '%s'\n", lid, port, kind, guid, name)
		}
		fmt.Fprintf(out, "%d lids dumped\n", s.MaxLID)
	}
	return out.Flush()
}
