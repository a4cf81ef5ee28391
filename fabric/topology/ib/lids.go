package ib

import (
	"cmp"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/input"
)

// Where the simulator ibsim starts to number GUIDs.
const (
	ibsimAdapterGUID = 0x100000
	ibsimSwitchGUID  = 0x200000
)

// Names returns the InfiniBand identities of a network: those of an imported
// one as they are, and what is missing as it would be in an ibsim netlist
// ([WriteSim]) of a generated network: one adapter of one port for each
// terminal, node GUID 0x100000+2i, port GUID one more; switch GUIDs
// 0x200000+j; ports numbered from 1; LIDs from 1, terminals first. The result
// must not be changed.
func Names(g *topology.Graph) *topology.Names {
	n := &topology.Names{}
	if g.Names != nil {
		*n = *g.Names
	}
	switches, terminals := g.Switches(), g.Terminals()
	n.Switches, n.Terminals = records(n.Switches, switches), records(n.Terminals, terminals)
	if n.Port == nil {
		for p := range topology.PortID(g.NumPorts()) {
			n.Port = append(n.Port, int32(g.LocalPort(p)+1))
		}
	}
	if n.TerminalNode == nil {
		for t := range int32(terminals) {
			n.TerminalNode = append(n.TerminalNode, t)
		}
	}
	var s topology.SwitchName // what any switch states
	for _, x := range n.Switches {
		s = topology.SwitchName{Name: cmp.Or(s.Name, x.Name), GUID: cmp.Or(s.GUID, x.GUID), LID: cmp.Or(s.LID, x.LID), Ports: cmp.Or(s.Ports, x.Ports)}
	}
	for i := range n.Switches {
		x := &n.Switches[i]
		missing(s.Name, &x.Name, fmt.Sprintf("S%d", i))
		missing(s.GUID, &x.GUID, ibsimSwitchGUID+topology.GUID(i))
		missing(s.LID, &x.LID, int32(terminals+i+1))
		first, end := g.Ports(topology.SwitchID(i))
		missing(s.Ports, &x.Ports, slices.Max(append(n.Port[first:end:end], 1)))
		x.Name = onOneLine(x.Name)
	}
	var t topology.AdapterPort
	for _, x := range n.Terminals {
		t = topology.AdapterPort{Name: cmp.Or(t.Name, x.Name), NodeGUID: cmp.Or(t.NodeGUID, x.NodeGUID), NodePort: cmp.Or(t.NodePort, x.NodePort), PortGUID: cmp.Or(t.PortGUID, x.PortGUID), LID: cmp.Or(t.LID, x.LID)}
	}
	for i := range n.Terminals {
		x := &n.Terminals[i]
		missing(t.Name, &x.Name, fmt.Sprintf("H%d", i))
		missing(t.NodeGUID, &x.NodeGUID, ibsimAdapterGUID+2*topology.GUID(i))
		missing(t.NodePort, &x.NodePort, 1)
		missing(t.PortGUID, &x.PortGUID, x.NodeGUID+topology.GUID(x.NodePort))
		missing(t.LID, &x.LID, int32(i+1))
		x.Name = onOneLine(x.Name)
	}
	return n
}

// records copies a list of n records, or makes one.
func records[E any](list []E, n int) []E {
	if list == nil {
		return make([]E, n)
	}
	return slices.Clone(list)
}

// missing sets what no record of a list states.
func missing[E comparable](stated E, field *E, value E) {
	var zero E
	if stated == zero {
		*field = value
	}
}

// onOneLine replaces what would end a line by blanks, as InfiniBand's tools do in
// descriptions of nodes.
func onOneLine(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, name)
}

// CompareGUID compares two GUIDs as OpenSM's maps do: the maps are keyed by the
// GUID in network byte order, compared as a little-endian number, so that the
// last byte of the GUID weighs most. Consecutive GUIDs come out of order from
// the 257th on.
func CompareGUID(a, b topology.GUID) int {
	return cmp.Compare(bits.ReverseBytes64(uint64(a)), bits.ReverseBytes64(uint64(b)))
}

// GUIDOrder lists the switches in the order of OpenSM's maps ([CompareGUID]). It
// breaks most of OpenSM's ties.
func GUIDOrder(names *topology.Names) []topology.SwitchID {
	order := topology.Numbers[topology.SwitchID](len(names.Switches))
	slices.SortFunc(order, func(a, b topology.SwitchID) int {
		return CompareGUID(names.Switches[a].GUID, names.Switches[b].GUID)
	})
	return order
}

// MaxUnicastLID is the highest LID of a port (InfiniBand Architecture
// Specification, volume 1, 4.1.3); those above are of multicast groups.
const MaxUnicastLID = 0xBFFF

// LIDs say which port of a fabric has a local identifier: a terminal, a switch as
// such, or an aggregation node.
type LIDs struct {
	terminals, switches int
	// end is one more than the destination of each LID: terminals, then
	// switches, then one for all aggregation nodes; 0 for none. len is one more
	// than the highest LID.
	end []int32
}

func noLIDs(g *topology.Graph) *LIDs { return &LIDs{g.Terminals(), g.Switches(), nil} }

// aggregation is the destination that stands for aggregation nodes.
func (l *LIDs) aggregation() int { return l.terminals + l.switches }

// StatedLIDs are those that an imported fabric states, each with its LMC's range;
// none for networks that state none.
func StatedLIDs(g *topology.Graph) *LIDs {
	l := noLIDs(g)
	if g.Names == nil {
		return l
	}
	enter := func(lid int32, lmc uint8, destination int) {
		for i := range int32(1) << lmc {
			l.put(int(lid+i), destination)
		}
	}
	for t, x := range g.Names.Terminals {
		enter(x.LID, x.LMC, t)
	}
	for s, x := range g.Names.Switches {
		enter(x.LID, x.LMC, l.terminals+s)
	}
	for _, a := range g.Names.Aggregation {
		enter(a.LID, a.LMC, l.aggregation())
	}
	return l
}

// put enters a LID unless it is 0, no unicast LID or taken.
func (l *LIDs) put(lid, destination int) {
	if lid <= 0 || lid > MaxUnicastLID {
		return
	}
	for len(l.end) <= lid {
		l.end = append(l.end, 0)
	}
	if l.end[lid] == 0 {
		l.end[lid] = int32(destination) + 1
	}
}

// of is the destination of a LID: a terminal, terminals + a switch, or aggregation.
func (l *LIDs) of(lid int) (destination int, known bool) {
	if lid < 0 || lid >= len(l.end) || l.end[lid] == 0 {
		return 0, false
	}
	return int(l.end[lid]) - 1, true
}

// Terminal is the terminal that has a LID.
func (l *LIDs) Terminal(lid int) (topology.TerminalID, bool) {
	d, known := l.of(lid)
	return topology.TerminalID(d), known && d < l.terminals
}

// Switch is the switch that has a LID.
func (l *LIDs) Switch(lid int) (topology.SwitchID, bool) {
	d, known := l.of(lid)
	return topology.SwitchID(d - l.terminals), known && d >= l.terminals && d < l.aggregation()
}

// Highest is the highest LID known; 0 if none is.
func (l *LIDs) Highest() int { return max(0, len(l.end)-1) }

// Identities finds the switches and terminals of a fabric by GUID.
type Identities struct {
	Names     *topology.Names
	Switches  map[topology.GUID]topology.SwitchID
	Terminals map[topology.GUID]topology.TerminalID // by port GUID
}

// NewIdentities takes the GUIDs of [Names].
func NewIdentities(names *topology.Names) *Identities {
	ids := &Identities{names, map[topology.GUID]topology.SwitchID{}, map[topology.GUID]topology.TerminalID{}}
	for s, x := range names.Switches {
		ids.Switches[x.GUID] = topology.SwitchID(s)
	}
	for t, x := range names.Terminals {
		ids.Terminals[x.PortGUID] = topology.TerminalID(t)
	}
	return ids
}

// subnet reads a file of tables, and finds the parts of the fabric by what dumps call them.
type subnet struct {
	*input.Lines
	*Identities
	graph  *topology.Graph
	lids   *LIDs
	within map[topology.GUID]bool // port GUIDs of aggregation nodes
}

// newSubnet reads r, of a file with a name; lids knows the LIDs (nil: as the fabric states
// them).
func newSubnet(r io.Reader, name string, g *topology.Graph, lids *LIDs) *subnet {
	if lids == nil {
		lids = StatedLIDs(g)
	}
	n := &subnet{input.NewLines(r, name), NewIdentities(Names(g)), g, lids, map[topology.GUID]bool{}}
	for _, a := range n.Names.Aggregation {
		n.within[a.PortGUID] = true
	}
	return n
}

// guid reads a port GUID, which must be in the fabric: known is false, too, where an
// aggregation node has it. destination is as of byGUID.
func (n *subnet) guid(text string) (destination int, known bool) {
	guid, err := strconv.ParseUint(text, 0, 64)
	destination, known = n.byGUID(topology.GUID(guid))
	if err != nil || !known && !n.within[topology.GUID(guid)] {
		n.Problem("GUID %s is not in the fabric", text)
	}
	return destination, known && err == nil
}

// lid reads a LID, which a port of the fabric must have.
func (n *subnet) lid(text string, base int) (destination int, known bool) {
	lid, err := strconv.ParseUint(text, base, 16)
	destination, known = n.lids.of(int(lid))
	if known = known && err == nil; !known {
		n.Problem("LID %s: no port of the fabric has it", text)
	}
	return destination, known
}

// byGUID is the destination with a port GUID: a terminal, or terminals + a switch.
func (n *subnet) byGUID(guid topology.GUID) (destination int, known bool) {
	if s, known := n.Switches[guid]; known {
		return n.graph.Terminals() + int(s), true
	}
	t, known := n.Terminals[guid]
	return int(t), known
}

// port is the port of a switch with a physical number; NoPort if it has no cable.
func (n *subnet) port(s topology.SwitchID, number int) topology.PortID {
	first, end := n.graph.Ports(s)
	for p := first; p < end; p++ {
		if int(n.Names.Port[p]) == number {
			return p
		}
	}
	return topology.NoPort
}
