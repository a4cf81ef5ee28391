package core

import (
	"context"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/sim/snapshot"
)

// ToEnd is what a run to the end is watched by, and goes on from. Nothing of it must be
// given.
type ToEnd struct {
	Progress func() // called every hundred cycles, while nothing is simulated
	// From and Snapshot are those of [Plan]. The source must be [fabric.Kept], and keep what its
	// sink has been told, too.
	From     *snapshot.Archive
	Snapshot func(done bool, state func(*snapshot.Archive) error) error
}

// RunToEnd drives the fabric with a source of finitely many packets, which may be a
// [HostModel] whose packets are born when others arrive: until all terminals
// have nothing more to send, all packets have arrived and all credits are
// home. It ends with the audit of flits and credits. What the sink was told is
// the result. The fabric must be new, or divided by [Fabric.DivideFor]: the calls of
// source and sink that are about different terminals are then made by several threads,
// those of a [fabric.PartedSink] to parts of it.
func (f *Fabric) RunToEnd(ctx context.Context, source fabric.Source, sink fabric.Sink, plan ToEnd) error {
	if err := f.ready(source); err != nil {
		return err
	}
	if f.hostModel, _ = source.(HostModel); f.hostModel != nil {
		f.lookahead = min(f.lookahead, f.hostModel.Window())
	}
	r := &runner{f: f, plan: Plan{Progress: plan.Progress, Snapshot: plan.Snapshot}, ctx: ctx, watch: f.Watch()}
	kept, _ := source.(fabric.Kept)
	left := plan.From
	if left != nil {
		if archiveKept(left, kept); left.Err() != nil {
			return left.Err()
		}
	}
	f.start(source, func(*domain) fabric.Sink {
		if parted, ok := sink.(fabric.PartedSink); ok {
			return parted.Part()
		}
		return sink
	})
	if left != nil {
		r.watch.archive(f.archive(left))
		if err := left.End(); err != nil {
			return err
		}
	}
	r.write = func(a *snapshot.Archive) error {
		archiveKept(a, kept)
		r.watch.archive(f.archive(a))
		return a.Err()
	}
	ended := func() bool { return f.idle() && f.settled() }
	if f.hostModel != nil {
		ended = f.over
	}
	for !ended() {
		if err := r.slice(fabric.Never); err != nil {
			return err
		}
	}
	return f.Rest()
}

// Rest audits a fabric that a kernel has driven until nothing was left to do:
// packets still in it are deadlocked, otherwise all flits and credits must be
// accounted for.
func (f *Fabric) Rest() error {
	if f.InFlight() > 0 {
		return f.deadlock(stallCycles)
	}
	return f.Audit()
}
