package multicast

import "github.com/weft-sim/weft/fabric/topology"

// reach is a way to reach a switch, in a [heap].
type reach struct {
	cost int64 // what counts first
	rest int64 // what counts among equals
	sw   topology.SwitchID
}

func (a *reach) before(b *reach) bool {
	if a.cost != b.cost {
		return a.cost < b.cost
	}
	if a.rest != b.rest {
		return a.rest < b.rest
	}
	return a.sw < b.sw
}

// heap is a heap of four branches, the least on top. Searches spend most of
// their time here, so it is not generic: calls of a type parameter's method
// are not inlined.
type heap []reach

func (h *heap) push(x reach) {
	*h = append(*h, x)
	q := *h
	i := len(q) - 1
	for i > 0 {
		above := (i - 1) / 4
		if !x.before(&q[above]) {
			break
		}
		q[i] = q[above]
		i = above
	}
	q[i] = x
}

func (h *heap) pop() reach {
	q := *h
	top, last := q[0], len(q)-1
	x := q[last]
	q = q[:last]
	*h = q
	if last == 0 {
		return top
	}
	i := 0
	for {
		first := 4*i + 1
		if first >= last {
			break
		}
		least := first
		for child := first + 1; child < min(first+4, last); child++ {
			if q[child].before(&q[least]) {
				least = child
			}
		}
		if !q[least].before(&x) {
			break
		}
		q[i] = q[least]
		i = least
	}
	q[i] = x
	return top
}
