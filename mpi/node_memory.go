package mpi

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/sim"
)

// Memory is a node's memory as a resource which its processes share. A copy by itself goes at the rate
// of one core (protocol.copy_rate, workload.copy_rate); copies at the same time in a domain share its
// bandwidth equally, but none gets more than its own rate (max-min fair processor sharing). What
// adapters read and write, and the caches, are left out. While a CPU copies, what arrives for the
// process waits.
type Memory struct {
	Bandwidth sim.Rate  `toml:"bandwidth" doc:"what all copies at the same time in a domain move together, every copied byte counted once; 0Gb/s: without limit"`
	Cached    sim.Bytes `toml:"cached" doc:"largest copy that goes from cache to cache, by its own rate however many others there are" min:"0B"`
	Domains   int       `toml:"domains" doc:"domains of a node, such as its sockets: its ranks in their order fall to them in equal parts" min:"1"`
	PerDomain int       `toml:"domain_ranks" doc:"ranks that a domain takes before the next one gets any; 0: equal parts" min:"0"`
	Between   sim.Time  `toml:"domain_latency" doc:"what a message from one domain of a node to another takes beside protocol.shared_latency" min:"0ns" max:"1000s"`
	Across    sim.Rate  `toml:"domain_rate" doc:"most of protocol.shared_rate that the two copies of a message from one domain of a node to another have; 0Gb/s: all"`
}

// DefaultMemory is without limit.
var DefaultMemory = Memory{Domains: 1}

// check finds what single bounds do not say.
func (m *Memory) check() error {
	if m.Bandwidth < 0 || m.Bandwidth > 0 && m.Domains < 1 {
		return fmt.Errorf("mpi: memory of %v in %d domains", m.Bandwidth, m.Domains)
	}
	return nil
}

// places tell by rank its domain, of all nodes' domains, and how many ranks its node has.
type places struct{ domainOf, together []int32 }

// places deals the processes of each node out to its memory domains.
func (m *Memory) places(nodeOf []int32, nodes int) places {
	p := places{make([]int32, len(nodeOf)), make([]int32, len(nodeOf))}
	on, index, domains := make([]int, nodes), make([]int, nodes), max(1, m.Domains)
	for _, node := range nodeOf {
		on[node]++
	}
	for r, node := range nodeOf {
		of := index[node] * domains / on[node]
		if m.PerDomain > 0 {
			of = min(index[node]/m.PerDomain, domains-1)
		}
		p.domainOf[r], p.together[r] = node*int32(domains)+int32(of), int32(on[node])
		index[node]++
	}
	return p
}

// way is the latency of a message through shared memory from a to b, who looks into the boxes of
// its node's other ranks.
func (p *places) way(c *Config, a, b int32) sim.Time {
	return p.trip(c, a, b) + c.Protocols.SharedPeer*sim.Time(max(0, p.together[b]-2))
}

// trip is the time that a line of the caches takes from rank a to rank b, in ps.
func (p *places) trip(c *Config, a, b int32) sim.Time {
	if p.domainOf[a] != p.domainOf[b] {
		return c.Protocols.SharedLatency + c.Memory.Between
	}
	return c.Protocols.SharedLatency
}

// fetch is the CPU time in which b takes in a message of a, or sees where it lies.
func (p *places) fetch(c *Config, a, b int32, bytes int64, shared bool) sim.Time {
	t := c.Protocols.overhead(shared, c.Protocols.RecvOverhead)
	if most := int64(c.Protocols.SharedShort); shared && most > 0 && bytes > most {
		t += p.trip(c, a, b)
	}
	return t
}

// rate is the rate, in bit/s, of a message's copies from a to b through shared memory, or between
// nodes.
func (p *places) rate(c *Config, a, b int32, bytes int64, shared bool, s collectives.Segment) sim.Rate {
	rate := c.Protocols.rateOf(bytes, shared, s)
	if shared && c.Memory.Across > 0 && p.domainOf[a] != p.domainOf[b] && !c.Protocols.inOneCopy(bytes, s) {
		return min(rate, c.Memory.Across)
	}
	return rate
}

// memory is the state of all nodes' memory; nil without a limit.
type memory struct {
	kernel    *sim.Kernel
	handler   sim.HandlerID
	ended     func(rank int32) // told when a rank's copy is done
	bandwidth float64          // of a domain, bytes a picosecond
	domains   []domain
	domainOf  []int32 // by rank
}

// domain has the copies that are going on, in the order in which they began.
type domain struct {
	copies []copying
	since  sim.Time // their bytes are counted up to then
	serial int64    // of the event for the next end; earlier ones are void
}

// copying is a copy under way.
type copying struct {
	rank int32
	left float64 // bytes
	most float64 // bytes a picosecond, alone
	rate float64 // now
}

func newMemory(k *sim.Kernel, config *Memory, domainOf []int32, nodes int, ended func(rank int32)) *memory {
	m := &memory{
		kernel: k, ended: ended, bandwidth: bytesPerPicosecond(config.Bandwidth),
		domains: make([]domain, nodes*config.Domains), domainOf: domainOf,
	}
	m.handler = k.Register(m)
	return m
}

func bytesPerPicosecond(r sim.Rate) float64 { return float64(r) / 8e12 }

// copy begins to copy so many bytes for a rank now, at most at the given rate.
func (m *memory) copy(rank int32, bytes, most float64) {
	d := &m.domains[m.domainOf[rank]]
	d.count(m.kernel.Now())
	d.copies = append(d.copies, copying{rank: rank, left: bytes, most: most})
	m.share(m.domainOf[rank])
}

// count enters what was copied up to now.
func (d *domain) count(now sim.Time) {
	passed := float64(now - d.since)
	d.since = now
	for i := range d.copies {
		d.copies[i].left -= d.copies[i].rate * passed
	}
}

// share divides the bandwidth among the copies of a domain and schedules the next end.
func (m *memory) share(of int32) {
	d := &m.domains[of]
	d.serial++
	if len(d.copies) == 0 {
		return
	}
	fairShares(d.copies, m.bandwidth)
	next := float64(latest) // end, from now
	for i := range d.copies {
		next = min(next, d.copies[i].left/d.copies[i].rate)
	}
	m.kernel.Schedule(d.since+sim.Time(next+almost), m.handler, 0, of, d.serial)
}

// almost 1: times are rounded up to whole picoseconds, but for errors of floating point.
const almost = 1 - 1e-6

// fairShares gives copies equal shares, or their own most if less; cost: square of the number of
// different rates.
func fairShares(copies []copying, bandwidth float64) {
	open := len(copies)
	for i := range copies {
		copies[i].rate = 0
	}
	for open > 0 {
		share, limited := bandwidth/float64(open), false
		for i := range copies {
			if c := &copies[i]; c.rate == 0 && c.most <= share {
				c.rate, limited = c.most, true
				bandwidth -= c.most
				open--
			}
		}
		if !limited {
			for i := range copies {
				copies[i].rate = cmp.Or(copies[i].rate, share)
			}
			return
		}
	}
}

// Handle ends the copies that are done.
func (m *memory) Handle(k *sim.Kernel, e sim.Event) {
	d := &m.domains[e.Target]
	if e.Arg != d.serial {
		return
	}
	d.count(k.Now())
	var done []int32
	d.copies = slices.DeleteFunc(d.copies, func(c copying) bool {
		over := c.left <= c.rate // less than what a picosecond moves
		if over {
			done = append(done, c.rank)
		}
		return over
	})
	m.share(e.Target)
	for _, rank := range done {
		m.ended(rank)
	}
}

// Without a limit to a node's memory a copy's end is known when it begins, and the CPU is booked
// until then. With one, the CPU is held until the memory reports the end; what comes for the
// process meanwhile is put off, and the rest of the copy's activity follows then.

// copies is what the runtime keeps for memory that is shared; nil without.
type copies struct {
	memory *memory
	ranks  []copier
}

// copier is a rank's CPU as it copies.
type copier struct {
	held    bool
	stepped bool // the queue of operations waits for the CPU
	then    afterCopy
	id      int32 // of the message or the operation that the copy is for
	began   sim.Time
	bytes   float64
	most    float64 // bytes a picosecond
	late    []int32 // put off: messages that want to be taken in; ^ those that are written
}

type afterCopy uint8

const (
	thenLeave    afterCopy = iota // the message that the CPU works on leaves
	thenWorked                    // operation id of the schedule is done
	thenMatched                   // message id, whose receive was there, is taken in
	thenEarly                     // message id, whose receive was not, is
	thenUnpacked                  // message id is where its receive wants it
	thenRelay                     // message id is passed on
)

// activity is what the copy is a part of, and for which message; -1: for none.
func (c *copier) activity() (What, int32) {
	switch c.then {
	case thenLeave:
		return Sending, c.id
	case thenWorked:
		return Copying, -1
	case thenRelay:
		return Relaying, c.id
	}
	return Receiving, c.id
}

func newCopies(rt *runtime, nodes int) *copies {
	if rt.Memory.Bandwidth == 0 {
		return nil
	}
	if first := rt.parts[0].copies; first != nil {
		own := *first.memory // for another part, which uses its own nodes' only
		own.kernel, own.ended = rt.kernel, rt.moved
		own.handler = rt.kernel.Register(&own)
		return &copies{&own, first.ranks}
	}
	return &copies{newMemory(rt.kernel, &rt.Memory, rt.places.domainOf, nodes, rt.moved), make([]copier, len(rt.ranks))}
}

// held tells whether the CPU of r copies, or is booked for a copy.
func (rt *runtime) held(r int32) bool { return rt.copies != nil && rt.copies.ranks[r].held }

// copy books the CPU of r for a time, from start or when it is free, and then for copying bytes, at
// most at most bytes a picosecond; then follows. It is false, and does nothing, if the end can be
// told at once.
func (rt *runtime) copy(r int32, start, fixed sim.Time, bytes, most float64, then afterCopy, id int32) bool {
	if rt.copies == nil || bytes <= float64(rt.Memory.Cached) {
		return false
	}
	c := &rt.copies.ranks[r]
	if c.held {
		panic("mpi: a second copy of a CPU")
	}
	c.held, c.then, c.id, c.bytes, c.most = true, then, id, bytes, most
	what, message := c.activity()
	rt.kernel.Schedule(rt.occupy(r, start, fixed, what, message), rt.handler, evCopy, r, -1)
	return true
}

// copyMessage is copy for so many bytes of a message.
func (rt *runtime) copyMessage(r int32, start, fixed sim.Time, bytes int64, m *message, then afterCopy, id int32) bool {
	return rt.copy(r, start, fixed, float64(bytes), bytesPerPicosecond(rt.rateOf(m)), then, id)
}

// moved is told that a copy of r is in place. Time that a daemon had the CPU delays its end.
func (rt *runtime) moved(r int32) {
	c := &rt.copies.ranks[r]
	now := rt.kernel.Now()
	if end := rt.noise.end(r, c.began, now-c.began); end > now {
		rt.kernel.Schedule(end, rt.handler, evCopied, r, -1)
		return
	}
	rt.copied(r, now)
}

// copied goes on after a copy: with the rest of its activity, messages put off, and the queue of
// operations.
func (rt *runtime) copied(r int32, now sim.Time) {
	c, q := &rt.copies.ranks[r], &rt.ranks[r]
	c.held = false
	q.busy += q.copies(now - c.began)
	q.cpu = max(q.cpu, now)
	if rt.Timeline != nil {
		what, message := c.activity()
		rt.books(r, c.began, now, what, message)
	}
	switch c.then {
	case thenLeave:
		c.stepped = true
		m := q.posting
		q.posting = -1
		rt.leave(m, now)
	case thenWorked:
		c.stepped = true
		rt.done(r, c.id, now)
	case thenMatched, thenEarly:
		m := rt.messages.At(c.id)
		rt.putBuffer(m, now)
		rt.taken(c.id, m, c.then == thenMatched, now)
	case thenUnpacked:
		rt.unpacked(c.id, rt.messages.At(c.id), now)
	case thenRelay:
		rt.passOn(c.id, rt.messages.At(c.id), now)
	}
	for len(c.late) > 0 && !c.held {
		id := c.late[0]
		if c.late = c.late[1:]; id < 0 {
			rt.written(^id, now)
		} else {
			rt.handle(id, rt.messages.At(id), now)
		}
	}
	if c.stepped && !c.held {
		c.stepped = false
		rt.advance(r, now)
	}
}

// putsOff tells whether r's CPU has no time for a message (^ for a written one) until a copy is
// over; the message is kept.
func (rt *runtime) putsOff(r, id int32) bool {
	if !rt.held(r) {
		return false
	}
	c := &rt.copies.ranks[r]
	c.late = append(c.late, id)
	return true
}

// stepsLater tells whether r's queue of operations waits for a copy, and has it go on afterwards.
func (rt *runtime) stepsLater(r int32) bool {
	if !rt.held(r) {
		return false
	}
	rt.copies.ranks[r].stepped = true
	return true
}
