package allocator

import "github.com/weft-sim/weft/sim/snapshot"

// ISLIP is the name of the iSLIP allocator; package fabric plays out its round
// robins on the records of its ports, which is faster, with the same matches.
const ISLIP = "islip"

func init() {
	Register(ISLIP, "round robins, outputs grant first, inputs accept (McKeown 1999)",
		Traits{Iterates: true, Wait: func(env Env) int {
			if env.VCs == 1 {
				return env.Ports
			}
			return 0
		}}, struct{}{}, newISLIP)
}

// islip is iSLIP (McKeown, "The iSLIP scheduling algorithm for input-queued
// switches", IEEE/ACM Transactions on Networking 7(2), 1999, section III): each
// output grants the request nearest to its round-robin pointer, each input accepts
// the grant nearest to its own, and pointers move one behind what was accepted in
// the first iteration.
//
// Deviation: a queue is a virtual channel, not one for each output, so that several
// virtual channels of an input may want one output. Of these, a round robin of the
// input decides, which moves with every flit of the first iteration. Since all
// outputs share it, a virtual channel can starve: of three, let the first and second
// always want one output, and the third another one. If the two outputs serve the
// input in turn, the round robin always stands before the first.
//
// Waiting: with one virtual channel an input has one request and accepts every
// grant. The output's round robin reaches each of n inputs within n steps.
type islip struct {
	iterated
	env               Env
	grant             []uint16 // by output, over inputs
	accept            []uint16 // by input, over outputs
	vc                []uint16 // by input
	granted, chosen   []int    // request + 1; 0: none. By output, and by input
	grantAt, chosenAt []int    // their distances from the pointers
}

func newISLIP(_ struct{}, env Env) Allocator {
	n := env.Ports
	a := &islip{
		iterated: newIterated(env), env: env, grant: make([]uint16, n), accept: make([]uint16, n), vc: make([]uint16, n),
		granted: make([]int, n), chosen: make([]int, n), grantAt: make([]int, n), chosenAt: make([]int, n),
	}
	a.round = a.play
	return a
}

func (a *islip) play(requests []Request, matches []int, first bool) []int {
	n, vcs := a.env.Ports, a.env.VCs
	for k := range requests {
		if r := &requests[k]; a.free(r) {
			at := ahead(r.Input, a.grant[r.Output], n)*vcs + ahead(r.VC, a.vc[r.Input], vcs)
			if a.granted[r.Output] == 0 || at < a.grantAt[r.Output] {
				a.granted[r.Output], a.grantAt[r.Output] = k+1, at
			}
		}
	}
	for output, k := range a.granted {
		if k > 0 {
			input := requests[k-1].Input
			at := ahead(uint16(output), a.accept[input], n)
			if a.chosen[input] == 0 || at < a.chosenAt[input] {
				a.chosen[input], a.chosenAt[input] = k, at
			}
		}
	}
	clear(a.granted)
	for _, k := range a.chosen {
		if k == 0 {
			continue
		}
		r := &requests[k-1]
		a.take(r)
		matches = append(matches, k-1)
		if first {
			a.grant[r.Output], a.accept[r.Input], a.vc[r.Input] = r.Input+1, r.Output+1, r.VC+1
		}
	}
	clear(a.chosen)
	return matches
}

// Archive implements [Allocator].
func (a *islip) Archive(s *snapshot.Archive) {
	snapshot.Array(s, "outputs", a.grant, snapshot.Int)
	snapshot.Array(s, "inputs", a.accept, snapshot.Int)
	snapshot.Array(s, "inputs", a.vc, snapshot.Int)
}
