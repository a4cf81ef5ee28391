package fabric

// allocator is the scratch memory of the separable allocators, shared by all
// switches.
type allocator struct {
	requests []request
	chosen   []request
	outputs  []choice // by local output port, or output virtual channel
	inputs   []choice // by local input port, or queue
	touched  []int32  // entries of outputs in use
	granted  []int32  // entries of inputs in use
	places   []place  // by local queue, or local output virtual channel
	matched  []bool   // by local port: input (even) and output (odd) matched in an earlier iteration
}

// request is a queue's wish for an output: a local port, or a local output
// virtual channel with the others of the port that would do as well.
type request struct {
	local  int32
	output int32
	more   uint32
	port   int32 // of the queue
}

// choice is the candidate nearest to a round-robin pointer so far.
type choice struct {
	index    int32 // + 1; 0: none
	distance int32
}

// place is the local port and the virtual channel of a local queue.
type place struct{ port, vc uint16 }

func newAllocator(ports, vcs int32) allocator {
	n := (ports*vcs + 63) / 64 * 64
	a := allocator{
		requests: make([]request, 0, n), outputs: make([]choice, n), inputs: make([]choice, n),
		places: make([]place, n), matched: make([]bool, 2*ports),
	}
	for i := range ports * vcs {
		a.places[i] = place{uint16(i / vcs), uint16(i % vcs)}
	}
	return a
}

// improve makes index the choice if it is nearer than what was chosen, and
// lists self among the entries in use if it was empty.
func (c *choice) improve(used []int32, self, index, distance int32) []int32 {
	if c.index == 0 {
		used = append(used, self)
	} else if c.distance <= distance {
		return used
	}
	*c = choice{index + 1, distance}
	return used
}

// take returns the choice and empties the entry.
func (c *choice) take() int32 {
	i := c.index - 1
	c.index = 0
	return i
}
