package multicast

import "github.com/weft-sim/weft/fabric/topology"

// offer is a way for a [grower] to reach a switch.
type offer struct {
	key  int64 // cost of the switches to add; most votes first
	rest int64 // depth, then groups on the cables to add
	sw   topology.SwitchID
}

// loadBits is the part of offer.rest that holds the load: more than a
// terabyte's worth of groups could bring about.
const loadBits = 40

func newOffer(key int64, depth int32, load int64, sw topology.SwitchID) offer {
	return offer{key, int64(depth)<<loadBits | load, sw}
}

func (a *offer) depth() int32 { return int32(a.rest >> loadBits) }

func (a *offer) load() int64 { return a.rest & (1<<loadBits - 1) }

func (a *offer) before(b *offer) bool {
	if a.key != b.key {
		return a.key < b.key
	}
	if a.rest != b.rest {
		return a.rest < b.rest
	}
	return a.sw < b.sw
}

// offers is a heap of four branches, the first offer on top. Most of the time
// of a grower goes into it; [heap] calls Before by pointer and takes twice as
// long.
type offers []offer

func (h *offers) push(x offer) {
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

func (h *offers) pop() offer {
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
