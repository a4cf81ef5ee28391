package ib

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/weft-sim/weft/fabric/topology"
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
	fill(&n.Port, g.NumPorts(), func(p int) int32 { return int32(g.LocalPort(topology.PortID(p)) + 1) })
	fill(&n.Switch, switches, func(s int) string { return fmt.Sprintf("S%d", s) })
	fill(&n.SwitchGUID, switches, func(s int) uint64 { return ibsimSwitchGUID + uint64(s) })
	fill(&n.SwitchLID, switches, func(s int) int32 { return int32(terminals + s + 1) })
	fill(&n.SwitchPorts, switches, func(s int) int32 {
		most := int32(1)
		first, end := g.Ports(topology.SwitchID(s))
		for p := first; p < end; p++ {
			most = max(most, n.Port[p])
		}
		return most
	})
	fill(&n.Terminal, terminals, func(t int) string { return fmt.Sprintf("H%d", t) })
	fill(&n.NodeGUID, terminals, func(t int) uint64 { return ibsimAdapterGUID + 2*uint64(t) })
	fill(&n.NodePort, terminals, func(int) int32 { return 1 })
	fill(&n.PortGUID, terminals, func(t int) uint64 { return n.NodeGUID[t] + uint64(n.NodePort[t]) })
	fill(&n.TerminalLID, terminals, func(t int) int32 { return int32(t + 1) })
	fill(&n.TerminalNode, terminals, func(t int) int32 { return int32(t) })
	n.Switch, n.Terminal = onOneLine(n.Switch), onOneLine(n.Terminal)
	return n
}

// onOneLine replaces what would end a line by blanks, as InfiniBand's tools do in
// descriptions of nodes.
func onOneLine(names []string) []string {
	control := func(r rune) bool { return unicode.IsControl(r) }
	for i, name := range names {
		if strings.ContainsFunc(name, control) {
			names = slices.Clone(names) // the graph's own stay
			for j := i; j < len(names); j++ {
				names[j] = strings.Map(func(r rune) rune {
					if control(r) {
						return ' '
					}
					return r
				}, names[j])
			}
			break
		}
	}
	return names
}

// fill makes a list of n values unless there is one.
func fill[E any](list *[]E, n int, value func(i int) E) {
	if *list == nil {
		*list = make([]E, n)
		for i := range *list {
			(*list)[i] = value(i)
		}
	}
}

// lmcOf reads a list of LMCs that may be nil.
func lmcOf(lmcs []uint8, i int) uint8 {
	if lmcs == nil {
		return 0
	}
	return lmcs[i]
}

// adaptersOf groups the terminals of a network by adapter: the terminals of each
// one, in order of the adapters' first terminals.
func adaptersOf(n *topology.Names) [][]topology.TerminalID {
	var list [][]topology.TerminalID
	index := map[int32]int{}
	for t, node := range n.TerminalNode {
		i, known := index[node]
		if !known {
			i = len(list)
			index[node] = i
			list = append(list, nil)
		}
		list[i] = append(list[i], topology.TerminalID(t))
	}
	return list
}
