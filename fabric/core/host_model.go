package core

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// HostModel is what terminals belong to, where that is a model of its own that no thread
// shares: it has packets born because others have arrived. It works between windows,
// while nothing is simulated.
type HostModel interface {
	// Before is called before cycle first is simulated, and those behind it, up to end at
	// most. Of what the sinks have been told, all up to the cycle before is there. It has
	// packets born ([Fabric.WakeAt]), all that are born in the window of cycles that
	// begins with first. It returns the first cycle, from first on, in which it has
	// something to do again, if nothing arrives; [fabric.Never] if that is nothing.
	Before(first, end int64) int64
}

// AttachModel is [Fabric.Attach] for a source with a host model, and a sink for each domain
// (sinkOf is called for one after the other): what a domain's sink is told of it hears on
// a thread of its own. A packet that is born because something arrived in a cycle must be
// born so many cycles later, at least 1, or later; f may have been divided for as many
// ([Fabric.DivideFor]).
func (f *Fabric) AttachModel(c HostModel, cycles int64, source fabric.Source, sinkOf func() fabric.Sink) error {
	if err := f.CheckSource(source); err != nil {
		return err
	}
	f.hostModel, f.lookahead = c, min(f.lookahead, cycles)
	f.start(source, func(*Domain) fabric.Sink { return sinkOf() })
	return nil
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

// Still tells whether nothing is going to happen in the network any more.
func (f *Fabric) Still() bool { return f.nextWork(f.cycle+1) == fabric.Never }

// Rewind takes back the cycles at the end in which nothing happened: [Fabric.Cycle] is
// then that behind the last one in which something did.
func (f *Fabric) Rewind() {
	f.cycle = f.lastWork()
	for _, d := range f.domains {
		d.Cycle = f.cycle
	}
}

// lastWork is the last cycle in which something happened; -1: none.
func (f *Fabric) lastWork() int64 {
	last := int64(-1)
	for _, d := range f.domains {
		last = max(last, d.worked)
	}
	return last
}
