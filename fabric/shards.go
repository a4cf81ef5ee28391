package fabric

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"

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
//
// There are more parts than threads, so that a thread that is through with its own,
// or whose processor nobody else wants, can take over some of another's.
type shards struct {
	all       []*Fabric
	threads   int
	lookahead int64 // cycles of a window
	barrier   *barrier
	tasks     []task // by part
}

// task is how far a part has got, in a cache line of its own: the number of the
// task that comes next, two a window.
type task struct {
	next atomic.Int64
	_    [56]byte
}

// RemoteReader is implemented by routings that read, at one switch, the state of
// others. What they read must be of this very cycle, so that the switches have to
// be in one part.
type RemoteReader interface {
	// ReadsWithin tells whether all that is read at any switch is in the
	// switch's own part. part is by switch.
	ReadsWithin(part []int) bool
}

// maxParts bounds the parts of a network: wheels are found by 4 bits.
const maxParts = 14

// worthThreads, which only tests change, is the number of terminals times cycles of a window from which a
// second thread pays for its barriers.
var worthThreads = int64(4000)

// partsPerThread is the number of parts that a thread begins with.
const partsPerThread = 4

// split divides the network among threads, if that is possible and pays. Call it
// before the first cycle, with all observers in place.
func (f *Fabric) split(threads int) {
	threads = min(threads, maxParts, len(f.switches))
	if threads < 2 || f.observed || f.multicast != nil || f.faults != nil {
		return
	}
	part, lookahead := f.divide(threads)
	work := lookahead * int64(len(f.terminals))
	if lookahead == 0 || work < worthThreads || !f.readsWithin(part) {
		return
	}
	if finer, same := f.divide(min(partsPerThread*threads, maxParts)); same == lookahead && work >= partsPerThread*worthThreads && f.readsWithin(finer) {
		part = finer
	}
	parts := slices.Max(part) + 1
	s := &shards{lookahead: lookahead, threads: threads, barrier: newBarrier(threads), tasks: make([]task, parts)}
	f.packets.chunks = make([]*packetChunk, maxChunks) // must not move any more
	if f.unit != nil {
		f.packets.trains = make([]*trainChunk, maxChunks)
	}
	for range parts {
		s.all = append(s.all, f.shard(parts, lookahead))
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

// divide makes n parts of the switches, and tells for how many cycles they can be
// simulated apart; 0 if they are not connected.
func (f *Fabric) divide(n int) (part []int, lookahead int64) {
	n = min(n, len(f.switches))
	latency := func(p topology.PortID) int32 { return f.out[p].latency }
	part = partition(f.graph, latency, n)
	lookahead = math.MaxInt64
	for p := range f.graph.NumPorts() {
		if peer := f.graph.Peer[p]; peer >= 0 && part[f.graph.PortSwitch[p]] != part[f.graph.PortSwitch[peer]] {
			lookahead = min(lookahead, 1+int64(f.out[p].latency))
		}
	}
	if lookahead == math.MaxInt64 {
		lookahead = 0
	}
	return part, lookahead
}

// readsWithin tells whether the routing reads nothing of other parts.
func (f *Fabric) readsWithin(part []int) bool {
	r, ok := f.routing.(RemoteReader)
	return !ok || r.ReadsWithin(part)
}

// maxChunks bounds the packets in a divided network: 2^26.
const maxChunks = 1 << 16

// shard is a copy of f for one of n parts, idle.
func (f *Fabric) shard(n int, lookahead int64) *Fabric {
	s := new(Fabric)
	*s = *f
	s.view.f = s
	s.active = make([]uint64, len(f.active))
	s.alloc = newScratch(int32(len(f.alloc.matched)/2), int32(f.vcs))
	if f.registered != nil {
		s.registered = f.registered.part(f)
	}
	s.openWheels(f.horizon)
	for i := range n {
		s.flits[firstOutbox+i] = sim.NewWheel[flit](f.horizon + lookahead)
		s.credits[1+i] = sim.NewWheel[int32](f.horizon + lookahead)
	}
	if f.behind != nil {
		s.behind = newBehind(s, f.horizon)
		s.behind.crossed = f.behind.crossed
	}
	if f.hold != nil {
		s.hold = f.hold.part()
	}
	if f.unit != nil {
		s.unit = f.unit.part(s, n, lookahead)
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
	for i := range s.tasks {
		s.tasks[i].next.Store(0)
	}
	for me := 1; me < s.threads; me++ {
		others.Go(func() { s.work(me, f.cycle, end) })
	}
	s.work(0, f.cycle, end)
	others.Wait()
	f.cycle = end
	f.Counters = Counters{}
	for _, shard := range s.all {
		f.Counters.add(&shard.Counters)
	}
}

// work is a thread's share of advance.
func (s *shards) work(me int, from, end int64) {
	for number := int64(0); from < end; number += 2 {
		until := min(end, from+s.lookahead)
		s.barrier.wait() // all parts have sent what arrives in this window
		s.each(me, number, func(part int) {
			for other, shard := range s.all {
				if other != part {
					s.all[part].receive(shard, part, from+1, until)
				}
			}
		})
		s.barrier.wait() // all have taken it
		s.each(me, number+1, func(part int) { s.all[part].simulate(until - from) })
		from = until
	}
}

// each does the tasks of a number that no other thread does: those of the thread's
// own parts and then, from the last on, those of the others.
func (s *shards) each(me int, number int64, do func(part int)) {
	parts := len(s.tasks)
	first, own := me*parts/s.threads, (me+1)*parts/s.threads-me*parts/s.threads
	for i := range parts {
		part := first + i
		if i >= own {
			part = (first + parts - 1 - (i - own)) % parts
		}
		if s.tasks[part].next.CompareAndSwap(number, number+1) {
			do(part)
		}
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
		if f.unit != nil {
			f.unit.receive(from.unit, me, c)
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

// Threads is the number of threads that simulate f once it runs.
func (f *Fabric) Threads() int {
	if f.shards == nil {
		return 1
	}
	return f.shards.threads
}

// creditsUnderWay tells whether any credit has not come back.
func (f *Fabric) creditsUnderWay() bool {
	if f.shards == nil {
		return f.credits[0].Len() > 0 || f.held != nil && f.held.Len() > 0 || f.unit != nil && f.unit.creditsUnderWay(f)
	}
	for _, shard := range f.shards.all {
		if shard.unit != nil && shard.unit.creditsUnderWay(shard) {
			return true
		}
		if shard.held != nil && shard.held.Len() > 0 {
			return true
		}
		for _, w := range shard.credits {
			if w != nil && w.Len() > 0 {
				return true
			}
		}
	}
	return false
}
