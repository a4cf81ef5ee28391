package fabric

import (
	"math/bits"

	"github.com/weft-sim/weft/fabric/topology"
)

// allocator is the scratch memory of the separable allocators, shared by all
// switches: the best request seen so far for each local output virtual
// channel, output port and input port. Entries are cleared after use.
type allocator struct {
	vcRequest  []request // by local output virtual channel
	vcGranted  []request // by local queue
	outRequest []request // by local output port
	inGranted  []request // by local input port
	touched    []int32
	granted    []int32
	portOf     []int32 // local port of each local queue
	inTaken    []bool  // by local input port: matched in an earlier iteration
	outTaken   []bool
	taken      []int32
}

// request is a candidate: the smaller distance from the round-robin pointer
// wins.
type request struct {
	index    int32 // + 1; 0: none
	distance int32
}

func newAllocator(ports, vcs int32) allocator {
	a := allocator{
		vcRequest: make([]request, ports*vcs), vcGranted: make([]request, ports*vcs),
		outRequest: make([]request, ports), inGranted: make([]request, ports),
		portOf: make([]int32, ports*vcs), inTaken: make([]bool, ports), outTaken: make([]bool, ports),
	}
	for i := range a.portOf {
		a.portOf[i] = int32(i) / vcs
	}
	return a
}

// evaluate runs the steps of this cycle at switch s.
func (f *Fabric) evaluate(s int32) {
	sw := &f.switches[s]
	word0 := sw.queue0 >> 6
	m := f.masks[word0 : word0+sw.words]
	f.routeArrivals(sw, topology.SwitchID(s), m)
	for i := range f.steps.n {
		step := uint32(f.steps.first + int64(i))
		var va, sa uint64
		for w := range m {
			va |= m[w].va
		}
		if va != 0 {
			f.allocateVCs(sw, m, step)
		}
		for w := range m {
			sa |= m[w].sa
		}
		if sa != 0 {
			f.allocateSwitch(sw, m, step, i)
		}
	}
	for w := range m {
		if m[w].va|m[w].sa != 0 {
			return
		}
	}
	f.active[s>>6] &^= 1 << (s & 63)
}

// routeArrivals asks the routing about the packets that arrived in this
// cycle, input by input. All decisions of a cycle that read queue lengths see
// those of the cycle's beginning, plus, unless they are greedy, the decisions
// made before them at this switch.
func (f *Fabric) routeArrivals(sw *switchState, s topology.SwitchID, m []masks) {
	for w := range m {
		bitsLeft := m[w].route
		m[w].route = 0
		for ; bitsLeft != 0; bitsLeft &= bitsLeft - 1 {
			b := int32(bits.TrailingZeros64(bitsLeft))
			local := int32(w)<<6 + b
			v := &f.queues[sw.queue0+local]
			port := f.alloc.portOf[local]
			head := &f.head
			*head = Head{Switch: s, In: topology.PortID(sw.port0 + port), VC: uint8(local - port*int32(f.vcs))}
			if v.count > 1 {
				last := &f.pool[v.last-1]
				head.Dst, head.State = topology.TerminalID(last.dst), last.state&(1<<StateBits-1)
				last.hop = f.route(sw, head)
				last.state = last.state&^(1<<StateBits-1) | head.State
				continue
			}
			head.Dst, head.State = topology.TerminalID(v.dst), v.state&(1<<StateBits-1)
			v.hop = f.route(sw, head)
			v.state = v.state&^(1<<StateBits-1) | head.State
			v.ready = uint32(f.steps.first + int64(f.config.Switch.RouteCycles))
			m[w].va |= 1 << b
		}
	}
	f.countDecisions()
}

// route returns the routing's decision in the packed form of inVC.hop.
func (f *Fabric) route(sw *switchState, h *Head) uint32 {
	hop := f.routing.Route(&f.view, h)
	local := int32(hop.Port) - sw.port0
	vcs := hop.VCs & (1<<f.vcs - 1)
	if uint32(local) >= uint32(sw.ports) || vcs == 0 {
		f.badHop(h, hop)
	}
	if f.occupancy {
		f.countDecision(int32(hop.Port)*int32(f.vcs) + lowestVC(vcs))
	}
	return uint32(local)<<16 | vcs
}

// allocateVCs is virtual-channel allocation, one step: packets at the front of
// their queue ask for the free virtual channels that their routing allows;
// each grants the request nearest to its round-robin pointer, each packet
// accepts the grant nearest to its own (iSLIP with one iteration: McKeown
// 1999). Packets that find none free wait, unasked, until one is released.
func (f *Fabric) allocateVCs(sw *switchState, m []masks, step uint32) {
	a := &f.alloc
	vcs := int32(f.vcs)
	n := sw.ports * vcs
	a.touched = a.touched[:0]
	for w := range m {
		for left := m[w].va; left != 0; left &= left - 1 {
			b := int32(bits.TrailingZeros64(left))
			local := int32(w)<<6 + b
			q := sw.queue0 + local
			v := &f.queues[q]
			if int32(v.ready-step) > 0 {
				continue
			}
			port := int32(v.hop >> 16)
			o := &f.out[sw.port0+port]
			free := v.hop & o.free
			if f.cutThrough && free != 0 {
				free = f.roomFor(v, sw.port0+port, free)
			}
			if free == 0 {
				m[w].va &^= 1 << b
				f.waitNext[q] = o.waiters
				o.waiters = q + 1
				continue
			}
			for ; free != 0; free &= free - 1 {
				lov := port*vcs + int32(bits.TrailingZeros32(free))
				// The pointer stands behind the last owner.
				distance := local - (^f.outVC[sw.port0*vcs+lov].owner - sw.queue0) - 1
				if distance < 0 {
					distance += n
				}
				r := &a.vcRequest[lov]
				if r.index == 0 {
					a.touched = append(a.touched, lov)
				} else if r.distance <= distance {
					continue
				}
				*r = request{local + 1, distance}
			}
		}
	}
	a.granted = a.granted[:0]
	for _, lov := range a.touched {
		r := &a.vcRequest[lov]
		local := r.index - 1
		r.index = 0
		if vcMask := f.queues[sw.queue0+local].hop & 0xffff; vcMask&(vcMask-1) == 0 {
			f.takeVC(sw, m, local, lov, step)
			continue
		}
		distance := lov - f.acceptOV[sw.queue0+local]
		if distance < 0 {
			distance += n
		}
		g := &a.vcGranted[local]
		if g.index == 0 {
			a.granted = append(a.granted, local)
		} else if g.distance <= distance {
			continue
		}
		*g = request{lov + 1, distance}
	}
	for _, local := range a.granted {
		lov := a.vcGranted[local].index - 1
		a.vcGranted[local].index = 0
		f.takeVC(sw, m, local, lov, step)
		f.acceptOV[sw.queue0+local] = (lov + 1) % n
	}
}

// takeVC gives output virtual channel lov to the packet at the front of a
// queue.
func (f *Fabric) takeVC(sw *switchState, m []masks, local, lov int32, step uint32) {
	q, ov := sw.queue0+local, sw.port0*int32(f.vcs)+lov
	v := &f.queues[q]
	v.out = ov
	v.ready = step + uint32(f.config.Switch.VCAllocCycles)
	port := int32(v.hop >> 16)
	f.out[sw.port0+port].free &^= 1 << (lov - port*int32(f.vcs))
	o := &f.outVC[ov]
	o.owner = q
	w, bit := local>>6, uint64(1)<<(local&63)
	m[w].va &^= bit
	m[w].sa |= bit
}

// roomFor narrows a set of virtual channels behind a port to those with
// credits for the whole packet at the front of v (cut-through).
func (f *Fabric) roomFor(v *inVC, port int32, set uint32) uint32 {
	need := f.packets[v.packet>>packetBits].flits
	room := uint32(0)
	for left := set; left != 0; left &= left - 1 {
		vc := int32(bits.TrailingZeros32(left))
		if f.outVC[port*int32(f.vcs)+vc].credits >= need {
			room |= 1 << vc
		}
	}
	return room
}

// wakeWaiters lets the packets that wait for a virtual channel of a port ask
// again.
func (f *Fabric) wakeWaiters(o *outPort) {
	for q := o.waiters; q != 0; {
		f.masks[(q-1)>>6].va |= 1 << ((q - 1) & 63)
		next := f.waitNext[q-1]
		if next == 0 {
			f.activate((q - 1) >> 6)
		}
		q = next
	}
	o.waiters = 0
}
