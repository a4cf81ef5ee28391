package routing

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// sensing is what the UGAL family takes for the length of an output's queue.
type sensing uint8

const (
	// senseWaiting counts the flits in the switch that wait for the output.
	// Congestion further on shows when the buffer there is full and flits
	// begin to wait here (Kim et al., ISCA 2008, section 4.3).
	senseWaiting sensing = iota
	// senseCredits counts the credits that are out: flits on the channel and
	// in the buffer behind it, and credits on their way back. An idle channel
	// with a long round trip counts its load times the round trip.
	senseCredits
	// senseBoth adds the two, flits behind the crossbar counted once.
	senseBoth
)

var senses = map[string]sensing{"waiting": senseWaiting, "credits": senseCredits, "both": senseBoth}

// queue is the queue length of a whole output port.
func (s sensing) queue(v *fabric.View, p topology.PortID) int {
	switch s {
	case senseWaiting:
		return v.WaitingAll(p)
	case senseCredits:
		return v.OutstandingAll(p)
	}
	n := 0
	for vc := range v.VCs() {
		n += s.queueVC(v, p, vc)
	}
	return n
}

// queueVC is the queue length of one virtual channel of an output port.
func (s sensing) queueVC(v *fabric.View, p topology.PortID, vc int) int {
	switch s {
	case senseWaiting:
		return v.Waiting(p, vc)
	case senseCredits:
		return v.Outstanding(p, vc)
	}
	// A flit behind the crossbar has taken its credit.
	return v.Waiting(p, vc) - v.Crossed(p, vc) + v.Outstanding(p, vc)
}
