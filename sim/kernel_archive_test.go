package sim

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/weft-sim/weft/sim/snapshot"
	"github.com/weft-sim/weft/sim/snapshot/snapshottest"
)

// archiveModel is targets that schedule events for themselves, near and far, also for the
// present and for times that others have, under handlers 0 and 1. Target t belongs to kernel
// t mod len(kernels).
type archiveModel struct {
	kernels []*Kernel
	random  [12]Stream
	seen    [12][]string
}

func newArchiveModel(parts int) *archiveModel {
	m := &archiveModel{}
	for range parts {
		k := NewKernel()
		k.Register(m)
		k.Register(m)
		m.kernels = append(m.kernels, k)
	}
	for t := range m.random {
		m.random[t] = NewStream(1, "archive model", t)
	}
	return m
}

func (m *archiveModel) kernel(target int32) *Kernel { return m.kernels[int(target)%len(m.kernels)] }

func (m *archiveModel) start() {
	for t := range m.random {
		m.kernel(int32(t)).Schedule(1, 0, 0, int32(t), int64(t))
		m.kernel(int32(t)).Schedule(Time(1)<<52, 0, 0, int32(t), int64(t))
	}
}

func (m *archiveModel) Handle(k *Kernel, e Event) {
	m.seen[e.Target] = append(m.seen[e.Target], fmt.Sprint(e.At, e.Handler, e.Kind, e.Arg))
	r := &m.random[e.Target]
	for range r.IntN(4) - len(m.seen[e.Target])/100 {
		at := e.At + Time(r.Uint64()>>(63-r.IntN(46)))
		if r.IntN(2) == 0 {
			at = (at>>30 + 1) << 30
		}
		if kind := uint16(r.IntN(3)); kind == 2 {
			k.ScheduleKeyed(at, HandlerID(r.IntN(2)), kind, e.Target, int64(r.IntN(100)), r.Uint64()>>1)
		} else {
			k.Schedule(at, HandlerID(r.IntN(2)), kind, e.Target, int64(r.IntN(100))-50)
		}
	}
}

func (m *archiveModel) archive(a *snapshot.Archive) {
	ArchiveKernels(a, m.kernels, func(a *snapshot.Archive, e *Event) int {
		snapshot.Int(a, &e.Arg)
		a.Check(e.Target >= 0 && int(e.Target) < len(m.random), "target %d", e.Target)
		return int(e.Target) % len(m.kernels)
	})
}

func (m *archiveModel) run(until Time) {
	for _, k := range m.kernels {
		k.Run(until)
	}
}

// state are the bytes at the present.
func (m *archiveModel) state() []byte {
	w := snapshot.Writer()
	m.archive(w)
	return w.Bytes()
}

// TestArchiveKernels: kernels that have read what others wrote handle the same events in
// the same order, in any number of parts, and write the same bytes at the same time.
func TestArchiveKernels(t *testing.T) {
	whole := newArchiveModel(1)
	whole.start()
	whole.run(MaxTime)
	all := uint64(0)
	for _, seen := range whole.seen {
		all += uint64(len(seen))
	}
	if all < 1000 {
		t.Fatalf("%d events are too few to test anything", all)
	}
	random := NewStream(2, "moments", 0)
	for range 40 {
		first := newArchiveModel(1 + random.IntN(4))
		first.start()
		now := Time(random.Uint64() >> (63 - random.IntN(50)))
		first.run(now)
		state := first.state()
		for parts := 1; parts <= 3; parts++ {
			second := newArchiveModel(parts)
			second.random = first.random
			for target := range second.seen {
				second.seen[target] = slices.Clone(first.seen[target])
			}
			r := snapshot.Reader(state)
			second.archive(r)
			if err := r.End(); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(second.state(), state) {
				t.Fatalf("at %d ps, %d parts write another state than they read", now, parts)
			}
			second.run(MaxTime)
			handled := uint64(0)
			for _, k := range second.kernels {
				handled += k.Handled()
			}
			if handled != all {
				t.Errorf("%d events in all, want %d", handled, all)
			}
			for target := range whole.seen {
				if !slices.Equal(second.seen[target], whole.seen[target]) {
					t.Fatalf("target %d has other events after %d ps, in %d parts", target, now, parts)
				}
			}
		}
	}
}

// TestKernelStateIsWhole: whoever adds a field decides here whether it is part of a
// snapshot.
func TestKernelStateIsWhole(t *testing.T) {
	snapshottest.Names[Event](t, "At", "Handler", "Kind", "Target", "Arg", "seq") // the last is renewed, or a key
	snapshottest.Names[Kernel](t, "now", "queue", "handled", "handlers", "clocked", "seq", "stopped")
	snapshottest.Names[eventQueue](t, "current", "order", "inKey", "head", "late", "far", "near", "levels", "chunks", // the events
		"now", "block", "free", "size", "taken")
}
