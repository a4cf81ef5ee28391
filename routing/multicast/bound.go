package multicast

import (
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
)

// ColourBound is a lower bound on the colours that any engine needs for groups that it admits,
// while each has a tree of its own. It is the larger of two counts.
//
// Load: groups with a member on one switch have trees that meet there, and so as many colours.
//
// Volume: trees of one colour share no switch, so that all of them together have at most as many
// switches as the network. If every tree of group g has at least b(g) switches, colours times
// switches is at least the sum of b(g). Two arguments give b(g), and the larger counts. Both hold
// for every tree that spans the switches of the members, of any height and from any root.
//
//   - Walk. Go round the tree, along every link once in each direction. The walk
//     meets all members; take them in the order in which it first does. From each
//     to the next, and from the last to the first, it takes at least their
//     distance, so that twice the links are at least the length of a ring through
//     all members. Without any one of its steps the ring is a path that spans
//     them, at least as long as a minimum spanning tree of their distances. Of
//     the steps, one is at least as long as the longest edge of that tree: that
//     edge parts the members into two sets with nothing shorter between them, and
//     the ring crosses over. Hence links >= (spanning tree + its longest edge)/2.
//   - Cover. The members fall into c components of neighbours. Where c > 1, the
//     tree leaves each component by a link, and the switch behind that link is no
//     member (else it would belong to the component). So every component has a
//     neighbour among the other switches of the tree; with a(s) components next
//     to switch s, the sum of a(s) over these is at least c, and there are no
//     fewer of them than of the switches of the network with the largest a(s)
//     that make up c.
//
// With a table per port, trees of one colour share no cable, terminal or management port: the load
// is a terminal's or member switch's, and the volume is counted in links, b(g) - 1, and cables.
//
// Cost: for each group, the links of its members' switches, and the square of their number; no walk
// for groups on more than 1,024 switches.
func ColourBound(env Env, groups []Group) int {
	cells := make([]int, env.Graph.Switches()+env.Graph.NumPorts())
	load, volume := 0, 0
	count := func(cell int) {
		cells[cell]++
		load = max(load, cells[cell])
	}
	sizes := newTreeSizes(env.Hops)
	for i := range groups {
		span := groups[i].Span(env.Graph)
		volume += sizes.least(span)
		if !env.PerPort {
			for _, s := range span {
				count(int(s))
			}
			continue
		}
		volume-- // links
		for _, cell := range env.requiredCells(&groups[i], nil) {
			count(int(cell))
		}
	}
	room := env.Graph.Switches()
	if env.PerPort {
		room = max(1, len(env.Hops.linkPort)/2) // cables; without any there are no links
	}
	return max(load, (volume+room-1)/room)
}

// walkUpTo is the number of switches beyond which the walk's square cost does not pay: so many
// members mostly lie close together, where the cover gives more.
const walkUpTo = 1024

// treeSizes bounds the switches of trees from below; see [ColourBound].
type treeSizes struct {
	hops *MinHop

	// Of the cover.
	component []int32 // len = switches: of members, from 1; waiting; 0: no member
	counted   []int32 // len = switches: last component that counted the switch
	adjacent  []int32 // len = switches: components next to it
	touched   []topology.SwitchID
	queue     []topology.SwitchID
	having    []int // switches by their number of components

	// Of the walk.
	near []uint8 // by member: hops to the members in the spanning tree
	left []topology.SwitchID
}

const waiting = -1

func newTreeSizes(hops *MinHop) *treeSizes {
	return &treeSizes{
		hops:      hops,
		component: make([]int32, hops.n),
		counted:   make([]int32, hops.n),
		adjacent:  make([]int32, hops.n),
	}
}

// least is a lower bound on the switches of any tree that contains span, which is not empty.
func (b *treeSizes) least(span []topology.SwitchID) int {
	size := len(span) + b.cover(span)
	if len(span) <= walkUpTo {
		size = max(size, b.walk(span)+1)
	}
	return size
}

// walk bounds the links by half of a minimum spanning tree of hops between switches (Prim 1957) and
// its longest edge.
func (b *treeSizes) walk(span []topology.SwitchID) int {
	b.left = append(b.left[:0], span[1:]...)
	b.near = slices.Grow(b.near[:0], len(b.left))[:len(b.left)]
	for i := range b.near {
		b.near[i] = Unreachable
	}
	total, longest := 0, 0
	for at := span[0]; len(b.left) > 0; {
		row, next := b.hops.Row(at), 0
		for i, s := range b.left {
			b.near[i] = min(b.near[i], row[s])
			if b.near[i] < b.near[next] {
				next = i
			}
		}
		total += int(b.near[next])
		longest = max(longest, int(b.near[next]))
		at = b.left[next]
		last := len(b.left) - 1
		b.left[next], b.near[next] = b.left[last], b.near[last]
		b.left, b.near = b.left[:last], b.near[:last]
	}
	return (total + longest + 1) / 2
}

// cover bounds the switches of a tree that are not in span.
func (b *treeSizes) cover(span []topology.SwitchID) int {
	for _, s := range span {
		b.component[s] = waiting
	}
	components := int32(0)
	for _, s := range span {
		if b.component[s] == waiting {
			components++
			b.flood(s, components)
		}
	}
	b.having = b.having[:0]
	for _, s := range b.touched {
		for len(b.having) <= int(b.adjacent[s]) {
			b.having = append(b.having, 0)
		}
		b.having[b.adjacent[s]]++
		b.counted[s], b.adjacent[s] = 0, 0
	}
	b.touched = b.touched[:0]
	for _, s := range span {
		b.component[s] = 0
	}
	if components < 2 {
		return 0
	}
	others, rest := 0, int(components)
	for a := len(b.having) - 1; a > 0 && rest > 0; a-- {
		n := min(b.having[a], (rest+a-1)/a)
		others += n
		rest -= n * a
	}
	return others
}

// flood numbers the component of members that hang together with s, and counts it at neighbouring
// switches.
func (b *treeSizes) flood(s topology.SwitchID, component int32) {
	b.component[s] = component
	b.queue = append(b.queue[:0], s)
	for len(b.queue) > 0 {
		s := b.queue[len(b.queue)-1]
		b.queue = b.queue[:len(b.queue)-1]
		for _, v := range b.hops.neighbours(s) {
			switch {
			case b.component[v] == waiting:
				b.component[v] = component
				b.queue = append(b.queue, v)
			case b.component[v] == 0 && b.counted[v] != component:
				if b.counted[v] == 0 {
					b.touched = append(b.touched, v)
				}
				b.counted[v] = component
				b.adjacent[v]++
			}
		}
	}
}
