// Package marking holds the policies by which switch ports mark packets for congestion, as
// experiment files can name them. A new one is one file. A mark travels with its packet, beside the
// routing's state: terminals are told of it, as are routings that ask.
package marking

import (
	"math/big"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/snapshot"
)

// Env is the port that a policy is made for.
type Env struct {
	// Port is the port's number and Seed the run's seed: a policy that draws has, and archives, a
	// stream sim.NewStream(Seed, "its name", Port).
	Port int
	Seed uint64
	VCs  int // of the port's channel
	// BufferFlits is a virtual channel's buffer behind the channel; 0: a terminal that takes every
	// flit.
	BufferFlits int
	InputFlits  int       // what a virtual channel holds at the inputs of the switch
	FlitBytes   sim.Bytes // payload of a flit
	Number      int       // of the port in its switch, from 1 on
}

// Leaving is a packet whose head is about to cross its switch to a port.
type Leaving struct {
	Cycle int64
	VC    int // virtual channel that it has been given
	// Waiting is the number of flits in the switch routed to leave by the port, on any virtual
	// channel, that have not left, this packet's included.
	Waiting int
	// InLane counts the flits of Waiting routed to VC, or to several VCs of which it is the lowest.
	InLane int
	Flits  int // of the packet
	// Credits is the number of flit slots behind virtual channel VC that are free as far as is
	// known, or promised to flits that wait behind the crossbar for the channel: those that the
	// far end, if it stood still, could not be the cause of. This packet has taken none yet. Very
	// many at a terminal that takes every flit.
	Credits int
	Level   uint8 // of the packet
}

// Policy marks the packets that leave by one port.
type Policy interface {
	// Mark is asked once for each unicast packet, in the order in which heads cross.
	Mark(p *Leaving) bool
	// Archive writes what it remembers, or reads it into a policy of the same Env.
	Archive(a *snapshot.Archive)
}

// Registry holds every policy that experiment files can name. One that makes nil marks nothing.
var Registry = param.NewRegistry[Env, Policy]("marking policy").OrNil()

// Choice is a setting that names a policy, whose settings stand beside it.
type Choice = param.Choice[Env, Policy]

// None is the name of the policy that marks nothing.
const None = "none"

func init() {
	param.Register(Registry, None, "no packet is marked", struct{}{}, func(struct{}, Env) (Policy, error) { return nil, nil })
	param.Register(Registry, "threshold", "packets that leave by a port for which many flits wait", Threshold{32},
		func(c Threshold, _ Env) (Policy, error) { return threshold(c), nil })
	param.Register(Registry, "red", "packets at random, the more so the more flits wait for their port", RED{16, 64, 0.1, 1},
		func(c RED, e Env) (Policy, error) { return &red{c, sim.NewStream(e.Seed, "red", e.Port), 0}, nil })
	param.Register(Registry, "infiniband", "packets that leave by a lane for which others wait, as ports of InfiniBand switches do",
		InfiniBand{15, 10, 8, "0x0"}, newInfiniBand)
}

// Named is the choice of a policy with its defaults.
func Named(name string) Choice { return param.Choose(Registry, name) }

// Threshold holds the settings of policy "threshold".
type Threshold struct {
	Flits int `toml:"mark_flits" doc:"flits waiting for the port from which packets are marked" unit:"flits" min:"1"`
}

// threshold is a plain [infiniband]: a number of flits, by which the port, not the lane, is
// congested.
type threshold Threshold

func (t threshold) Mark(p *Leaving) bool { return p.Waiting >= t.Flits }

func (threshold) Archive(*snapshot.Archive) {}

// RED holds the settings of policy "red".
type RED struct {
	From        int     `toml:"mark_from_flits" doc:"mean of the flits waiting for the port up to which no packet is marked" unit:"flits" min:"0"`
	To          int     `toml:"mark_to_flits" doc:"mean from which every packet is marked" unit:"flits" min:"1"`
	Probability float64 `toml:"mark_probability" doc:"of a mark just below mark_to_flits; it grows from mark_from_flits on in proportion" min:"0" max:"1"`
	Weight      float64 `toml:"mark_weight" doc:"of what waits now in the moving mean; 1: no mean" min:"0.000001" max:"1"`
}

// Validate checks that the two ends are in order; see [param.Validate].
func (c *RED) Validate() error {
	if c.To <= c.From {
		return &param.ParamError{Key: "mark_to_flits", Value: c.To, Want: "more than mark_from_flits"}
	}
	return nil
}

// red is random early detection (Floyd and Jacobson, IEEE/ACM Transactions on Networking 1(4),
// 1993, section IV), which marks; with a weight of 1 it is the marking of DCQCN's switches
// (Zhu et al., SIGCOMM 2015, section 3.1).
//
// Deviations: the mean moves with packets that leave, not that come, and not while the port is
// idle; the probability does not grow with the packets since the last mark.
type red struct {
	RED
	stream sim.Stream
	mean   float64
}

// Mark implements [Policy]. It draws for every packet between the two ends only.
func (r *red) Mark(p *Leaving) bool {
	r.mean += r.Weight * (float64(p.Waiting) - r.mean)
	switch {
	case r.mean <= float64(r.From):
		return false
	case r.mean >= float64(r.To):
		return true
	}
	return r.stream.Float64() < r.Probability*(r.mean-float64(r.From))/float64(r.To-r.From)
}

func (r *red) Archive(a *snapshot.Archive) {
	sim.ArchiveStream(a, &r.stream)
	snapshot.Float(a, &r.mean)
}

// InfiniBand holds the settings of policy "infiniband", by the names of opensm.conf.
type InfiniBand struct {
	Threshold  int    `toml:"cc_sw_cong_setting_threshold" doc:"from 15, a lane is congested as soon as anything waits for it beside the packet, down to 1, for 14/15 of a buffer; 0: never" min:"0" max:"15"`
	Rate       int    `toml:"cc_sw_cong_setting_marking_rate" doc:"packets of a congested lane that are passed over between two marks" unit:"packets" min:"0" max:"65535"`
	PacketSize int64  `toml:"cc_sw_cong_setting_packet_size" doc:"of the shortest packet that is marked, in units of 64 B" min:"0" max:"255"`
	VictimMask string `toml:"cc_sw_cong_setting_victim_mask" doc:"ports that mark packets though they wait for credits: bit n of a number of 256 bits is the n-th port of a switch, from 1 on"`
}

// Validate checks the mask; see [param.Validate].
func (c *InfiniBand) Validate() error {
	if m, ok := new(big.Int).SetString(c.VictimMask, 0); !ok || m.Sign() < 0 || m.BitLen() > 256 {
		return &param.ParamError{Key: "cc_sw_cong_setting_victim_mask", Value: c.VictimMask, Want: "a number of 256 bits, such as 0x1e"}
	}
	return nil
}

// infiniband marks as the ports of InfiniBand switches do (Architecture Specification, volume 1,
// annex A10.2.1). A lane that has credits for more than the packet is a root of congestion; one
// that has none is a victim, and marks only by the mask. The defaults are MLNX_OFED's, of its
// congestion control manager; OpenSM alone has a threshold of 0, with which no port marks.
//
// Choices where the annex leaves one: the weights of the threshold are fifteenths of a switch's
// buffer for a lane, and count what waits at all inputs; every lane counts its packets for the
// marking rate. Starvation of credits is left out.
type infiniband struct {
	InfiniBand
	env     Env
	beside  int   // flits that may wait beside the packet
	victims bool  // the port is in the mask
	passed  []int // since the last mark, by lane
}

func newInfiniBand(c InfiniBand, e Env) (Policy, error) {
	if c.Threshold == 0 {
		return nil, nil
	}
	mask, _ := new(big.Int).SetString(c.VictimMask, 0)
	return &infiniband{c, e, (15 - c.Threshold) * e.InputFlits / 15, mask.Bit(e.Number) == 1, make([]int, e.VCs)}, nil
}

func (m *infiniband) Mark(p *Leaving) bool {
	root := p.Credits > min(p.Flits, m.env.BufferFlits-1) // a buffer that is all free is enough
	switch {
	case p.InLane-p.Flits <= m.beside, !root && !m.victims, sim.Bytes(p.Flits)*m.env.FlitBytes < sim.Bytes(m.PacketSize)*64:
		return false
	case m.passed[p.VC] < m.Rate:
		m.passed[p.VC]++
		return false
	}
	m.passed[p.VC] = 0
	return true
}

func (m *infiniband) Archive(a *snapshot.Archive) { snapshot.Array(a, "lanes", m.passed, snapshot.Int) }
