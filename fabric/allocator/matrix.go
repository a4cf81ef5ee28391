package allocator

import "github.com/weft-sim/weft/sim/snapshot"

func init() {
	Register("matrix", "matrix arbiters, the least recently served first: inputs put one virtual channel forward, outputs choose",
		Traits{Iterates: true, Wait: product}, struct{}{}, newMatrix)
}

// matrix is the input-first separable allocator with matrix arbiters (Dally and Towles,
// Principles and Practices of Interconnection Networks, 2004, sections 18.5 and 19.3):
// each input puts the least recently served of its virtual channels forward, each output
// takes the input that it has served least recently. At first, lower numbers go first.
//
// Deviations: what the matrix of priorities says is kept as the time of the last
// service, which orders alike. With several iterations, outputs remember whom they
// serve in the first one, as in iSLIP; inputs remember every virtual channel that
// crosses.
//
// Waiting: let request r wait, of virtual channel c of input i, among n ports and v
// virtual channels. Only virtual channels above c are put forward in its place, and each
// of them falls below c as it crosses: with r these are at most v requests. Whenever one
// of them is put forward for an output and loses, the winner was above i there and falls
// below. So each loses at most n-1 times before an input i crosses there, and all of
// them together take at most v*(n-1) + v = n*v steps.
//
// Memory: 8*n*(n+v) bytes.
type matrix struct {
	iterated
	env             Env
	clock           int64
	served          []int64 // by output*ports + input: clock of the last service
	sent            []int64 // by input*vcs + vc
	forward, chosen []int   // request + 1; 0: none. By input, and by output
}

func newMatrix(_ struct{}, env Env) Allocator {
	n := env.Ports
	a := &matrix{iterated: newIterated(env), env: env, served: make([]int64, n*n), sent: make([]int64, n*env.VCs), forward: make([]int, n), chosen: make([]int, n)}
	a.round = a.play
	return a
}

func (a *matrix) play(requests []Request, matches []int, first bool) []int {
	a.clock++
	for k := range requests {
		if r := &requests[k]; a.free(r) {
			if best := a.forward[r.Input]; best == 0 || *a.lastSent(r) < *a.lastSent(&requests[best-1]) {
				a.forward[r.Input] = k + 1
			}
		}
	}
	for _, k := range a.forward {
		if k == 0 {
			continue
		}
		r := &requests[k-1]
		if best := a.chosen[r.Output]; best == 0 || *a.lastServed(r) < *a.lastServed(&requests[best-1]) {
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
		*a.lastSent(r) = a.clock
		if first {
			*a.lastServed(r) = a.clock
		}
	}
	clear(a.chosen)
	return matches
}

// lastSent is when a request's virtual channel was served last.
func (a *matrix) lastSent(r *Request) *int64 { return &a.sent[int(r.Input)*a.env.VCs+int(r.VC)] }

// lastServed is when a request's output served its input last.
func (a *matrix) lastServed(r *Request) *int64 {
	return &a.served[int(r.Output)*a.env.Ports+int(r.Input)]
}

// Archive implements [Allocator].
func (a *matrix) Archive(s *snapshot.Archive) {
	snapshot.Int(s, &a.clock)
	snapshot.Array(s, "outputs and inputs", a.served, snapshot.Int)
	snapshot.Array(s, "virtual channels", a.sent, snapshot.Int)
}
