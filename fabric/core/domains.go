package core

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/check"
	"github.com/weft-sim/weft/sim/wheel"
)

// A network is simulated in one domain or, by several threads, in more. What a
// switch does reaches another one no earlier than a cycle and the channel between
// them later. So all domains simulate a window of as many cycles as the fastest
// channel between two of them takes, and one, without hearing of each other; what
// they have sent to others by then is handed over behind the barrier. All arrivals of a cycle come
// before its decisions and may come in any order: so results do not depend on the
// number of threads.
//
// Where a routing reads the state of switches of other domains (a [fabric.RemoteReader]), and
// where one thread would be as fast, there is one domain. Its window never ends.
//
// What cannot wait for the end of a window, as faults do not, makes windows shorter: see
// [faults.window] and [HostModel]. It is done while all threads wait.
//
// There are more domains than threads, so that a thread that is through with its own,
// or whose processor nobody else wants, can take over some of another's.

// workers are the threads that simulate the domains of a network.
type workers struct {
	threads   int
	others    sync.WaitGroup // threads but the caller's; here so that Advance allocates nothing
	lookahead int64          // cycles of a window
	barrier   *sim.Barrier
	tasks     []task  // by domain
	window    int64   // number of the present one
	domainOf  []uint8 // by switch
	from      int64   // the present window's cycles are those behind this one
	until     int64   // and up to this one
	end       int64   // of the cycles to be simulated
	opened    bool    // there is a window
	onOne     string  // see [Fabric.OnOneThread]

	kernel  *sim.Kernel // the only one, of [Fabric.RunKernels]
	ticks   int64       // of that
	written bool        // by [Fabric.Archive], in the present gap between windows
}

// task is how far a domain has got, in a cache line of its own: the number of the
// task that comes next.
type task struct {
	next atomic.Int64
	_    [56]byte
}

// maxDomains bounds the domains of a network: wheels are found by 4 bits.
const maxDomains = 14

// worthThreads, which only tests change, is the number of terminals times cycles of a window from which a
// second thread pays for its barriers.
var worthThreads = int64(4000)

// domainsPerThread is the number of domains that a thread begins with where there is
// much to do: in networks of worthFiner times the least that is worth a second thread.
// Finer domains are easier to share out but send each other more.
const (
	domainsPerThread = 4
	worthFiner       = 4
)

// split divides the network among threads, if that is possible and pays: from so many
// terminals times cycles of a window on, which is of so many cycles at most. weights are
// those of terminals, 0 for those without traffic; nil: all have as much. Call it before
// the first cycle, with all observers in place.
func (f *Fabric) split(threads int, window, worth int64, weights []int32) {
	if threads = min(threads, maxDomains, len(f.Switches)); threads < 2 {
		f.onOne = "no more were asked for, or there is one switch"
		return
	}
	domain, lookahead := f.divide(threads, weights)
	work := int64(len(f.Terminals))
	for _, w := range weights {
		if w == 0 {
			work--
		}
	}
	if f.Faults == nil { // otherwise windows are a cycle long once something has failed
		work *= min(lookahead, window)
	}
	switch {
	case lookahead == 0 || work < worth:
		f.onOne = "the network is too small to gain from more"
		return
	case !f.readsWithin(domain):
		f.onOne = "the routing reads the state of distant switches"
		return
	}
	if finer, same := f.divide(min(domainsPerThread*threads, maxDomains), weights); same == lookahead && work >= worthFiner*worth && f.readsWithin(finer) {
		domain = finer
	}
	domainOf := make([]uint8, len(domain))
	for s := range domain {
		domainOf[s] = uint8(domain[s])
	}
	f.divideInto(domainOf, slices.Max(domain)+1, threads, lookahead)
}

// divideInto shares the switches out among so many domains, in place of those before, for
// several threads. [Fabric.open] fills them in.
func (f *Fabric) divideInto(domainOf []uint8, domains, threads int, lookahead int64) {
	f.workers = workers{threads: threads, lookahead: lookahead, barrier: sim.NewBarrier(threads), tasks: make([]task, domains), domainOf: domainOf}
	if domains > 1 {
		if f.labels != nil {
			f.labels.Divided()
		}
		f.packets.records.Divided()
		if f.unit != nil {
			f.packets.inflows.Divided()
		}
	}
	f.domains = nil
	for range domains {
		f.domains = append(f.domains, &Domain{alone: domains == 1})
	}
	for s := range f.Switches {
		d := f.domains[domainOf[s]]
		d.Mine = append(d.Mine, int32(s))
	}
	for t := range f.Terminals {
		d := f.owner(topology.TerminalID(t))
		d.Ends = append(d.Ends, int32(t))
	}
	for p := range f.graph.NumPorts() {
		if peer := f.graph.Peer[p]; peer >= 0 {
			if other := domainOf[f.graph.PortSwitch[peer]]; other != domainOf[f.graph.PortSwitch[p]] {
				f.Out[p].wheel = firstOutbox + other
				f.in[p].wheel = 1 + other
			}
		}
	}
}

// divide makes n domains of the switches, and tells for how many cycles they can be
// simulated apart; 0 if they are not connected.
func (f *Fabric) divide(n int, weights []int32) (domain []int, lookahead int64) {
	n = min(n, len(f.Switches))
	latency := func(p topology.PortID) int32 { return int32(f.Latency(&f.Out[p])) }
	domain = partition(f.graph, latency, n, weights)
	lookahead = math.MaxInt64
	for p := range f.graph.NumPorts() {
		if peer := f.graph.Peer[p]; peer >= 0 && domain[f.graph.PortSwitch[p]] != domain[f.graph.PortSwitch[peer]] {
			lookahead = min(lookahead, 1+f.Latency(&f.Out[p]))
		}
	}
	if lookahead == math.MaxInt64 {
		lookahead = 0
	}
	return domain, lookahead
}

// readsWithin tells whether the routing reads nothing of other domains.
func (f *Fabric) readsWithin(domain []int) bool {
	r, ok := f.routing.(fabric.RemoteReader)
	return !ok || r.ReadsWithin(domain)
}

// maxChunks bounds the packets in a divided network: 2^26.
const maxChunks = 1 << 16

// owner is the domain that simulates a terminal.
func (f *Fabric) owner(t topology.TerminalID) *Domain {
	return f.domains[f.domainOf[f.graph.TerminalSwitch(t)]]
}

// Advance simulates so many cycles, on all threads.
func (f *Fabric) Advance(cycles int64) {
	for check.On && cycles > checkPeriod {
		some := min(cycles, max(checkPeriod, f.idleCycles()))
		f.advance(some)
		cycles -= some
	}
	f.advance(cycles)
}

// idleCycles is for how many cycles nothing is going to happen.
func (f *Fabric) idleCycles() int64 {
	first := fabric.Never
	for _, d := range f.domains {
		if next, any := d.nextWork(); any {
			first = min(first, next)
		}
	}
	return first - 1 - f.cycle
}

func (f *Fabric) advance(cycles int64) {
	f.until, f.end = f.cycle, f.cycle+cycles
	f.simulateAll(f)
	f.cycle = f.end
	f.deliverHanded()
	f.hear()
	f.gatherObservers()
	f.count()
}

// windows are opened one after the other, while all threads wait, and simulated by all of them.
type windows interface {
	// openWindow finds the next window; false: there is none.
	openWindow() bool
	// simulate simulates a domain for the present window.
	simulate(domain int)
}

// simulateAll simulates all windows, on all threads.
func (f *Fabric) simulateAll(w windows) {
	for i := range f.tasks {
		f.tasks[i].next.Store(f.window + 1)
	}
	for me := 1; me < f.threads; me++ {
		f.others.Go(func() { f.work(me, w) })
	}
	f.work(0, w)
	f.others.Wait()
}

// work is a thread's share of simulateAll.
func (f *Fabric) work(me int, w windows) {
	for {
		f.barrier.WaitThen(func() { // all domains have sent what arrives from now on
			if f.opened = w.openWindow(); f.opened {
				f.window++
			}
		})
		if !f.opened {
			return
		}
		f.each(me, f.window, w.simulate)
	}
}

// openWindow finds the cycles of the next window of [Fabric.Advance].
func (f *Fabric) openWindow() bool {
	if f.until >= f.end {
		return false
	}
	f.from = f.until
	f.until = min(f.end, f.from+f.lookahead)
	if f.Faults != nil && len(f.domains) > 1 {
		f.until = f.Faults.window(f.from, f.until)
	}
	if f.hostModel != nil {
		f.consultModel()
	}
	f.hear()
	return true
}

func (f *Fabric) simulate(domain int) {
	d := f.domains[domain]
	d.receive(f.domains, domain, f.window-1)
	d.simulate(f.until)
	d.send(f.window, f.until)
}

// hear tells the terminals of all domains what became of packets in others.
func (f *Fabric) hear() {
	if f.Faults == nil {
		return
	}
	for i, d := range f.domains {
		for _, other := range f.domains {
			d.retry.hear(other.retry, i)
		}
	}
}

// each does the tasks of a number that no other thread does: those of the thread's
// own domains and then, from the last on, those of the others.
func (c *workers) each(me int, number int64, do func(domain int)) {
	domains := len(c.tasks)
	first, own := me*domains/c.threads, (me+1)*domains/c.threads-me*domains/c.threads
	for i := range domains {
		domain := first + i
		if i >= own {
			domain = (first + domains - 1 - (i - own)) % domains
		}
		if c.tasks[domain].next.CompareAndSwap(number, number+1) {
			do(domain)
		}
	}
}

// Threads is the number of threads that simulate f once it runs.
func (f *Fabric) Threads() int { return f.threads }

// OnOneThread is why one thread simulates f, once it runs; "" if more do.
func (f *Fabric) OnOneThread() string { return f.onOne }

// What a domain sends to another in a window is filed in wheels as what stays within is,
// so that a switch need not tell them apart. At the end of the window the domain writes it
// all down in one piece. The other reads that only: whatever both touch moves from the
// cache of one core to that of the other and back, at a hundred nanoseconds a line, and a
// wheel is a dozen lines besides its items.
//
// There are two such pieces, for windows in turn: while the other reads what was sent in
// the last one, the domain may be through with this one.

// handed is what a domain has sent to another, by the last bit of the window's number.
type handed [2]handedWindow

// window is what a domain has sent to another in a window. The other only reads it.
type handedWindow struct {
	first     int64 // cycle in which the first of it arrives; Never if there is nothing
	flits     post[Flit]
	credits   post[int32]
	schedules post[flitSchedule]
	_         [64]byte // not in one cache line with the next
}

// post is items of one kind, with the cycles in which they arrive.
type post[T any] struct {
	items  []T
	cycles []cycleItems // in the order of items
}

type cycleItems struct {
	cycle int64
	items int32
}

// pack takes all items of a wheel whose time is now in place of those before, and tells
// the first cycle in which any arrives, or the one given if that is sooner.
func (p *post[T]) pack(w *wheel.Wheel[T], now, first int64) int64 {
	p.items, p.cycles = p.items[:0], p.cycles[:0]
	w.Drain(now, func(cycle int64, batch []T) {
		p.items = append(p.items, batch...)
		p.cycles = append(p.cycles, cycleItems{cycle, int32(len(batch))})
		first = min(first, cycle)
	})
	return first
}

// unpack files all items in a wheel.
func (p *post[T]) unpack(w *wheel.Wheel[T]) {
	items := p.items
	for _, c := range p.cycles {
		for i := range items[:c.items] {
			*w.Place(c.cycle) = items[i]
		}
		items = items[c.items:]
	}
}

// send packs what d has sent to others up to a cycle: that in which a window ends.
func (d *Domain) send(window, now int64) {
	d.sent = fabric.Never
	for i := range d.handed {
		m := &d.handed[i][window&1]
		m.first = m.flits.pack(d.Flits[firstOutbox+i], now, fabric.Never)
		m.first = m.credits.pack(d.credits[1+i], now, m.first)
		if d.Unit != nil {
			m.first = m.schedules.pack(d.Unit.schedules[1+i], now, m.first)
		}
		d.sent = min(d.sent, m.first)
	}
}

// receive takes what other domains have sent to d, number me, in a window.
func (d *Domain) receive(domains []*Domain, me int, window int64) {
	for _, from := range domains {
		if from == d {
			continue
		}
		m := &from.handed[me][window&1]
		if m.first == fabric.Never {
			continue
		}
		m.flits.unpack(d.Flits[toSwitches])
		m.credits.unpack(d.credits[0])
		if d.Unit != nil {
			m.schedules.unpack(d.Unit.schedules[0])
		}
	}
}

// deliverHanded lets all domains have what was sent to them, while nothing is simulated.
func (f *Fabric) deliverHanded() {
	for i, d := range f.domains {
		d.receive(f.domains, i, f.window)
	}
	for _, d := range f.domains {
		d.sent = fabric.Never
		for i := range d.handed {
			d.handed[i][0].first, d.handed[i][1].first = fabric.Never, fabric.Never
		}
	}
}
