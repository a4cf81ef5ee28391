package core

import (
	"github.com/weft-sim/weft/fabric/allocator"
)

// matcher plays out the round robins of allocation, for one switch after the other, and
// has the memory that allocation works in. Everything in it is in a switch's own
// numbers; what it decides by is in the records of the switch's ports.
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
	touched              []uint32  // entries of outputs in use
	granted              []uint32  // entries of inputs in use
	contested            []uint32  // output virtual channels that several packets have asked for in this step, and nothing else
	Places               []place   // by queue, or output virtual channel
	origins              []Request // by queue: its requests for the crossbar, but for the output port
	routed               int       // packets routed in this step, of a large fabric: from and to which ports
	routedFrom, routedTo []int32
	matched              []bool // by port: input (even) and output (odd) matched in an earlier iteration
}

// Request is the wish of the flit or packet at the front of a queue: for an
// output port or, in virtual-channel allocation, for one of some virtual
// channels of an output port. Packed, since allocation is little else than
// lists of requests.
type Request uint64

// newRequest packs a queue with, in virtual-channel allocation, an output port
// and a set of its virtual channels or, in switch allocation, an input and an
// output port.
func newRequest(local, ports uint32) Request { return Request(local)<<32 | Request(ports) }

func (r Request) Local() uint32  { return uint32(r >> 32) }
func (r Request) Port() uint32   { return uint32(r) >> 16 }         // switch allocation: of the input
func (r Request) Output() uint32 { return uint32(r) & (1<<16 - 1) } // switch allocation
func (r Request) free() uint32   { return uint32(r) & (1<<16 - 1) } // virtual-channel allocation

// choice is the candidate nearest to a round-robin pointer so far.
type choice struct {
	index    uint32 // + 1; 0: none
	distance int32
}

// place is the port and the virtual channel of a queue.
type place struct{ Port, vc uint16 }

func newMatcher(ports, vcs int32, inputFirst bool) matcher {
	n := (ports*vcs + 63) / 64 * 64
	m := matcher{
		vcs: vcs, inputFirst: inputFirst,
		requests: make([]Request, n), rivals: make([]Request, n), refusals: make([]refusal, n), chosen: make([]Request, 0, n), matches: make([]Request, 0, ports), outputs: make([]choice, n), inputs: make([]choice, n),
		Places: make([]place, n), origins: make([]Request, n), matched: make([]bool, 2*ports), routedFrom: make([]int32, n), routedTo: make([]int32, n),
	}
	for i := range ports * vcs {
		m.Places[i] = place{uint16(i / vcs), uint16(i % vcs)}
		m.origins[i] = newRequest(uint32(i), uint32(i/vcs)<<16)
	}
	return m
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

// match is one iteration of the round robins: it appends to matches what they
// choose from some requests.
func (m *matcher) match(sw *SwitchState, rivals, matches []Request) []Request {
	m.grantOutputs(sw, rivals)
	m.acceptInputs(sw)
	for _, port := range m.granted {
		output := m.inputs[port].take()
		matches = append(matches, newRequest(m.outputs[output].take(), port<<16|output))
	}
	for _, output := range m.touched { // granted in vain
		m.outputs[output].index = 0
	}
	return matches
}

// matchPair is match, the allocator granting first, for two requests that share
// their output, their input or both, as they do with up to 64 ports. Two are what
// most rivals are, and which of them is nearer nothing predicts: there are no
// branches.
func (m *matcher) matchPair(sw *SwitchState, a, b Request) Request {
	sameOutput := int32(a.Output()^b.Output()-1) >> 31 // -1, or else 0
	granted := m.grantDistance(sw, a) - m.grantDistance(sw, b)
	accepted := acceptDistance(sw, a) - acceptDistance(sw, b)
	nearer := (accepted ^ (accepted^granted)&sameOutput) >> 31 // -1: a
	return b ^ (a^b)&Request(int64(nearer))
}

// grantDistance is how far a request is from the round-robin pointer of its
// output.
func (m *matcher) grantDistance(sw *SwitchState, r Request) int32 {
	return ahead(int32(r.Port())-int32(sw.OutPort(r.Output()).grant), sw.Ports)*m.vcs + m.vcDistance(sw, r)
}

// acceptDistance is how far a request's output is from the round-robin pointer of
// its input.
func acceptDistance(sw *SwitchState, r Request) int32 {
	return ahead(int32(r.Output())-int32(sw.inPort(r.Port()).accept), sw.Ports)
}

// ahead is a difference of positions on a ring of size n as a number from 0 on.
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
	m.touched = m.touched[:0]
	for _, r := range rivals {
		m.touched = m.outputs[r.Output()].improve(m.touched, r.Output(), r.Local(), m.grantDistance(sw, r))
	}
}

// putForward keeps one request of each input port: that of the virtual channel
// next in its round robin.
func (m *matcher) putForward(sw *SwitchState, rivals []Request) []Request {
	m.granted = m.granted[:0]
	for k, r := range rivals {
		m.granted = m.inputs[r.Port()].improve(m.granted, r.Port(), uint32(k), m.vcDistance(sw, r))
	}
	chosen := m.chosen[:0]
	for _, port := range m.granted {
		chosen = append(chosen, rivals[m.inputs[port].take()])
	}
	m.chosen = chosen
	return chosen
}

// vcDistance is how far a request's virtual channel is from its input's
// round-robin pointer.
func (m *matcher) vcDistance(sw *SwitchState, r Request) int32 {
	return ahead(int32(m.Places[r.Local()].vc)-int32(sw.inPort(r.Port()).vc), m.vcs)
}

// acceptInputs lets each input port choose among the outputs that granted it.
func (m *matcher) acceptInputs(sw *SwitchState) {
	m.granted = m.granted[:0]
	for _, output := range m.touched {
		port := uint32(m.Places[m.outputs[output].index-1].Port)
		distance := ahead(int32(output)-int32(sw.inPort(port).accept), sw.Ports)
		m.granted = m.inputs[port].improve(m.granted, port, output, distance)
	}
}

// neverTuned, which only tests set, lets the registered allocators do what
// allocateSwitch can itself.
var neverTuned bool

// newAllocators makes the allocators of all switches; nil where allocateSwitch does
// without: iSLIP and input-first are played out by allocateSwitch itself, on the records
// of ports.
func newAllocators(n *network) ([]allocator.Allocator, error) {
	chosen := &n.Config.Switch.Allocator
	name := chosen.Name()
	if (name == allocator.ISLIP || name == allocator.InputFirst) && !neverTuned {
		return nil, nil
	}
	bySwitch := make([]allocator.Allocator, len(n.Switches))
	for s := range n.Switches {
		env := allocator.Env{Ports: max(1, int(n.Switches[s].Ports)), VCs: n.vcs, Iterations: n.Config.Switch.Iterations, Switch: s, Seed: n.seed}
		var err error
		if bySwitch[s], err = chosen.Build(env); err != nil {
			return nil, err
		}
	}
	return bySwitch, nil
}

// registered is the memory that switch allocation by registered allocators works in.
type registered struct {
	reads    allocator.Traits
	requests []allocator.Request
	matches  []int
	chosen   []Request
}

func newRegistered(d *Domain) *registered {
	n := len(d.Matcher.requests)
	return &registered{allocator.TraitsOf(d.Config.Switch.Allocator.Name()), make([]allocator.Request, n), make([]int, 0, n), make([]Request, 0, n)}
}

// matchRegistered lets the registered allocator of a switch choose among some requests, and sends
// what it chose through the crossbar.
func (d *Domain) matchRegistered(sw *SwitchState, requests []Request, t *StepTime) {
	a := d.registered
	if len(requests) == 0 {
		return
	}
	for i, r := range requests {
		local := r.Local()
		a.requests[i] = allocator.Request{Input: uint16(r.Port()), VC: d.Matcher.Places[local].vc, Output: uint16(r.Output())}
		if a.reads.Ages {
			a.requests[i].Born = d.Packet(sw.Queue(local).Packet >> PacketBits).Birth
		}
		if a.reads.Queues {
			a.requests[i].Queued = sw.Queue(local).Count
		}
	}
	a.matches = d.allocators[d.WordSwitch[sw.Queue0>>6]].Allocate(a.requests[:len(requests)], a.matches[:0])
	a.chosen = a.chosen[:0]
	for _, k := range a.matches {
		a.chosen = append(a.chosen, requests[k])
	}
	d.cross(d, sw, a.chosen, t, false)
}
