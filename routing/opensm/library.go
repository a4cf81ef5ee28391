package opensm

// heap is a 4-ary heap that breaks ties as OpenSM's does (cl_heap): which of
// several equally near vertices Dijkstra takes next decides between equally
// long paths. All vertices are in it from the start, in order, with the largest
// key. A lowered key rises while strictly smaller than its parent. The last
// element takes the place of the one popped and sinks to where no child is
// strictly smaller; of equally small children the one with the highest index
// rises.
type heap struct {
	entries []heapEntry
	at      []int32 // index of each vertex in entries, or outside
}

type heapEntry struct {
	key    uint64
	vertex int32
}

// newHeap makes an empty heap for so many vertices.
func newHeap(vertices int) heap {
	h := heap{make([]heapEntry, 0, vertices), make([]int32, vertices)}
	for v := range h.at {
		h.at[v] = outside
	}
	return h
}

// fill inserts vertices, in order, with the largest key.
func (h *heap) fill(order []int32) {
	h.entries = h.entries[:len(order)]
	for i, v := range order {
		h.entries[i] = heapEntry{Infinity, v}
		h.at[v] = int32(i)
	}
}

// size is the number of vertices in the heap.
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
	h.at[root] = outside
	last := len(h.entries) - 1
	moved := h.entries[last]
	h.entries = h.entries[:last]
	if last > 0 {
		h.sink(0, moved)
	}
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

// clear empties the heap.
func (h *heap) clear() {
	for _, e := range h.entries {
		h.at[e.vertex] = outside
	}
	h.entries = h.entries[:0]
}

// insert adds a vertex that is not in the heap.
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

// newCRandom seeds the generator as srandom does. A program that never does has
// seed 1.
func newCRandom(seed uint32) *cRandom {
	r := &cRandom{at: 3}
	if seed == 0 {
		seed = 1
	}
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
	// The state is a ring: the slot at hand is 31 steps old, the one 28 further
	// on is 3 steps old.
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
