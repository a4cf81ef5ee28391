package core

import (
	"errors"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/snapshot"
)

// A fabric can be simulated together with models of what its terminals belong to, such
// as adapters and processes: each domain is a clocked component of a kernel that it
// shares with those of its own terminals. Domains, with their kernels, are simulated in
// windows as those of [Fabric.Advance] are; windows in which nothing happens are left out.

// Models are what happens between windows to models that share kernels with domains.
type Models interface {
	// Take lets a domain's models take over what those of others had for them when the
	// last window ended: others may have gone on.
	Take(domain int)
	// Next is the time of the first thing that a domain's models have for others
	// since they were last asked; sim.MaxTime without any.
	Next(domain int) sim.Time
	// Stop tells whether to end. It is called while nothing is simulated, and may write
	// the state: see [Fabric.Archive].
	Stop() bool
}

// DivideFor divides f, before anything is attached to it, into domains for so many
// threads. Their models can be simulated apart for at most so many cycles; a second
// thread is worth it from so many terminals times cycles of a window on. weights say how
// much traffic terminals have beside others, 0 for none (len = terminals; nil: all have
// as much). It returns "" or why there is one thread.
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

// Domains is the number of parts that f is simulated in.
func (f *Fabric) Domains() int { return len(f.domains) }

// AttachEach is [Fabric.Attach] with a source and a sink for each domain, which its
// thread calls (len = Domains). Kernels drive the domains then: see
// [Fabric.RunKernels].
func (f *Fabric) AttachEach(sources []fabric.Source, sinks []fabric.Sink) error {
	if err := f.CheckSource(sources[0]); err != nil {
		return err
	}
	if f.Faults != nil {
		return errors.New("a fabric with faults is not driven by kernels")
	}
	f.open(sources[0], func(i int, _ *Domain) (fabric.Source, fabric.Sink) { return sources[i], sinks[i] })
	return nil
}

// Clocked is a domain as a component of a kernel; f itself, if it is the only one.
func (f *Fabric) Clocked(domain int) sim.Clocked {
	if len(f.domains) == 1 {
		return f
	}
	return f.domains[domain]
}

// DomainOf is the domain of a terminal.
func (f *Fabric) DomainOf(t topology.TerminalID) int {
	return int(f.domainOf[f.graph.TerminalSwitch(t)])
}

// NextTick implements [sim.Clocked].
func (d *Domain) NextTick() sim.Time {
	next, any := d.nextWork()
	if !any {
		return sim.MaxTime
	}
	return sim.Time(next) * d.Config.Fabric.Clock
}

// Tick implements [sim.Clocked].
func (d *Domain) Tick(now sim.Time) { d.tick(int64(now / d.Config.Fabric.Clock)) }

// RunKernels advances the kernels of the domains (len = Domains), whose clocked
// components they are, until none has anything left to do or the models end it. The
// models of a single one are asked whether to end when that has been stopped, and now
// and then.
func (f *Fabric) RunKernels(kernels []*sim.Kernel, models Models) {
	if len(kernels) == 1 {
		f.kernel = kernels[0]
		for kernels[0].Run(sim.MaxTime) && !models.Stop() {
		}
		f.gatherObservers()
		return
	}
	r := &kernelRun{Fabric: f, kernels: kernels, models: models, next: make([]nextTime, len(kernels))}
	for i := range kernels {
		r.next[i].at = min(kernels[i].Next(), models.Next(i))
	}
	f.simulateAll(r)
	f.meet(0)
}

// gatherObservers has the observer of the network take over what those of domains have seen.
func (f *Fabric) gatherObservers() {
	if f.observer != nil {
		f.observer.Gather()
	}
}

// kernelRun is the windows of a run of kernels.
type kernelRun struct {
	*Fabric
	kernels []*sim.Kernel
	models  Models
	next    []nextTime // by domain
	end     sim.Time   // of the window, which begins with cycle from
}

// nextTime is that of the first thing that a domain has to do or has for others, in a
// cache line of its own.
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
	if first == sim.MaxTime {
		return false
	}
	clock := r.Config.Fabric.Clock
	r.from = int64(first / clock)
	r.end = sim.Time(r.from+r.lookahead) * clock
	return true
}

func (r *kernelRun) simulate(domain int) {
	d := r.domains[domain]
	d.receive(r.domains, domain, r.window-1)
	r.models.Take(domain)
	r.kernels[domain].Run(r.end - 1)
	d.send(r.window, r.from+r.lookahead-1)
	next := min(r.kernels[domain].Next(), r.models.Next(domain))
	if d.sent < fabric.Never {
		next = min(next, sim.Time(d.sent)*r.Config.Fabric.Clock)
	}
	r.next[domain].at = next
}

// stopTicks is the number of ticks after which a single kernel is stopped for its models
// to be asked, which may want to write the state: a program of few and large messages has
// hardly any events.
const stopTicks = 1 << 12

// Archive writes the state of a network that kernels drive, as [Watchdog.ArchiveNetwork] does,
// or reads it into one that is attached and has not run. It is written by the models of
// [Fabric.RunKernels] when that is asked whether to end, at the time of the kernel that has
// come furthest, after each domain's models have taken what others had for them. It is
// read before the kernels are, which go on at or before the next cycle.
func (f *Fabric) Archive(a *snapshot.Archive, now sim.Time, packets Packets) {
	if a.Reading() && (f.source == nil || f.cycle >= 0) {
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

// meet brings all domains to the last cycle that each of them is through with, where kernels
// have come to a time, and lets all have what was sent to them.
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

// HostModel is a source of [Fabric.Attach] that is a model of its own, of what terminals
// belong to, which no thread shares: it has packets born because others have arrived. It works
// between windows, while nothing is simulated.
type HostModel interface {
	fabric.Source
	// Window is the least number of cycles, at least 1, from the arrival of a packet to the
	// birth of another because of it. The fabric may have been divided for as many
	// ([Fabric.DivideFor]).
	Window() int64
	// Before is called before cycle first is simulated, and those behind it, up to end at
	// most. Of what the sinks have been told, all up to the cycle before is there. It has
	// packets born ([Fabric.WakeAt]), all that are born in the window of cycles that
	// begins with first. It returns the first cycle, from first on, in which it has
	// something to do again, if nothing arrives; [fabric.Never] if that is nothing.
	Before(first, end int64) int64
	// Over is called every so many cycles, the same for any number of threads, when all up to
	// one of them is simulated. The model does what it has to up to that one, behind which its
	// state may be written, and tells whether nothing more is to come, if nothing arrives.
	Over(cycle int64) bool
}

// Present is the cycle in which terminal t is simulated.
func (f *Fabric) Present(t topology.TerminalID) int64 { return f.owner(t).Cycle }

// consultModel lets the host model work before the next window, and leaves out the cycles in
// which nothing happens then.
func (f *Fabric) consultModel() {
	for first := f.from + 1; ; {
		next := min(f.hostModel.Before(first, f.end), f.nextWork(first))
		if next <= first {
			break
		}
		if next > f.end {
			f.from, f.until = f.end-1, f.end
			return
		}
		f.from, first = next-1, next
	}
	f.until = min(f.end, f.from+f.lookahead)
}

// nextWork is the first cycle from a cycle on, until which all is simulated, in which
// anything can happen; Never if nothing will.
func (f *Fabric) nextWork(first int64) int64 {
	for _, d := range f.domains {
		if d.anyActive() {
			return first
		}
	}
	next := fabric.Never
	for _, d := range f.domains {
		if c, any := d.nextChange(); any {
			next = min(next, c)
		}
		next = min(next, d.sent)
	}
	return next
}

// Ended tells whether nothing is left to do: all packets have arrived or been given up, and nothing
// is going to happen any more.
func (f *Fabric) Ended() bool {
	if f.hostModel != nil {
		return f.over()
	}
	return f.Idle() && f.Settled()
}

// over tells whether nothing is going to happen any more, neither at the hosts nor in the
// network. The cycles at the end in which nothing happened are then taken back.
func (f *Fabric) over() bool {
	if !f.hostModel.Over(f.cycle) || f.nextWork(f.cycle+1) < fabric.Never {
		return false
	}
	f.cycle = f.lastWork()
	for _, d := range f.domains {
		d.Cycle = f.cycle
	}
	return true
}

// lastWork is the last cycle in which something happened; -1: none.
func (f *Fabric) lastWork() int64 {
	last := int64(-1)
	for _, d := range f.domains {
		last = max(last, d.worked)
	}
	return last
}

// lastWork archives when something has happened last, for the end of a run.
func (x *Archiver) lastWork() {
	if x.Fabric.hostModel == nil {
		return
	}
	last := x.Fabric.lastWork()
	snapshot.Int(x.Archive, &last)
	if x.Reading() {
		for _, d := range x.Fabric.domains {
			d.worked = last
		}
	}
}
