package allocator

import (
	"cmp"
	"slices"

	"github.com/weft-sim/weft/sim/snapshot"
)

func init() {
	Register("age", "oldest packet first, wherever its ports are free", Traits{Ages: true, Maximal: true, Wait: product}, struct{}{}, newAge)
	Register("wavefront", "waves of crosspoints behind a priority diagonal that moves on in every step (Tamir and Chi 1993)",
		Traits{Maximal: true, Wait: product}, struct{}{}, newWavefront)
}

// age is age-based arbitration (Dally and Towles, Principles and Practices of Interconnection
// Networks, 2004, section 18.2; Abts and Weisser, "Age-based packet arbitration in large-radix
// k-ary n-cubes", SC 2007): the request of the oldest packet crosses, then the oldest of those
// whose input and output are still free, and so on. That is what arbiters at all inputs and outputs
// find that choose the oldest and iterate until nothing is left.
//
// Deviations: the age is the time since the packet's birth at its source, exact and
// without bound, where hardware carries some bits of it. Of equal ages the lower
// input, then the lower virtual channel, goes first.
//
// Waiting: in every step without it, an older request of its input or output crosses: at most v-1
// of the first kind and (n-1)*v of the second, for n ports and v virtual channels.
//
// Cost of a step: n log n in requests.
type age struct {
	matched
	order []int // requests
}

func newAge(_ struct{}, env Env) Allocator {
	return &age{newMatched(env.Ports), make([]int, 0, env.Ports*env.VCs)}
}

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

func (*age) Archive(*snapshot.Archive) {}

// wavefront is the wrapped wave front arbiter (Tamir and Chi, "Symmetric crossbar arbiters for VLSI
// communication switches", IEEE Transactions on Parallel and Distributed Systems 4(1), 1993): the
// crosspoints of inputs and outputs are passed diagonal by diagonal, and each that is requested is
// taken if nothing before it has taken its input or output. No two crosspoints of a wrapped
// diagonal share a port. The first diagonal moves one on in every step.
//
// Deviations: the diagonal moves in steps with requests only, and where several
// virtual channels want one crosspoint, a round robin of the crosspoint decides.
//
// Waiting: a crosspoint is on the first diagonal, where nothing stops it, once in n steps (n
// ports); its round robin serves each of v virtual channels within v times.
//
// Memory: n*n bytes. Cost of a step: linear in ports and requests.
type wavefront struct {
	matched
	ports, vcs int
	first      int     // diagonal: (input + output) mod ports
	turn       []uint8 // by input*ports + output: round robin over virtual channels
	waves      []int32 // by diagonal from first on: its first request + 1
	next       []int32 // by request: the next one of its diagonal, + 1
}

func newWavefront(_ struct{}, env Env) Allocator {
	n := env.Ports
	return &wavefront{
		matched: newMatched(n), ports: n, vcs: env.VCs,
		turn: make([]uint8, n*n), waves: make([]int32, n), next: make([]int32, n*env.VCs),
	}
}

func (a *wavefront) Allocate(requests []Request, matches []int) []int {
	from := len(matches)
	for k := len(requests) - 1; k >= 0; k-- { // backwards, so that waves are in the order of inputs
		r := &requests[k]
		wave := (int(r.Input) + int(r.Output) - a.first + 2*a.ports) % a.ports
		a.next[k], a.waves[wave] = a.waves[wave], int32(k+1)
	}
	for wave, k := range a.waves {
		for k != 0 {
			best := int(k - 1)
			r := &requests[best]
			// An input has one crosspoint on a diagonal.
			for k = a.next[best]; k != 0 && requests[k-1].Input == r.Input; k = a.next[k-1] {
				if a.wait(&requests[k-1]) < a.wait(&requests[best]) {
					best = int(k - 1)
				}
			}
			if r = &requests[best]; a.free(r) {
				a.take(r)
				a.turn[int(r.Input)*a.ports+int(r.Output)] = uint8(r.VC + 1)
				matches = append(matches, best)
			}
		}
		a.waves[wave] = 0
	}
	a.first = (a.first + 1) % a.ports
	a.release(requests, matches[from:])
	return matches
}

// wait is how far a request's virtual channel is from its crosspoint's round robin.
func (a *wavefront) wait(r *Request) int {
	return ahead(r.VC, uint16(a.turn[int(r.Input)*a.ports+int(r.Output)]), a.vcs)
}

func (a *wavefront) Archive(s *snapshot.Archive) {
	snapshot.Int(s, &a.first)
	s.Check(a.first >= 0 && a.first < a.ports, "a wave begins at diagonal %d of %d", a.first, a.ports)
	snapshot.Array(s, "crosspoints", a.turn, snapshot.Int)
}
