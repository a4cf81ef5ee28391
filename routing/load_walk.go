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
	"github.com/weft-sim/weft/sim/mem"
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
	turn := newTurnstile(ports, threads)
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
