package opensm

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
)

// routeLASH is LASH: one shortest path each way between any two switches, each pair of paths in one
// layer with an acyclic channel dependency graph. The layers are then balanced by moving pairs that
// are drawn at random from the fullest to the emptiest.
//
// OpenSM searches a layer for cycles anew for every pair. Here each layer keeps a
// topological order of its channels ([ordered]), which gives the same answers.
//
// With do_mesh_analysis the switches of meshes and tori and their links are numbered by
// their coordinates ([lashMesh]), and cables side by side are taken in turn.
//
// Cost: switches squared times the length of paths, where few pairs disturb the order.
func routeLASH(s *Subnet, o *Options) (*Tables, error) {
	available := o.OperationalVLs - o.LashStartVL
	if available < 1 {
		return nil, &Refusal{"lash", fmt.Sprintf("discover_network_properties: ERR 4D03: Start VL(%d) too high for min operational vl(%d)", o.LashStartVL, o.OperationalVLs)}
	}
	switches := lashSwitches(s)
	if o.MeshAnalysis {
		var ok bool
		if switches, ok = analyzeMesh(s, switches); !ok {
			return nil, &Refusal{"lash", "the analysis of this fabric's meshes (do_mesh_analysis) does not come to an end in OpenSM"}
		}
	}
	w := newLASH(s, switches)
	w.paths()
	if !w.divide(available) {
		return nil, &Refusal{"lash", fmt.Sprintf("lash_core: ERR 4D02: Lane requirements (%d) exceed available lanes (%d) with starting lane (%d)", len(w.layers), available, o.LashStartVL)}
	}
	w.balance(cmp.Or(o.ScatterPorts, 1))
	t := newTables("lash", s)
	t.Lanes = len(w.layers)
	w.fill(t, o.MeshAnalysis)
	t.level = func(n int32, lid int) uint8 {
		to := s.Ends[lid].Node
		if n == to {
			return uint8(o.LashStartVL)
		}
		return w.layer[int(w.number[n])*w.n+int(w.number[to])] + uint8(o.LashStartVL)
	}
	return t, nil
}

// lash is the work of the engine. Channels lead from switch to switch, parallel cables merged: the
// i-th neighbour of switch n is channel start[n]+i.
type lash struct {
	channels
	s      *Subnet
	n      int
	number []int32   // by node: which switch it is
	cables [][]int32 // by channel, in Subnet.Links
	next   []int32   // by [from*n+to]: channel of the path, -1 none
	layer  []uint8   // by [from*n+to]
	layers []*ordered
	pairs  []int // by layer, both directions counted

	scratch []int32 // of path
}

func newLASH(s *Subnet, switches []lashSwitch) *lash {
	n := len(switches)
	w := &lash{s: s, n: n, number: make([]int32, n), next: slices.Repeat([]int32{-1}, n*n), layer: make([]uint8, n*n)}
	w.start = []int32{0}
	for i, sw := range switches {
		w.number[sw.node] = int32(i)
		w.start = append(w.start, w.start[i]+int32(len(sw.links)))
	}
	for i, sw := range switches {
		for _, l := range sw.links {
			w.channels.add(int32(i), l.to, w.start[l.to]+int32(switches[l.to].linkTo(int32(i))))
			w.cables = append(w.cables, l.cables)
		}
	}
	return w
}

// fill enters ports: the first cable to the next switch, or its cables in turn, from LID to LID.
func (w *lash) fill(t *Tables, inTurn bool) {
	cable := func(from, to int32) []int32 {
		if c := w.next[int(w.number[from])*w.n+int(w.number[to])]; c >= 0 {
			return w.cables[c]
		}
		return nil
	}
	t.fill(func(from, to int32) uint8 {
		if cables := cable(from, to); cables != nil {
			return w.s.Links[cables[0]].Port
		}
		return noPath
	})
	if !inTurn {
		return
	}
	for n, row := range t.LFT {
		turn := map[int32]int{} // by first cable
		for lid, e := range w.s.Ends {
			if e.Node < 0 || e.Node == int32(n) {
				continue
			}
			if cables := cable(int32(n), e.Node); cables != nil {
				row[lid] = w.s.Links[cables[turn[cables[0]]%len(cables)]].Port
				turn[cables[0]]++
			}
		}
	}
}

// paths chooses the next channel between any two switches: the breadth-first tree of each switch in
// turn decides it for all undecided pairs of which one switch is above the other.
func (w *lash) paths() {
	above := make([]int32, w.n) // channel by which a node is reached
	from := make([]int32, w.n)
	queue := make([]int32, 0, w.n)
	for root := range int32(w.n) {
		for i := range above {
			above[i] = -1
		}
		queue = append(queue[:0], root)
		for head := 0; head < len(queue); head++ {
			n := queue[head]
			for c := w.start[n]; c < w.start[n+1]; c++ {
				if to := w.peer[c]; to != root && above[to] < 0 {
					above[to], from[to] = c, n
					queue = append(queue, to)
				}
			}
		}
		for _, d := range queue[1:] {
			for n := d; n != root; n = from[n] {
				if at := &w.next[int(from[n])*w.n+int(d)]; *at < 0 {
					*at = above[n]
				}
			}
		}
	}
}

// divide puts every pair into the first layer that stays acyclic. Not ok if there are too few
// layers.
func (w *lash) divide(available int) (ok bool) {
	done := make([]bool, w.n*w.n)
	w.layers, w.pairs = []*ordered{newOrdered(&w.channels)}, []int{0}
	for i := range int32(w.n) {
		for d := range int32(w.n) {
			at, back := int(i)*w.n+int(d), int(d)*w.n+int(i)
			if i == d || done[at] || w.next[at] < 0 {
				continue
			}
			done[at], done[back] = true, true
			layer := 0
			for ; layer < available && !w.addPair(w.layers[layer], i, d); layer++ {
				if layer+1 == len(w.layers) {
					w.layers, w.pairs = append(w.layers, newOrdered(&w.channels)), append(w.pairs, 0)
				}
			}
			if layer >= available {
				return false
			}
			w.layer[at], w.layer[back] = uint8(layer), uint8(layer)
			w.pairs[layer] += 2
		}
	}
	return len(w.layers) <= available
}

// addPair enters the paths between two switches, both ways. Not ok, with no change, if they close a
// cycle.
func (w *lash) addPair(g *ordered, a, b int32) (ok bool) {
	for _, ends := range [][2]int32{{a, b}, {b, a}} {
		path := w.path(ends[0], ends[1])
		for i := 1; i < len(path); i++ {
			if g.add(path[i-1], path[i]) {
				continue
			}
			g.remove(path[:i])
			if ends[0] == b {
				g.remove(w.path(a, b))
			}
			return false
		}
	}
	return true
}

// path lists the channels from one switch to another; it is valid until the next call.
func (w *lash) path(from, to int32) []int32 {
	w.scratch = w.scratch[:0]
	for at := from; at != to; {
		c := w.next[int(at)*w.n+int(to)]
		w.scratch = append(w.scratch, c)
		at = w.peer[c]
	}
	return w.scratch
}

func (g *ordered) remove(path []int32) {
	for i := 1; i < len(path); i++ {
		g.uses[g.at(path[i-1], path[i])]--
	}
}

// tried marks a pair of switches that was tried in vain, or is none.
const tried = 255

// openPairs says, by [from*n+to], which layer each pair of switches is in, or that it is tried.
type openPairs struct {
	n     int
	layer []uint8
}

func (p *openPairs) set(a, b int, layer uint8) { p.layer[a*p.n+b], p.layer[b*p.n+a] = layer, layer }

// next is the pair of a layer at or after (src, dst), destinations before sources. Not ok if there
// is none.
func (p *openPairs) next(layer, src, dst int) (_, _ int, ok bool) {
	for range p.n {
		row := p.layer[src*p.n:][:p.n]
		if d := bytes.IndexByte(row[dst:], byte(layer)); d >= 0 {
			return src, dst + d, true
		}
		if d := bytes.IndexByte(row[:dst], byte(layer)); d >= 0 {
			return src, d, true
		}
		src = (src + 1) % p.n
	}
	return 0, 0, false
}

// lashCeiling bounds the pairs, both ways, of the emptiest layer in OpenSM: fuller layers do not
// become it.
const lashCeiling = 9999

// balance moves pairs from the fullest layer to the emptiest until they differ by less than three
// pairs, or no pair can be moved. Pairs are drawn by the C library's rand(), which scatter_ports
// seeds, too; a drawn pair outside the fullest layer, or tried in vain, gives way to the next inside.
func (w *lash) balance(seed uint32) {
	if len(w.layers) == 1 {
		return
	}
	open := openPairs{w.n, slices.Clone(w.layer)}
	for at, next := range w.next {
		if next < 0 {
			open.layer[at] = tried
		}
	}
	var inVain [][2]int // pairs, each in one layer or another
	forget := func(layer int) {
		inVain = slices.DeleteFunc(inVain, func(pair [2]int) bool {
			is := int(w.layer[pair[0]*w.n+pair[1]]) == layer
			if is {
				open.set(pair[0], pair[1], uint8(layer))
			}
			return is
		})
	}
	random := newCRandom(seed)
	high, low := 0, len(w.layers)-1
	trials := w.pairs[high]
	for {
		src, dst := random.next()%w.n, random.next()%w.n
		src, dst, found := open.next(high, src, dst)
		if !found {
			return
		}
		if w.addPair(w.layers[low], int32(src), int32(dst)) {
			w.layers[high].remove(w.path(int32(src), int32(dst)))
			w.layers[high].remove(w.path(int32(dst), int32(src)))
			w.layer[src*w.n+dst], w.layer[dst*w.n+src] = uint8(low), uint8(low)
			open.set(src, dst, uint8(low))
			w.pairs[high] -= 2
			w.pairs[low] += 2
		} else {
			open.set(src, dst, tried)
			inVain = append(inVain, [2]int{src, dst})
			trials -= 2
		}
		if trials == 0 || w.pairs[high]-w.pairs[low] < 6 {
			return
		}
		oldHigh, oldLow := high, low
		least, most := lashCeiling, 0
		for i, pairs := range w.pairs {
			if pairs < least {
				low, least = i, pairs
			}
			if pairs > most {
				high, most = i, pairs
			}
		}
		if low != oldLow {
			trials = w.pairs[high]
			forget(high)
		}
		if high != oldHigh {
			trials = w.pairs[high]
			forget(oldHigh)
		}
	}
}

// lashSwitch is a switch as LASH sees it, numbered as its node unless the subnet is analysed as a
// mesh.
type lashSwitch struct {
	node  int32
	links []lashLink
	// Of the analysis:
	matrix    [][]int32 // hops between the switches at any two links, but through this one; nil: too many links
	shape     meshShape
	dimension int     // of the mesh or torus that looks like this from within, 0 none
	edge      bool    // fewer links than a neighbour
	coord     []int32 // far: in none of its rows
}

// lashLink is all cables to one other switch.
type lashLink struct {
	to     int32   // number of the switch
	cables []int32 // in Subnet.Links
	axis   int     // 1 and 2 are the directions of the first dimension, and so on; 0 none
}

func lashSwitches(s *Subnet) []lashSwitch {
	list := make([]lashSwitch, s.nodes())
	for n := range s.nodes() {
		sw := &list[n]
		sw.node = n
		for l := s.Start[n]; l < s.Start[n+1]; l++ {
			to := s.Links[l].Peer
			if to == n {
				continue
			}
			i := sw.linkTo(to)
			if i < 0 {
				i = len(sw.links)
				sw.links = append(sw.links, lashLink{to: to})
			}
			sw.links[i].cables = append(sw.links[i].cables, l)
		}
	}
	return list
}

// linkTo is the link to another switch, -1 if there is none.
func (s *lashSwitch) linkTo(to int32) int {
	return slices.IndexFunc(s.links, func(l lashLink) bool { return l.to == to })
}
