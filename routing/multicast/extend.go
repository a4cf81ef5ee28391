package multicast

import (
	"github.com/weft-sim/weft/fabric/topology"
)

// extend is algorithm 5: paths of fewest hops, then fewest groups, from root
// through the colour's subgraph; whenever they reach one of the old trees, the
// whole of it joins with its own cables, so that its groups go on undisturbed.
// The tree that it returns contains the old ones and reaches all members,
// which must be connected.
func (g *subgraph) extend(root topology.SwitchID, members []member, old []*Planted) *Tree {
	h, efi, graph := g.f.env.Hops, g.f.efi, g.f.env.Graph
	n := graph.Switches()
	for i := range g.dist {
		g.dist[i] = -1
	}
	// The cables of the old trees, both ways. With a table per port several
	// old trees may share a switch; they all join there.
	cables := make(map[topology.SwitchID][]topology.PortID)
	for _, p := range old {
		for _, up := range p.Up[1:] {
			down := topology.PortID(graph.Peer[up])
			cables[graph.PortSwitch[up]] = append(cables[graph.PortSwitch[up]], up)
			cables[graph.PortSwitch[down]] = append(cables[graph.PortSwitch[down]], down)
		}
	}
	settled := make([]bool, n)
	var order []topology.SwitchID
	var front heap
	enter := func(v topology.SwitchID, dist int32, sum int64, up topology.PortID) {
		g.dist[v], g.sum[v], g.parent[v] = dist, sum, up
	}
	settle := func(u topology.SwitchID) {
		settled[u] = true
		order = append(order, u)
	}
	enter(root, 0, 0, topology.NoPort)
	front.push(reach{0, 0, root})
	for len(front) > 0 {
		top := front.pop()
		if settled[top.sw] {
			continue
		}
		settle(top.sw)
		// Absorb the old tree around top.sw, then leave from all of it.
		for at := len(order) - 1; at < len(order); at++ {
			u := order[at]
			for _, port := range cables[u] {
				peer := topology.PortID(graph.Peer[port])
				if v := graph.PortSwitch[peer]; !settled[v] {
					enter(v, g.dist[u]+1, g.sum[u]+int64(efi[port]), peer)
					settle(v)
				}
			}
			for i := h.linkStart[u]; i < h.linkStart[u+1]; i++ {
				v := h.linkPeer[i]
				if settled[v] || g.blocked.has(int(g.step[i])) {
					continue
				}
				port := h.linkPort[i]
				dist, sum := g.dist[u]+1, g.sum[u]+int64(efi[port])
				if d := g.dist[v]; d < 0 || dist < d || dist == d && sum < g.sum[v] {
					enter(v, dist, sum, topology.PortID(graph.Peer[port]))
					front.push(reach{int64(dist), sum, v})
				}
			}
		}
	}
	height := 0
	all := append([]member(nil), members...)
	for _, m := range members {
		height = max(height, int(g.dist[m.sw])+m.extra)
	}
	for _, p := range old {
		for _, s := range p.Switches {
			all = append(all, member{sw: s})
		}
	}
	return g.tree(root, all, height)
}
