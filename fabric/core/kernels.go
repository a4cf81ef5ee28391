package core

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/snapshot"
)

// A fabric can be simulated together with models of what its terminals belong to, such as adapters
// and processes: each domain shares a kernel with its terminals' models. Domains and their kernels
// are simulated in windows, as by [Fabric.Advance]; windows in which nothing happens are left out.

// Models are what happens between windows to models that share kernels with domains.
type Models interface {
	// Take lets a domain's models take over what other domains' models had for them when the last
	// window ended; those may have gone on.
	Take(domain int)
	// Next is the time of the first thing that a domain's models have for others since the last
	// call; sim.MaxTime: none.
	Next(domain int) sim.Time
	// Stop tells whether to end. Nothing is simulated meanwhile, so it may write the state: see
	// [Fabric.Archive].
	Stop() bool
}

// Last is how far kernels take a fabric: a cycle with [IntervalShift] more digits is counted in 64 bits.
func Last(clock sim.Time) sim.Time { return min(3<<41, sim.MaxTime/2/clock) * clock }

// RunKernels advances the domains' kernels (len = Domains) until none has anything left to do up to
// [Last], or the models end it. A single kernel's models are asked now and then, and when it has
// stopped.
func (f *Fabric) RunKernels(kernels []*sim.Kernel, models Models) {
	last := Last(f.Config.Fabric.Clock)
	if len(kernels) == 1 {
		f.kernel = kernels[0]
		for kernels[0].Run(last) && kernels[0].Next() <= last && !models.Stop() {
		}
		f.gatherObservers()
		return
	}
	r := &kernelRun{Fabric: f, kernels: kernels, models: models, next: make([]nextTime, len(kernels)), last: last}
	for i := range kernels {
		r.next[i].at = min(kernels[i].Next(), models.Next(i))
	}
	f.simulateAll(r)
	f.meet(0)
}

// kernelRun is the windows of a run of kernels.
type kernelRun struct {
	*Fabric
	kernels []*sim.Kernel
	models  Models
	next    []nextTime // by domain
	end     sim.Time   // of the window, which begins with cycle from
	last    sim.Time   // no window begins behind it
}

// nextTime is a domain's first time with something to do or for others, in its own cache line.
type nextTime struct {
	at sim.Time
	_  [56]byte
}

// openWindow finds the beginning of the next window.
func (r *kernelRun) openWindow() bool {
	if r.models.Stop() {
		return false
	}
	first := sim.MaxTime
	for i := range r.next {
		if r.written { // nobody has anything for others any more
			r.next[i].at = min(r.kernels[i].Next(), r.models.Next(i))
		}
		first = min(first, r.next[i].at)
	}
	r.written = false
	if first > r.last {
		return false
	}
	clock := r.Config.Fabric.Clock
	r.from = int64(first / clock)
	r.end = sim.Time(r.from+r.lookahead) * clock
	return true
}

func (r *kernelRun) simulate(domain int) {
	d := r.domains[domain]
	d.receive(r.window - 1)
	d.send(r.window)
	r.models.Take(domain)
	r.kernels[domain].Run(r.end - 1)
	next := min(r.kernels[domain].Next(), r.models.Next(domain))
	if d.sent < fabric.Never {
		next = min(next, sim.Time(d.sent)*r.Config.Fabric.Clock)
	}
	r.next[domain].at = next
}

// Archive writes the state of a network that kernels drive, as [Watchdog.ArchiveNetwork] does, or
// reads it into one that is attached and has not run. Models write it in [Models].Stop, at the time
// of the kernel that has come furthest, after each domain's models have taken what others had for
// them. It is read before the kernels, which go on at or before the next cycle.
func (f *Fabric) Archive(a *snapshot.Archive, now sim.Time, packets Packets) {
	if a.Reading() && (!f.attached || f.cycle >= 0) {
		a.Fail("a state is restored into a fabric that is attached and has not run")
	}
	if a.Err() != nil {
		return
	}
	if !a.Reading() {
		f.meet(now)
	}
	f.archive(a, packets)
	f.written = true
}

// meet brings all domains to the last cycle that each is through with, at the kernels' time, and
// delivers what was sent.
func (f *Fabric) meet(now sim.Time) {
	f.deliverHanded()
	clock := f.Config.Fabric.Clock
	f.cycle = max(f.cycle, int64((now+clock-1)/clock)-1)
	for _, d := range f.domains {
		f.cycle = max(f.cycle, d.Cycle)
	}
	for _, d := range f.domains {
		d.Cycle = f.cycle
	}
	f.gatherObservers()
	f.count()
}
