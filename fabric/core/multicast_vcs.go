package core

import (
	"math"
	"math/bits"

	"github.com/weft-sim/weft/fabric/topology"
)

// This file gives the branches of multicast packets their output virtual
// channels.

// bid is the branch that an output port gives a virtual channel next.
type bid struct {
	local    uint32
	branch   uint32
	lov      int32
	distance int32 // from the port's round-robin pointer
}

// grantVCs lets every output port that branches without a virtual channel want
// give one to the branch whose queue is next in its round robin, if one that the
// packet may travel on is free and has room for all of it.
func (m *multicast) grantVCs(d *Domain, sw *SwitchState, s topology.SwitchID, t *StepTime) {
	for _, local := range m.mine {
		v := sw.Queue(local)
		if int32(v.Ready-t.Number) > 0 {
			continue
		}
		r := m.begin(d, sw, s, local, v)
		if r.heads == 0 {
			continue
		}
		for i := range r.branches {
			b := &r.branches[i]
			if b.lov >= 0 {
				continue
			}
			free := v.State & uint32(sw.OutPort(b.output).free)
			if free == 0 {
				continue
			}
			m.bid(d, sw, local, i, r, free)
		}
	}
	for _, output := range m.wanted {
		best := &m.bids[output]
		lov, local := best.lov-1, best.local
		queue := sw.Queue0 + int32(local)
		r := &m.work[m.under[queue]-1]
		r.branches[best.branch].take(d, sw, queue, lov)
		r.heads--
		m.grant[sw.Port0+int32(output)] = int32(local) + 1
		best.lov = 0
	}
	m.wanted = m.wanted[:0]
}

// bid bids for an output virtual channel of a set for a branch of the packet in a queue.
func (m *multicast) bid(d *Domain, sw *SwitchState, local uint32, branch int, r *replication, free uint32) {
	output := r.branches[branch].output
	distance := int32(local) - m.grant[sw.Port0+int32(output)]
	if distance < 0 {
		distance += math.MaxInt32 / 2
	}
	best := &m.bids[output]
	if best.lov != 0 && distance >= best.distance {
		return
	}
	if lov := d.roomFor(sw, output, free, r.flits); lov >= 0 {
		if best.lov == 0 {
			m.wanted = append(m.wanted, output)
		}
		*best = bid{local, uint32(branch), lov + 1, distance}
	}
}

// roomFor is the first local output virtual channel of a set of a port that has
// room for so many flits; -1: none.
func (d *Domain) roomFor(sw *SwitchState, port, set uint32, flits int32) int32 {
	if set = d.withCredits(sw, port, set, flits); set == 0 {
		return -1
	}
	return int32(port*uint32(d.vcs) + uint32(bits.TrailingZeros32(set)))
}
