package routing

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

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

// maxPairs bounds the traffic matrix that Loads holds: 256 MiB.
const maxPairs = 1 << 25

// Loads computes the channel loads of a traffic matrix under routing r (Dally
// and Towles 2004, section 3.3.1), exactly up to rounding. Routings whose
// choice depends on the state of the network have no such loads: [ErrAdaptive].
// An error are also networks of more than 5,792 ends (switches with terminals, or
// terminals where the routing looks at them). Cost: the walk of [Dependencies].
func Loads(g *topology.Graph, r fabric.Routing, vcs int, m Matrix) (*Load, error) {
	w, err := newWalker(g, r, vcs)
	if err != nil {
		return nil, err
	}
	ends := w.ends()
	if len(ends) > maxPairs/len(ends) {
		return nil, fmt.Errorf("channel loads of %d sources and destinations are too many to compute", len(ends))
	}
	load := &Load{g, make([]float64, g.NumPorts()), make([]float64, g.Terminals())}
	pairs := w.gather(m, len(ends), load)
	now, next := w.newFront(), w.newFront()
	for i, dst := range ends {
		if err := w.loadTo(dst, ends, pairs[i*len(ends):][:len(ends)], now, next, load); err != nil {
			return nil, err
		}
	}
	return load, nil
}

// gather sums the matrix by ends, pairs[dst*n+src], and enters the loads of the
// terminals' own channels.
func (w *walker) gather(m Matrix, n int, load *Load) []float64 {
	ends := make([]int32, w.graph.Terminals())
	leaf, _ := numberLeaves(w.graph)
	for t := range ends {
		ends[t] = int32(t)
		if w.blind {
			ends[t] = leaf[w.graph.TerminalSwitch(topology.TerminalID(t))]
		}
	}
	pairs := make([]float64, n*n)
	row := make([]float64, n) // of one source, by destination
	arriving := make([]float64, len(ends))
	for src := range ends {
		sent := 0.0
		m.Weights(topology.TerminalID(src), func(dst topology.TerminalID, weight float64) {
			sent += weight
			arriving[dst] += weight
			row[ends[dst]] += weight
		})
		load.Injection[src] = sent
		for dst, weight := range row {
			if weight != 0 {
				pairs[dst*n+int(ends[src])] += weight
				row[dst] = 0
			}
		}
	}
	for t, weight := range arriving {
		load.Port[w.graph.TerminalPort[t]] = weight
	}
	return pairs
}

// front is the set of heads at one distance from the sources, with the flow
// that each carries, in order of discovery so that sums do not depend on chance.
type front struct {
	heads []fabric.Head
	flow  []float64
	index *headNumbers
}

func (w *walker) newFront() *front { return &front{index: newHeadNumbers(w.graph.NumPorts(), w.vcs)} }

func (f *front) add(h fabric.Head, flow float64) {
	i, known := f.index.of(h)
	if !known {
		f.heads, f.flow = append(f.heads, h), append(f.flow, 0)
	}
	f.flow[i] += flow
}

func (f *front) reset() {
	f.heads, f.flow = f.heads[:0], f.flow[:0]
	f.index.reset()
}

// loadTo sends the flows of one destination, flow[i] from sources[i], along
// their paths. now and next are empty and stay so.
func (w *walker) loadTo(dst topology.TerminalID, sources []topology.TerminalID, flow []float64, now, next *front, load *Load) error {
	for i, src := range sources {
		if flow[i] == 0 {
			continue
		}
		heads := w.heads(src, dst)
		for _, h := range heads {
			now.add(h, flow[i]/float64(len(heads)))
		}
	}
	for hops := 0; len(now.heads) > 0; hops++ {
		if hops > 4*w.graph.Switches() {
			return fmt.Errorf("the routing leads packets for %s round in circles", w.graph.TerminalName(dst))
		}
		for i, h := range now.heads {
			if err := w.split(h, now.flow[i], next, load); err != nil {
				return err
			}
		}
		now, next = next, now
		next.reset()
	}
	return nil
}

// split divides the flow of one head over its hops.
func (w *walker) split(h fabric.Head, flow float64, next *front, load *Load) (err error) {
	total := 0.0
	w.e.Explore(w.vcs, h, func(hop fabric.Hop, state uint32, weight float64) {
		total += weight
		n := bits.OnesCount32(hop.VCs)
		for set := hop.VCs; err == nil; {
			follower, arrived, problem := w.follow(h, hop, state, uint8(bits.TrailingZeros32(set)))
			if err = problem; err != nil || arrived {
				return
			}
			load.Port[hop.Port] += flow * weight / float64(n)
			next.add(follower, flow*weight/float64(n))
			if set &= set - 1; set == 0 {
				return
			}
		}
	})
	if err == nil && math.Abs(total-1) > 1e-9 {
		err = ErrAdaptive
	}
	return err
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
