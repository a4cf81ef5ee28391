package mcast

import (
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

// Whose rows come in a dump that lists rows switch by switch, where it is no
// switch of the fabric.
const (
	noSwitch      topology.SwitchID = -1 // before the first
	unknownSwitch topology.SwitchID = -2 // after one that the fabric does not have: its rows say nothing new
)

// cutHex reads the hexadecimal number after prefix, with or without 0x, up to a
// space, colon or the end.
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

// LIDMatrix is the min-hop table that a subnet manager holds after its unicast
// routing, as OpenSM dumps it (opensm-lid-matrix.dump): hop counts by switch,
// destination switch and port. Where routing avoids some shortest paths (up*/
// down*, dimension order) it says other than [multicast.MinHop], and multicast follows
// it.
type LIDMatrix struct {
	hopTable
	graph  *topology.Graph
	lowest []topology.PortID // len = n*n: [to*n+from]
}

// Graph is the graph that the table is for.
func (m *LIDMatrix) Graph() *topology.Graph { return m.graph }

// LowestPort is the lowest numbered port of s with the smallest hop count to w; NoPort if there
// is none.
func (m *LIDMatrix) LowestPort(s, w topology.SwitchID) topology.PortID {
	return m.lowest[int(w)*m.n+int(s)]
}

// ReadLIDMatrix reads the dump of a subnet whose switches and ports are those
// of graph, matched by GUID. name is the file's name for messages; problems are
// returned together with their lines. A matrix must have a row for every pair
// of switches; rows of hosts (which some engines write) are skipped.
func ReadLIDMatrix(r io.Reader, name string, graph *topology.Graph) (*LIDMatrix, error) {
	n := graph.Switches()
	m := &LIDMatrix{newHopTable(n), graph, slices.Repeat([]topology.PortID{topology.NoPort}, n*n)}
	in := input.NewLines(r, name)
	ids := ib.NewIdentities(topology.NamesOf(graph))
	from := noSwitch
	rows := make([]int, n) // per switch: rows read
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
			m.readRow(in, ids, from, rows, seen)
		default:
			in.Problem("%s is not a line of a min-hop table", input.Quote(text))
		}
	}
	if err := in.Finish(); err != nil {
		return nil, err
	}
	var problems []error
	for s, have := range rows {
		if have != n {
			problems = append(problems, fmt.Errorf("%s: %s has rows for %d of %d switches: the file is cut or of another fabric", name, graph.SwitchName(topology.SwitchID(s)), have, n))
		}
		if len(problems) == input.MostProblems {
			break
		}
	}
	return m, errors.Join(problems...)
}

// readRow reads "0x0003: 02 ff ff ff ff 02 # portguid 0x0000000000200001":
// destination LID, smallest count, count by port.
func (m *LIDMatrix) readRow(in *input.Lines, ids *ib.Identities, from topology.SwitchID, rows []int, seen []bool) {
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
	switch from {
	case noSwitch:
		in.Problem("row before any switch")
		return
	case unknownSwitch:
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
	rows[from]++
	m.hops[cell] = counts[0]
	for p := range m.graph.Links(from) {
		if counts[0] != multicast.Unreachable && counts[ids.Names.Port[p]] == counts[0] {
			m.lowest[cell] = p
			break
		}
	}
}
