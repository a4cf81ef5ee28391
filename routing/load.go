package routing

import (
	"errors"
	"fmt"
	"slices"

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
// too, but in an [EvenMatrix]: 33 million, of terminals where the routing looks at
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

// EvenMatrix is implemented by matrices in which all terminals send the same share to all
// others: nothing is kept of their pairs.
type EvenMatrix interface {
	Matrix
	// Even is that share; self tells that they send it to themselves, too.
	Even() (weight float64, self bool)
}

// maxPairs bounds the pairs of ends that are kept: 512 MiB.
const maxPairs = 1 << 25

// demands is a traffic matrix by ends of walks.
type demands interface {
	// to yields what is sent to the dst-th end, in order of the sources: their numbers as
	// ends and what they send, in flits a cycle.
	to(dst int, yield func(source int, flow float64))
}

// demands sums a matrix by ends, and enters the loads of the terminals' own channels.
func (w *walker) demands(m Matrix, load *Load) (demands, error) {
	if even, ok := m.(EvenMatrix); ok {
		return w.evenDemands(even, load), nil
	}
	ends, count := w.endOf()
	byPair := make(pairDemands, count)
	row := make([]float64, count) // of one source, by destination
	var entered []int32           // in row
	arriving := make([]float64, len(ends))
	pairs := 0
	for src := range ends {
		sent := 0.0
		m.Weights(topology.TerminalID(src), func(dst topology.TerminalID, weight float64) {
			sent += weight
			arriving[dst] += weight
			if row[ends[dst]] == 0 && weight != 0 {
				entered = append(entered, ends[dst])
			}
			row[ends[dst]] += weight
		})
		load.Injection[src] = sent
		for _, dst := range entered {
			pairs += byPair.add(dst, ends[src], row[dst])
			row[dst] = 0
		}
		if entered = entered[:0]; pairs > maxPairs {
			return nil, fmt.Errorf("channel loads of more than %d pairs of a source and a destination are too many to compute", maxPairs)
		}
	}
	for t, weight := range arriving {
		load.Port[w.graph.TerminalPort[t]] = weight
	}
	return byPair, nil
}

// endOf is the end that stands for each terminal, by number, and how many ends there are.
func (w *walker) endOf() (ends []int32, count int) {
	ends = make([]int32, w.graph.Terminals())
	leaf, sample := numberLeaves(w.graph)
	for t := range ends {
		ends[t] = int32(t)
		if w.blind {
			ends[t] = leaf[w.graph.TerminalSwitch(topology.TerminalID(t))]
		}
	}
	if w.blind {
		return ends, len(sample)
	}
	return ends, len(ends)
}

// pairDemands are by destination, each in order of the sources.
type pairDemands [][]demand

// demand is what a source sends to one destination, in flits a cycle.
type demand struct {
	source int32
	flow   float64
}

// add adds what a source sends, and returns how many pairs there are more.
func (p pairDemands) add(dst, src int32, flow float64) (more int) {
	list := p[dst]
	at := len(list) // sources mostly come in order
	for at > 0 && list[at-1].source > src {
		at--
	}
	if at > 0 && list[at-1].source == src {
		list[at-1].flow += flow
		return 0
	}
	p[dst] = slices.Insert(list, at, demand{src, flow})
	return 1
}

// to visits the sources that send to a destination, with their flow.
func (p pairDemands) to(dst int, yield func(source int, flow float64)) {
	for _, d := range p[dst] {
		yield(int(d.source), d.flow)
	}
}

// evenDemands are the demands of an [EvenMatrix]: sums of equal numbers, added one after the
// other as for any other matrix, so that they are rounded alike.
type evenDemands struct {
	weight float64
	self   bool
	size   []int // terminals of each end
}

// evenDemands are the demands of m. load gets the flow of terminals' channels.
func (w *walker) evenDemands(m EvenMatrix, load *Load) demands {
	ends, count := w.endOf()
	d := &evenDemands{size: make([]int, count)}
	d.weight, d.self = m.Even()
	for _, end := range ends {
		d.size[end]++
	}
	load.enterEven(d)
	return d
}

// others is the number of destinations that a terminal has among n with itself.
func (d *evenDemands) others(n int) int {
	if d.self {
		return n
	}
	return n - 1
}

// to visits the sources that send to a destination, with their flow.
func (d *evenDemands) to(dst int, yield func(source int, flow float64)) {
	last, flow := 0, 0.0
	for source, n := range d.size {
		if source == dst {
			if inside := d.between(source, dst); inside > 0 {
				yield(source, inside)
			}
			continue
		}
		if n != last {
			last, flow = n, d.between(source, dst)
		}
		yield(source, flow)
	}
}

// between is what one end sends to another, or its terminals to each other.
func (d *evenDemands) between(source, dst int) float64 {
	n := d.size[source]
	if source == dst {
		return repeated(repeated(d.weight, d.others(n)), n)
	}
	return repeated(repeated(d.weight, d.size[dst]), n)
}

// repeated is the sum of n times x.
func repeated(x float64, n int) (sum float64) {
	for range n {
		sum += x
	}
	return sum
}
