package topology

import "fmt"

// Where the simulator ibsim starts to number GUIDs.
const (
	ibsimAdapterGUID = 0x100000
	ibsimSwitchGUID  = 0x200000
)

// IBNames returns the InfiniBand identities of a network: those of an imported
// one as they are, for a generated one those that it would have as an ibsim
// netlist ([WriteIBSim]): one adapter of one port for each terminal, node GUID
// 0x100000+2i, port GUID one more; switch GUIDs 0x200000+j; ports numbered from
// 1; LIDs from 1, terminals first. The result
// must not be changed.
func IBNames(g *Graph) *Names {
	n := &Names{}
	if g.Names != nil {
		*n = *g.Names
	}
	if len(n.SwitchGUID) == g.Switches() && len(n.PortGUID) == g.Terminals() && len(n.Port) == g.NumPorts() {
		return n
	}
	*n = Names{}
	for s := range g.Switches() {
		n.Switch = append(n.Switch, fmt.Sprintf("S%d", s))
		n.SwitchGUID = append(n.SwitchGUID, ibsimSwitchGUID+uint64(s))
		n.SwitchLID = append(n.SwitchLID, int32(g.Terminals()+s+1))
		n.SwitchPorts = append(n.SwitchPorts, max(1, int32(g.Degree(SwitchID(s)))))
	}
	for p := range g.NumPorts() {
		n.Port = append(n.Port, int32(g.LocalPort(PortID(p))+1))
	}
	for t := range g.Terminals() {
		n.Terminal = append(n.Terminal, fmt.Sprintf("H%d", t))
		n.NodeGUID = append(n.NodeGUID, ibsimAdapterGUID+2*uint64(t))
		n.PortGUID = append(n.PortGUID, ibsimAdapterGUID+2*uint64(t)+1)
		n.TerminalLID = append(n.TerminalLID, int32(t+1))
		n.TerminalNode = append(n.TerminalNode, int32(t))
		n.NodePort = append(n.NodePort, 1)
	}
	return n
}

// lmcOf reads a list of LMCs that may be nil.
func lmcOf(lmcs []uint8, i int) uint8 {
	if lmcs == nil {
		return 0
	}
	return lmcs[i]
}

// adapters groups the terminals of a network by adapter: the terminals of each
// one, in order of the adapters' first terminals.
func (n *Names) adapters() [][]TerminalID {
	var list [][]TerminalID
	index := map[int32]int{}
	for t, node := range n.TerminalNode {
		i, known := index[node]
		if !known {
			i = len(list)
			index[node] = i
			list = append(list, nil)
		}
		list[i] = append(list[i], TerminalID(t))
	}
	return list
}
