package fabric

import (
	"math"
	"sync"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// shards are the parts of a network that several threads simulate.
//
// Each is a Fabric of its own clock, wheels, allocator, pool and counters, which
// shares the arrays of hardware state with the others; an element belongs to the
// shard of its switch, or of its terminal's. What a switch does reaches another
// one no earlier than a cycle and the channel between them later. So all shards
// simulate a window of as many cycles as the fastest channel between two of them
// takes, and one, without hearing of each other; what they have sent to others by
// then waits in wheels of its own, and is handed over at the barrier before the
// window in which it arrives. All arrivals of a cycle come before its decisions
// and may come in any order: so results do not depend on the number of threads.
//
// Where a routing reads the state of switches of other parts (a [RemoteReader]),
// where packets are observed, and where one thread would be as fast, there are
// none.
type shards struct {
	all       []*Fabric
	lookahead int64 // cycles of a window
	barrier   *barrier
}

// RemoteReader is implemented by routings that read, at one switch, the state of
// others. What they read must be of this very cycle, so that the switches have to
// be in one part.
type RemoteReader interface {
	// ReadsWithin tells whether all that is read at any switch is in the
	// switch's own part. part is by switch.
	ReadsWithin(part []int) bool
}

// maxThreads bounds the parts of a network: wheels are found by 4 bits.
const maxThreads = 14

// worthThreads, which only tests change, is the number of terminals times cycles of a window from which a
// second thread pays for its barriers.
var worthThreads = int64(4000)

// split divides the network among threads, if that is possible and pays. Call it
// before the first cycle, with all observers in place.
func (f *Fabric) split(threads int) {
	threads = min(threads, maxThreads, len(f.switches))
	if threads < 2 || f.observed || f.multicast != nil || f.faults != nil {
		return
	}
	latency := func(p topology.PortID) int32 { return f.out[p].latency }
	part := partition(f.graph, latency, threads)
	if r, ok := f.routing.(RemoteReader); ok && !r.ReadsWithin(part) {
		return
	}
	lookahead := int64(math.MaxInt64)
	for p := range f.graph.NumPorts() {
		if peer := f.graph.Peer[p]; peer >= 0 && part[f.graph.PortSwitch[p]] != part[f.graph.PortSwitch[peer]] {
			lookahead = min(lookahead, 1+int64(f.out[p].latency))
		}
	}
	if lookahead == math.MaxInt64 || lookahead*int64(len(f.terminals)) < worthThreads {
		return
	}
	s := &shards{lookahead: lookahead, barrier: newBarrier(threads)}
	f.packets.chunks = make([]*packetChunk, maxChunks) // must not move any more
	for range threads {
		s.all = append(s.all, f.shard(threads, lookahead))
	}
	f.shards = s
	for p := range f.graph.NumPorts() {
		peer := f.graph.Peer[p]
		if peer < 0 {
			continue
		}
		if other := part[f.graph.PortSwitch[peer]]; other != part[f.graph.PortSwitch[p]] {
			f.out[p].wheel = uint8(firstOutbox + other)
			f.in[p].wheel = uint8(1 + other)
		}
	}
	f.shardOf = make([]uint8, len(f.switches))
	for sw := range part {
		f.shardOf[sw] = uint8(part[sw])
	}
}

// maxChunks bounds the packets in a divided network: 2^26.
const maxChunks = 1 << 16

// shard is a copy of f for one of n threads, idle.
func (f *Fabric) shard(n int, lookahead int64) *Fabric {
	s := new(Fabric)
	*s = *f
	s.view.f = s
	s.active = make([]uint64, len(f.active))
	s.alloc = newAllocator(int32(len(f.alloc.matched)/2), int32(f.vcs))
	s.openWheels(f.horizon)
	for i := range n {
		s.flits[firstOutbox+i] = sim.NewWheel[flit](f.horizon + lookahead)
		s.credits[1+i] = sim.NewWheel[int32](f.horizon + lookahead)
	}
	if f.behind != nil {
		s.behind = newBehind(s, f.horizon)
		s.behind.crossed = f.behind.crossed
	}
	return s
}

// owner is the fabric that simulates a terminal: f, or one of its shards.
func (f *Fabric) owner(t topology.TerminalID) *Fabric {
	if f.shards == nil {
		return f
	}
	return f.shards.all[f.shardOf[f.graph.TerminalSwitch(t)]]
}

// advance simulates so many cycles on all threads.
func (s *shards) advance(f *Fabric, cycles int64) {
	var others sync.WaitGroup
	end := f.cycle + cycles
	for i := range s.all[1:] {
		others.Go(func() { s.work(i+1, f.cycle, end) })
	}
	s.work(0, f.cycle, end)
	others.Wait()
	f.cycle = end
	f.Counters = Counters{}
	for _, shard := range s.all {
		f.Counters.add(&shard.Counters)
	}
}

// work is a thread's part of advance.
func (s *shards) work(me int, from, end int64) {
	f := s.all[me]
	for from < end {
		until := min(end, from+s.lookahead)
		s.barrier.wait() // all have sent what arrives in this window
		for other, shard := range s.all {
			if other != me {
				f.receive(shard, me, from+1, until)
			}
		}
		s.barrier.wait() // all have taken it
		f.simulate(until - from)
		from = until
	}
}

// receive takes what another shard has sent and what arrives in some cycles.
func (f *Fabric) receive(from *Fabric, me int, first, last int64) {
	flits, credits := from.flits[firstOutbox+me], from.credits[1+me]
	for c := first; c <= last; c++ {
		for batch := flits.Next(c); batch != nil; batch = flits.Next(c) {
			for i := range batch {
				*f.flits[toSwitches].Place(c) = batch[i]
			}
		}
		for batch := credits.Next(c); batch != nil; batch = credits.Next(c) {
			for _, ov := range batch {
				*f.credits[0].Place(c) = ov
			}
		}
	}
}

// add adds the counts of another.
func (c *Counters) add(o *Counters) {
	c.InjectedFlits += o.InjectedFlits
	c.DeliveredFlits += o.DeliveredFlits
	c.FlitHops += o.FlitHops
	c.Packets += o.Packets
	c.ReplicatedFlits += o.ReplicatedFlits
	c.DiscardedFlits += o.DiscardedFlits
}

// creditsUnderWay tells whether any credit has not come back.
func (f *Fabric) creditsUnderWay() bool {
	if f.shards == nil {
		return f.credits[0].Len() > 0
	}
	for _, shard := range f.shards.all {
		for _, w := range shard.credits {
			if w != nil && w.Len() > 0 {
				return true
			}
		}
	}
	return false
}
