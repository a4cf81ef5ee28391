package sim

import "testing"

// watcher schedules a new event for most that it handles, and notes what it is
// shown.
type watcher struct {
	random Stream
	spread int // of delays, in ps
	left   int
	shown  map[int64]bool
	early  int // events that were shown before they came
	order  []int64
}

func (w *watcher) LookAhead(e *Event) { w.shown[e.Arg] = true }

func (w *watcher) Handle(k *Kernel, e Event) {
	w.order = append(w.order, e.Arg)
	if w.shown[e.Arg] {
		w.early++
	}
	if w.left > 0 {
		w.left--
		k.After(Time(w.random.IntN(w.spread)), e.Handler, 0, e.Target, e.Arg+1000)
	}
}

// Looking ahead leaves the order of events alone and shows nearly all of them
// early: with slots of one event, some, and dozens. Where all is scheduled within
// the width of a slot, half of the events come to the present one, which are not
// shown.
func TestLookAhead(t *testing.T) {
	for _, c := range []struct{ spread, least int }{{1 << 24, 20000}, {1 << 18, 20000}, {1 << 16, 20000}, {1 << slotShift, 9000}} {
		spread := c.spread
		run := func(look bool) *watcher {
			w := &watcher{random: NewStream(1, "look ahead", 0), spread: spread, left: 20000, shown: map[int64]bool{}}
			k := NewKernel()
			h := k.Register(w)
			other := k.Register(handlerFunc(func(*Kernel, Event) {}))
			if look {
				k.LookAhead(h)
			}
			for i := range 1000 {
				k.Schedule(Time(w.random.IntN(spread)), h, 0, int32(i), int64(i))
				k.Schedule(Time(w.random.IntN(spread)), other, 0, int32(i), int64(i))
			}
			k.Run(MaxTime)
			return w
		}
		plain, ahead := run(false), run(true)
		if len(plain.order) != 21000 || plain.early != 0 {
			t.Fatalf("spread %d: %d events, %d shown without looking ahead; want 21000, 0", spread, len(plain.order), plain.early)
		}
		for i := range plain.order {
			if plain.order[i] != ahead.order[i] {
				t.Fatalf("spread %d: event %d is %d, without looking ahead %d", spread, i, ahead.order[i], plain.order[i])
			}
		}
		if ahead.early < c.least {
			t.Errorf("spread %d: %d of %d events shown early, want %d", spread, ahead.early, len(ahead.order), c.least)
		}
	}
}
