package opensm

import "fmt"

func init() {
	register(Engine{
		Name:   "lash",
		Doc:    "layered shortest paths: each pair of switches in the first layer that it makes no cycle in",
		Source: "Skeie, Lysne and Theiss, IPDPS 2002; Lysne, Skeie, Reinemo and Theiss, IEEE TPDS 2006; OpenSM's osm_ucast_lash.c",
		Levels: true,
		Route:  routeLASH,
	})
}

// routeLASH is LASH: one shortest path each way between any two switches, each pair
// of paths in one layer with an acyclic channel dependency graph. The layers are
// then balanced by moving pairs that are drawn at random from the fullest to the
// emptiest.
//
// OpenSM searches a layer for cycles anew for every pair. Here each layer keeps a
// topological order of its channels ([ordered]), which gives the same answers.
//
// Cost: switches squared times the length of paths, where few pairs disturb the
// order.
func routeLASH(s *Subnet, o *Options) (*Tables, error) {
	w := newLASH(s)
	w.paths()
	available := o.OperationalVLs - o.LashStartVL
	if !w.divide(available) {
		return nil, &Refusal{"lash", fmt.Sprintf("lash_core: ERR 4D02: Lane requirements (%d) exceed available lanes (%d) with starting lane (%d)", len(w.layers), max(available, 0), o.LashStartVL)}
	}
	w.balance()
	t := newTables("lash", s)
	t.Lanes = len(w.layers)
	t.fill(func(from, to int32) uint8 {
		if c := w.next[int(from)*w.n+int(to)]; c >= 0 {
			return s.Links[w.first[c]].Port
		}
		return noPath
	})
	t.level = func(n int32, lid int) uint8 {
		to := s.Ends[lid].Node
		if n == to {
			return uint8(o.LashStartVL)
		}
		return w.layer[int(n)*w.n+int(to)] + uint8(o.LashStartVL)
	}
	return t, nil
}

// lash is the work of the engine. Channels are those from switch to switch, parallel
// cables merged: the i-th neighbour of node n is channel start[n]+i.
type lash struct {
	s      *Subnet
	n      int
	start  []int32 // len = nodes+1
	begin  []int32 // by channel: node that it leaves
	peer   []int32 // by channel: node at its end
	first  []int32 // by channel: the lowest numbered cable, in Subnet.Links
	index  []int16 // by [to*n+from]: which neighbour of from to is, -1 none
	next   []int32 // by [from*n+to]: channel of the path, -1 none
	layer  []uint8 // by [from*n+to]
	layers []*ordered
	pairs  []int // by layer, both directions counted
}

func newLASH(s *Subnet) *lash {
	n := len(s.Switches)
	w := &lash{s: s, n: n, start: []int32{0}, index: make([]int16, n*n), next: make([]int32, n*n), layer: make([]uint8, n*n)}
	for i := range w.index {
		w.index[i], w.next[i] = -1, -1
	}
	for from := range s.nodes() {
		for l := s.Start[from]; l < s.Start[from+1]; l++ {
			to := s.Links[l].Peer
			if at := &w.index[int(to)*n+int(from)]; *at < 0 {
				*at = int16(int32(len(w.peer)) - w.start[from])
				w.begin, w.peer, w.first = append(w.begin, from), append(w.peer, to), append(w.first, l)
			}
		}
		w.start = append(w.start, int32(len(w.peer)))
	}
	return w
}

// channel is the one from a node to a neighbour.
func (w *lash) channel(from, to int32) int32 {
	return w.start[from] + int32(w.index[int(to)*w.n+int(from)])
}

// paths chooses the next channel between any two switches: the tree of a
// breadth-first search from each switch in turn decides it for all pairs of which
// one is above the other and that are not decided yet.
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

// divide puts every pair into the first layer that stays acyclic with it. ok is
// false if that takes more layers than there are.
func (w *lash) divide(available int) (ok bool) {
	done := make([]bool, w.n*w.n)
	for i := range int32(w.n) {
		for d := range int32(w.n) {
			at, back := int(i)*w.n+int(d), int(d)*w.n+int(i)
			if i == d || done[at] || w.next[at] < 0 {
				continue
			}
			done[at], done[back] = true, true
			layer := 0
			for layer < len(w.layers) && !w.layers[layer].addPair(i, d) {
				layer++
			}
			if layer == len(w.layers) {
				w.layers, w.pairs = append(w.layers, newOrdered(w)), append(w.pairs, 0)
				if layer >= available {
					return false
				}
				w.layers[layer].addPair(i, d)
			}
			w.layer[at], w.layer[back] = uint8(layer), uint8(layer)
			w.pairs[layer] += 2
		}
	}
	if len(w.layers) == 0 { // one switch
		w.layers, w.pairs = append(w.layers, newOrdered(w)), append(w.pairs, 0)
	}
	return len(w.layers) <= available
}
