package routing

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// leastOccupied is the port, relative to first, with the fewest credits outstanding
// over all of its virtual channels; of several one at random, all equally likely.
func leastOccupied(v *fabric.View, first topology.PortID, ports []uint16, random *sim.Stream) uint16 {
	best, least, equal := ports[0], v.OutstandingAll(first+topology.PortID(ports[0])), 1
	for _, local := range ports[1:] {
		switch n := v.OutstandingAll(first + topology.PortID(local)); {
		case n < least:
			best, least, equal = local, n, 1
		case n == least:
			if equal++; random.IntN(equal) == 0 {
				best = local
			}
		}
	}
	return best
}

// UGALQueues are the settings of UGAL outside of groups: what is compared, and where.
type UGALQueues struct {
	Sensing    string `toml:"sensing" doc:"what a queue length is: flits waiting in the switch for the output; credits outstanding behind it; or both" choices:"waiting|credits|both"`
	Threshold  int    `toml:"threshold" doc:"offset T: minimal if q_m*H_m <= q_nm*H_nm + T" unit:"flits" min:"-1000000" max:"1000000"`
	Candidates int    `toml:"candidates" doc:"Valiant paths drawn for each packet; the best is compared" min:"1" max:"64"`
	Decision   string `toml:"decision" doc:"decisions of a cycle at a switch: greedy, all of them see the queues at its beginning; sequential, each sees those made before it" choices:"greedy|sequential"`
	DecidedAt  string `toml:"decided_at" doc:"where: at the terminal, a cycle before the packet enters its channel; or at the switch, as the packet arrives" choices:"terminal|switch"`
}

func defaultQueues() UGALQueues {
	return UGALQueues{Sensing: "waiting", Candidates: 1, Decision: "greedy", DecidedAt: "terminal"}
}

// queueReader is what a routing with these settings tells the fabric.
type queueReader struct {
	queues UGALQueues
	sense  sensing
}

func newQueueReader(queues UGALQueues) queueReader {
	return queueReader{queues, senses[queues.Sensing]}
}

// Needs implements [fabric.Needer].
func (q queueReader) Needs() fabric.Needs {
	needs := q.sense.needs()
	needs.Departs = q.queues.DecidedAt == "terminal"
	needs.Greedy = q.queues.Decision == "greedy" && !needs.Departs
	return needs
}

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
