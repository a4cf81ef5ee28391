package allocator

import "github.com/weft-sim/weft/sim/snapshot"

func init() {
	Register("wavefront", "waves of crosspoints behind a priority diagonal that moves on in every step (Tamir and Chi 1993)",
		Traits{Maximal: true, Wait: product}, struct{}{}, newWavefront)
}

// wavefront is the wrapped wave front arbiter (Tamir and Chi, "Symmetric crossbar
// arbiters for VLSI communication switches", IEEE Transactions on Parallel and
// Distributed Systems 4(1), 1993): the crosspoints of inputs and outputs are passed
// diagonal by diagonal, and each that is requested is taken if nothing before it has
// taken its input or output. No two crosspoints of a wrapped diagonal share a port.
// The first diagonal moves one on in every step.
//
// Deviations: the diagonal moves in steps with requests only, and where several
// virtual channels want one crosspoint, a round robin of the crosspoint decides.
//
// Waiting: a crosspoint is on the first diagonal, where nothing stops it, once in n
// steps, n being the ports; its round robin serves each of v virtual channels within v
// times.
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

// Allocate implements [Allocator].
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

// Archive implements [Allocator].
func (a *wavefront) Archive(s *snapshot.Archive) {
	snapshot.Int(s, &a.first)
	s.Check(a.first >= 0 && a.first < a.ports, "a wave begins at diagonal %d of %d", a.first, a.ports)
	snapshot.Array(s, "crosspoints", a.turn, snapshot.Int)
}
