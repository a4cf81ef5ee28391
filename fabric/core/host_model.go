package core

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/snapshot"
)

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
