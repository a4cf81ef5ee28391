package allocator

import (
	"cmp"
	"slices"

	"github.com/weft-sim/weft/sim/snapshot"
)

func init() {
	Register("age", "oldest packet first, wherever its ports are free", Traits{Ages: true, Maximal: true, Wait: product}, struct{}{}, newAge)
}

// age is age-based arbitration (Dally and Towles, Principles and Practices of
// Interconnection Networks, 2004, section 18.2; Abts and Weisser, "Age-based packet
// arbitration in large-radix k-ary n-cubes", SC 2007): the request of the oldest
// packet crosses, then the oldest of those whose input and output are still free, and
// so on. That is what arbiters at all inputs and outputs find that choose the oldest
// and iterate until nothing is left.
//
// Deviations: the age is the time since the packet's birth at its source, exact and
// without bound, where hardware carries some bits of it. Of equal ages the lower
// input, then the lower virtual channel, goes first.
//
// Waiting: in every step that a request does not cross, an older one of its input or
// output does. There are at most v-1 of the first kind and (n-1)*v of the second, with n
// ports and v virtual channels.
//
// Cost of a step: n log n in requests.
type age struct {
	matched
	order []int // requests
}

func newAge(_ struct{}, env Env) Allocator {
	return &age{newMatched(env.Ports), make([]int, 0, env.Ports*env.VCs)}
}

// Allocate implements [Allocator].
func (a *age) Allocate(requests []Request, matches []int) []int {
	from := len(matches)
	a.order = a.order[:0]
	for k := range requests {
		a.order = append(a.order, k)
	}
	slices.SortFunc(a.order, func(x, y int) int {
		return cmp.Or(cmp.Compare(requests[x].Born, requests[y].Born), cmp.Compare(x, y))
	})
	for _, k := range a.order {
		if r := &requests[k]; a.free(r) {
			a.take(r)
			matches = append(matches, k)
		}
	}
	a.release(requests, matches[from:])
	return matches
}

// Archive implements [Allocator]: it remembers nothing.
func (*age) Archive(*snapshot.Archive) {}
