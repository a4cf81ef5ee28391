package routing

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// Matrix is a traffic matrix: Weights yields the expected share of src's packets for each
// destination. The shares of a source add up to 1, or to 0 for one that sends nothing.
type Matrix interface {
	Weights(src topology.TerminalID, yield func(dst topology.TerminalID, weight float64))
}

// Load is the expected load of every channel if each sending terminal injects one flit a cycle.
type Load struct {
	graph *topology.Graph
	// Port is the load of the channel out of each switch port, in flits a cycle (len = ports).
	Port []float64
	// Injection is the load of the channel out of each terminal (len = terminals).
	Injection []float64
}

// NewLoad is the load of g whose channels have these: by port, and by terminal.
func NewLoad(g *topology.Graph, port, injection []float64) *Load { return &Load{g, port, injection} }

// ErrAdaptive is the error of [Loads] for a routing whose choices depend on the state
// of the network.
var ErrAdaptive = errors.New("channel loads depend on the state of the network under this routing")

// Loads computes the channel loads of a traffic matrix under routing r (Dally and Towles 2004,
// section 3.3.1), exact up to rounding, which does not depend on the number of threads. Errors:
// [ErrAdaptive] where choices depend on the network's state; more than 33 million pairs of ends
// (terminals, or switches where the routing ignores terminals), except in an [EvenMatrix]. Cost:
// the walk of [Dependencies], on all cores.
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

// EvenMatrix is implemented by matrices in which all terminals send all others the same share;
// pairs are not stored.
type EvenMatrix interface {
	Matrix
	// Even is that share; self tells that they send it to themselves, too.
	Even() (weight float64, self bool)
}

// maxPairs bounds the pairs of ends that are kept: 512 MiB.
const maxPairs = 1 << 25

// demands is a traffic matrix by ends of walks.
type demands interface {
	// to yields the flow to the dst-th end from each source, in order: the source's number as an
	// end, and flits a cycle.
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

type pairDemands [][]demand

// demand is what a source sends to one destination, in flits a cycle.
type demand struct {
	source int32
	flow   float64
}

// add adds what a source sends, and returns how many pairs that added.
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

// evenDemands are the demands of an [EvenMatrix]. Equal numbers are added one by one, to be rounded
// as for any other matrix.
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

func repeated(x float64, n int) (sum float64) {
	for range n {
		sum += x
	}
	return sum
}

// Limits are the least cycles that channels take for a flit.
type Limits struct {
	Class []float64 // by channel class of the graph: the channels themselves; nil: 1
	// By part of the network, where queues at the end of channels or virtual channels take longer.
	Part [parts]float64
}

// Part is a part of a network's channels.
type Part uint8

const (
	Injection Part = iota // out of terminals
	Between               // switches
	Ejection              // into terminals
	parts
)

// of is the limit of channels of a class in a part, in flits a cycle, at least 1.
func (x *Limits) of(class topology.ClassID, part Part) float64 {
	if x.Class == nil {
		return max(1, x.Part[part])
	}
	return max(x.Class[class], x.Part[part])
}

// PartOf is the part of the channel out of a switch port; injection channels with NoPort.
func (l *Load) PartOf(p topology.PortID) Part {
	if p == topology.NoPort {
		return Injection
	}
	if _, ok := l.graph.PeerTerminal(p); ok {
		return Ejection
	}
	return Between
}

// TerminalLoads are the loads of the terminals' own channels under m, for any routing, 0 elsewhere.
func TerminalLoads(g *topology.Graph, m Matrix) *Load {
	l := &Load{g, make([]float64, g.NumPorts()), make([]float64, g.Terminals())}
	if even, ok := m.(EvenMatrix); ok {
		d := &evenDemands{}
		d.weight, d.self = even.Even()
		l.enterEven(d)
		return l
	}
	for src := range l.Injection {
		m.Weights(topology.TerminalID(src), func(dst topology.TerminalID, weight float64) {
			l.Injection[src] += weight
			l.Port[g.TerminalPort[dst]] += weight
		})
	}
	return l
}

// enterEven enters the loads of the terminals' own channels under even demands.
func (l *Load) enterEven(d *evenDemands) {
	all := repeated(d.weight, d.others(len(l.Injection)))
	for t := range l.Injection {
		l.Injection[t], l.Port[l.graph.TerminalPort[t]] = all, all
	}
}

// use visits all channels with their utilisation at a flit a cycle from each sending terminal:
// injection channels by terminal, with NoPort, then ports.
func (l *Load) use(x *Limits, visit func(p topology.PortID, used float64)) {
	g := l.graph
	if x == nil {
		x = &Limits{}
	}
	for t, load := range l.Injection {
		visit(topology.NoPort, load*x.of(g.PortClass[g.TerminalPort[t]], Injection))
	}
	for p, load := range l.Port {
		visit(topology.PortID(p), load*x.of(g.PortClass[p], l.PartOf(topology.PortID(p))))
	}
}

// Hops is the number of switches that a flit crosses in the mean.
func (l *Load) Hops() float64 {
	crossed, sent := 0.0, 0.0
	for _, load := range l.Port {
		crossed += load
	}
	for _, load := range l.Injection {
		sent += load
	}
	return crossed / sent
}

// Bound is the load that fills the first channel, in flits a cycle and sending terminal: beyond it
// some terminal falls behind; the mean over terminals can be higher, unless the load [Load.Caps]
// it. worst is the port of that channel, NoPort for an injection channel. No limits: a cycle a
// flit.
func (l *Load) Bound(x *Limits) (load float64, worst topology.PortID) {
	most, worst := 0.0, topology.NoPort
	l.use(x, func(p topology.PortID, used float64) {
		if used > most*(1+1e-12) { // sums in another order are equal
			most, worst = used, p
		}
	})
	if most == 0 {
		return math.Inf(1), topology.NoPort
	}
	return 1 / most, worst
}

// full sums up, by part, the utilisation in m of the channels that are filled first under l.
func (l *Load) full(x *Limits, m *Load) (sums [parts]float64) {
	bound := l.bound(x)
	var used []float64
	m.use(x, func(_ topology.PortID, u float64) { used = append(used, u) })
	i := 0
	l.use(x, func(p topology.PortID, u float64) {
		if u*bound > 1-1e-9 {
			sums[l.PartOf(p)] += used[i]
		}
		i++
	})
	return sums
}

// Caps tells whether [Load.Bound] also bounds the mean throughput of the sending terminals, however
// unequal they are. A terminal's flits take a channel in fixed shares: n terminals that send a(s)
// with q(s) each over the c channels that fill first keep to sum a(s) q(s) <= c; if all q(s) are
// equal, that is mean a <= the bound. The channels of one part are enough: out of terminals,
// between switches, or into terminals. Unequal q(s) show in loads under unequal weights of
// terminals: weighted computes them for the traffic of [Weighted], nil if it cannot. It is not
// asked where the channels out of terminals are enough.
func (l *Load) Caps(x *Limits, weighted func() *Load) bool {
	senders := 0.0
	for _, sent := range l.Injection {
		if sent > 0 {
			senders++
		}
	}
	sums := l.full(x, l)
	if math.Abs(sums[Injection]*l.bound(x)-senders) < 1e-9*senders {
		return true // each sends over its own, which is full
	}
	w := weighted()
	if w == nil {
		return false
	}
	weights := 0.0
	for t, sent := range l.Injection {
		if sent > 0 {
			weights += w.Injection[t] / sent
		}
	}
	for part, sum := range l.full(x, w) {
		if sums[part] > 0 && math.Abs(sum/weights*senders/sums[part]-1) < 1e-9 {
			return true
		}
	}
	return false
}

func (l *Load) bound(x *Limits) float64 {
	bound, _ := l.Bound(x)
	return bound
}

// Weighted is the traffic of m in which every terminal sends 1 to 2 times as much, drawn at random
// with a fixed seed.
func Weighted(m Matrix) Matrix { return weighted{m} }

type weighted struct{ m Matrix }

func (w weighted) Weights(src topology.TerminalID, yield func(topology.TerminalID, float64)) {
	r := sim.NewStream(1, "weighted", int(src))
	times := 1 + r.Float64()
	w.m.Weights(src, func(dst topology.TerminalID, weight float64) { yield(dst, times*weight) })
}
