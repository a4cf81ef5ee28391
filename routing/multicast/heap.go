package multicast

// heap is a binary heap, the least on top.
type heap[T interface{ Before(T) bool }] []T

func (h *heap[T]) push(x T) {
	*h = append(*h, x)
	q := *h
	for i := len(q) - 1; i > 0; {
		above := (i - 1) / 2
		if !q[i].Before(q[above]) {
			return
		}
		q[i], q[above] = q[above], q[i]
		i = above
	}
}

func (h *heap[T]) pop() T {
	q := *h
	top := q[0]
	last := len(q) - 1
	q[0] = q[last]
	q = q[:last]
	*h = q
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return top
		}
		if child+1 < last && q[child+1].Before(q[child]) {
			child++
		}
		if !q[child].Before(q[i]) {
			return top
		}
		q[i], q[child] = q[child], q[i]
		i = child
	}
}
