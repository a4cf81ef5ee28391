package multicast

import (
	"math"
	"math/bits"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
)

// subgraph searches the part of the network that one colour leaves free: the
// paper's G_colour (Chen et al. 2021, section 3.2), by bitmap and without ever
// building it. Trees that are about to be merged can be opened.
type subgraph struct {
	f       *Forest
	step    []int32 // aligned with MinHop.linkPeer: the cell that crossing the cable enters
	blocked bitset  // cells that may not be entered
	own     bitset  // memory for blocked where trees are opened

	// Breadth-first searches from up to 64 members at a time, one bit each.
	reached, delta, fresh []uint64 // len = switches
	active, waiting       []topology.SwitchID

	// Searches from one switch.
	start  []int32 // len = switches: unseen, or shut where no tree may be
	dist   []int32 // len = switches: hops, or negative
	sum    []int64 // len = switches: groups on the cables of the path
	parent []topology.PortID
	queue  []topology.SwitchID
	want   []uint8 // len = switches: members are 1 and what they are farther than their switch
}

// What dist says of switches that have no distance.
const (
	unseen = -1
	shut   = -2
)

func newSubgraph(f *Forest) *subgraph {
	n, hops := f.env.Graph.Switches(), f.env.Hops
	g := &subgraph{
		f:       f,
		step:    make([]int32, len(hops.linkPeer)),
		own:     newBitset(f.cells),
		reached: make([]uint64, n),
		delta:   make([]uint64, n),
		fresh:   make([]uint64, n),
		start:   make([]int32, n),
		dist:    make([]int32, n),
		sum:     make([]int64, n),
		parent:  make([]topology.PortID, n),
		want:    make([]uint8, n),
	}
	for i, v := range hops.linkPeer {
		g.step[i] = int32(v)
		if f.env.PerPort {
			g.step[i] = f.linkCell(hops.linkPort[i])
		}
	}
	return g
}

// open chooses the colour to search in, with the given trees of that colour out of the way.
func (g *subgraph) open(c Colour, trees []*Planted) {
	switch {
	case int(c) >= len(g.f.colours):
		clear(g.own)
		g.blocked = g.own
	case len(trees) == 0:
		g.blocked = g.f.colours[c].taken
	default:
		copy(g.own, g.f.colours[c].taken)
		g.blocked = g.own
		for _, p := range trees {
			for _, cell := range p.cells {
				g.blocked.clear(int(cell))
			}
		}
	}
	for s := range g.start {
		g.start[s] = unseen
	}
	if g.f.env.PerPort {
		return
	}
	for i, w := range g.blocked {
		for ; w != 0; w &= w - 1 {
			g.start[64*i+bits.TrailingZeros64(w)] = shut
		}
	}
}

func (g *subgraph) closed(s topology.SwitchID) bool { return !g.f.env.PerPort && g.blocked.has(int(s)) }

// spread searches from up to 64 members at once (Then et al. 2014, the more the merrier: efficient
// multi-source graph traversal) and leaves in reached, for each switch, the set of members within
// so many hops. far, unless nil, is raised to the hop at which a member last reached each switch.
func (g *subgraph) spread(members []member, hops int, far []int32) {
	clear(g.reached)
	g.active = g.active[:0]
	for hop := 0; hop <= hops; hop++ {
		// Members behind a terminal's cable start one hop later.
		for i, m := range members {
			if m.extra == hop {
				if g.fresh[m.sw] == 0 {
					g.waiting = append(g.waiting, m.sw)
				}
				g.fresh[m.sw] |= 1 << i
			}
		}
		if len(g.waiting) == 0 && hop > 1 {
			break
		}
		g.active, g.waiting = g.waiting, g.active[:0]
		for _, v := range g.active {
			g.delta[v] = g.fresh[v]
			g.reached[v] |= g.fresh[v]
			g.fresh[v] = 0
			if far != nil {
				far[v] = max(far[v], int32(hop))
			}
		}
		if hop == hops {
			break
		}
		h := g.f.env.Hops
		for _, u := range g.active {
			bits := g.delta[u]
			for i := h.linkStart[u]; i < h.linkStart[u+1]; i++ {
				v := h.linkPeer[i]
				if bits&^g.reached[v] != 0 && !g.blocked.has(int(g.step[i])) {
					if g.fresh[v] == 0 {
						g.waiting = append(g.waiting, v)
					}
					g.fresh[v] |= bits &^ g.reached[v]
				}
			}
		}
	}
}

// member is a switch that a tree must span: extra is 1 with member terminals, one cable farther.
type member struct {
	sw    topology.SwitchID
	extra int
}

// tree collects the paths that search found from its root to the members.
func (g *subgraph) tree(root topology.SwitchID, members []member, height int) *Tree {
	t := &Tree{Switches: []topology.SwitchID{root}, Up: []topology.PortID{topology.NoPort}, Height: height}
	graph := g.f.env.Graph
	g.dist[root] = -1 // marks switches that are in the tree
	for _, m := range members {
		start := len(t.Switches)
		for s := m.sw; g.dist[s] >= 0; {
			g.dist[s] = -1
			up := g.parent[s]
			t.Switches = append(t.Switches, s)
			t.Up = append(t.Up, up)
			s = graph.PortSwitch[graph.Peer[up]]
		}
		slices.Reverse(t.Switches[start:])
		slices.Reverse(t.Up[start:])
	}
	return t
}

// bestRoot finds the open switch from which the members are reached in the fewest hops, the one
// with the least load among equals, then the lowest, and leaves the paths from it in dist, sum and
// parent; -1 if the members are not connected. far holds lower bounds for all switches, such as
// distances in the whole network, and is raised: a search verifies the best candidate; if it fails,
// searches from 64 more members improve all bounds (after Takes and Kosters 2011, determining the
// diameter of small world networks).
func (g *subgraph) bestRoot(members []member, far []int32) (root topology.SwitchID, height int) {
	n := g.f.env.Graph.Switches()
	for v, d := range g.start {
		if d == shut {
			far[v] = math.MaxInt32
		}
	}
	rounds := (len(members) + 63) / 64
	var chunk []member
	for round := -1; ; round++ {
		best := topology.SwitchID(0)
		for v := range topology.SwitchID(n) {
			if far[v] < far[best] || far[v] == far[best] && g.f.through[v] < g.f.through[best] {
				best = v
			}
		}
		height, ok := g.search(best, members)
		if ok && height == int(far[best]) {
			return best, height
		}
		if ok {
			far[best] = int32(height)
		}
		switch {
		case round < 0:
			g.spread(members[:1], n, far)
			for v := range far {
				if g.reached[v] == 0 {
					far[v] = math.MaxInt32 // not connected with the members
				}
			}
			if slices.ContainsFunc(members, func(m member) bool { return g.reached[m.sw] == 0 }) {
				return -1, 0
			}
		case round < rounds:
			chunk = chunk[:0]
			for i := round; i < len(members); i += rounds {
				chunk = append(chunk, members[i])
			}
			g.spread(chunk, n, far)
		}
	}
}

// reach is a way to reach a switch, in a [heap].
type reach struct {
	cost int64 // what counts first
	rest int64 // what counts among equals
	sw   topology.SwitchID
}

// before orders by cost, rest and switch.
func (a *reach) before(b *reach) bool {
	if a.cost != b.cost {
		return a.cost < b.cost
	}
	if a.rest != b.rest {
		return a.rest < b.rest
	}
	return a.sw < b.sw
}

// heap is a heap of four branches, the least on top. Searches spend most of their time here: it is
// not generic, as calls of a type parameter's method are not inlined.
type heap []reach

func (h *heap) push(x reach) {
	*h = append(*h, x)
	q := *h
	i := len(q) - 1
	for i > 0 {
		above := (i - 1) / 4
		if !x.before(&q[above]) {
			break
		}
		q[i] = q[above]
		i = above
	}
	q[i] = x
}

func (h *heap) pop() reach {
	q := *h
	top, last := q[0], len(q)-1
	x := q[last]
	q = q[:last]
	*h = q
	if last == 0 {
		return top
	}
	i := 0
	for {
		first := 4*i + 1
		if first >= last {
			break
		}
		least := first
		for child := first + 1; child < min(first+4, last); child++ {
			if q[child].before(&q[least]) {
				least = child
			}
		}
		if !q[least].before(&x) {
			break
		}
		q[i] = q[least]
		i = least
	}
	q[i] = x
	return top
}

// extend is algorithm 5: paths of fewest hops, then fewest groups, from root through the colour's
// subgraph. An old tree that they reach joins whole, with its own cables: its groups go on
// undisturbed. The result contains the old trees and reaches all members, which must be connected.
func (g *subgraph) extend(root topology.SwitchID, members []member, old []*Planted) *Tree {
	h, efi, graph := g.f.env.Hops, g.f.efi, g.f.env.Graph
	n := graph.Switches()
	for i := range g.dist {
		g.dist[i] = -1
	}
	// The cables of the old trees, both ways. With a table per port several may share a switch.
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
