package ib

import (
	"cmp"
	"io"
	"strconv"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/input"
)

// MaxUnicastLID is the highest LID of a port (InfiniBand Architecture Specification, volume 1,
// 4.1.3); multicast LIDs follow.
const MaxUnicastLID = 0xBFFF

// LIDs say whose a local identifier is: a terminal's, a switch's, or an aggregation node's.
type LIDs struct {
	terminals, switches int
	// end is one more than each LID's destination (terminals, switches, one for all aggregation
	// nodes), 0: none. len is one more than the highest LID.
	end []int32
}

func noLIDs(g *topology.Graph) *LIDs { return &LIDs{g.Terminals(), g.Switches(), nil} }

// aggregation is the destination that stands for aggregation nodes.
func (l *LIDs) aggregation() int { return l.terminals + l.switches }

// StatedLIDs are the LIDs that an imported fabric states, with their LMC's ranges; else none.
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
	l.end[lid] = cmp.Or(l.end[lid], int32(destination)+1)
}

// of is the destination of a LID: a terminal, terminals + a switch, or aggregation.
func (l *LIDs) of(lid int) (destination int, known bool) {
	if lid < 0 || lid >= len(l.end) || l.end[lid] == 0 {
		return 0, false
	}
	return int(l.end[lid]) - 1, true
}

// Highest is the highest LID known; 0 if none is.
func (l *LIDs) Highest() int { return max(0, len(l.end)-1) }

// Identities finds the switches and terminals of a fabric by GUID.
type Identities struct {
	Names     *topology.Names
	Switches  map[topology.GUID]topology.SwitchID
	Terminals map[topology.GUID]topology.TerminalID // by port GUID
}

// NewIdentities takes the GUIDs of [topology.NamesOf].
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

// newSubnet reads r, of a file with a name; lids knows the LIDs (nil: as the fabric states them).
func newSubnet(r io.Reader, name string, g *topology.Graph, lids *LIDs) *subnet {
	if lids == nil {
		lids = StatedLIDs(g)
	}
	n := &subnet{input.NewLines(r, name), NewIdentities(topology.NamesOf(g)), g, lids, map[topology.GUID]bool{}}
	for _, a := range n.Names.Aggregation {
		n.within[a.PortGUID] = true
	}
	return n
}

// guid reads a port GUID, which the fabric must have. An aggregation node's is not known, either.
// destination is as of byGUID.
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
