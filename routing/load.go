package routing

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/mem"
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

// turnstile adds what threads have written down to the loads, in the order of
// destinations.
type turnstile struct {
	most  int // additions that a thread may write down, and half of what may wait
	ports []float64

	mu      sync.Mutex
	passed  sync.Cond
	current int // destination whose turn it is
	err     error
	early   map[int]written // of those whose turn has not come
	waiting int             // additions in them
	spare   [][]addition
}

// written is what a walk to a destination has come to.
type written struct {
	additions []addition
	err       error
}

// add waits for the turn of a destination, which it keeps, and adds what is written down so
// far; ok is false if a destination before has failed.
func (t *turnstile) add(i int, additions []addition) (ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.current != i && t.err == nil {
		t.passed.Wait()
	}
	if t.err != nil {
		return false
	}
	t.enter(additions)
	return true
}

func (t *turnstile) enter(additions []addition) {
	for _, a := range additions {
		t.ports[a.port] += a.flow
	}
}

// done takes over what the walk to a destination has written down last; fresh is for what
// the thread writes next, unless more is false after an error.
func (t *turnstile) done(i int, additions []addition, err error) (fresh []addition, more bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.current != i && t.err == nil && t.waiting > 0 && t.waiting+len(additions) > maxAdditions/2 {
		t.passed.Wait()
	}
	if t.err != nil {
		return nil, false
	}
	t.early[i] = written{additions, err}
	t.waiting += len(additions)
	for t.err == nil {
		w, there := t.early[t.current]
		if !there {
			break
		}
		delete(t.early, t.current)
		t.waiting -= len(w.additions)
		t.enter(w.additions)
		t.spare = append(t.spare, w.additions[:0])
		t.err = w.err
		t.current++
		t.passed.Broadcast()
	}
	if n := len(t.spare); n > 0 {
		fresh, t.spare = t.spare[n-1], t.spare[:n-1]
	}
	return fresh, err == nil
}

// loadWalk follows the flows to some of the destinations, one after the other. What they
// add to the loads of ports is written down first: sums depend on the order in which they
// are made, and that is the order of destinations for any number of threads.
type loadWalk struct {
	*walker
	sources   []topology.TerminalID
	now, next *front
	additions []addition
	turn      *turnstile
	splitting
}

// splitting is the head whose flow is being divided.
type splitting struct {
	head  fabric.Head
	flow  float64
	total float64 // of the weights of hops
	err   error
	each  func(fabric.Hop, uint32, float64) // divide; made once
}

// addition is a flow over a port.
type addition struct {
	port topology.PortID
	flow float64
}

// maxAdditions bounds what is written down, all in all: 256 MiB.
var maxAdditions = 1 << 24

// loadAll adds the flows of all demands to the loads of ports.
func (w *walker) loadAll(d demands, ports []float64) error {
	ends := w.ends()
	threads := max(1, min(len(ends), runtime.GOMAXPROCS(0)))
	turn := &turnstile{ports: ports, most: max(1, maxAdditions/2/threads), early: map[int]written{}}
	turn.passed.L = &turn.mu
	var claimed atomic.Int64
	var running sync.WaitGroup
	for range threads {
		x := &mem.Apart[loadWalk](1)[0]
		*x = loadWalk{walker: w, sources: ends, now: w.newFront(), next: w.newFront(), turn: turn}
		x.each = x.divide
		running.Go(func() {
			for {
				i := int(claimed.Add(1) - 1)
				if i >= len(ends) {
					return
				}
				more := false
				if x.additions, more = turn.done(i, x.additions, x.follow(i, d)); !more {
					return
				}
			}
		})
	}
	running.Wait()
	return turn.err
}

// front is the set of heads at one distance from the sources, with the flow
// that each carries, in order of discovery so that sums do not depend on chance.
type front struct {
	heads []fabric.Head
	flow  []float64
	index headNumbers
}

func (w *walker) newFront() *front {
	f := &mem.Apart[front](1)[0]
	f.index = *newHeadNumbers(w.graph.NumPorts(), w.vcs)
	return f
}

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

// errNoTurn ends a walk whose turn will not come.
var errNoTurn = fmt.Errorf("routing: another walk has failed")

// follow sends the flows of one destination along their paths.
func (x *loadWalk) follow(i int, d demands) error {
	dst := x.sources[i]
	x.now.reset()
	d.to(i, func(source int, flow float64) {
		n, flow := float64(x.injections()), flow
		x.eachHead(x.sources[source], dst, func(h fabric.Head) { x.now.add(h, flow/n) })
	})
	for hops := 0; len(x.now.heads) > 0; hops++ {
		if hops > 4*x.graph.Switches() {
			return fmt.Errorf("the routing leads packets for %s round in circles", x.graph.TerminalName(dst))
		}
		x.next.reset()
		for j, h := range x.now.heads {
			if err := x.split(h, x.now.flow[j]); err != nil {
				return err
			}
			if len(x.additions) >= x.turn.most {
				if !x.turn.add(i, x.additions) {
					return errNoTurn
				}
				x.additions = x.additions[:0]
			}
		}
		x.now, x.next = x.next, x.now
	}
	return nil
}

// split divides the flow of one head over its hops.
func (x *loadWalk) split(h fabric.Head, flow float64) error {
	x.head, x.flow, x.total, x.err = h, flow, 0, nil
	x.e.Explore(x.vcs, h, x.each)
	if x.err == nil && math.Abs(x.total-1) > 1e-9 {
		return ErrAdaptive
	}
	return x.err
}

// divide enters the share of the flow that a hop takes.
func (x *loadWalk) divide(hop fabric.Hop, state uint32, weight float64) {
	x.total += weight
	share := x.flow * weight / float64(bits.OnesCount32(hop.VCs))
	for set := hop.VCs; x.err == nil; {
		follower, arrived, err := x.walker.follow(x.head, hop, state, uint8(bits.TrailingZeros32(set)))
		if x.err = err; err != nil || arrived {
			return
		}
		x.additions = append(x.additions, addition{hop.Port, share})
		x.next.add(follower, share)
		if set &= set - 1; set == 0 {
			return
		}
	}
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

func (p pairDemands) to(dst int, yield func(source int, flow float64)) {
	for _, d := range p[dst] {
		yield(int(d.source), d.flow)
	}
}

// evenDemands are those of an [EvenMatrix], the sums of as many equal numbers as they would
// otherwise be, one after the other.
type evenDemands struct {
	weight float64
	self   bool
	size   []int // terminals of each end
}

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
	each := repeated(d.weight, d.size[dst]) // what a terminal sends
	last, flow := 0, 0.0
	for source, n := range d.size {
		if source == dst {
			if inside := repeated(repeated(d.weight, d.others(n)), n); inside > 0 {
				yield(source, inside)
			}
			continue
		}
		if n != last {
			last, flow = n, repeated(each, n)
		}
		yield(source, flow)
	}
}

// repeated is the sum of n times x.
func repeated(x float64, n int) (sum float64) {
	for range n {
		sum += x
	}
	return sum
}
