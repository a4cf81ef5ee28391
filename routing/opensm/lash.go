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
// With do_mesh_analysis the switches of meshes and tori and their links are numbered by
// their coordinates ([lashMesh]), and cables side by side are taken in turn.
//
// Cost: switches squared times the length of paths, where few pairs disturb the
// order.
func routeLASH(s *Subnet, o *Options) (*Tables, error) {
	switches := lashSwitches(s)
	if o.MeshAnalysis {
		var ok bool
		if switches, ok = analyzeMesh(switches); !ok {
			return nil, &Refusal{"lash", "the analysis of this fabric's meshes (do_mesh_analysis) does not come to an end in OpenSM"}
		}
	}
	w := newLASH(s, switches)
	w.paths()
	available := o.OperationalVLs - o.LashStartVL
	if !w.divide(available) {
		return nil, &Refusal{"lash", fmt.Sprintf("lash_core: ERR 4D02: Lane requirements (%d) exceed available lanes (%d) with starting lane (%d)", len(w.layers), max(available, 0), o.LashStartVL)}
	}
	w.balance()
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

// lash is the work of the engine. Channels are those from switch to switch, parallel
// cables merged: the i-th neighbour of switch n is channel start[n]+i.
type lash struct {
	channels
	s      *Subnet
	n      int
	number []int32   // by node: which switch it is
	cables [][]int32 // by channel, in Subnet.Links
	index  []int16   // by [to*n+from]: which neighbour of from to is, -1 none
	next   []int32   // by [from*n+to]: channel of the path, -1 none
	layer  []uint8   // by [from*n+to]
	layers []*ordered
	pairs  []int // by layer, both directions counted
}

func newLASH(s *Subnet, switches []lashSwitch) *lash {
	n := len(switches)
	w := &lash{s: s, n: n, number: make([]int32, n), index: make([]int16, n*n), next: make([]int32, n*n), layer: make([]uint8, n*n)}
	for i := range w.index {
		w.index[i], w.next[i] = -1, -1
	}
	w.start = []int32{0}
	for i, sw := range switches {
		w.number[sw.node] = int32(i)
		w.start = append(w.start, w.start[i]+int32(len(sw.links)))
		for j, l := range sw.links {
			w.index[int(l.to)*n+i] = int16(j)
		}
	}
	for i, sw := range switches {
		for _, l := range sw.links {
			w.channels.add(int32(i), l.to, w.channel(l.to, int32(i)))
			w.cables = append(w.cables, l.cables)
		}
	}
	return w
}

// fill enters the ports: the first cable to the next switch, or the cables in turn, from
// LID to LID.
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
			for layer < len(w.layers) && !w.addPair(w.layers[layer], i, d) {
				layer++
			}
			if layer == len(w.layers) {
				w.layers, w.pairs = append(w.layers, newOrdered(&w.channels)), append(w.pairs, 0)
				if layer >= available {
					return false
				}
				w.addPair(w.layers[layer], i, d)
			}
			w.layer[at], w.layer[back] = uint8(layer), uint8(layer)
			w.pairs[layer] += 2
		}
	}
	if len(w.layers) == 0 { // one switch
		w.layers, w.pairs = append(w.layers, newOrdered(&w.channels)), append(w.pairs, 0)
	}
	return len(w.layers) <= available
}
