package routing

import (
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"sync"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/mem"
)

// Regional is implemented by routings on groups of switches joined pairwise. Until a packet is in
// its destination's group, it looks at nothing but the group; there it has at most one hop left. So
// even traffic is followed to a group once, not once for each of its switches.
type Regional interface {
	// Region is the number of a switch's group.
	Region(s topology.SwitchID) int
}

// written is what a trip, or the beginning of a long one, has come to.
type written struct {
	shared    []addition // on the way to the group of all destinations, once for each
	times     int        // destinations
	additions []addition // beside them: to other channels
	more      bool       // the trip goes on
	err       error
}

func (w *written) addTo(ports []float64) {
	for range w.times {
		for _, a := range w.shared {
			ports[a.port] += a.flow
		}
	}
	for _, a := range w.additions {
		ports[a.port] += a.flow
	}
}

// loadWalk follows the flows to some of the destinations, one after the other. Additions to loads
// are written down first: sums depend on their order, which is the order of destinations for any
// number of threads.
type loadWalk struct {
	*loadTrips
	now, next *front
	come      front // to a group, at all distances
	inside    []int // the ends in it
	written
	spare   []addition   // for what comes after written
	most    int          // additions of written
	results chan written // whoever receives is done with the one before
	failed  chan struct{}
	splitting
}

// loadTrips divide the destinations of a walk into trips.
type loadTrips struct {
	*walker
	demands
	ends   []topology.TerminalID
	region []int // of each end; nil: no trip has a group
	start  []int // of each trip, and their end
}

// trips are of a destination each, or, where the routing is [Regional] and traffic even, of a run
// of destinations in one group that are sent the same.
func (w *walker) trips(d demands) *loadTrips {
	t := &loadTrips{walker: w, demands: d, ends: w.ends()}
	even, is := d.(*evenDemands)
	if r := regional(w.r); r != nil && is && w.blind {
		for _, end := range t.ends {
			t.region = append(t.region, r.Region(w.graph.TerminalSwitch(end)))
		}
	}
	for i := range t.ends {
		if i == 0 || t.region == nil || t.region[i] != t.region[i-1] || even.size[i] != even.size[i-1] {
			t.start = append(t.start, i)
		}
	}
	t.start = append(t.start, len(t.ends))
	return t
}

// splitting is the head whose flow is being divided.
type splitting struct {
	head  fabric.Head
	flow  float64
	total float64 // of the weights of hops
	err   error
	each  func(fabric.Hop, uint32, float64) // divide; made once
}

type addition struct {
	port topology.PortID
	flow float64
}

// maxAdditions bounds what is written down but not yet added: 256 MiB.
var maxAdditions = 1 << 24

// loadAll adds the flows of all demands to the loads of ports. Threads take turns with trips.
func (w *walker) loadAll(d demands, ports []float64) (err error) {
	trips := w.trips(d)
	count := len(trips.start) - 1
	walks := make([]*loadWalk, max(1, min(count, runtime.GOMAXPROCS(0))))
	var running sync.WaitGroup
	defer running.Wait()
	failed := make(chan struct{})
	defer close(failed)
	for first := range walks {
		x := &mem.Apart[loadWalk](1)[0]
		*x = loadWalk{loadTrips: trips, now: w.newFront(), next: w.newFront(), most: max(1, maxAdditions/2/len(walks)), results: make(chan written), failed: failed}
		x.each = x.divide
		walks[first] = x
		running.Go(func() {
			for i := first; i < count; i += len(walks) {
				if x.written.err = x.trip(i); !x.send() {
					return
				}
			}
		})
	}
	for i := range count {
		for more := true; more; {
			w := <-walks[i%len(walks)].results
			if w.err != nil {
				return w.err
			}
			w.addTo(ports)
			more = w.more
		}
	}
	return nil
}

// send hands over what is written down; ok is false if another trip has failed.
func (x *loadWalk) send() (ok bool) {
	select {
	case x.results <- x.written:
		x.written, x.spare = written{additions: x.spare[:0]}, x.additions
		return true
	case <-x.failed:
		return false
	}
}

// sendSome hands over the beginning of a trip.
func (x *loadWalk) sendSome() (ok bool) {
	rest := x.written
	x.written = written{additions: x.additions, more: true}
	ok = x.send()
	x.shared, x.times = rest.shared, rest.times
	return ok
}

// front is the heads at one distance from the sources, with their flows, in order of discovery:
// sums must not depend on chance.
type front struct {
	heads []fabric.Head
	flow  []float64
	index headNumbers
}

// newFront is an empty front, apart from others in memory.
func (w *walker) newFront() *front {
	f := &mem.Apart[front](1)[0]
	f.index = *newHeadNumbers(w.graph.NumPorts(), w.vcs)
	return f
}

// add adds flow, in flits a cycle, to a head.
func (f *front) add(h fabric.Head, flow float64) {
	i, known := f.index.of(h)
	if !known {
		f.append(h, 0)
	}
	f.flow[i] += flow
}

// append adds a head without indexing it.
func (f *front) append(h fabric.Head, flow float64) {
	f.heads, f.flow = append(f.heads, h), append(f.flow, flow)
}

func (f *front) reset() {
	f.clear()
	f.index.reset()
}

// clear forgets all heads and keeps their numbers.
func (f *front) clear() { f.heads, f.flow = f.heads[:0], f.flow[:0] }

var errOther = fmt.Errorf("routing: another walk has failed")

const noRegion = -1

func (x *loadWalk) trip(number int) error {
	first, end := x.start[number], x.start[number+1]
	region := noRegion
	if end > first+1 {
		region = x.region[first]
	}
	x.now.reset()
	x.come.clear()
	x.to(first, func(source int, flow float64) {
		if region == noRegion || x.region[source] != region {
			x.begin(source, first, flow)
		}
	})
	if err := x.follow(first, region); region == noRegion || err != nil {
		return err
	}
	x.shared, x.additions, x.times = x.additions, x.shared, end-first
	x.inside = x.inside[:0]
	for source := range x.ends {
		if x.region[source] == region {
			x.inside = append(x.inside, source)
		}
	}
	for i := first; i < end; i++ {
		x.now.reset()
		for _, source := range x.inside {
			x.begin(source, i, x.demands.(*evenDemands).between(source, i))
		}
		for j, h := range x.come.heads {
			h.Dst = x.ends[i]
			x.now.append(h, x.come.flow[j])
		}
		if err := x.follow(i, noRegion); err != nil {
			return err
		}
	}
	return nil
}

func (x *loadWalk) begin(source, dst int, flow float64) {
	n := float64(x.injections())
	x.eachHead(x.ends[source], x.ends[dst], func(h fabric.Head) { x.now.add(h, flow/n) })
}

// follow sends flows along their paths to one destination, or to its group.
func (x *loadWalk) follow(dst, region int) error {
	for hops := 0; len(x.now.heads) > 0; hops++ {
		if hops > 4*x.graph.Switches() {
			return fmt.Errorf("the routing leads packets for %s round in circles", x.graph.TerminalName(x.ends[dst]))
		}
		x.next.reset()
		for j, h := range x.now.heads {
			if err := x.split(h, x.now.flow[j]); err != nil {
				return err
			}
			if region == noRegion && len(x.additions) >= x.most && !x.sendSome() {
				return errOther
			}
		}
		x.now, x.next = x.next, x.now
		if region != noRegion {
			x.stop(region)
		}
	}
	return nil
}

// stop takes the flows that have come to a group out of those that go on.
func (x *loadWalk) stop(region int) {
	r := regional(x.r)
	heads, flow := x.now.heads, x.now.flow
	x.now.clear()
	for i, h := range heads {
		if r.Region(h.Switch) == region {
			x.come.append(h, flow[i])
		} else {
			x.now.append(h, flow[i])
		}
	}
}

func (x *loadWalk) split(h fabric.Head, flow float64) error {
	x.head, x.flow, x.total, x.splitting.err = h, flow, 0, nil
	x.e.Explore(x.vcs, h, x.each)
	if x.splitting.err == nil && math.Abs(x.total-1) > 1e-9 {
		return ErrAdaptive
	}
	return x.splitting.err
}

// divide enters the share of the flow that a hop takes.
func (x *loadWalk) divide(hop fabric.Hop, state uint32, weight float64) {
	x.total += weight
	share := x.flow * weight / float64(bits.OnesCount32(hop.VCs))
	for set := hop.VCs; x.splitting.err == nil; {
		follower, arrived, err := x.walker.follow(x.head, hop, state, uint8(bits.TrailingZeros32(set)))
		if x.splitting.err = err; err != nil || arrived {
			return
		}
		x.additions = append(x.additions, addition{hop.Port, share})
		x.next.add(follower, share)
		if set &= set - 1; set == 0 {
			return
		}
	}
}
