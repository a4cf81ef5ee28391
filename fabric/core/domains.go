package core

import (
	"math"
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/check"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/mem"
	"github.com/weft-sim/weft/sim/wheel"
)

// A network is simulated in one domain or, by several threads or in tiles, in more. What a switch
// does reaches another one a cycle and the channel's latency later at the earliest. So domains
// simulate a window of one cycle more than the fastest channel between two of them takes, without
// hearing of each other; what they have sent is handed over behind the barrier. All arrivals of a
// cycle precede its decisions, in any order, so results do not depend on the number of threads.
//
// Where a routing reads the state of switches of other domains (a [fabric.RemoteReader]), or one
// thread is as fast, there is one domain, whose window never ends.
//
// Events that cannot wait for the end of a window, such as faults, shorten windows (see
// [faults.window] and [HostModel]); they happen while all threads wait.
//
// Where domains would be uneven or larger than a tile, there are more domains than threads: a
// thread that is done with its own takes over others.

// Advance simulates so many cycles, on all threads.
func (f *Fabric) Advance(cycles int64) {
	for check.On && cycles > checkPeriod {
		some := min(cycles, max(checkPeriod, f.nextWork(f.cycle+1)-1-f.cycle))
		f.advance(some)
		cycles -= some
	}
	f.advance(cycles)
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
	d.receive(f.window - 1)
	d.send(f.window)
	d.simulate(f.until)
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

// each does the tasks of a number that no other thread has begun: the thread's own domains first,
// then others' from the last on.
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

func (f *Fabric) gatherObservers() {
	if f.observer != nil {
		f.observer.Gather()
	}
}

func (f *Fabric) deliverHanded() {
	for _, d := range f.domains {
		d.receive(f.window)
	}
	for _, d := range f.domains {
		d.send(f.window)
	}
}

// maxDomains bounds the domains of a network: a byte numbers wheels.
const maxDomains = 256 - firstOutbox

// worthThreads, which tests change, is the terminals times cycles of a window from which a second
// thread pays.
var worthThreads = int64(4000)

// domainsPerThread is a thread's domains where one each would be uneven, and there is much to do.
const domainsPerThread = 4

// split divides the network among threads, if that is possible and pays: from worth terminals times
// cycles of a window on, which is of so many cycles at most. weights are the terminals', 0 without
// traffic; nil: all alike. Call it before the first cycle, with all observers in place.
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
	finer := 0
	if lookahead >= tileWindow {
		finer = f.stateBytes() / tileState / threads
	}
	if work >= domainsPerThread*worth && !f.even(domain, weights) {
		finer = max(finer, domainsPerThread)
	}
	if finer = min(finer, maxDomains/threads) * threads; finer > threads {
		if finer, same := f.divide(finer, weights); same == lookahead && f.readsWithin(finer) {
			domain = finer
		}
	}
	f.divideInto(domain, threads, lookahead)
}

// even tells whether no domain has an eighth more to do than the mean.
func (f *Fabric) even(domain []int, weights []int32) bool {
	loads := make([]int, slices.Max(domain)+1)
	for t := range f.Terminals {
		w := 1
		if weights != nil {
			w = int(weights[t])
		}
		loads[domain[f.graph.TerminalSwitch(topology.TerminalID(t))]] += w
	}
	return 8*len(loads)*slices.Max(loads) <= 9*lists.Total(loads)
}

// A tile is a domain that a thread simulates for a whole window while its state stays in the
// second-level cache. tileState is the bytes of state of a tile, tileWindow the cycles of a window
// from which tiles are worth their misses; only tests change them.
var tileState, tileWindow = 3 << 18, int64(16)

// tile divides a network that one thread simulates into tiles, if it is large.
func (f *Fabric) tile() {
	short := !slices.ContainsFunc(f.paces, func(p pace) bool { return 1+int64(p.latency) >= tileWindow })
	if short || f.Faults != nil { // windows are short, or may be a cycle long
		return
	}
	for n := min(f.stateBytes()/tileState, maxDomains, len(f.Switches)); n > 1; n /= 2 {
		if domain, lookahead := f.divide(n, nil); lookahead >= tileWindow && f.readsWithin(domain) {
			f.divideInto(domain, 1, lookahead)
			return
		}
	}
}

// divideInto shares the switches among new domains, for so many threads; [Fabric.open] fills them
// in.
func (f *Fabric) divideInto(domain []int, threads int, lookahead int64) {
	domains, domainOf := slices.Max(domain)+1, make([]uint8, len(domain))
	for s := range domain {
		domainOf[s] = uint8(domain[s])
	}
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
				f.in[p].wheel = firstOutbox + other
			}
		}
	}
}

// divide makes n domains of the switches, and tells how many cycles they can be apart; 0 if not
// connected.
func (f *Fabric) divide(n int, weights []int32) (domain []int, lookahead int64) {
	n = min(n, len(f.Switches))
	latency := func(p topology.PortID) int32 { return int32(f.Latency(&f.Out[p])) }
	domain = partition(f.graph, latency, n, weights)
	lookahead = math.MaxInt64
	for p := range f.graph.NumPorts() {
		if peer := f.graph.Peer[p]; peer >= 0 && domain[f.graph.PortSwitch[p]] != domain[f.graph.PortSwitch[peer]] {
			lookahead = min(lookahead, 1+f.Latency(&f.Out[p]), 1+int64(f.in[p].delay))
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

// makeWheels gives d, one of the domains of f, empty wheels.
func (d *Domain) makeWheels(f *Fabric) {
	d.sent = fabric.Never
	d.wakes = wheel.New[int32](min(f.horizon, 1024))
	d.Flits[toTerminals], d.Flits[toSwitches] = wheel.New[Flit](f.horizon), wheel.New[Flit](f.reachApart())
	d.credits[0] = wheel.New[int32](f.reachApart())
	if f.sensing != nil {
		d.held = wheel.New[heldCredit](f.horizon)
	}
	if f.needs.Queues {
		d.behind = &behind{until: wheel.New[int32](d.horizon)}
		d.behind.slots = d.needs.HeldSlots
	}
	if d.Unit != nil {
		d.Unit.schedules[0], d.Unit.events = wheel.New[flitSchedule](f.reachApart()), wheel.New[event](f.horizon)
	}
}

// reachApart bounds how far ahead a domain files arrivals at another one, a window behind it at
// most.
func (f *Fabric) reachApart() int64 {
	if len(f.domains) == 1 {
		return f.horizon
	}
	return f.horizon + f.lookahead
}

// join connects domains with those that channels lead to. If one thread simulates both, items are
// filed at once: they arrive behind the window, which no domain is beyond. Otherwise a wheel
// without room stands in its place, so that items are handed over.
func (f *Fabric) join() {
	flits, credits := wheel.New[Flit](0), wheel.New[int32](0)
	for p := range f.graph.NumPorts() {
		number := f.Out[p].wheel
		if number < firstOutbox {
			continue
		}
		i := number - firstOutbox
		d, other := f.domainAt(int32(f.graph.PortSwitch[p])), f.domains[i]
		if f.threads == 1 {
			d.Flits[number], d.credits[number] = other.Flits[toSwitches], other.credits[0]
			if d.Unit != nil {
				d.Unit.schedules[number] = other.Unit.schedules[0]
			}
			continue
		}
		d.Flits[number], d.credits[number] = flits, credits
		if d.handed == nil {
			d.handed = make([]*handed, len(f.domains))
		}
		if d.handed[i] == nil {
			d.handed[i] = &mem.Apart[handed](1)[0]
			other.heard = append(other.heard, d.handed[i])
		}
	}
}

// DivideFor divides f, before anything is attached to it, into domains for so many threads. Their
// models can be apart for so many cycles; a second thread pays from worth terminals times cycles of
// a window on. weights are the terminals' relative traffic, 0 for none (len = terminals; nil: all
// alike). It returns "" or why there is one thread.
func (f *Fabric) DivideFor(threads int, cycles, worth int64, weights []int32) string {
	if threads < 2 {
		return "one was asked for"
	}
	if cycles < 1 {
		return "what its terminals belong to cannot be simulated apart for a cycle"
	}
	if f.split(threads, cycles, worth, weights); f.onOne != "" {
		return f.onOne
	}
	f.lookahead = min(f.lookahead, cycles)
	return ""
}
