package core

import (
	"github.com/weft-sim/weft/sim/check"
)

// A network is simulated in one domain or, by several threads or in tiles, in more. What a
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
// Where domains would be uneven, or larger than a tile, there are more than threads, so that a thread that is
// through with its own can take over some of another's.

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

// gatherObservers has the observer of the network take over what those of domains have seen.
func (f *Fabric) gatherObservers() {
	if f.observer != nil {
		f.observer.Gather()
	}
}
