package routing

import (
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// loadWalk follows the flows to some of the destinations, one after the other. What they
// add to the loads of ports is written down first: sums depend on the order in which they
// are made, and that is the order of destinations for any number of threads.
type loadWalk struct {
	*walker
	sources   []topology.TerminalID
	now, next *front
	additions []addition
	turn      *turnstile
}

// addition is a flow over a port.
type addition struct {
	port topology.PortID
	flow float64
}

// maxAdditions bounds what all threads write down before it is their turn: 256 MiB.
var maxAdditions = 1 << 24

// turnstile lets threads add to the loads in the order of destinations.
type turnstile struct {
	mu      sync.Mutex
	passed  sync.Cond
	current int // destination whose turn it is
	err     error
	most    int // additions that a thread may write down
	ports   []float64
}

// loadAll adds the flows of all demands to the loads of ports.
func (w *walker) loadAll(d demands, ports []float64) error {
	ends := w.ends()
	threads := max(1, min(len(ends), runtime.GOMAXPROCS(0)))
	turn := &turnstile{ports: ports, most: max(1, maxAdditions/threads)}
	turn.passed.L = &turn.mu
	var claimed atomic.Int64
	var running sync.WaitGroup
	for range threads {
		x := &loadWalk{walker: w, sources: ends, now: w.newFront(), next: w.newFront(), turn: turn}
		running.Go(func() {
			for {
				i := int(claimed.Add(1) - 1)
				if i >= len(ends) || !x.to(i, d) {
					return
				}
			}
		})
	}
	running.Wait()
	return turn.err
}

// to adds the flows to a destination; ok is false after an error, of this one or another.
func (x *loadWalk) to(i int, d demands) (ok bool) {
	err := x.follow(i, d)
	if !x.add(i) {
		return false
	}
	x.turn.mu.Lock()
	defer x.turn.mu.Unlock()
	x.turn.err = err
	x.turn.current++
	x.turn.passed.Broadcast()
	return err == nil
}

// add waits for the turn of a destination, which it keeps, and adds what is written down;
// ok is false if there has been an error before.
func (x *loadWalk) add(i int) (ok bool) {
	t := x.turn
	t.mu.Lock()
	for t.current != i && t.err == nil {
		t.passed.Wait()
	}
	ok = t.err == nil
	t.mu.Unlock()
	if !ok {
		return false
	}
	for _, a := range x.additions {
		t.ports[a.port] += a.flow
	}
	x.additions = x.additions[:0]
	return true
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

// errNoTurn ends a walk whose turn will not come.
var errNoTurn = fmt.Errorf("routing: another walk has failed")

// follow sends the flows of one destination along their paths.
func (x *loadWalk) follow(i int, d demands) error {
	dst := x.sources[i]
	x.now.reset()
	d.to(i, func(source int, flow float64) {
		heads := x.heads(x.sources[source], dst)
		for _, h := range heads {
			x.now.add(h, flow/float64(len(heads)))
		}
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
			if len(x.additions) >= x.turn.most && !x.add(i) {
				return errNoTurn
			}
		}
		x.now, x.next = x.next, x.now
	}
	return nil
}

// split divides the flow of one head over its hops.
func (x *loadWalk) split(h fabric.Head, flow float64) (err error) {
	total := 0.0
	x.e.Explore(x.vcs, h, func(hop fabric.Hop, state uint32, weight float64) {
		total += weight
		n := bits.OnesCount32(hop.VCs)
		for set := hop.VCs; err == nil; {
			follower, arrived, problem := x.walker.follow(h, hop, state, uint8(bits.TrailingZeros32(set)))
			if err = problem; err != nil || arrived {
				return
			}
			x.additions = append(x.additions, addition{hop.Port, flow * weight / float64(n)})
			x.next.add(follower, flow*weight/float64(n))
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
