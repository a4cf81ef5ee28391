package allocator

import "github.com/weft-sim/weft/sim/snapshot"

// InputFirst is the name of the input-first separable allocator; package fabric
// plays it out itself, as [ISLIP].
const InputFirst = "input-first"

func init() {
	Register(InputFirst, "round robins, inputs put one virtual channel forward, outputs choose",
		Traits{Iterates: true, Wait: product}, struct{}{}, newInputFirst)
}

// inputFirst is the input-first separable allocator (Dally and Towles, Principles and
// Practices of Interconnection Networks, 2004, section 19.3): each input puts the
// virtual channel next in its round robin forward, and each output takes the input
// next in its own. As in iSLIP, round robins move behind what crosses in the first
// iteration only.
//
// Waiting: what an input puts forward in the first iteration stays the same until it
// crosses, which its output's round robin lets it within n steps, n being the ports;
// then the next virtual channel has its turn.
type inputFirst struct {
	iterated
	env             Env
	grant           []uint16 // by output, over inputs
	vc              []uint16 // by input
	forward, chosen []int    // request + 1; 0: none. By input, and by output
}

func newInputFirst(_ struct{}, env Env) Allocator {
	n := env.Ports
	a := &inputFirst{iterated: newIterated(env), env: env, grant: make([]uint16, n), vc: make([]uint16, n), forward: make([]int, n), chosen: make([]int, n)}
	a.round = a.play
	return a
}

func (a *inputFirst) play(requests []Request, matches []int, first bool) []int {
	for k := range requests {
		if r := &requests[k]; a.free(r) {
			best := a.forward[r.Input]
			if best == 0 || ahead(r.VC, a.vc[r.Input], a.env.VCs) < ahead(requests[best-1].VC, a.vc[r.Input], a.env.VCs) {
				a.forward[r.Input] = k + 1
			}
		}
	}
	for _, k := range a.forward {
		if k == 0 {
			continue
		}
		r := &requests[k-1]
		pointer, best := a.grant[r.Output], a.chosen[r.Output]
		if best == 0 || ahead(r.Input, pointer, a.env.Ports) < ahead(requests[best-1].Input, pointer, a.env.Ports) {
			a.chosen[r.Output] = k
		}
	}
	clear(a.forward)
	for _, k := range a.chosen {
		if k == 0 {
			continue
		}
		r := &requests[k-1]
		a.take(r)
		matches = append(matches, k-1)
		if first {
			a.grant[r.Output], a.vc[r.Input] = r.Input+1, r.VC+1
		}
	}
	clear(a.chosen)
	return matches
}

// Archive implements [Allocator].
func (a *inputFirst) Archive(s *snapshot.Archive) {
	snapshot.Array(s, "outputs", a.grant, snapshot.Int)
	snapshot.Array(s, "inputs", a.vc, snapshot.Int)
}
