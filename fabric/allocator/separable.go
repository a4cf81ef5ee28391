package allocator

import (
	"slices"

	"github.com/weft-sim/weft/sim/snapshot"
)

// Names of the allocators that package fabric plays out itself, on its ports' records, faster and
// with the same matches; and of BookSim2's separable_input_first.
const (
	ISLIP            = "islip"
	InputFirst       = "input-first"
	InputFirstOutput = "input-first-output"
)

func init() {
	Register(ISLIP, "round robins, outputs grant first, inputs accept (McKeown 1999)",
		Traits{Iterates: true, Wait: aloneByPort}, struct{}{}, func(_ struct{}, env Env) Allocator { return newISLIP(env, true) })
	Register(InputFirstOutput, "round robins, inputs put one output forward, for the virtual channel next among those that want it, outputs choose",
		Traits{Iterates: true, Wait: aloneByPort}, struct{}{}, func(_ struct{}, env Env) Allocator { return newISLIP(env, false) })
	Register(InputFirst, "round robins, inputs put one virtual channel forward, outputs choose",
		Traits{Iterates: true, Wait: product}, struct{}{}, newInputFirst)
	Register("matrix", "matrix arbiters, the least recently served first: inputs put one virtual channel forward, outputs choose",
		Traits{Iterates: true, Wait: product}, struct{}{}, newMatrix)
}

// aloneByPort bounds waiting if an input's virtual channels share a round robin for all outputs.
func aloneByPort(env Env) int {
	if env.VCs == 1 {
		return env.Ports
	}
	return 0
}

// separable arbitrates at the ports of one side, then at the ports of the other: a port of the
// first puts one of its requests forward, a port of the second takes one of the requests put
// forward to it. That is repeated among the ports not matched yet. Only what is matched in the
// first iteration of a step changes the state of arbiters between ports: a port that loses
// then keeps its turn.
type separable struct {
	matched
	env          Env
	outputsFirst bool
	// before tells, by side, whether request r goes before s, which asks for the same port.
	before [2]func(r, s *Request) bool
	// served notes that a request crosses.
	served          func(r *Request, first bool)
	forward, chosen []int // request + 1; 0: none. By port of the first side, and of the second
}

func newSeparable(env Env, outputsFirst bool) separable {
	return separable{matched: newMatched(env.Ports), env: env, outputsFirst: outputsFirst, forward: make([]int, env.Ports), chosen: make([]int, env.Ports)}
}

func (a *separable) Allocate(requests []Request, matches []int) []int {
	from := len(matches)
	for i := range a.env.Iterations {
		before := len(matches)
		for k := range requests {
			if a.free(&requests[k]) {
				a.offer(a.forward, 0, requests, k+1)
			}
		}
		for _, k := range a.forward {
			a.offer(a.chosen, 1, requests, k)
		}
		clear(a.forward)
		for _, k := range a.chosen {
			if k > 0 {
				a.take(&requests[k-1])
				matches = append(matches, k-1)
				a.served(&requests[k-1], i == 0)
			}
		}
		clear(a.chosen)
		if len(matches) == before {
			break
		}
	}
	a.release(requests, matches[from:])
	return matches
}

// offer lets the port of a side that request k-1 is for have it if it goes before the best so far.
func (a *separable) offer(best []int, side int, requests []Request, k int) {
	if k == 0 {
		return
	}
	r := &requests[k-1]
	port := r.Input
	if (side == 0) == a.outputsFirst {
		port = r.Output
	}
	if best[port] == 0 || a.before[side](r, &requests[best[port]-1]) {
		best[port] = k
	}
}

// islip is iSLIP (McKeown, "The iSLIP scheduling algorithm for input-queued switches", IEEE/ACM
// Transactions on Networking 7(2), 1999, section III): each output grants the request nearest to
// its round-robin pointer, each input accepts the grant nearest to its own, and pointers move one
// behind what was accepted in the first iteration.
//
// Deviation: a queue is a virtual channel, not one for each output, so that several virtual
// channels of an input may want one output. Of these, a round robin of the input decides, which
// moves with every flit of the first iteration. Since all outputs share it, a virtual channel can
// starve: of three, let the first and second always want one output, and the third another one. If
// the two outputs serve the input in turn, the round robin always stands before the first.
//
// With inputs first it is BookSim2's separable_input_first: each input puts the output next in its
// round robin forward, each output chooses.
//
// Waiting: with one virtual channel an input has one request and accepts every
// grant. The output's round robin reaches each of n inputs within n steps.
type islip struct {
	separable
	grant  []uint16 // by output, over inputs
	accept []uint16 // by input, over outputs
	vc     []uint16 // by input
}

func newISLIP(env Env, outputsFirst bool) Allocator {
	n, vcs := env.Ports, env.VCs
	a := &islip{newSeparable(env, outputsFirst), make([]uint16, n), make([]uint16, n), make([]uint16, n)}
	before := func(port func(r *Request) int) func(r, s *Request) bool {
		wait := func(r *Request) int { return port(r)*vcs + ahead(r.VC, a.vc[r.Input], vcs) }
		return func(r, s *Request) bool { return wait(r) < wait(s) }
	}
	a.before[0] = before(func(r *Request) int { return ahead(r.Input, a.grant[r.Output], n) })
	a.before[1] = before(func(r *Request) int { return ahead(r.Output, a.accept[r.Input], n) })
	if !outputsFirst {
		slices.Reverse(a.before[:])
	}
	a.served = func(r *Request, first bool) {
		if first {
			a.grant[r.Output], a.accept[r.Input], a.vc[r.Input] = r.Input+1, r.Output+1, r.VC+1
		}
	}
	return a
}

func (a *islip) Archive(s *snapshot.Archive) {
	snapshot.Array(s, "outputs", a.grant, snapshot.Int)
	snapshot.Array(s, "inputs", a.accept, snapshot.Int)
	snapshot.Array(s, "inputs", a.vc, snapshot.Int)
}

// inputFirst is the input-first separable allocator (Dally and Towles, Principles and Practices of
// Interconnection Networks, 2004, section 19.3): each input puts forward the virtual channel next
// in its round robin, each output takes the input next in its own. Round robins move behind what
// crosses in the first iteration, as in iSLIP.
//
// Waiting: what an input puts forward in the first iteration stays the same until it crosses,
// within n steps of its output's round robin (n ports); then the next virtual channel has its turn.
type inputFirst struct {
	separable
	grant []uint16 // by output, over inputs
	vc    []uint16 // by input
}

func newInputFirst(_ struct{}, env Env) Allocator {
	a := &inputFirst{newSeparable(env, false), make([]uint16, env.Ports), make([]uint16, env.Ports)}
	a.before[0] = func(r, s *Request) bool {
		return ahead(r.VC, a.vc[r.Input], env.VCs) < ahead(s.VC, a.vc[r.Input], env.VCs)
	}
	a.before[1] = func(r, s *Request) bool {
		return ahead(r.Input, a.grant[r.Output], env.Ports) < ahead(s.Input, a.grant[r.Output], env.Ports)
	}
	a.served = func(r *Request, first bool) {
		if first {
			a.grant[r.Output], a.vc[r.Input] = r.Input+1, r.VC+1
		}
	}
	return a
}

func (a *inputFirst) Archive(s *snapshot.Archive) {
	snapshot.Array(s, "outputs", a.grant, snapshot.Int)
	snapshot.Array(s, "inputs", a.vc, snapshot.Int)
}

// matrix is the input-first separable allocator with matrix arbiters (Dally and Towles,
// Principles and Practices of Interconnection Networks, 2004, sections 18.5 and 19.3):
// each input puts the least recently served of its virtual channels forward, each output
// takes the input that it has served least recently. At first, lower numbers go first.
//
// Deviations: what the matrix of priorities says is kept as the time of the last service, which
// orders alike. With several iterations, outputs remember whom they serve in the first one, as in
// iSLIP; inputs remember every virtual channel that crosses.
//
// Waiting: let request r wait, of virtual channel c of input i, among n ports and v virtual
// channels. Only virtual channels above c are put forward in its place, and each of them falls
// below c as it crosses: with r these are at most v requests. Whenever one of them is put forward
// for an output and loses, the winner was above i there and falls below. So each loses at most n-1
// times before it crosses, and together they take at most v*(n-1) + v = n*v steps.
//
// Memory: 8*n*(n+v) bytes.
type matrix struct {
	separable
	clock int64   // services so far
	last  []int64 // by output*ports + input: clock of the last service
	sent  []int64 // by input*vcs + vc
}

func newMatrix(_ struct{}, env Env) Allocator {
	n := env.Ports
	a := &matrix{newSeparable(env, false), 0, make([]int64, n*n), make([]int64, n*env.VCs)}
	sent := func(r *Request) *int64 { return &a.sent[int(r.Input)*env.VCs+int(r.VC)] }
	last := func(r *Request) *int64 { return &a.last[int(r.Output)*n+int(r.Input)] }
	a.before[0] = func(r, s *Request) bool { return *sent(r) < *sent(s) }
	a.before[1] = func(r, s *Request) bool { return *last(r) < *last(s) }
	a.served = func(r *Request, first bool) {
		a.clock++
		*sent(r) = a.clock
		if first {
			*last(r) = a.clock
		}
	}
	return a
}

func (a *matrix) Archive(s *snapshot.Archive) {
	snapshot.Int(s, &a.clock)
	snapshot.Array(s, "outputs and inputs", a.last, snapshot.Int)
	snapshot.Array(s, "virtual channels", a.sent, snapshot.Int)
}
