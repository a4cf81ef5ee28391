package marking

import (
	"math/big"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/snapshot"
)

// InfiniBand holds the settings of policy "infiniband", by the names of opensm.conf.
type InfiniBand struct {
	Threshold  int    `toml:"cc_sw_cong_setting_threshold" doc:"from 15, a lane is congested as soon as anything waits for it beside the packet, down to 1, for 14/15 of a buffer; 0: never" min:"0" max:"15"`
	Rate       int    `toml:"cc_sw_cong_setting_marking_rate" doc:"packets of a congested lane that are passed over between two marks" unit:"packets" min:"0" max:"65535"`
	PacketSize int64  `toml:"cc_sw_cong_setting_packet_size" doc:"of the shortest packet that is marked, in units of 64 B" min:"0" max:"255"`
	VictimMask string `toml:"cc_sw_cong_setting_victim_mask" doc:"ports that mark packets though they wait for credits: bit n of a number of 256 bits is the n-th port of a switch, from 1 on"`
}

func init() {
	param.Register(Registry, "infiniband", "packets that leave by a lane for which others wait, as ports of InfiniBand switches do",
		InfiniBand{15, 10, 8, "0x0"}, newInfiniBand)
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

// Mark implements [Policy].
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

// Archive implements [Policy].
func (m *infiniband) Archive(a *snapshot.Archive) {
	snapshot.Array(a, "lanes", m.passed, snapshot.Int)
}
