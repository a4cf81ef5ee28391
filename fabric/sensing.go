package fabric

import (
	"math"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
)

// CreditSenser is implemented by routings that rely on credit round-trip
// sensing; they switch it on where switch.credit_sensing is "auto".
type CreditSenser interface{ SensesCredits() bool }

// sensing is credit round-trip sensing (Kim, Dally, Scott and Abts, ISCA 2008,
// section 4.3.2). For every output O, and there for every virtual channel, a
// switch measures t_crt(O), the time from a flit's grant until its credit is
// back, and takes t_d(O) = t_crt(O) -
// t_crt0(O) for the congestion behind O. The credit of a flit that leaves by O
// is sent upstream late, by t_d(O) less the smallest t_d of the switch, so that
// the buffers upstream seem shallower and congestion is felt earlier. Credits
// over the channel classes of credits_undelayed are never late, which keeps
// the mechanism free of cycles.
//
// Minimal and Valiant flits that leave by the same output do so on virtual
// channels of their own, and only the minimal ones meet congestion: one t_crt a
// port would be that of whichever was timed last.
//
// Credits that are late do little by being late: eight switches of a group share
// a congested global channel, so one of them sends it 1/8 flit a cycle, its
// terminals 1/32 each, and those would run out of 256 credits only if these were
// 8,000 cycles late; figure 16 has congestion felt within tens of cycles. What
// makes buffers "appear shallower" there is that a slot counts as occupied until
// its credit is sent: see [SlotCounter].
//
// Deviations: the paper's switch keeps a time stamp for every flit in flight;
// here one flit of each virtual channel is timed at a time, the next when its
// credit is back. t_crt0 is the shortest round trip measured so far. Outputs to
// terminals have no credits and are left out of the smallest t_d.
//
// Every hop passes here twice, so what it needs is kept ready: t_d of each output
// virtual channel with its probe, and by input port what is to be taken from it.
// Both change only when a round trip is not what the last one was.
type sensing struct {
	probes  []probe // by output virtual channel of switches
	idle    []int32 // by port: t_crt0 in cycles
	excess  []int32 // by port: smallest t_d of the virtual channels that it has sent on; 0: of none; MaxInt32: to a terminal
	least   []int32 // by switch: smallest excess of its ports
	onTime  []int32 // by port: t_d up to which credits over its channel are on time: least, or MaxInt32 where they are never late
	delayed []bool  // by port: credits over its channel may be late
}

// probe times one flit of an output virtual channel: its credit is the one that
// comes back after ahead-1 others. 16 bytes.
type probe struct {
	sent   uint32 // cycle, its low bits: a credit is back within 2^31
	ahead  int32  // not above 0: none is timed
	trip   int32  // t_crt in cycles; 0: not measured yet
	excess int32  // t_d
}

// newSensing prepares the sensing of f.
func newSensing(f *Fabric) *sensing {
	ports := f.graph.NumPorts()
	s := &sensing{
		probes: make([]probe, ports*f.vcs), idle: make([]int32, ports), excess: make([]int32, ports),
		least: make([]int32, len(f.switches)), onTime: make([]int32, ports), delayed: make([]bool, ports),
	}
	for p := range ports {
		class := f.graph.Classes[f.graph.PortClass[p]].Name
		s.delayed[p] = !slices.Contains(f.config.Switch.CreditsUndelayed, class)
		if !s.delayed[p] {
			s.onTime[p] = math.MaxInt32
		}
		if f.graph.Peer[p] < 0 {
			s.excess[p] = math.MaxInt32
		}
		s.idle[p] = math.MaxInt32
	}
	return s
}

// crossing notes that a flit is granted output virtual channel ov in cycle c;
// outstanding credits, its own included, are on their way. It returns by how
// many cycles the flit's own credit, over input port in, is sent late.
func (s *sensing) crossing(in, ov, outstanding int32, c int64) int64 {
	p := &s.probes[ov]
	if p.ahead <= 0 {
		p.sent, p.ahead = uint32(c), outstanding
	}
	return int64(max(0, p.excess-s.onTime[in]))
}

// returned notes that credits of some virtual channels came back in cycle c.
func (s *sensing) returned(f *Fabric, ovs []int32, c int64) {
	for _, ov := range ovs {
		if int(ov) >= len(s.probes) {
			continue // a terminal's
		}
		p := &s.probes[ov]
		if p.ahead--; p.ahead != 0 {
			continue
		}
		if took := int32(uint32(c) - p.sent); took != p.trip {
			s.measured(f, ov, took)
		}
	}
}

// measured takes in a round trip that is not what the last one was.
func (s *sensing) measured(f *Fabric, ov, took int32) {
	port := ov / int32(f.vcs)
	p := &s.probes[ov]
	before, least := p.excess, s.excess[port]
	p.trip, p.excess = took, took-s.idle[port]
	switch {
	case p.excess < 0: // the shortest so far, so that all of the port's are longer
		s.idle[port] = took
		probes := s.ofPort(f, port)
		for i := range probes {
			probes[i].excess = max(0, probes[i].trip-took)
		}
		least = 0
	case p.excess <= least:
		least = p.excess
	case before > least:
		return
	default: // it may have been the port's smallest
		least = p.excess
		for _, q := range s.ofPort(f, port) {
			if q.trip > 0 {
				least = min(least, q.excess)
			}
		}
	}
	if least != s.excess[port] {
		s.excess[port] = least
		s.findLeast(f, f.graph.PortSwitch[port])
	}
}

// ofPort are the probes of a port's virtual channels.
func (s *sensing) ofPort(f *Fabric, port int32) []probe {
	return s.probes[f.ov(topology.PortID(port), 0):f.ov(topology.PortID(port+1), 0)]
}

// findLeast renews the smallest t_d of a switch's ports to other switches. A
// port that has sent nothing has none: 0.
func (s *sensing) findLeast(f *Fabric, sw topology.SwitchID) {
	least := int32(math.MaxInt32)
	first, end := f.graph.Ports(sw)
	for _, excess := range s.excess[first:end] {
		if least = min(least, excess); least == 0 {
			break
		}
	}
	if least == s.least[sw] {
		return
	}
	s.least[sw] = least
	for p := first; p < end; p++ {
		if s.delayed[p] {
			s.onTime[p] = least
		}
	}
}

// CreditRoundTrip is t_crt of port p in cycles, the time that the last timed
// flit's credit took to come back, and t_d, by how much that exceeds the
// shortest one seen. Both are 0 where credit sensing is off or has not
// measured yet.
func (v *View) CreditRoundTrip(p topology.PortID) (cycles, excess int) {
	if v.f.sensing == nil {
		return 0, 0
	}
	for _, q := range v.f.sensing.ofPort(v.f, int32(p)) {
		cycles, excess = max(cycles, int(q.trip)), max(excess, int(q.excess))
	}
	return cycles, excess
}
