package core

import "github.com/weft-sim/weft/fabric/topology"

// evaluateInTurn evaluates the switches that have work, by number.
func (d *Domain) evaluateInTurn() {
	for word := d.nextActive(0); word >= 0; {
		s := d.WordSwitch[word]
		word = d.nextBehind(s)
		d.evaluate(&d.Switches[s], topology.SwitchID(s))
	}
}

// evaluateAhead does so for routings that do not look around. Each switch routes the packets
// that have come to it, and asks for the records of their ports, before the switch ahead of
// it is evaluated: these have come then when they are used.
func (d *Domain) evaluateAhead() {
	word, next := d.nextActive(0), int32(-1)
	for {
		this := next
		if next = -1; word >= 0 {
			next = d.WordSwitch[word]
			word = d.nextBehind(next)
			d.routeAhead(next)
		}
		if this >= 0 {
			d.evaluate(&d.Switches[this], topology.SwitchID(this))
		} else if next < 0 {
			return
		}
	}
}

// nextBehind is the first mask word with work of the switches behind one; -1: none. It asks
// for the queues there.
func (d *Domain) nextBehind(s int32) int {
	sw := &d.Switches[s]
	word := d.nextActive(int(sw.Queue0>>6) + len(sw.masks))
	if d.large && word >= 0 {
		d.prefetchQueues(word)
	}
	return word
}

// routeAhead routes what has come to a switch.
func (d *Domain) routeAhead(s int32) {
	sw := &d.Switches[s]
	for w := range sw.masks {
		if sw.masks[w].route != 0 {
			d.routeArrivals(sw, topology.SwitchID(s), w)
		}
	}
	d.followRouting(sw)
}

// mayRouteAhead tells whether evaluateAhead gives the same results, and is worth while: no
// decision may go by what other switches do in its cycle.
func (d *Domain) mayRouteAhead() bool {
	return d.large && d.memory == nil && d.Unit != nil && d.Unit.timed
}
