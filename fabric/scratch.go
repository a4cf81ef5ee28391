package fabric

// scratch is the memory that allocation works in, shared by all
// switches. Everything in it is in a switch's own numbers.
type scratch struct {
	requests             []request // len = queues of the largest switch
	rivals               []request // likewise: those that meet others
	refusals             []refusal // likewise
	chosen               []request // likewise
	matches              []request // len = ports of the largest switch
	outputs              []choice  // by output port, or output virtual channel
	inputs               []choice  // by input port, or queue
	touched              []uint32  // entries of outputs in use
	granted              []uint32  // entries of inputs in use
	places               []place   // by queue, or output virtual channel
	routed               int       // packets routed in this step, of a large fabric: from and to which ports
	routedFrom, routedTo []int32
	matched              []bool // by port: input (even) and output (odd) matched in an earlier iteration
}

// request is the wish of the flit or packet at the front of a queue: for an
// output port or, in virtual-channel allocation, for one of some virtual
// channels of an output port. Packed, since allocation is little else than
// lists of requests.
type request uint64

// newRequest packs a queue with, in virtual-channel allocation, an output port
// and a set of its virtual channels or, in switch allocation, an input and an
// output port.
func newRequest(local, ports uint32) request { return request(local)<<32 | request(ports) }

func (r request) local() uint32  { return uint32(r >> 32) }
func (r request) port() uint32   { return uint32(r) >> 16 }         // switch allocation: of the input
func (r request) output() uint32 { return uint32(r) & (1<<16 - 1) } // switch allocation
func (r request) free() uint32   { return uint32(r) & (1<<16 - 1) } // virtual-channel allocation

// choice is the candidate nearest to a round-robin pointer so far.
type choice struct {
	index    uint32 // + 1; 0: none
	distance int32
}

// place is the port and the virtual channel of a queue.
type place struct{ port, vc uint16 }

func newScratch(ports, vcs int32) scratch {
	n := (ports*vcs + 63) / 64 * 64
	a := scratch{
		requests: make([]request, n), rivals: make([]request, n), refusals: make([]refusal, n), chosen: make([]request, 0, n), matches: make([]request, 0, ports), outputs: make([]choice, n), inputs: make([]choice, n),
		places: make([]place, n), matched: make([]bool, 2*ports), routedFrom: make([]int32, n), routedTo: make([]int32, n),
	}
	for i := range ports * vcs {
		a.places[i] = place{uint16(i / vcs), uint16(i % vcs)}
	}
	return a
}

// improve makes index the choice if it is nearer than what was chosen, and
// lists self among the entries in use if it was empty.
func (c *choice) improve(used []uint32, self, index uint32, distance int32) []uint32 {
	if c.index == 0 {
		used = append(used, self)
	} else if c.distance <= distance {
		return used
	}
	*c = choice{index + 1, distance}
	return used
}

// take returns the choice and empties the entry.
func (c *choice) take() uint32 {
	i := c.index - 1
	c.index = 0
	return i
}
