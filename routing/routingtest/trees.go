package routingtest

import (
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// Trees are multicast trees on a graph, as the forwarding tables of its switches.
type Trees struct {
	g      *topology.Graph
	Tables []fabric.MulticastTable // by switch
}

// NewTrees is no tree yet.
func NewTrees(g *topology.Graph) *Trees {
	return &Trees{g, make([]fabric.MulticastTable, g.Switches())}
}

// Plant adds a row of the next MLID to every switch between the members and
// the root: of the tree of first shortest paths from it.
func (m *Trees) Plant(root topology.SwitchID, members []topology.TerminalID) (mlid int32) {
	for _, t := range m.Tables {
		for _, used := range t.MLIDs {
			mlid = max(mlid, used+1)
		}
	}
	up := make([]topology.PortID, m.g.Switches()) // port towards the root
	seen := make([]bool, len(up))
	seen[root] = true
	for queue := []topology.SwitchID{root}; len(queue) > 0; queue = queue[1:] {
		for p, end := m.g.Ports(queue[0]); p < end; p++ {
			if peer, ok := m.g.PeerPort(p); ok && !seen[m.g.PortSwitch[peer]] {
				s := m.g.PortSwitch[peer]
				seen[s], up[s] = true, peer
				queue = append(queue, s)
			}
		}
	}
	rows := map[topology.SwitchID][]topology.PortID{}
	add := func(p topology.PortID) {
		if s := m.g.PortSwitch[p]; !slices.Contains(rows[s], p) {
			rows[s] = append(rows[s], p)
		}
	}
	for _, t := range members {
		add(m.g.TerminalPort[t])
		for s := m.g.PortSwitch[m.g.TerminalPort[t]]; s != root; {
			peer, _ := m.g.PeerPort(up[s])
			add(up[s])
			add(peer)
			s = m.g.PortSwitch[peer]
		}
	}
	for s, ports := range rows {
		slices.Sort(ports)
		m.Tables[s].MLIDs = append(m.Tables[s].MLIDs, mlid)
		m.Tables[s].Ports = append(m.Tables[s].Ports, ports)
	}
	return mlid
}
