package multicast

import (
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
)

// GroupID names a group to the engine that carries it; the caller chooses it.
type GroupID int32

// Group is a multicast group: who sends to and receives from one MGID. Groups
// with equal members are different groups.
type Group struct {
	ID GroupID
	// Name is the MGID or a label for reports; may be empty.
	Name string
	// Terminals are the member terminals, ascending and distinct.
	Terminals []topology.TerminalID
	// Switches are the switches that are members themselves (their management
	// port), ascending and distinct.
	Switches []topology.SwitchID
}

// NewGroup makes a group of the given members in any order; copies collapse.
// It keeps and sorts the slices.
func NewGroup(id GroupID, terminals []topology.TerminalID, switches []topology.SwitchID) Group {
	slices.Sort(terminals)
	slices.Sort(switches)
	return Group{ID: id, Terminals: slices.Compact(terminals), Switches: slices.Compact(switches)}
}

// Size is the number of members.
func (g *Group) Size() int { return len(g.Terminals) + len(g.Switches) }

// appendSpan appends the switches that a tree for g must contain to span,
// ascending and distinct: those that its terminals hang from and its member
// switches.
func (g *Group) appendSpan(graph *topology.Graph, span []topology.SwitchID) []topology.SwitchID {
	start := len(span)
	last := topology.SwitchID(-1)
	for _, t := range g.Terminals {
		if s := graph.TerminalSwitch(t); s != last {
			span = append(span, s)
			last = s
		}
	}
	span = append(span, g.Switches...)
	slices.Sort(span[start:])
	return span[:start+len(slices.Compact(span[start:]))]
}

// Span lists the switches that a tree for g must contain, ascending.
func (g *Group) Span(graph *topology.Graph) []topology.SwitchID { return g.appendSpan(graph, nil) }
