package ib

import "github.com/weft-sim/weft/fabric/topology"

// maxUnicastLID is the highest LID of a port (InfiniBand Architecture
// Specification, volume 1, 4.1.3); those above are of multicast groups.
const maxUnicastLID = 0xBFFF

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
	for t, lid := range g.Names.TerminalLID {
		for i := range int32(1) << lmcOf(g.Names.TerminalLMC, t) {
			l.put(int(lid+i), t)
		}
	}
	for s, lid := range g.Names.SwitchLID {
		for i := range int32(1) << lmcOf(g.Names.SwitchLMC, s) {
			l.put(int(lid+i), l.terminals+s)
		}
	}
	for _, a := range g.Names.Aggregation {
		for i := range int32(1) << a.LMC {
			l.put(int(a.LID+i), l.aggregation())
		}
	}
	return l
}

// put enters a LID unless it is 0, no unicast LID or taken.
func (l *LIDs) put(lid, destination int) {
	if lid <= 0 || lid > maxUnicastLID {
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
	Switches  map[uint64]topology.SwitchID
	Terminals map[uint64]topology.TerminalID // by port GUID
}

// NewIdentities takes the GUIDs of [Names].
func NewIdentities(names *topology.Names) *Identities {
	ids := &Identities{names, make(map[uint64]topology.SwitchID, len(names.SwitchGUID)), make(map[uint64]topology.TerminalID, len(names.PortGUID))}
	for s, guid := range names.SwitchGUID {
		ids.Switches[guid] = topology.SwitchID(s)
	}
	for t, guid := range names.PortGUID {
		ids.Terminals[guid] = topology.TerminalID(t)
	}
	return ids
}

// subnet finds the parts of a fabric by what dumps call them.
type subnet struct {
	*Identities
	graph  *topology.Graph
	lids   *LIDs           // as stated
	within map[uint64]bool // port GUIDs of aggregation nodes
}

func newSubnet(g *topology.Graph) *subnet {
	n := &subnet{NewIdentities(Names(g)), g, StatedLIDs(g), map[uint64]bool{}}
	for _, a := range n.Names.Aggregation {
		n.within[a.PortGUID] = true
	}
	return n
}

// byGUID is the destination with a port GUID: a terminal, or terminals + a switch.
func (n *subnet) byGUID(guid uint64) (destination int, known bool) {
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
