package routing

import (
	"errors"
	"math"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// Matrix is a traffic matrix: Weights yields the expected share of src's
// packets for each destination. The shares of a source add up to 1, or to 0 for
// one that sends nothing.
type Matrix interface {
	Weights(src topology.TerminalID, yield func(dst topology.TerminalID, weight float64))
}

// Load is the expected load of every channel when each terminal that sends
// injects one flit a cycle.
type Load struct {
	graph *topology.Graph
	// Port is the load of the channel out of each switch port, in flits a
	// cycle (len = ports).
	Port []float64
	// Injection is the load of the channel out of each terminal
	// (len = terminals).
	Injection []float64
}

// NewLoad is the load of g whose channels have these: by port, and by terminal.
func NewLoad(g *topology.Graph, port, injection []float64) *Load { return &Load{g, port, injection} }

// ErrAdaptive is the error of [Loads] for a routing whose choices depend on the state
// of the network.
var ErrAdaptive = errors.New("channel loads depend on the state of the network under this routing")

// Loads computes the channel loads of a traffic matrix under routing r (Dally
// and Towles 2004, section 3.3.1), exactly up to rounding, which is the same for any
// number of threads. Routings whose choice depends on the state of the network have no
// such loads: [ErrAdaptive]. Too many pairs of a source and a destination are an error,
// too, but for those of an [EvenMatrix]: 33 million, of terminals where the routing looks at
// them and otherwise of their switches. Cost: the walk of [Dependencies], on all cores.
func Loads(g *topology.Graph, r fabric.Routing, vcs int, m Matrix) (*Load, error) {
	w, err := newWalker(g, r, vcs)
	if err != nil {
		return nil, err
	}
	load := &Load{g, make([]float64, g.NumPorts()), make([]float64, g.Terminals())}
	demands, err := w.demands(m, load)
	if err != nil {
		return nil, err
	}
	if err := w.loadAll(demands, load.Port); err != nil {
		return nil, err
	}
	return load, nil
}

// Terminals is l without the channels between switches: what no routing changes.
func (l *Load) Terminals() *Load {
	x := &Load{l.graph, make([]float64, len(l.Port)), l.Injection}
	for _, p := range l.graph.TerminalPort {
		x.Port[p] = l.Port[p]
	}
	return x
}

// Bound is the throughput bound of the loads, in flits a cycle and sending
// terminal: the inverse of the greatest load in units of the channel's
// capacity. cyclesPerFlit gives the capacity of each channel class of the graph
// (nil: one cycle each). worst is the port of that channel, NoPort if it is a
// terminal's injection channel.
func (l *Load) Bound(cyclesPerFlit []float64) (throughput float64, worst topology.PortID) {
	cycles := func(p topology.PortID) float64 {
		if cyclesPerFlit == nil {
			return 1
		}
		return cyclesPerFlit[l.graph.PortClass[p]]
	}
	most, worst := 0.0, topology.NoPort
	for t, load := range l.Injection {
		most = max(most, load*cycles(l.graph.TerminalPort[t]))
	}
	for p, load := range l.Port {
		if x := load * cycles(topology.PortID(p)); x > most*(1+1e-12) { // sums in another order are equal
			most, worst = x, topology.PortID(p)
		}
	}
	if most == 0 {
		return math.Inf(1), topology.NoPort
	}
	return 1 / most, worst
}
