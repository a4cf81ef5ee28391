package sssp

// heap is a 4-ary heap that breaks ties as OpenSM's does (cl_heap): which of
// several equally near vertices Dijkstra takes next decides between equally
// long paths. All vertices are in it from the start, in order, with the largest
// key. A lowered key rises while strictly smaller than its parent. The last
// element takes the place of the one popped and sinks to where no child is
// strictly smaller; of equally small children the one with the highest index
// rises.
type heap struct {
	entries []heapEntry
	at      []int32 // index of each vertex in entries
}

type heapEntry struct {
	key    uint64
	vertex int32
}

func newHeap(vertices int) heap {
	return heap{make([]heapEntry, 0, vertices), make([]int32, vertices)}
}

// fill inserts vertices 0 to n-1.
func (h *heap) fill(n int32) {
	h.entries = h.entries[:n]
	for v := range n {
		h.entries[v] = heapEntry{Infinity, v}
		h.at[v] = v
	}
}

func (h *heap) size() int { return len(h.entries) }

// lower gives a vertex in the heap a smaller key.
func (h *heap) lower(v int32, key uint64) {
	i := h.at[v]
	for i > 0 {
		parent := (i - 1) / 4
		if key >= h.entries[parent].key {
			break
		}
		h.put(i, h.entries[parent])
		i = parent
	}
	h.put(i, heapEntry{key, v})
}

// pop removes the root and returns its vertex.
func (h *heap) pop() int32 {
	root := h.entries[0].vertex
	last := len(h.entries) - 1
	moved := h.entries[last]
	h.entries = h.entries[:last]
	if last == 0 {
		return root
	}
	i := 0
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
		if moved.key <= h.entries[smallest].key {
			break
		}
		h.put(int32(i), h.entries[smallest])
		i = smallest
	}
	h.put(int32(i), moved)
	return root
}

func (h *heap) put(i int32, e heapEntry) {
	h.entries[i] = e
	h.at[e.vertex] = i
}
