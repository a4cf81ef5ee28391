package core

import (
	"math/bits"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/check"
)

// evaluatePlainly is [domain.evaluate] for packets, in a switch of no more than 64 queues
// without multicast.
func (u *packetUnit) evaluatePlainly(d *Domain, sw *SwitchState, s topology.SwitchID) {
	m := &sw.masks[0]
	if m.route != 0 {
		d.routeArrivals(sw, s, 0)
		d.followRouting(sw)
	}
	word := sw.Queue0 >> 6
	u.tails = bits.OnesCount64(check.At(u.streams, uint32(word)).tail)
	for i := range d.Steps.n {
		t := &d.Steps.at[i]
		if m.va != 0 {
			d.allocateVCs(sw, t.Number)
		}
		if m.sa != 0 {
			u.allocate(d, sw, t)
		}
		u.step++
		if u.tails > 0 {
			u.pass(d, sw, t.Number)
		}
		m.sa |= m.next
		m.next = 0
		if m.va|m.sa == 0 && u.tails == 0 {
			break // nothing is left to do
		}
	}
	u.step = 0
	if bit := uint64(1) << (word & 63); m.va|m.sa == 0 {
		d.active[word>>6] &^= bit
	} else {
		d.active[word>>6] |= bit
	}
	if check.On {
		d.checkSwitch(sw)
	}
}
