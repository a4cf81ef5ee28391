package core

import (
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/check"
)

// evaluateAll runs the steps of this cycle at switch s, with flits as the unit.
func (d *Domain) evaluateAll(sw *SwitchState, s topology.SwitchID) {
	va, sa := d.routeAll(sw, s)
	for i := range d.Steps.n {
		t := &d.Steps.at[i]
		if va {
			d.allocateVCs(sw, t.Number)
		}
		if sa {
			d.allocate(d, sw, s, t)
		}
		va, sa = sw.nextStep()
	}
	d.rest(sw)
}

// routeAll routes what has come to a switch, and tells whether anything asks for virtual channels
// (va) and the crossbar (sa).
func (d *Domain) routeAll(sw *SwitchState, s topology.SwitchID) (va, sa bool) {
	for w := range sw.masks {
		m := &sw.masks[w]
		if m.route != 0 {
			d.routeArrivals(sw, s, w)
		}
		va, sa = va || m.va != 0, sa || m.sa != 0
	}
	d.followRouting(sw)
	return va, sa
}

// rest notes, behind the last step of a cycle, which queues of a switch have work left.
func (d *Domain) rest(sw *SwitchState) {
	word := sw.Queue0 >> 6
	for w := range sw.masks {
		if m := &sw.masks[w]; m.va|m.sa == 0 {
			d.active[word>>6] &^= 1 << (word & 63)
		} else {
			d.activate(word)
		}
		word++
	}
	if check.On {
		d.checkSwitch(sw)
	}
}

func (d *Domain) evaluatePackets(sw *SwitchState, s topology.SwitchID) {
	u := d.Unit
	va, sa := d.routeAll(sw, s)
	u.tails = u.countTails(sw)
	for i := range d.Steps.n {
		t := &d.Steps.at[i]
		if va {
			d.allocateVCs(sw, t.Number)
		}
		if sa {
			d.allocate(d, sw, s, t)
		}
		u.step++
		if u.tails > 0 {
			u.pass(d, sw, t.Number)
		}
		if va, sa = sw.nextStep(); !va && !sa && u.tails == 0 {
			break // nothing is left to do
		}
	}
	u.step = 0
	d.rest(sw)
}

// allocateUnicast is allocateSwitch where nothing else uses the crossbar.
func (d *Domain) allocateUnicast(sw *SwitchState, _ topology.SwitchID, t *StepTime) {
	d.allocateSwitch(sw, t)
}

// allocateMulticast is a step of switch allocation with multicast packets in front of queues:
// outputs due to serve one do so, then unicast packets cross, then multicast packets to outputs
// left.
func (d *Domain) allocateMulticast(sw *SwitchState, s topology.SwitchID, t *StepTime) {
	m := d.multicast
	m.collect(sw, m.turn[s])
	if len(m.mine) == 0 {
		d.allocateSwitch(sw, t)
		return
	}
	m.served = false
	held := d.hold != nil
	if !held {
		m.grantVCs(d, sw, s, t)
	}
	for _, due := range []bool{true, false} {
		if held {
			m.grantPasses(d, sw, s, t, due)
		} else {
			for _, local := range m.mine {
				m.serve(d, sw, s, local, t, due)
			}
		}
		if due {
			d.allocateSwitch(sw, t)
		}
	}
	for _, local := range m.mine {
		switch {
		case d.Unit != nil:
			d.Unit.settleMulticast(d, sw, local, t)
		case held:
			m.stream(d, sw, local, t)
			fallthrough
		default:
			m.settle(sw, local)
		}
	}
	m.forget()
}
