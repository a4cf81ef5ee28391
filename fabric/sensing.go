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
type sensing struct {
	probes    []probe // by output virtual channel
	roundTrip []int32 // by output virtual channel: t_crt in cycles; 0: not measured yet
	idle      []int32 // by port: t_crt0 in cycles
	least     []int32 // by switch: smallest t_d of its ports to switches
	delayed   []bool  // by port: credits over its channel may be late
}

// probe times one flit: its credit is the one that comes back after ahead-1
// others.
type probe struct {
	sent  int64
	ahead int32
}

// newSensing prepares the sensing of f.
func newSensing(f *Fabric) *sensing {
	ports := f.graph.NumPorts()
	s := &sensing{
		probes: make([]probe, ports*f.vcs), roundTrip: make([]int32, ports*f.vcs), idle: make([]int32, ports),
		least: make([]int32, len(f.switches)), delayed: make([]bool, ports),
	}
	for p := range ports {
		class := f.graph.Classes[f.graph.PortClass[p]].Name
		s.delayed[p] = !slices.Contains(f.config.Switch.CreditsUndelayed, class)
		s.idle[p] = math.MaxInt32
	}
	return s
}

// sent notes that a flit has been granted output virtual channel ov in cycle
// c; outstanding credits, its own included, are on their way.
func (s *sensing) sent(ov, outstanding int32, c int64) {
	if p := &s.probes[ov]; p.ahead == 0 {
		*p = probe{c, outstanding}
	}
}

// returned notes that a credit of ov came back in cycle c.
func (s *sensing) returned(f *Fabric, ov int32, c int64) {
	p := &s.probes[ov]
	if p.ahead == 0 {
		return
	}
	if p.ahead--; p.ahead > 0 {
		return
	}
	port := topology.PortID(ov / int32(f.vcs))
	took := int32(min(c-p.sent, math.MaxInt32))
	if took == s.roundTrip[ov] {
		return // as last time: nothing follows
	}
	s.roundTrip[ov] = took
	s.idle[port] = min(s.idle[port], took)
	s.findLeast(f, f.graph.PortSwitch[port])
}

// findLeast renews the smallest t_d of a switch's ports to other switches. A
// port that has sent nothing has none: 0. A port's own is the smallest of the
// virtual channels that it has sent on.
func (s *sensing) findLeast(f *Fabric, sw topology.SwitchID) {
	least := int32(math.MaxInt32)
	for q, end := f.graph.Ports(sw); q < end && least > 0; q++ {
		if f.graph.Peer[q] < 0 {
			continue
		}
		ofPort := int32(math.MaxInt32)
		for ov := f.ov(q, 0); ov < f.ov(q+1, 0); ov++ {
			if s.roundTrip[ov] > 0 {
				ofPort = min(ofPort, s.roundTrip[ov])
			}
		}
		if ofPort == math.MaxInt32 {
			ofPort = s.idle[q]
		}
		least = min(least, ofPort-s.idle[q])
	}
	s.least[sw] = least
}

// congestion is t_d of a port in cycles; 0 before the first measurement.
func (s *sensing) congestion(f *Fabric, ov int32) int32 {
	if s.roundTrip[ov] == 0 {
		return 0
	}
	return s.roundTrip[ov] - s.idle[ov/int32(f.vcs)]
}

// crossing notes that the flit at the front of queue v is granted the crossbar
// and returns by how many cycles its credit is sent late.
func (s *sensing) crossing(f *Fabric, sw *switchState, r request, v *inVC) int64 {
	if sw.outPort(r.output()).dest < 0 {
		return 0
	}
	ov := sw.port0*int32(f.vcs) + v.out
	s.sent(ov, f.buffer-(f.outVC[ov].credits-1), f.cycle)
	return s.late(f, topology.PortID(sw.port0+int32(r.port())), ov)
}

// late is by how many cycles the credit of a flit from port in to port out is
// sent late.
func (s *sensing) late(f *Fabric, in topology.PortID, ov int32) int64 {
	if !s.delayed[in] {
		return 0
	}
	return int64(s.congestion(f, ov) - s.least[f.graph.PortSwitch[in]])
}

// CreditRoundTrip is t_crt of port p in cycles, the time that the last timed
// flit's credit took to come back, and t_d, by how much that exceeds the
// shortest one seen. Both are 0 where credit sensing is off or has not
// measured yet.
func (v *View) CreditRoundTrip(p topology.PortID) (cycles, excess int) {
	if v.f.sensing == nil {
		return 0, 0
	}
	for vc := range v.f.vcs {
		ov := v.f.ov(p, vc)
		cycles = max(cycles, int(v.f.sensing.roundTrip[ov]))
		excess = max(excess, int(v.f.sensing.congestion(v.f, ov)))
	}
	return cycles, excess
}
