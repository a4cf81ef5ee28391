package routing

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
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

// needs is what reading it takes.
func (s sensing) needs() fabric.Needs {
	return fabric.Needs{Queues: s != senseCredits, Credits: true, Crossed: s == senseBoth}
}

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

// queues are the queue lengths of a switch that a decision compares many of.
type queues struct {
	view   *fabric.View
	random *sim.Stream
	sense  sensing
	first  topology.PortID // of the switch
	known  []int32         // by port of the switch; nil: each is looked at
}

// queuesAt are the queues of a switch. Credits move between decisions that are made
// together no more than the clock does, and are summed up once for all of them; who waits
// changes with each.
func (s sensing) queuesAt(v *fabric.View, g *topology.Graph, at topology.SwitchID) queues {
	q := queues{view: v, random: v.Random(at), sense: s, first: g.PortStart[at]}
	if s == senseCredits {
		q.known = v.OutstandingPorts(at)
	}
	return q
}

// of is the queue length of a port.
func (q *queues) of(p topology.PortID) int {
	if q.known != nil {
		return int(q.known[p-q.first])
	}
	return q.sense.queue(q.view, p)
}
