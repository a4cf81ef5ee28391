package allocator

import "github.com/weft-sim/weft/sim/snapshot"

// Env is the switch that an allocator is made for.
type Env struct {
	Ports, VCs int // at least 1 each
	// Iterations is how often an allocator that iterates matches among what is
	// left, in one step; at least 1.
	Iterations int
	// Switch is the number of the switch, and Seed that of the run: an allocator that draws
	// has a stream sim.NewStream(Seed, "its name", Switch), which it archives.
	Switch int
	Seed   uint64
}

// Request is the wish of the flit at the front of a queue to cross the switch in
// this step. Ports and virtual channels are counted from 0.
type Request struct {
	Input, VC, Output uint16
	// Born is the cycle in which the flit's packet was born; 0 unless the allocator
	// is registered with [Traits].Ages.
	Born int64
	// Queued is the number of flits in that queue, this one included; 0 unless the
	// allocator is registered with [Traits].Queues.
	Queued int32
}

// Allocator chooses for one switch. It keeps what it remembers of earlier steps,
// such as round-robin pointers.
type Allocator interface {
	// Allocate appends to matches the indices of the requests that cross in this
	// step, no two of one input or of one output. Requests are in ascending order of
	// input and virtual channel, at most one of each queue, and there is at least
	// one. A request that is not chosen comes again in the next step, unless its flit
	// loses its credit or its room meanwhile. Allocate is called only in steps with
	// requests, and must not allocate memory.
	Allocate(requests []Request, matches []int) []int
	// Archive writes what it remembers, or reads it into an allocator of the same Env.
	Archive(a *snapshot.Archive)
}

// matched notes which ports are matched in a step.
type matched struct{ inputs, outputs []bool }

func newMatched(ports int) matched { return matched{make([]bool, ports), make([]bool, ports)} }

// free tells whether a request's input and output both are.
func (m *matched) free(r *Request) bool { return !m.inputs[r.Input] && !m.outputs[r.Output] }

func (m *matched) take(r *Request) { m.inputs[r.Input], m.outputs[r.Output] = true, true }

// release frees the ports of the matches of a step.
func (m *matched) release(requests []Request, matches []int) {
	for _, k := range matches {
		m.inputs[requests[k].Input], m.outputs[requests[k].Output] = false, false
	}
}

// ahead is how far position is in front of a round-robin pointer on a ring of size
// n. A pointer stands one behind the last choice; n means 0.
func ahead(position, pointer uint16, n int) int {
	if position < pointer {
		return int(position) - int(pointer) + n
	}
	return int(position) - int(pointer)
}
