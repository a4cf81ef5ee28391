package core

import (
	"math"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
)

// sensing is credit round-trip sensing (Kim, Dally, Scott and Abts, ISCA 2008, section 4.3.2). For
// every output O, and there for every virtual channel, a switch measures t_crt(O), the time from a
// flit's grant until its credit is back, and takes t_d(O) = t_crt(O) - t_crt0(O) for the congestion
// behind O. The credit of a flit that leaves by O is sent upstream late, by t_d(O) less the
// smallest t_d of the switch, so that the buffers upstream seem shallower and congestion is felt
// earlier. Credits over the channel classes of credits_undelayed are never late, which keeps the
// mechanism free of cycles. Late credits join their input's queue in time (heldCredit).
//
// Minimal and Valiant flits leave an output on virtual channels of their own, and only minimal ones
// meet congestion: one t_crt a port would belong to whichever was timed last.
//
// Credits that are late do little by being late: eight switches of a group share a congested global
// channel, so one of them sends it 1/8 flit a cycle, its terminals 1/32 each, and those would run
// out of 256 credits only if these were 8,000 cycles late; figure 16 has congestion felt within
// tens of cycles. What makes buffers "appear shallower" there is that a slot counts as occupied
// until its credit is sent: see [fabric.Needs].HeldSlots.
//
// Deviations: the paper's switch stamps every flit in flight; here one flit of each virtual channel
// is timed at a time. t_crt0 is the shortest round trip so far. Outputs to terminals have no
// credits, and are left out of the smallest t_d.
//
// Every hop passes here twice, with a flit and with its credit; which are timed, and what they
// show, is unpredictable. So both ways have branches for rare cases only, and the smallest t_d, 0
// unless all ports of the switch are congested, is not kept but known by a witness.
type sensing struct {
	probes  []probe // by output virtual channel of switches
	witness []int32 // by a switch's first port: output virtual channel that may show that the smallest t_d is 0
	delayed []int32 // by port: all bits set if credits over its channel may be late, otherwise none
}

// probe times one flit of an output virtual channel: its credit comes after ahead-1 others. 16
// bytes.
type probe struct {
	sent  uint32 // cycle, its low bits: a credit is back within 2^31
	ahead int32  // not above 0: none is timed
	trip  int32  // t_crt in cycles; 0: not measured yet
	idle  int32  // t_crt0 of its port in cycles; 0: not measured yet
}

// newSensing prepares the sensing of n.
func newSensing(n *network) *sensing {
	ports := n.graph.NumPorts()
	s := &sensing{probes: make([]probe, ports*n.vcs), witness: make([]int32, ports), delayed: make([]int32, ports)}
	for p := range ports {
		if class := n.graph.Classes[n.graph.PortClass[p]].Name; !slices.Contains(n.Config.Switch.CreditsUndelayed, class) {
			s.delayed[p] = -1
		}
	}
	for i := range n.Switches {
		s.findLeast(n, n.Switches[i].Port0)
	}
	return s
}

// time notes a flit granted in cycle c; outstanding counts its virtual channel's credits under way,
// with its own.
func (p *probe) time(outstanding int32, c int64) {
	sent, ahead := p.sent, p.ahead
	if ahead <= 0 {
		sent = uint32(c)
	}
	if ahead <= 0 {
		ahead = outstanding
	}
	p.sent, p.ahead = sent, ahead
}

// granted notes a flit that crosses in cycle c to output virtual channel ov of the switch with
// first port port0, with its own among the credits outstanding, and returns by how many cycles its
// credit over input port in is late.
func (s *sensing) granted(n *network, port0, in, ov, outstanding int32, c int64) int64 {
	p := &s.probes[ov]
	p.time(outstanding, c)
	late := s.late(p, in)
	if s.allCongested(port0) {
		late = max(0, late-s.findLeast(n, port0))
	}
	return late
}

// late is the delay in cycles of the credit over input port in of a flit that p watches, for a
// smallest t_d of 0.
func (s *sensing) late(p *probe, in int32) int64 {
	return int64(max(0, (p.trip-p.idle)&s.delayed[in]))
}

// allCongested tells whether the smallest t_d of the switch with first port port0 may be above 0:
// [sensing.late] is too much by it.
func (s *sensing) allCongested(port0 int32) bool {
	w := &s.probes[s.witness[port0]]
	return w.trip != w.idle
}

// returned notes that credits of some virtual channels came back in cycle c.
func (s *sensing) returned(n *network, ovs []int32, c int64) {
	for _, ov := range ovs {
		if int(ov) >= len(s.probes) {
			continue // a terminal's
		}
		p := &s.probes[ov]
		ahead, trip, took := p.ahead-1, p.trip, int32(uint32(c)-p.sent)
		if ahead == 0 {
			trip = took
		}
		p.ahead, p.trip = ahead, trip
		if uint32(trip-1) < uint32(p.idle-1) { // 0 is above all
			for i := range s.ofPort(n, ov/int32(n.vcs)) {
				s.ofPort(n, ov/int32(n.vcs))[i].idle = trip
			}
		}
	}
}

// findLeast is the smallest t_d of a switch's ports to switches. A port's own is the smallest of
// the virtual channels that it has sent on; 0 without any.
func (s *sensing) findLeast(n *network, port0 int32) int64 {
	least := int32(math.MaxInt32)
	first, end := n.graph.Ports(n.graph.PortSwitch[port0])
	for port := first; port < end; port++ {
		if n.graph.Peer[port] < 0 {
			continue
		}
		for vc, p := range s.ofPort(n, int32(port)) {
			if p.trip == p.idle { // 0 both before the port has sent
				s.witness[port0] = n.ov(port, vc)
				return 0
			}
			if p.trip > 0 {
				least = min(least, p.trip-p.idle)
			}
		}
	}
	return int64(least)
}

// ofPort are the probes of a port's virtual channels.
func (s *sensing) ofPort(n *network, port int32) []probe {
	return s.probes[n.ov(topology.PortID(port), 0):n.ov(topology.PortID(port+1), 0)]
}
