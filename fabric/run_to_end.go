package fabric

import "context"

// PartedSink is a sink with parts, of which each hears of what reaches some terminals,
// on one thread at a time.
type PartedSink interface {
	Sink
	Part() Sink
}

// RunToEnd drives the fabric with a source of finitely many packets, such as a
// collective whose packets are born when others arrive: until all terminals
// have nothing more to send, all packets have arrived and all credits are
// home. It ends with the audit of flits and credits. What the sink was told is
// the result. The fabric must be new, or divided by [Fabric.DivideFor]: the calls of
// source and sink that are about different terminals are then made by several threads,
// those of a [PartedSink] to parts of it. progress, which may be nil, is called every
// hundred cycles, while nothing is simulated.
func (f *Fabric) RunToEnd(ctx context.Context, source Source, sink Sink, progress func()) error {
	if err := f.ready(source); err != nil {
		return err
	}
	f.start(source, func(*domain) Sink {
		if parted, ok := sink.(PartedSink); ok {
			return parted.Part()
		}
		return sink
	})
	r := &runner{f: f, plan: Plan{Progress: progress}, ctx: ctx, watch: f.Watch()}
	for {
		if f.idle() && f.settled() {
			return f.Audit()
		}
		if err := r.goOn(); err != nil {
			return err
		}
	}
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
