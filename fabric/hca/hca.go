// Package hca models an InfiniBand host channel adapter: send queues of queue pairs (QPs), the
// arbiter that shares the DMA engine among the active ones, the cache of QP contexts and the
// receive engine. A message passes these stages:
//
//	post --SendLatency--> [DMA engine, send] --wire--> [DMA engine, receive] --RecvLatency--> completion
//
// SendLatency (doorbell, fetching the work request, and the bytes: see [Config.Delay]) and RecvLatency
// (writing data and completion to memory, polling) occupy nothing. The engines are occupied: per work request, per packet, per byte
// at the slower of DMA and link rate, for turning to another QP, and for loading a QP context that
// is not cached. Sending and receiving disturb each other through the context cache only. The owner
// of the clock schedules the events; the package keeps the state and says how long things take.
package hca

import (
	"math/bits"
	"unsafe"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/mem"
	"github.com/weft-sim/weft/sim/snapshot"
)

// HCA is the state of one adapter, in two cache lines of 64 bytes: one for every request, one for
// the send queues of those that must wait.
type HCA struct {
	shared    *shared
	busyUntil sim.Time // of the sending engine
	recvUntil sim.Time // of the receiving engine
	departed  sim.Time // when the last burst has left for the wire
	sending   sim.Serializer
	receiving sim.Serializer
	contexts  int32 // the first of its sets in the cache
	number    int32 // among those made together
	arbiter
}

// shared is what the adapters made together have in common.
type shared struct {
	config  Config
	divider sim.Divider // by the slower rate of DMA and link
	quantum int64
	cache   contextCache
	burst   Burst // the last one
	stats   Stats
	busy    []engineTimes // len = adapters
}

// engineTimes is how long the engines of an adapter have been at work.
type engineTimes struct{ sending, receiving sim.Time }

// Stats are counters of the adapters that were made together.
type Stats struct {
	Requests, Bursts int64
	Bytes            int64
	ContextMisses    int64
	SendBusy         sim.Time // engine time spent sending
	RecvBusy         sim.Time // engine time spent receiving
	MissTime         sim.Time // of both engines, loading contexts
	Busiest          sim.Time `snap:"-"` // the most time that an engine of any adapter spent, sending or receiving
}

// Add adds the counts of adapters that were made apart.
func (s *Stats) Add(o Stats) {
	s.Requests += o.Requests
	s.Bursts += o.Bursts
	s.Bytes += o.Bytes
	s.ContextMisses += o.ContextMisses
	s.SendBusy += o.SendBusy
	s.RecvBusy += o.RecvBusy
	s.MissTime += o.MissTime
	s.Busiest = max(s.Busiest, o.Busiest)
}

// New makes n adapters.
func New(config *Config, n int) []HCA {
	common := &shared{config: *config, divider: sim.NewDivider(config.Rate()), quantum: int64(config.Quantum)}
	common.cache = newContextCache(config.ContextEntries, n)
	common.busy = make([]engineTimes, n)
	all := mem.HugePages(make([]HCA, n))
	for i := range all {
		all[i] = HCA{shared: common, contexts: int32(i * common.cache.perAdapter), number: int32(i), arbiter: arbiter{current: -1, free: -1, idle: -1}}
		if config.Engines > 0 {
			all[i].arbiter.crowd = &crowd{index: map[QP]int32{}, engines: config.Engines}
		}
	}
	return all
}

// Stats are the counters so far of all adapters that were made together with h.
func (h *HCA) Stats() Stats {
	s := h.shared.stats
	for _, t := range h.shared.busy {
		s.Busiest = max(s.Busiest, t.sending, t.receiving)
	}
	return s
}

// Post puts a request into its send queue. The owner calls Next at once if the engine is idle, else
// at the end of the present burst.
func (h *HCA) Post(r Request) {
	h.shared.stats.Requests++
	h.post(&r)
}

// Busy tells whether the sending engine is at work at time now.
func (h *HCA) Busy(now sim.Time) bool { return now < h.busyUntil }

// BusyUntil is the time from which the sending engine is idle.
func (h *HCA) BusyUntil() sim.Time { return h.busyUntil }

// Hold keeps the sending engine busy: network or receiver have not taken the last burst yet.
func (h *HCA) Hold(until sim.Time) { h.busyUntil = max(h.busyUntil, until) }

// Waiting tells whether any send queue holds a request.
func (h *HCA) Waiting() bool { return h.current >= 0 }

// Next starts the next burst at time now, when the engine must be idle, and returns the time at
// which its first byte goes out and the time at which the engine is free again; false if all send
// queues are empty. The burst is valid until the next one of any adapter made together with h.
func (h *HCA) Next(now sim.Time) (b *Burst, first, end sim.Time, ok bool) {
	if now < h.busyUntil {
		panic("hca: a burst while the engine is busy")
	}
	b = &h.shared.burst
	if !h.next(h.shared.quantum, b) {
		return nil, 0, 0, false
	}
	first, end = h.send(now, b)
	return b, first, end, true
}

// send occupies the engine with a burst from time now on.
func (h *HCA) send(now sim.Time, b *Burst) (first, end sim.Time) {
	first = now
	if b.First {
		first += h.shared.config.RequestTime
	}
	if b.Source == Registered {
		first += h.shared.config.PageTime * sim.Time(b.Size) / 4096
	}
	first += h.load(b.QP)
	end = first + h.occupied(&h.sending, b.Size)
	stats := &h.shared.stats
	stats.Bursts++
	stats.Bytes += b.Size
	stats.SendBusy += end - now
	h.shared.busy[h.number].sending += end - now
	h.busyUntil = end
	return first, end
}

// Depart is the time from the engine's reading of a burst, from first to end, to the wire:
// [Config.Delay], but never before earlier bursts. It is called once for each burst, in order.
func (h *HCA) Depart(b *Burst, first, end sim.Time) (delay sim.Time) {
	c, size := &h.shared.config, b.Size
	if !b.First || !b.Last || b.Source == Packed { // no whole request goes with the doorbell
		size = max(size, int64(c.InlineLimit)+1)
	}
	delay = max(c.Delay(size), h.departed-first)
	h.departed = end + delay
	return delay
}

// load is the engine time for getting at the context of a QP.
func (h *HCA) load(qp QP) sim.Time {
	c := h.shared
	if c.cache.touch(h.contexts, qp&^Responder) {
		return 0
	}
	c.stats.ContextMisses++
	c.stats.MissTime += c.config.ContextMiss
	return c.config.ContextMiss
}

func (h *HCA) occupied(s *sim.Serializer, bytes int64) sim.Time {
	c := h.shared
	t := s.Time(bytes, &c.divider)
	if c.config.PacketTime > 0 {
		mtu := int64(c.config.MTU)
		t += c.config.PacketTime * sim.Time(max(1, (bytes+mtu-1)/mtu))
	}
	return t
}

// Receive takes in a burst on QP whose first byte arrives at time first and last byte at time last,
// and returns when the data are in memory. Bursts come in the order of their first bytes. The
// engine takes them one by one, at its own rate.
func (h *HCA) Receive(qp QP, bytes int64, first, last sim.Time) sim.Time {
	start := max(first, h.recvUntil)
	end := start + h.load(qp) + h.occupied(&h.receiving, bytes)
	h.shared.stats.RecvBusy += end - start
	h.shared.busy[h.number].receiving += end - start
	h.recvUntil = end
	return max(end, last)
}

// Expect asks for the memory that a burst between two adapters made together will touch, on a QP of
// each; it changes nothing.
func Expect(adapters []HCA, from, to int32, qp, peer QP) {
	if c := &adapters[from].shared.cache; len(c.sets) > 0 {
		mem.Prefetch(unsafe.Pointer(c.set(adapters[from].contexts, qp&^Responder)))
		mem.Prefetch(unsafe.Pointer(c.set(to*int32(c.perAdapter), peer&^Responder)))
	}
	mem.Prefetch(unsafe.Pointer(&adapters[to]))
}

// Config is the adapter's configuration.
func (h *HCA) Config() *Config { return &h.shared.config }

// contextCache holds the QP contexts that adapters have at hand: sets of contextWays each, least
// recently used out first. It only decides whether a miss costs what the configuration says.
type contextCache struct {
	sets       []contextSet // the sets of an adapter in a row; empty if all contexts are at hand
	perAdapter int          // a power of two
}

// contextSet fills a cache line of the machine that simulates it.
type contextSet [contextWays]QP // most recent first

const contextWays = 8

// noQP marks an empty way.
const noQP QP = -1 << 63

// newContextCache makes caches for n adapters, each of at least entries, to the next power of two.
func newContextCache(entries, n int) contextCache {
	c := contextCache{perAdapter: contextSets(entries)}
	if c.perAdapter == 0 {
		return c
	}
	c.sets = mem.HugePages(make([]contextSet, n*c.perAdapter))
	var empty contextSet
	for way := range empty {
		empty[way] = noQP
	}
	for i := range c.sets {
		c.sets[i] = empty
	}
	return c
}

// contextSets is the number of sets of an adapter's cache of so many entries.
func contextSets(entries int) int {
	if entries == 0 {
		return 0
	}
	return 1 << bits.Len(uint((entries-1)/contextWays))
}

// ContextBytes is the memory of an adapter's context cache.
func (c *Config) ContextBytes() float64 {
	return float64(contextSets(c.ContextEntries)) * float64(unsafe.Sizeof(contextSet{}))
}

// set is that of a QP: the last bits of a hash tell its number.
func (c *contextCache) set(first int32, qp QP) *contextSet {
	return &c.sets[int(first)+int(uint64(qp)*0x9e3779b97f4a7c15>>32)&(c.perAdapter-1)]
}

// touch uses a context of the adapter whose sets begin at first and tells whether it was there.
func (c *contextCache) touch(first int32, qp QP) (hit bool) {
	if len(c.sets) == 0 {
		return true
	}
	set := c.set(first, qp)
	if set[0] == qp {
		return true
	}
	last := qp
	for i, w := range set {
		set[i] = last
		if w == qp {
			return true
		}
		last = w
	}
	return false
}

// Archive writes the state of an adapter, or reads it into one that is new and of the same
// settings. mark archives the mark of a request that has not been sent whole, of which so
// many bytes are left. The form does not depend on which adapters were made together. What
// they have in common is not in it: see [Stats] and [HCA.SetStats]. Cost: linear in the
// requests and the entries of the context cache.
func (h *HCA) Archive(a *snapshot.Archive, mark func(*snapshot.Archive, *Request)) {
	snapshot.Int(a, &h.busyUntil)
	snapshot.Int(a, &h.recvUntil)
	snapshot.Int(a, &h.departed)
	snapshot.Value(a, &h.shared.busy[h.number])
	snapshot.Value(a, &h.sending)
	snapshot.Value(a, &h.receiving)
	cache := &h.shared.cache
	snapshot.Array(a, "sets of contexts", cache.sets[h.contexts:][:cache.perAdapter], archiveContexts)
	h.arbiter.archive(a, mark)
}

// archiveContexts archives a set without its empty ways.
func archiveContexts(a *snapshot.Archive, set *contextSet) {
	n := 0
	for n < contextWays && set[n] != noQP {
		n++
	}
	snapshot.Int(a, &n)
	for i := range set[:min(n, contextWays)] {
		snapshot.Int(a, &set[i])
	}
}

// sendQueue is the requests of a QP, the first as far as it is left.
type sendQueue struct {
	qp       QP
	begun    bool
	requests []queued
}

func (s *sendQueue) archive(a *snapshot.Archive, mark func(*snapshot.Archive, *Request)) {
	snapshot.Int(a, &s.qp)
	snapshot.Bool(a, &s.begun)
	snapshot.List(a, &s.requests, func(a *snapshot.Archive, r *queued) {
		snapshot.Int(a, &r.bytes)
		left := Request{s.qp, r.bytes, r.mark}
		mark(a, &left)
		r.mark = left.Mark
	})
}

// archive archives the send queues: those that take turns, from the present one on, and those that
// wait for an engine, wherever they are in memory.
func (a *arbiter) archive(x *snapshot.Archive, mark func(*snapshot.Archive, *Request)) {
	var turns, waiting []sendQueue
	if !x.Reading() {
		turns, waiting = a.sendQueues()
	}
	over := a.over
	snapshot.Bool(x, &over)
	each := func(x *snapshot.Archive, s *sendQueue) { s.archive(x, mark) }
	snapshot.List(x, &turns, each)
	snapshot.List(x, &waiting, each)
	if !x.Reading() || x.Err() != nil {
		return
	}
	for _, s := range append(turns, waiting...) {
		for _, r := range s.requests {
			a.post(&Request{QP: s.qp, Bytes: r.bytes, Mark: r.mark})
		}
		a.active[a.find(s.qp)].begun = s.begun
	}
	a.over = over
}

// sendQueues lists the send queues of QPs that take turns, from the present one on, and of QPs that
// wait for an engine.
func (a *arbiter) sendQueues() (turns, waiting []sendQueue) {
	if a.current >= 0 {
		for at := a.current; ; {
			turns = append(turns, a.sendQueue(at))
			if at = a.active[at].next; at == a.current {
				break
			}
		}
	}
	if a.crowd != nil {
		for i := range a.crowd.waiting.Len() {
			waiting = append(waiting, a.sendQueue(*a.crowd.waiting.At(i)))
		}
	}
	return turns, waiting
}

// sendQueue is the send queue of the QP at a position of the table of active QPs.
func (a *arbiter) sendQueue(at int32) sendQueue {
	q := &a.active[at]
	s := sendQueue{qp: q.qp, begun: q.begun, requests: []queued{{bytes: q.left, mark: q.mark}}}
	if q.last >= 0 {
		for n := a.queue[q.last].next; ; n = a.queue[n].next {
			s.requests = append(s.requests, a.queue[n])
			if n == q.last {
				break
			}
		}
	}
	return s
}

// SetStats sets the counters of all adapters that were made together with h.
func (h *HCA) SetStats(s Stats) { h.shared.stats = s }
