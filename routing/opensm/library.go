package opensm

import (
	"cmp"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
)

// heap is a 4-ary heap that breaks ties as OpenSM's does (cl_heap): which of several equally near
// vertices Dijkstra takes next decides between equally long paths. All vertices are in it from the
// start, in order, with the largest key. A lowered key rises while strictly smaller than its
// parent. The last element takes the place of the one popped and sinks to where no child is
// strictly smaller; of equally small children the one with the highest index rises.
type heap struct {
	entries []heapEntry
	at      []int32 // index of each vertex in entries, or outside
}

type heapEntry struct {
	key    uint64
	vertex int32
}

func newHeap(vertices int) heap {
	return heap{make([]heapEntry, 0, vertices), slices.Repeat([]int32{outside}, vertices)}
}

func (h *heap) size() int { return len(h.entries) }

// lower gives a vertex in the heap a smaller key.
func (h *heap) lower(v int32, key uint64) { h.rise(h.at[v], heapEntry{key, v}) }

// rise puts an entry at index i or, while strictly smaller than the parent, above.
func (h *heap) rise(i int32, e heapEntry) {
	for i > 0 {
		parent := (i - 1) / 4
		if e.key >= h.entries[parent].key {
			break
		}
		h.put(i, h.entries[parent])
		i = parent
	}
	h.put(i, e)
}

// pop removes the root and returns its vertex.
func (h *heap) pop() int32 {
	root := h.entries[0].vertex
	h.remove(root)
	return root
}

// sink puts an entry at index i or, while a child is strictly smaller, below.
func (h *heap) sink(i int, e heapEntry) {
	last := len(h.entries)
	for {
		first := 4*i + 1
		if first >= last {
			break
		}
		smallest := first
		for c := first + 1; c < min(first+4, last); c++ {
			if h.entries[c].key <= h.entries[smallest].key {
				smallest = c
			}
		}
		if e.key <= h.entries[smallest].key {
			break
		}
		h.put(int32(i), h.entries[smallest])
		i = smallest
	}
	h.put(int32(i), e)
}

// outside is the index of a vertex that is not in the heap.
const outside = -1

func (h *heap) clear() {
	for _, e := range h.entries {
		h.at[e.vertex] = outside
	}
	h.entries = h.entries[:0]
}

func (h *heap) insert(v int32, key uint64) {
	h.entries = append(h.entries, heapEntry{})
	h.rise(int32(len(h.entries)-1), heapEntry{key, v})
}

// remove takes a vertex out: the last element takes its place and rises or sinks.
func (h *heap) remove(v int32) {
	i := h.at[v]
	h.at[v] = outside
	last := len(h.entries) - 1
	moved := h.entries[last]
	h.entries = h.entries[:last]
	if int(i) == last {
		return
	}
	h.rise(i, moved)
	h.sink(int(i), h.entries[i])
}

func (h *heap) put(i int32, e heapEntry) {
	h.entries[i] = e
	h.at[e.vertex] = i
}

// cRandom is the C library's generator behind rand() and random(), as glibc has
// it: an additive feedback generator x[i] = x[i-3] + x[i-31] modulo 2^32 whose
// lowest bit is dropped. The state is filled by the minimal standard generator
// (Park and Miller, Communications of the ACM 1988) and run for 310 steps.
type cRandom struct {
	state [31]uint32
	at    int
}

// newCRandom seeds the generator as srandom does. A program that never does has seed 1.
func newCRandom(seed uint32) *cRandom {
	r := &cRandom{at: 3}
	seed = cmp.Or(seed, 1)
	word := int64(int32(seed))
	r.state[0] = seed
	for i := 1; i < len(r.state); i++ {
		// Schrage's method, which leaves negative seeds another remainder.
		word = 16807*(word%127773) - 2836*(word/127773)
		if word < 0 {
			word += 2147483647
		}
		r.state[i] = uint32(word)
	}
	for range 310 {
		r.next()
	}
	return r
}

// next is the next number of random(), 31 bits.
func (r *cRandom) next() int {
	// The state is a ring: the slot at hand is 31 steps old, the one 28 further on is 3 steps old.
	from := r.at + 28
	if from >= 31 {
		from -= 31
	}
	r.state[r.at] += r.state[from]
	v := r.state[r.at] >> 1
	if r.at++; r.at == 31 {
		r.at = 0
	}
	return int(v)
}

// channels are directed cables: node n's outgoing ones are start[n] to start[n+1]-1. A dependency
// is of a channel on one that begins where it ends.
type channels struct {
	start []int32 // len = nodes+1
	begin []int32 // by channel: node that it leaves
	peer  []int32 // by channel: node at its end
	back  []int32 // by channel: the other direction
	slot  []int32 // by channel: where its dependencies are numbered from
	slots int32   // number of all dependencies
}

func newChannels(s *Subnet) *channels {
	c := &channels{start: s.Start}
	for _, l := range s.Links {
		c.add(l.From, l.Peer, l.Back)
	}
	return c
}

func (c *channels) add(begin, peer, back int32) {
	c.begin, c.peer, c.back, c.slot = append(c.begin, begin), append(c.peer, peer), append(c.back, back), append(c.slot, c.slots)
	c.slots += c.start[peer+1] - c.start[peer]
}

// at is the number of the dependency of channel a on channel b.
func (c *channels) at(a, b int32) int32 { return c.slot[a] + b - c.start[c.peer[a]] }

// ordered is the channel dependency graph of a layer of LASH or Nue with a topological order of its
// channels, which new dependencies keep up to date (Pearce and Kelly, "A Dynamic Topological Sort
// Algorithm for Directed Acyclic Graphs", ACM Journal of Experimental Algorithmics 2007): only
// channels between the two ends of a dependency that runs against the order are looked at.
type ordered struct {
	*channels
	uses          []int32 // by dependency: the paths that need it
	place         []int32 // by channel: its place in the order
	seen          []bool  // scratch, as the next two
	ahead, behind []int32 // channels that must move back, or forward
	places        []int32
}

func newOrdered(w *channels) *ordered {
	return &ordered{channels: w, uses: make([]int32, w.slots), place: topology.Numbers[int32](len(w.peer)), seen: make([]bool, len(w.peer))}
}

// add enters one more use of a dependency unless it closes a cycle.
func (g *ordered) add(c, d int32) (ok bool) {
	slot := g.at(c, d)
	if g.uses[slot] == 0 && g.place[c] > g.place[d] && !g.reorder(c, d) {
		return false
	}
	g.uses[slot]++
	return true
}

// reorder moves channels so that d is behind c; false if a path leads from d to c.
func (g *ordered) reorder(c, d int32) bool {
	low, high := g.place[d], g.place[c]
	// What d leads to, up to where c is.
	g.ahead = append(g.ahead[:0], d)
	g.seen[d] = true
	cyclic := false
	for i := 0; i < len(g.ahead) && !cyclic; i++ {
		x := g.ahead[i]
		to := g.peer[x]
		for j, y := int32(0), g.start[to]; y < g.start[to+1]; j, y = j+1, y+1 {
			if g.uses[g.slot[x]+j] == 0 || g.seen[y] || g.place[y] > high {
				continue
			}
			if y == c {
				cyclic = true
				break
			}
			g.seen[y] = true
			g.ahead = append(g.ahead, y)
		}
	}
	for _, x := range g.ahead {
		g.seen[x] = false
	}
	if cyclic {
		return false
	}
	// What leads to c, down to where d is.
	g.behind = append(g.behind[:0], c)
	g.seen[c] = true
	for i := 0; i < len(g.behind); i++ {
		y := g.behind[i]
		// Channels that end where y begins come from the neighbours there.
		begin := g.begin[y]
		for b := g.start[begin]; b < g.start[begin+1]; b++ {
			x := g.back[b]
			if g.uses[g.at(x, y)] == 0 || g.seen[x] || g.place[x] < low {
				continue
			}
			g.seen[x] = true
			g.behind = append(g.behind, x)
		}
	}
	for _, x := range g.behind {
		g.seen[x] = false
	}
	g.permute()
	return true
}

// permute gives the places of all channels that move to those behind first, each group in order.
func (g *ordered) permute() {
	byPlace := func(a, b int32) int { return int(g.place[a] - g.place[b]) }
	slices.SortFunc(g.behind, byPlace)
	slices.SortFunc(g.ahead, byPlace)
	g.behind = append(g.behind, g.ahead...)
	g.places = g.places[:0]
	for _, x := range g.behind {
		g.places = append(g.places, g.place[x])
	}
	slices.Sort(g.places)
	for k, x := range g.behind {
		g.place[x] = g.places[k]
	}
}
