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

// has tells whether a vertex is in a heap that was cleared before its first use.
func (h *heap) has(v int32) bool { return h.at[v] != outside }

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
