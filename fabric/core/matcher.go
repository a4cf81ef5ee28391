package core

import (
	"github.com/weft-sim/weft/sim/check"
)

// matcher plays out the round robins of allocation, for one switch after the other. All its numbers
// are the switch's own; it decides by the records of the switch's ports.
type matcher struct {
	vcs                  int32
	inputFirst           bool
	requests             []Request // len = queues of the largest switch
	rivals               []Request // likewise: those that meet others
	refusals             []refusal // likewise
	refused              uint32    // of refusals, in the step at hand
	chosen               []Request // likewise
	matches              []Request // len = ports of the largest switch
	outputs              []choice  // by output port, or output virtual channel
	inputs               []choice  // by input port, or queue
	touched              []uint32  // entries of outputs in use, with a place more than there are
	granted              []uint32  // entries of inputs in use, likewise
	contested            []uint32  // output virtual channels that several packets have asked for in this step, and nothing else
	Places               []place   // by queue, or output virtual channel
	origins              []Request // by queue: its requests for the crossbar, but for the output port
	routed               int       // packets routed in this step, of a large fabric: from and to which ports
	routedFrom, routedTo []int32
	matched              []bool // by port: input (even) and output (odd) matched in an earlier iteration
}

// choice is the candidate nearest to a round-robin pointer so far.
type choice struct {
	index    uint32 // + 1; 0: none
	distance int32
}

func newMatcher(ports, vcs int32, inputFirst bool) matcher {
	n := (ports*vcs + 63) / 64 * 64
	m := matcher{
		vcs: vcs, inputFirst: inputFirst,
		requests: make([]Request, n), rivals: make([]Request, n), refusals: make([]refusal, n), chosen: make([]Request, 0, n), matches: make([]Request, 0, ports), outputs: make([]choice, n), inputs: make([]choice, n), touched: make([]uint32, 0, n+1), granted: make([]uint32, 0, n+1),
		Places: make([]place, n), origins: make([]Request, n), matched: make([]bool, 2*ports), routedFrom: make([]int32, n), routedTo: make([]int32, n),
	}
	for i := range ports * vcs {
		m.Places[i] = place{uint16(i / vcs), uint16(i % vcs)}
		m.origins[i] = newRequest(uint32(i), uint32(i/vcs)<<16)
	}
	return m
}

// improve makes index the choice if it is nearer, and lists self as number n of the entries in use,
// which it counts, if the entry was empty. It has no branches, which would be unpredictable.
func (c *choice) improve(used check.Array[uint32], n, self, index uint32, distance int32) uint32 {
	empty := uint32(int32(c.index-1) >> 31)
	nearer := uint32((distance-c.distance)>>31) | empty
	*used.At(n) = self
	c.index ^= (c.index ^ (index + 1)) & nearer
	c.distance ^= (c.distance ^ distance) & int32(nearer)
	return n + empty&1
}

func (c *choice) take() uint32 {
	i := c.index - 1
	c.index = 0
	return i
}

// match is one iteration of the round robins: it appends the requests that they choose to matches.
func (m *matcher) match(sw *SwitchState, rivals, matches []Request) []Request {
	m.grantOutputs(sw, rivals)
	m.acceptInputs(sw)
	inputs, outputs := check.Of(m.inputs), check.Of(m.outputs)
	for _, port := range m.granted {
		output := inputs.At(port).take()
		matches = append(matches, newRequest(outputs.At(output).take(), port<<16|output))
	}
	for _, output := range m.touched { // granted in vain
		outputs.At(output).index = 0
	}
	return matches
}

// matchPair is match, the allocator granting first, for two requests that share their output, input
// or both, with up to 64 ports. Most rivals are two, and which is nearer is unpredictable: no
// branches.
func (m *matcher) matchPair(sw *SwitchState, a, b Request) Request {
	sameOutput := int32(a.Output()^b.Output()-1) >> 31 // -1, or else 0
	granted := (grantDistance(sw, a)-grantDistance(sw, b))*m.vcs + m.vcDistance(sw, a) - m.vcDistance(sw, b)
	accepted := acceptDistance(sw, a) - acceptDistance(sw, b)
	nearer := (accepted ^ (accepted^granted)&sameOutput) >> 31 // -1: a
	return b ^ (a^b)&Request(int64(nearer))
}

// grantDistance is how far a request's input is from its output's round-robin pointer. At equal
// distance virtual channels decide ([matcher.vcDistance]).
func grantDistance(sw *SwitchState, r Request) int32 {
	return ahead(int32(r.Port())-int32(sw.OutPort(r.Output()).grant), sw.Ports)
}

// acceptDistance is how far a request's output is from the round-robin pointer of its input.
func acceptDistance(sw *SwitchState, r Request) int32 {
	return ahead(int32(r.Output())-int32(sw.inPort(r.Port()).accept), sw.Ports)
}

func ahead(difference, n int32) int32 { return difference + n&(difference>>31) }

// unmatched keeps the requests whose input and output are both free.
func (m *matcher) unmatched(requests []Request) []Request {
	kept := requests[:0]
	for _, r := range requests {
		if !m.matched[2*r.Port()] && !m.matched[2*r.Output()+1] {
			kept = append(kept, r)
		}
	}
	return kept
}

// grantOutputs lets each output port choose among the requests for it.
func (m *matcher) grantOutputs(sw *SwitchState, rivals []Request) {
	if m.inputFirst {
		rivals = m.putForward(sw, rivals)
	}
	outputs, touched, n := check.Of(m.outputs), check.Of(m.touched[:cap(m.touched)]), uint32(0)
	for _, r := range rivals {
		n = outputs.At(r.Output()).improve(touched, n, r.Output(), r.Local(), grantDistance(sw, r)*m.vcs+m.vcDistance(sw, r))
	}
	m.touched = m.touched[:n]
}

// putForward keeps one request of each input port: that of the virtual channel next in its round
// robin.
func (m *matcher) putForward(sw *SwitchState, rivals []Request) []Request {
	inputs, granted, n := check.Of(m.inputs), check.Of(m.granted[:cap(m.granted)]), uint32(0)
	for k, r := range rivals {
		n = inputs.At(r.Port()).improve(granted, n, r.Port(), uint32(k), m.vcDistance(sw, r))
	}
	chosen := m.chosen[:0]
	for _, port := range m.granted[:n] {
		chosen = append(chosen, rivals[m.inputs[port].take()])
	}
	m.chosen = chosen
	return chosen
}

// vcDistance is how far a request's virtual channel is from its input's round-robin pointer.
func (m *matcher) vcDistance(sw *SwitchState, r Request) int32 {
	return ahead(int32(r.Local())-int32(r.Port())*m.vcs-int32(sw.inPort(r.Port()).vc), m.vcs)
}

// acceptInputs lets each input port choose among the outputs that granted it.
func (m *matcher) acceptInputs(sw *SwitchState) {
	inputs, outputs, places := check.Of(m.inputs), check.Of(m.outputs), check.Of(m.Places)
	granted, n := check.Of(m.granted[:cap(m.granted)]), uint32(0)
	for _, output := range m.touched {
		port := uint32(places.At(outputs.At(output).index - 1).Port)
		distance := ahead(int32(output)-int32(sw.inPort(port).accept), sw.Ports)
		n = inputs.At(port).improve(granted, n, port, output, distance)
	}
	m.granted = m.granted[:n]
}

func (m *matcher) refuse(local uint32, why Part) {
	*check.At(m.refusals, m.refused) = refusal{local, why}
	m.refused++
}
