package sssp

// Heap is a 4-ary heap that breaks ties as OpenSM's does (cl_heap): which of
// several equally near vertices Dijkstra takes next decides between equally
// long paths. All vertices are in it from the start, in order, with the largest
// key. A lowered key rises while strictly smaller than its parent. The last
// element takes the place of the one popped and sinks to where no child is
// strictly smaller; of equally small children the one with the highest index
// rises.
type Heap struct {
	entries []heapEntry
	at      []int32 // index of each vertex in entries, or outside
}

type heapEntry struct {
	key    uint64
	vertex int32
}

// NewHeap makes an empty heap for so many vertices.
func NewHeap(vertices int) Heap {
	h := Heap{make([]heapEntry, 0, vertices), make([]int32, vertices)}
	for v := range h.at {
		h.at[v] = outside
	}
	return h
}

// Fill inserts vertices 0 to n-1.
func (h *Heap) Fill(n int32) {
	h.entries = h.entries[:n]
	for v := range n {
		h.entries[v] = heapEntry{Infinity, v}
		h.at[v] = v
	}
}

// Len is the number of vertices in the heap.
func (h *Heap) Len() int { return len(h.entries) }

// Lower gives a vertex in the heap a smaller key.
func (h *Heap) Lower(v int32, key uint64) { h.rise(h.at[v], heapEntry{key, v}) }

// rise puts an entry at index i or, while strictly smaller than the parent, above.
func (h *Heap) rise(i int32, e heapEntry) {
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

// Pop removes the root and returns its vertex.
func (h *Heap) Pop() int32 {
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
func (h *Heap) sink(i int, e heapEntry) {
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

// Clear empties the heap.
func (h *Heap) Clear() {
	for _, e := range h.entries {
		h.at[e.vertex] = outside
	}
	h.entries = h.entries[:0]
}

// Has tells whether a vertex is in a heap that was cleared before its first use.
func (h *Heap) Has(v int32) bool { return h.at[v] != outside }

// Insert adds a vertex that is not in the heap.
func (h *Heap) Insert(v int32, key uint64) {
	h.entries = append(h.entries, heapEntry{})
	h.rise(int32(len(h.entries)-1), heapEntry{key, v})
}

// Remove takes a vertex out: the last element takes its place and rises or sinks.
func (h *Heap) Remove(v int32) {
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

func (h *Heap) put(i int32, e heapEntry) {
	h.entries[i] = e
	h.at[e.vertex] = i
}
