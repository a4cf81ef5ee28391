package multicast

import (
	"encoding/binary"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
)

// grower builds trees of few switches and bounded height in a colour's subgraph, to leave room for
// others.
type grower struct {
	g      *subgraph
	demand *demand // of groups still to come, where they are known; may be nil
	trial  bool    // the tree will not be planted

	node     []growing // len = switches
	late     []member  // that get the shortest path from the root
	near     []uint8   // len = width of the min-hop tables: see lookAhead
	touched  []topology.SwitchID
	front    heap
	switches []topology.SwitchID
	up       []topology.PortID
	path     []topology.SwitchID
}

// growing is what the construction knows of a switch.
type growing struct {
	member, inTree, seen bool
	deadline             int32 // members: greatest depth allowed
	depth                int32 // of the switch, or that it would have
	fresh                int32 // cost of the switches to add to reach it
	votes                int32 // members without a place that are its neighbours
	through              int32 // votes of the switch that the offer comes from
	load                 int64 // groups on the cables that the offer adds
	parent               topology.PortID
}

// offer is a way to reach v: key is the cost of the switches to add, then the most votes; load is
// the groups on the cables to add.
func offer(key int64, depth int32, load int64, v topology.SwitchID) reach {
	return reach{key, int64(depth)<<loadBits | load, v}
}

// loadBits are the bits of [reach.rest] for an offer's load: 10^12 groups, once for each cable.
const loadBits = 40

func newGrower(g *subgraph) *grower {
	return &grower{g: g, node: make([]growing, len(g.dist)), near: make([]uint8, g.f.env.Hops.width)}
}

// build makes a tree from root that reaches the members, none beyond height, which must be
// possible. It attaches one member after the other, always the one that needs the fewest further
// switches (Takahashi and Matsuyama 1980), by way of switches next to many members still to come.
// Members that the height leaves no other way get the shortest path from the root, which may move
// parts of the tree up. Offers that can reach no member in time are not made: they could only
// displace better ones. The slices of the result are valid until the next build.
func (b *grower) build(root topology.SwitchID, members []member, height int) Tree {
	g := b.g
	h := g.f.env.Hops
	b.switches, b.front = b.switches[:0], b.front[:0]
	deepest, left := int32(0), 0
	for _, m := range members {
		n := b.at(m.sw)
		n.member = true
		n.deadline = int32(height - m.extra)
		deepest = max(deepest, n.deadline)
		left++
		for _, v := range h.neighbours(m.sw) {
			b.at(v).votes++
		}
	}
	plant := func(v topology.SwitchID, depth int32, up topology.PortID) {
		n := &b.node[v]
		n.inTree, n.fresh, n.depth, n.parent = true, 0, depth, up
		b.switches = append(b.switches, v)
		if n.member {
			left--
			for _, w := range h.neighbours(v) {
				b.node[w].votes--
			}
		}
		b.front.push(offer(0, depth, 0, v))
		if b.demand != nil && !b.trial && !g.f.env.PerPort {
			b.demand.take(int32(v))
		}
	}
	b.at(root)
	plant(root, 0, topology.NoPort)
	clear(b.near)
	ahead, work := left+1, 0 // members without a place when near was computed; offers taken up since
	for left > 0 && len(b.front) > 0 {
		if work++; height > nearby && left < ahead && work > left*len(b.near)/lookAheadCost {
			b.lookAhead(members)
			ahead, work = left, 0
		}
		top := b.front.pop()
		u := top.sw
		n := &b.node[u]
		if int32(top.rest>>loadBits) != n.depth || top.cost>>32 != int64(n.fresh) || !n.inTree && (top.rest&(1<<loadBits-1) != n.load || n.parent == topology.NoPort) {
			continue // replaced by a better offer
		}
		if !n.inTree && n.member {
			b.path = append(b.path[:0], u)
			s := b.above(u)
			for ; !b.node[s].inTree; s = b.above(s) {
				b.path = append(b.path, s)
			}
			if b.node[s].depth+int32(len(b.path)) > n.deadline {
				n.parent = topology.NoPort // the way here has got longer since
				continue
			}
			for i := len(b.path) - 1; i >= 0; i-- {
				s := b.path[i]
				plant(s, b.node[b.above(s)].depth+1, b.node[s].parent)
			}
			continue
		}
		if n.depth >= deepest || n.depth+int32(b.near[u]) > deepest {
			continue
		}
		b.offerFrom(u, deepest)
	}
	if left > 0 {
		b.lookAhead(members)
		g.search(root, b.late)
		for _, m := range b.late {
			b.pull(m.sw)
		}
	}
	return b.finish(root, members)
}

// offerFrom offers a place to the neighbours of u, which has one or an offer; none lies below depth deepest.
func (b *grower) offerFrom(u topology.SwitchID, deepest int32) {
	g, n := b.g, &b.node[u]
	h, peer := g.f.env.Hops, g.f.env.Graph.Peer
	steps, ports := g.step[h.linkStart[u]:h.linkStart[u+1]], h.linkPorts(u)
	for i, v := range h.neighbours(u) {
		if g.blocked.has(int(steps[i])) {
			continue
		}
		depth, fresh := n.depth+1, n.fresh
		if depth+int32(b.near[v]) > deepest {
			continue
		}
		w := b.at(v)
		if w.inTree || w.member && depth > w.deadline {
			continue
		}
		if !w.member {
			if depth >= deepest {
				continue
			}
			fresh += 1 + b.cost(v)
		}
		load := int64(g.f.efi[ports[i]])
		if !n.inTree {
			load += n.load
		}
		if w.parent != topology.NoPort && !better(fresh, depth, n.votes, load, w) {
			continue
		}
		w.fresh, w.depth, w.through, w.load, w.parent = fresh, depth, n.votes, load, topology.PortID(peer[ports[i]])
		key := int64(fresh)<<32 + (1<<24-int64(w.votes))<<1
		if w.member { // after all that could reach it as well
			key = int64(fresh)<<32 + (1<<24-int64(n.votes))<<1 + 1
		}
		b.front.push(offer(key, depth, load, v))
	}
}

// lookAheadCost is the bytes of near whose scan costs a member as much as taking up an offer:
// lookAhead takes as much time as offers at most.
const lookAheadCost = 2000

// lookAhead fills near with the distance, in the whole network, to the nearest member without a
// place.
func (b *grower) lookAhead(members []member) {
	b.late = b.late[:0]
	for _, m := range members {
		if !b.node[m.sw].inTree {
			b.late = append(b.late, m)
		}
	}
	b.g.f.env.Hops.nearest(b.late, b.near)
}

// cost is what switch v costs beyond one: groups still to come that it would keep out of the
// colour; none with a table per port.
func (b *grower) cost(v topology.SwitchID) int32 {
	if b.demand == nil || b.g.f.env.PerPort {
		return 0
	}
	return harm * b.demand.waiting[v]
}

// better tells whether an offer is better than the one that w has.
func better(fresh, depth, votes int32, load int64, w *growing) bool {
	if fresh != w.fresh {
		return fresh < w.fresh
	}
	if depth != w.depth {
		return depth < w.depth
	}
	if votes != w.through {
		return votes > w.through
	}
	return load < w.load
}

func (b *grower) at(v topology.SwitchID) *growing {
	n := &b.node[v]
	if !n.seen {
		*n = growing{seen: true, parent: topology.NoPort}
		b.touched = append(b.touched, v)
	}
	return n
}

// above is the switch that v's offer or place hangs from.
func (b *grower) above(v topology.SwitchID) topology.SwitchID {
	graph := b.g.f.env.Graph
	return graph.PortSwitch[graph.Peer[b.node[v].parent]]
}

// pull gives v the shortest path that the search from the root found. Switches of the tree on the
// path that stand deeper than needed move up to it.
func (b *grower) pull(v topology.SwitchID) {
	g := b.g
	for {
		n := b.at(v)
		if n.inTree && n.depth == g.dist[v] {
			return
		}
		if !n.inTree {
			n.inTree = true
			b.switches = append(b.switches, v)
		}
		n.depth, n.parent = g.dist[v], g.parent[v]
		v = b.above(v)
	}
}

// finish puts parents before children, leaves out what leads to no member and resets the state.
func (b *grower) finish(root topology.SwitchID, members []member) Tree {
	// Depths again, since pulls moved whole branches.
	for _, v := range b.switches {
		if v != root {
			b.node[v].depth = -1
		}
	}
	for _, v := range b.switches {
		b.path = b.path[:0]
		for s := v; b.node[s].depth < 0; s = b.above(s) {
			b.path = append(b.path, s)
		}
		for i := len(b.path) - 1; i >= 0; i-- {
			b.node[b.path[i]].depth = b.node[b.above(b.path[i])].depth + 1
		}
	}
	slices.SortStableFunc(b.switches, func(x, y topology.SwitchID) int { return int(b.node[x].depth - b.node[y].depth) })
	for _, v := range b.switches {
		b.node[v].votes = 0 // from here on: needed or not
	}
	for _, m := range members {
		b.node[m.sw].votes = 1
	}
	for i := len(b.switches) - 1; i > 0; i-- {
		if v := b.switches[i]; b.node[v].votes != 0 {
			b.node[b.above(v)].votes = 1
		}
	}
	b.node[root].votes = 1
	t := Tree{Switches: b.switches[:0]}
	b.up = b.up[:0]
	for _, v := range b.switches {
		if b.node[v].votes != 0 {
			t.Switches = append(t.Switches, v)
			b.up = append(b.up, b.node[v].parent)
		}
	}
	t.Up = b.up
	b.up[0] = topology.NoPort
	for _, m := range members {
		t.Height = max(t.Height, int(b.node[m.sw].depth)+m.extra)
	}
	for _, v := range b.touched {
		b.node[v].seen = false
	}
	b.touched = b.touched[:0]
	return t
}

// climber builds trees of shortest paths bottom-up by min-hop tables (Chen et al. 2021, algorithm
// 2).
type climber struct {
	f        *Forest
	visited  []uint32 // len = switches: the last climb that came by
	climb    uint32
	switches []topology.SwitchID
	up       []topology.PortID
}

// newClimber is for engines in files of their own, too (docs/extending.md).
func newClimber(f *Forest) *climber {
	return &climber{f: f, visited: make([]uint32, f.env.Graph.Switches())}
}

// build climbs from each member switch of g (terminals in ascending order, then member switches) to
// root, at each switch by the port on a shortest path whose cable carries the fewest groups, the
// lowest port among equals, until it meets an earlier climb. The tree's slices are valid until the
// next build. Cost: ports of the switches of the tree.
func (c *climber) build(root topology.SwitchID, g *Group) Tree {
	c.climb++
	c.switches = append(c.switches[:0], root)
	c.up = append(c.up[:0], topology.NoPort)
	c.visited[root] = c.climb
	row := c.f.env.Hops.Row(root)
	g.each(c.f.env.Graph, func(m member) { c.from(m.sw, row) })
	return Tree{Switches: c.switches, Up: c.up}
}

// from climbs from a switch until it meets an earlier climb; row has distances to the root.
func (c *climber) from(s topology.SwitchID, row []uint8) {
	hops, efi := c.f.env.Hops, c.f.efi
	start := len(c.switches)
	for c.visited[s] != c.climb {
		c.visited[s] = c.climb
		nearer := row[s] - 1
		peers, ports := hops.neighbours(s), hops.linkPorts(s)
		best, least := -1, int32(0)
		for i, v := range peers {
			if row[v] == nearer {
				if load := efi[ports[i]]; best < 0 || load < least {
					best, least = i, load
					if load == 0 {
						break
					}
				}
			}
		}
		c.switches = append(c.switches, s)
		c.up = append(c.up, ports[best])
		s = peers[best]
	}
	slices.Reverse(c.switches[start:]) // parents first
	slices.Reverse(c.up[start:])
}

// keep copies a tree out of scratch memory.
func (t Tree) keep() *Tree {
	return &Tree{
		Switches: append(make([]topology.SwitchID, 0, len(t.Switches)), t.Switches...),
		Up:       append(make([]topology.PortID, 0, len(t.Up)), t.Up...),
		Height:   t.Height,
	}
}

// router is what engines that make their own trees share: the forest, searches for roots, trees and
// room, and memory.
type router struct {
	forest *Forest
	roots  *rootFinder
	climb  *climber
	search *subgraph // nil until asked for: with unlimited entries some engines never do
	far    []int32   // of unite

	candidates []topology.SwitchID
	found      []topology.SwitchID
	cells      []int32
	members    []member
}

func newRouter(env Env) (*router, error) {
	f, err := NewForest(env)
	if err != nil {
		return nil, err
	}
	return &router{forest: f, roots: newRootFinder(env.Hops), climb: newClimber(f)}, nil
}

func (r *router) Forest() *Forest { return r.forest }

// Leave implements [Engine]: the group's members go, then every switch with none left below (Chen
// et al. 2021, algorithm 6).
func (r *router) Leave(id GroupID) error { return r.forest.Remove(id) }

// subgraph is the search of colour subgraphs.
func (r *router) subgraph() *subgraph {
	if r.search == nil {
		r.search, r.far = newSubgraph(r.forest), make([]int32, r.forest.env.Graph.Switches())
	}
	return r.search
}

// findColour is the lowest colour whose subgraph has a tree of the height for g from one of the
// candidates, -1 if none; the first such candidates, limit at most, are left in found.
func (r *router) findColour(g *Group, height, limit int) Colour {
	f := r.forest
	f.byLoad(r.candidates)
	r.members = appendMembers(f.env.Graph, g, r.members[:0])
	r.cells = f.env.requiredCells(g, r.cells[:0])
	c := f.firstFree(r.cells, 0)
	for ; c >= 0 && !r.findRoots(c, nil, height, limit); c = f.firstFree(r.cells, c+1) {
	}
	return c
}

// findRoots tells whether there are such candidates in a colour with some trees out of the way.
func (r *router) findRoots(c Colour, trees []*Planted, height, limit int) bool {
	r.subgraph().open(c, trees)
	r.found = r.search.rootsWithin(r.members, r.candidates, height, limit, r.found[:0])
	return len(r.found) > 0
}

// climbed is the set of cells of a tree of shortest paths for g from the least loaded candidate.
func (r *router) climbed(g *Group) bitset {
	f := r.forest
	t := r.climb.build(f.leastLoaded(r.candidates), g)
	r.cells = f.cellsOf(&t, []Group{*g}, r.cells[:0])
	return f.cellSet(r.cells)
}

// unite puts g and the groups of the given trees, all of colour c, on one tree of that colour; with
// extend the old trees keep their cables. It is false, with nothing changed, if the colour's free
// part does not connect them.
func (r *router) unite(g Group, c Colour, trees []*Planted, extend bool) bool {
	f, colour := r.forest, r.subgraph()
	virtual := virtualGroup(trees, &g)
	r.members = appendMembers(f.env.Graph, &virtual, r.members[:0])
	colour.open(c, trees)
	for _, cell := range f.env.requiredCells(&virtual, nil) {
		if colour.blocked.has(int(cell)) {
			return false
		}
	}
	r.boundAll(&g, trees)
	root, height := colour.bestRoot(r.members, r.far)
	if root < 0 {
		return false
	}
	var t *Tree
	if extend {
		t = colour.extend(root, r.members, trees)
	} else {
		t = colour.tree(root, r.members, height)
	}
	var groups []Group
	for _, p := range trees {
		groups = append(groups, p.Groups...)
		f.Uproot(p)
	}
	far := make([]uint8, 0, 8*len(r.roots.far)) // one byte a switch
	for _, w := range r.roots.far {
		far = binary.LittleEndian.AppendUint64(far, w)
	}
	f.Plant(t, c, append(groups, g)...).far = far
	return true
}

// boundAll fills far with the distance, in the whole network, from every switch to the farthest
// member of g or of a group on one of the trees. United trees, which have many members, remember
// theirs.
func (r *router) boundAll(g *Group, trees []*Planted) {
	roots := r.roots
	roots.reset()
	roots.include(g)
	for _, p := range trees {
		if p.far != nil {
			widen(roots.far, p.far)
			continue
		}
		for i := range p.Groups {
			roots.include(&p.Groups[i])
		}
	}
	roots.finish()
	for v := range r.far {
		r.far[v] = int32(byte(roots.far[v/8] >> (v % 8 * 8)))
	}
}
