package measure

import (
	"context"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
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
// [core.HostModel] whose packets are born when others arrive: until all terminals
// have nothing more to send, all packets have arrived and all credits are
// home. It ends with the audit of flits and credits. What the sink was told is
// the result. The fabric must be new, or divided by [Fabric.DivideFor]: the calls of
// source and sink that are about different terminals are then made by several threads,
// those of a [fabric.PartedSink] to parts of it.
func RunToEnd(ctx context.Context, f *core.Fabric, source fabric.Source, sink fabric.Sink, plan ToEnd) error {
	if err := f.CheckSource(source); err != nil {
		return err
	}
	r := &runner{f: f, plan: Plan{Progress: plan.Progress, Snapshot: plan.Snapshot}, ctx: ctx, watch: f.Watch()}
	f.ProbeWithin(func() (from, to int64) { return 0, fabric.Never })
	kept, _ := source.(fabric.Kept)
	left := plan.From
	if left != nil {
		if archiveKept(left, kept); left.Err() != nil {
			return left.Err()
		}
	}
	if err := f.Attach(source, sink); err != nil {
		return err
	}
	if left != nil {
		r.watch.ArchiveNetwork(left)
		if err := left.End(); err != nil {
			return err
		}
	}
	r.write = func(a *snapshot.Archive) error {
		archiveKept(a, kept)
		r.watch.ArchiveNetwork(a)
		return a.Err()
	}
	for !f.Ended() {
		if err := r.slice(fabric.Never); err != nil {
			return err
		}
	}
	return f.Rest()
}
