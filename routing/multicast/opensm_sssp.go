package multicast

import (
	"fmt"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/ib"
)

// osmInfinity is the distance of vertices not yet reached in OpenSM's Dijkstra
// searches. Distances have 64 bits, yet a path as long as this is none.
const osmInfinity = 1<<31 - 1

// ssspMC is the multicast routing of OpenSM's engines sssp and dfsssp as of
// version 3.3.23 (osm_ucast_dfsssp.c; Domke, Hoefler and Nagel 2011): the
// unicast phase leaves a weight on each link, and every group's tree is part of
// the Dijkstra tree of its root under those weights. Multicast groups change no
// weight, which the paper on MR4LMS takes otherwise; see gw-sssp for that.
//
// The ties of Dijkstra's searches are those of OpenSM's 4-ary heap ([osmHeap]).
type ssspMC struct {
	graph *topology.Graph
	order []topology.SwitchID
	// Vertices are the switches in order. The links of vertex v, in port
	// order, are links[start[v]:start[v+1]].
	vertex []int32 // len = switches: vertex of a switch
	start  []int32
	links  []ssspLink
	lids   []uint64 // len = vertices: LIDs of the switch and its hosts
	total  uint64   // LIDs of all
	weight uint64   // of a fresh link: total squared

	hops hopTable // of the unicast paths between switches
	// The result of the last search (len = vertices).
	distance []uint64
	used     []int32 // link that the vertex is reached by, -1 none, -2 from the host that searches
	far      []uint8 // hops from the source
	heap     osmHeap
	popped   []int32 // vertices, each after the one that it is reached from
	sum      []uint64

	trees   map[topology.SwitchID][]topology.PortID // per root: way up of each switch
	members []memberSwitch
	depth   []int32 // len = switches: -1 between calls
	path    []topology.SwitchID
}

type ssspLink struct {
	from, to int32           // vertices
	port     topology.PortID // at to: towards from
	weight   uint64
}

const (
	linkNone = -1
	linkHost = -2
)

// hopTable holds hops between switches as found, not shortest.
type hopTable struct {
	n    int
	hops []uint8 // [to*n+from]
}

func (h hopTable) rowTo(w topology.SwitchID) []uint8 { return h.hops[int(w)*h.n : (int(w)+1)*h.n] }
func (h hopTable) symmetric() bool                   { return false }

// InfinityError says that OpenSM's sssp engines refuse a network, and with
// which message they give way to minhop.
type InfinityError struct {
	LIDs    uint64
	Allowed int // hops that fit below the largest distance
	Lost    int // switches out of reach
}

func (e *InfinityError) Error() string {
	return fmt.Sprintf("OpenSM's sssp refuses this network (ERR AD0C: unsupported network state): %d LIDs give each link a weight of %d, the largest distance is 2^31-1, so paths may have %d hops; from the subnet manager's host %d switches are out of reach",
		e.LIDs, e.LIDs*e.LIDs, e.Allowed, e.Lost)
}

// newSSSPMC runs the unicast phase: one search for each LID. lmc is the LID mask
// control where the graph's names state none. The subnet manager is taken to
// run on the host with the lowest port GUID; this only matters for networks
// that OpenSM refuses, an [*InfinityError]. Cost: LIDs times links.
func newSSSPMC(graph *topology.Graph, lmc int) (*ssspMC, error) {
	names := ib.Names(graph)
	b := &ssspMC{graph: graph, order: osmOrder(names), trees: map[topology.SwitchID][]topology.PortID{}}
	b.build(names, lmc)
	if graph.Terminals() > 0 {
		manager := topology.TerminalID(0)
		for t, guid := range names.PortGUID {
			if guid < names.PortGUID[manager] {
				manager = topology.TerminalID(t)
			}
		}
		b.search(linkHost, b.vertex[graph.TerminalSwitch(manager)])
		lost := 0
		for _, u := range b.used {
			if u == linkNone {
				lost++
			}
		}
		if lost > 0 {
			return nil, &InfinityError{LIDs: b.total, Allowed: int((osmInfinity - 2) / b.weight), Lost: lost}
		}
	}
	b.unicast(names, lmc)
	return b, nil
}

// lidsOf is 2^LMC for the i-th port.
func lidsOf(lmcs []uint8, i, lmc int) int {
	if lmcs != nil {
		return 1 << lmcs[i]
	}
	return 1 << lmc
}

// build makes vertices and links.
func (b *ssspMC) build(names *topology.Names, lmc int) {
	n := b.graph.Switches()
	b.vertex = make([]int32, n)
	for v, s := range b.order {
		b.vertex[s] = int32(v)
	}
	b.lids = make([]uint64, n)
	for v, s := range b.order {
		b.start = append(b.start, int32(len(b.links)))
		b.lids[v] = uint64(lidsOf(names.SwitchLMC, int(s), 0))
		first, end := b.graph.Ports(s)
		for p := first; p < end; p++ {
			if t, ok := b.graph.PeerTerminal(p); ok {
				b.lids[v] += uint64(lidsOf(names.TerminalLMC, int(t), lmc))
				continue
			}
			peer, _ := b.graph.PeerPort(p)
			b.links = append(b.links, ssspLink{int32(v), b.vertex[b.graph.PortSwitch[peer]], peer, 0})
		}
		b.total += b.lids[v]
	}
	b.start = append(b.start, int32(len(b.links)))
	b.weight = b.total * b.total
	for i := range b.links {
		b.links[i].weight = b.weight
	}
	b.distance = make([]uint64, n)
	b.used = make([]int32, n)
	b.far = make([]uint8, n)
	b.sum = make([]uint64, n)
	b.depth = make([]int32, n)
	for s := range b.depth {
		b.depth[s] = -1
	}
	b.hops = hopTable{n, make([]uint8, n*n)}
	for i := range b.hops.hops {
		b.hops.hops[i] = Unreachable
	}
	b.heap = newOSMHeap(n + 1)
}

// unicast computes the paths to all LIDs and leaves their load on the links:
// the hosts of the switches with the most LIDs first, switches with equally
// many in order, hosts in port order, at last the switches themselves.
func (b *ssspMC) unicast(names *topology.Names, lmc int) {
	queue := make([]int32, len(b.order))
	for v := range queue {
		queue[v] = int32(v)
	}
	slices.SortStableFunc(queue, func(x, y int32) int {
		switch {
		case b.lids[x] > b.lids[y]:
			return -1
		case b.lids[x] < b.lids[y]:
			return 1
		}
		return 0
	})
	for _, v := range queue {
		first, end := b.graph.Ports(b.order[v])
		for p := first; p < end; p++ {
			if t, ok := b.graph.PeerTerminal(p); ok {
				for range lidsOf(names.TerminalLMC, int(t), lmc) {
					b.search(linkHost, v)
					b.load()
				}
			}
		}
	}
	for _, v := range queue {
		to := b.order[v]
		for i := range lidsOf(names.SwitchLMC, int(to), 0) {
			b.search(linkNone, v)
			if i == 0 { // the root rule looks at the base LID
				row := b.hops.rowTo(to)
				for u, s := range b.order {
					if b.used[u] != linkNone || int32(u) == v {
						row[s] = b.far[u]
					}
				}
			}
			b.load()
		}
	}
}

// search is OpenSM's Dijkstra search from vertex v, or from a host that hangs
// from it.
func (b *ssspMC) search(from, v int32) {
	n := int32(len(b.order))
	for u := range n {
		b.distance[u], b.used[u], b.far[u] = osmInfinity, linkNone, 0
	}
	b.popped = b.popped[:0]
	unreached := n - 1
	if from == linkHost {
		b.heap.fill(n + 1)
		b.heap.lower(n, 0)
		b.heap.pop()
		b.distance[v], b.used[v] = 1, linkHost
		b.heap.lower(v, 1)
	} else {
		b.heap.fill(n)
		b.distance[v] = 0
		b.heap.lower(v, 0)
	}
	farthest := uint64(0) // no vertex is farther, once all are reached
	for b.heap.size() > 0 {
		u := b.heap.pop()
		b.settle(u)
		if farthest > 0 && b.distance[u]+b.weight >= farthest {
			// No link is shorter than b.weight, so nothing changes any more.
			// Those left hang from settled vertices.
			for _, e := range b.heap.entries {
				b.settle(e.vertex)
			}
			return
		}
		for i := b.start[u]; i < b.start[u+1]; i++ {
			l := &b.links[i]
			// Vertices that have left the heap are nearer: weights are positive.
			if d := b.distance[u] + l.weight; d < b.distance[l.to] {
				if b.used[l.to] == linkNone {
					unreached--
				}
				b.distance[l.to], b.used[l.to] = d, i
				b.heap.lower(l.to, d)
			}
		}
		if unreached == 0 && farthest == 0 {
			farthest = slices.Max(b.distance)
		}
	}
}

// settle counts the hops to a vertex whose path is final.
func (b *ssspMC) settle(u int32) {
	switch {
	case b.used[u] >= 0:
		b.far[u] = b.far[b.links[b.used[u]].from] + 1
		b.popped = append(b.popped, u)
	case b.used[u] == linkHost:
		b.far[u] = 1
		b.popped = append(b.popped, u)
	}
}

// load adds to each link of the last search's paths the LIDs of every switch
// whose path it is on.
func (b *ssspMC) load() {
	for _, u := range b.popped {
		b.sum[u] = b.lids[u]
	}
	for i := len(b.popped) - 1; i >= 0; i-- {
		u := b.popped[i]
		if b.used[u] < 0 {
			continue
		}
		l := &b.links[b.used[u]]
		l.weight += b.sum[u]
		b.sum[l.from] += b.sum[u]
	}
}

// Build implements [TreeBuilder]. Cost: a search for each new root, else linear
// in the tree.
func (b *ssspMC) Build(g *Group, _ *Forest) (*Tree, error) {
	b.members = osmMembers(b.graph, g, b.members)
	root, _ := osmRoot(b.order, b.hops, b.members)
	up, known := b.trees[root]
	if !known {
		b.search(linkNone, b.vertex[root])
		up = make([]topology.PortID, len(b.order))
		for v, s := range b.order {
			up[s] = topology.NoPort
			if b.used[v] >= 0 {
				up[s] = b.links[b.used[v]].port
			}
		}
		b.trees[root] = up
	}
	t := &Tree{Switches: []topology.SwitchID{root}, Up: []topology.PortID{topology.NoPort}}
	depth := b.depth // -1 where the tree is not
	depth[root] = 0
	defer func() {
		for _, s := range t.Switches {
			depth[s] = -1
		}
	}()
	for _, m := range b.members {
		b.path = b.path[:0]
		s := m.sw
		for ; depth[s] < 0; s = b.graph.PortSwitch[b.graph.Peer[up[s]]] {
			if up[s] == topology.NoPort {
				return nil, unreachedError(b.graph, root, m.sw)
			}
			b.path = append(b.path, s)
		}
		for i := len(b.path) - 1; i >= 0; i-- {
			child := b.path[i]
			depth[child] = depth[s] + 1
			s = child
			t.Switches = append(t.Switches, s)
			t.Up = append(t.Up, up[s])
		}
		t.Height = max(t.Height, int(depth[m.sw])+int(m.hosts))
	}
	return t, nil
}
