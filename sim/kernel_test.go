package sim

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/snapshot"
	"github.com/weft-sim/weft/sim/snapshot/snapshottest"
)

type recorder struct {
	seen []Event
	on   func(k *Kernel, e Event)
}

func (r *recorder) Handle(k *Kernel, e Event) {
	r.seen = append(r.seen, e)
	if r.on != nil {
		r.on(k, e)
	}
}

// TestQueueAgainstSort draws times over the wheels and beyond, mixes pushes with pops, and compares with a stable sort.
func TestQueueAgainstSort(t *testing.T) {
	r := NewStream(1, "queue test", 0)
	var q eventQueue
	var pending []Event
	now, seq := Time(0), uint64(0)
	for round := range 20000 {
		if r.IntN(5) < 3 || len(pending) == 0 {
			width := r.IntN(46) // up to 2^46 ps, past the reach of the wheels
			seq++
			at := now + Time(r.Uint64()>>(63-width))
			switch r.IntN(4) {
			case 0, 1: // a time that others have too, from near and from far
				at = (at>>24 + 1) << 24
			case 2: // the last slot of the near part, or the next one, which has the place of the first
				at = now + Time(wheelSlots+r.IntN(2))<<slotShift
			}
			e := Event{At: at, Handler: HandlerID(r.IntN(2)), Target: int32(r.IntN(3)), seq: seq}
			q.push(e.At, e.Handler, e.Kind, e.Target, e.Arg, e.seq)
			pending = append(pending, e)
			continue
		}
		best := 0
		for i := range pending {
			if pending[i].before(&pending[best]) {
				best = i
			}
		}
		want := pending[best]
		pending = slices.Delete(pending, best, best+1)
		at, ok := q.peek()
		simtest.FatalIf(t, !ok || at != want.At, "round %d: peek = %v, %v, want %v", round, at, ok, want.At)
		got := *q.pop(MaxTime)
		simtest.FatalIf(t, got != want, "round %d: pop = %+v, want %+v", round, got, want)
		now = want.At
	}
}

// TestCrowdedSlots sorts slots of many events, in the narrow key and where the
// events (70,000 a slot) or the handlers are too many for it.
func TestCrowdedSlots(t *testing.T) {
	for _, c := range []struct{ events, handlers int }{{13, 2}, {100, 2}, {5000, 2}, {5000, 17}, {140000, 3}, {70000, 1 << 12}} {
		r := NewStream(1, "crowded", c.events)
		var q eventQueue
		all := make([]Event, c.events)
		for i := range all {
			// Two slots' width of times that begin in a block of the outer wheel.
			at := Time(1000<<slotShift) + Time(r.IntN(2<<slotShift))
			all[i] = Event{At: at, Handler: HandlerID(r.IntN(c.handlers)), Target: int32(r.IntN(50) - 25), seq: uint64(i + 1)}
			e := &all[i]
			q.push(e.At, e.Handler, e.Kind, e.Target, e.Arg, e.seq)
		}
		slices.SortFunc(all, func(a, b Event) int {
			if a.before(&b) {
				return -1
			}
			return 1
		})
		for i, want := range all {
			got := *q.pop(MaxTime)
			simtest.FatalIf(t, got != want, "%d events, %d handlers: number %d is %+v, want %+v", c.events, c.handlers, i, got, want)
		}
		simtest.ErrorIf(t, q.size != 0, "%d events left", q.size)
	}
	var s SlotSet
	simtest.ErrorIf(t, !s.Add(3) || !s.Add(4) || s.Add(3), "a slot is new once, whatever its neighbours")
}

func TestSimultaneousEventsFollowTheModel(t *testing.T) {
	k := NewKernel()
	var order []int32
	h := &recorder{on: func(_ *Kernel, e Event) { order = append(order, int32(e.Handler)*10+e.Target) }}
	a, b := k.Register(h), k.Register(h)
	k.Schedule(5, b, 0, 1, 0)
	k.Schedule(5, a, 0, 2, 0)
	k.Schedule(5, a, 0, 1, 0)
	k.Schedule(5, b, 0, 0, 0)
	k.Run(MaxTime)
	if want := []int32{1, 2, 10, 11}; !slices.Equal(order, want) { // a1 a2 b0 b1
		t.Errorf("order = %v, want %v", order, want)
	}
}

func TestRunUntilAndStop(t *testing.T) {
	k, r := NewKernel(), &recorder{}
	h := k.Register(r)
	r.on = func(k *Kernel, e Event) {
		if e.Kind == 1 {
			k.Stop()
		}
	}
	for at := Time(10); at <= 50; at += 10 {
		kind := uint16(0)
		if at == 30 {
			kind = 1
		}
		k.Schedule(at, h, kind, 0, int64(at))
	}
	more := k.Run(25)
	simtest.FatalIf(t, !more || k.Now() != 25 || len(r.seen) != 2, "after Run(25): more=%v now=%v handled=%d, want true 25ps 2", more, k.Now(), len(r.seen))
	k.Run(MaxTime)
	simtest.FatalIf(t, k.Now() != 30, "Stop at 30 left now = %v", k.Now())
	more = k.Run(MaxTime)
	simtest.FatalIf(t, more || len(r.seen) != 5 || k.Now() != 50, "drained: more=%v, %d events until %v, want false, 5, 50ps", more, len(r.seen), k.Now())
}

type ticker struct {
	period, next Time
	at           []Time
}

func (c *ticker) NextTick() Time { return c.next }
func (c *ticker) Tick(now Time)  { c.at = append(c.at, now); c.next += c.period }

func TestClockedTicksFollowEventsOfTheSameTime(t *testing.T) {
	k := NewKernel()
	c, slow := &ticker{period: 10}, &ticker{period: 15}
	k.RegisterClocked(c)
	k.RegisterClocked(slow)
	ticksBefore := -1
	r := &recorder{on: func(*Kernel, Event) { ticksBefore = len(c.at) }}
	k.Schedule(20, k.Register(r), 0, 0, 0)
	k.Run(35)
	simtest.Alike(t, "ticks", c.at, []Time{0, 10, 20, 30}, slow.at, []Time{0, 15, 30})
	simtest.Equal(t, ticksBefore, 2, "ticks, at 0 and 10, that the event at 20 saw:")
}

// passer is a ticker that goes on in its tick as far as it may: do is called with each time, and calls counts ticks.
type passer struct {
	k     *Kernel
	next  Time
	calls int
	do    func(now Time)
}

func (c *passer) NextTick() Time { return c.next }
func (c *passer) Tick(Time) {
	c.calls++
	for more := true; more; more = c.k.Pass(c.next) {
		c.next += 10
		c.do(c.k.Now())
	}
}

// TestPass: a component with work every 10 ps goes on in a tick until an event is due, whether it was known before the
// tick (25), is scheduled in it (at 40 for 40 and for 60), or comes from another kernel (at 70 for 80); until a Run
// ends (95), also where one that was to go further has been stopped (at 110 of 200); and no further.
func TestPass(t *testing.T) {
	k := NewKernel()
	var log []Time
	h := k.Register(&recorder{on: func(*Kernel, Event) { log = append(log, -k.Now()) }})
	c := &passer{k: k, do: func(now Time) {
		switch log = append(log, now); now {
		case 40:
			k.Schedule(40, h, 0, 0, 0)
			k.Schedule(60, h, 0, 0, 0)
		case 70:
			k.ScheduleKeyed(80, h, 0, 0, 0, 1)
		case 110:
			k.Stop()
		}
	}}
	k.RegisterClocked(c)
	k.Schedule(25, h, 0, 0, 0)
	for _, until := range []Time{95, 200, 125} {
		k.Run(until)
	}
	if want := []Time{0, 10, 20, -25, 30, 40, -40, 50, -60, 60, 70, -80, 80, 90, 100, 110, 120}; !slices.Equal(log, want) || c.calls != 7 || k.Now() != 125 {
		t.Errorf("%v in %d ticks until %v, want %v in 7", log, c.calls, k.Now(), want)
	}
}

func TestKernelAllocatesNothingInSteadyState(t *testing.T) {
	k, r := NewKernel(), NewStream(1, "steady", 0)
	h := k.Register(handlerFunc(func(k *Kernel, e Event) {
		k.After(Time(1+r.IntN(1<<22)), e.Handler, 0, e.Target, 0)
	}))
	for i := range 1000 {
		k.Schedule(Time(i), h, 0, int32(i), 0)
	}
	k.Run(1 << 28)
	until := k.Now()
	simtest.Equal(t, testing.AllocsPerRun(10, func() { until += 1 << 24; k.Run(until) }), 0, "allocations a run in steady state")
}

type handlerFunc func(*Kernel, Event)

func (f handlerFunc) Handle(k *Kernel, e Event) { f(k, e) }

func BenchmarkKernel(b *testing.B) {
	for _, pending := range []int{1000, 100_000} {
		b.Run("pending="+strconv.Itoa(pending), func(b *testing.B) {
			k, r := NewKernel(), NewStream(1, "bench", 0)
			h := k.Register(handlerFunc(func(k *Kernel, e Event) {
				k.After(Time(1+r.IntN(1<<22)), e.Handler, 0, e.Target, 0)
			}))
			for i := range pending {
				k.Schedule(Time(i), h, 0, int32(i), 0)
			}
			k.Run(1 << 23)
			b.ReportAllocs()
			for b.Loop() {
				at, _ := k.queue.peek()
				k.Run(at)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// Events with keys come behind those without at the same time and target, by their keys,
// in whatever order and from however far they are scheduled.
func TestScheduleKeyed(t *testing.T) {
	for _, at := range []Time{0, 5, Microsecond, Second, 3 * 3600 * Second} {
		k, r := NewKernel(), &recorder{}
		h := k.Register(r)
		for _, key := range []uint64{7, 3, 5} {
			k.ScheduleKeyed(at, h, 0, 1, int64(key), key)
		}
		k.Schedule(at, h, 0, 1, 0)
		k.ScheduleKeyed(at, h, 0, 0, 9, 9)
		k.Schedule(at, h, 0, 1, 1)
		simtest.Equal(t, k.Next(), at, "the next event is at")
		k.Run(MaxTime)
		var got []int64
		for _, e := range r.seen {
			got = append(got, e.Arg)
		}
		simtest.EqualSlices(t, got, []int64{9, 0, 1, 3, 5, 7}, "at %v:", at)
		simtest.Equal(t, k.Next(), MaxTime, "an idle kernel's next event is at")
	}
}

// archiveModel is targets that schedule events for themselves, near and far, also for the present and for times that
// others have, under handlers 0 and 1. Target t belongs to kernel t mod len(kernels).
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
		m.kernel(int32(t)).Schedule(1<<slotShift, 0, 0, int32(t), int64(t))
		m.kernel(int32(t)).Schedule(1<<slotShift+1, 0, 0, int32(t), int64(t)) // in the same slot of the queue
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
	simtest.FatalIf(t, all < 1000, "%d events are too few to test anything", all)
	random := NewStream(2, "moments", 0)
	for moment := range 40 {
		first := newArchiveModel(1 + random.IntN(4))
		first.start()
		now := max(1<<slotShift, Time(random.Uint64()>>(63-random.IntN(50)))*Time(min(moment, 1)))
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
			simtest.Check(t, r.End())
			simtest.FatalIf(t, !bytes.Equal(second.state(), state), "at %d ps, %d parts write another state than they read", now, parts)
			second.run(MaxTime)
			handled := uint64(0)
			for _, k := range second.kernels {
				handled += k.Handled()
			}
			simtest.ErrorIf(t, handled != all, "%d events in all, want %d", handled, all)
			for target := range whole.seen {
				simtest.FatalIf(t, !slices.Equal(second.seen[target], whole.seen[target]),
					"target %d has other events after %d ps, in %d parts", target, now, parts)
			}
		}
	}
	dry, read := newArchiveModel(2), newArchiveModel(1)
	dry.kernels[0].now = 5 // the other has had nothing to do
	read.archive(snapshot.Reader(dry.state()))
	simtest.Equal(t, read.kernels[0].Now(), 5, "of kernels at 5 and 0 ps the time is")
}

// TestKernelStateIsWhole: the author of a new field decides here whether it is part of a snapshot.
func TestKernelStateIsWhole(t *testing.T) {
	snapshottest.Names[Event](t, "At", "Handler", "Kind", "Target", "Arg", "seq") // the last is renewed, or a key
	snapshottest.Names[Kernel](t, "now", "queue", "handled", "handlers", "clocked", "seq", "until", "bound", "seen", "stopped")
	snapshottest.Names[eventQueue](t, "current", "order", "inKey", "head", "late", "far", "near", "blocks", "chunks", // the events
		"now", "block", "free", "size", "taken")
}

// Nobody passes a barrier before all have come, and what the last one does is done
// once, before anyone goes on; with a processor for everyone and without.
func TestBarrier(t *testing.T) {
	for _, n := range []int{1, 2, 3 * runtime.GOMAXPROCS(0)} {
		b := NewBarrier(n)
		come, opened := make([]int, n), 0
		var all sync.WaitGroup
		for me := range n {
			all.Go(func() {
				for round := range 200 {
					come[me]++
					b.WaitThen(func() { opened++ })
					for other := range come {
						simtest.ErrorIf(t, come[other] != round+1 || opened != round+1,
							"%d of %d: round %d, %d has come %d times, the last one has acted %d times", me, n, round, other, come[other], opened)
					}
					b.Wait()
				}
			})
		}
		all.Wait()
	}
}

// TestFIFO: items that come and go at random against a list, and through a snapshot.
func TestFIFO(t *testing.T) {
	var q FIFO[int]
	var want []int
	s := NewStream(1, "fifo", 0)
	for i := range 2000 {
		if len(want) > 0 && s.IntN(9) < 4 {
			got := q.Take()
			simtest.FatalIf(t, got != want[0], "%d is taken, want %d", got, want[0])
			want = want[1:]
		} else {
			q.Put(i)
			want = append(want, i)
		}
	}
	w := snapshot.Writer()
	q.Archive(w)
	var again FIFO[int]
	again.Put(1)
	again.Archive(snapshot.Reader(w.Bytes()))
	var got []int
	for again.Len() > 0 {
		got = append(got, again.Take())
	}
	simtest.ErrorIf(t, !slices.Equal(got, want) || *q.At(q.Len() - 1) != want[len(want)-1], "%v, want %v", got, want)
}
