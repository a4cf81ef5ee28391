package wheel

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestWheelAgainstMap files random items at near and far cycles and compares
// what each cycle yields, and in which order, with a map.
func TestWheelAgainstMap(t *testing.T) {
	r, w := sim.NewStream(1, "wheel", 0), New[int](100)
	want, id := map[int64][]int{}, 0
	push := func(cycle int64) {
		id++
		*w.Place(cycle) = id
		want[cycle] = append(want[cycle], id)
	}
	for cycle := range int64(3000) {
		var got []int
		for batch := w.Next(cycle); batch != nil; batch = w.Next(cycle) {
			for range batch {
				if r.IntN(3) == 0 {
					push(cycle + 1 + int64(r.IntN(50)))
				}
			}
			got = append(got, batch...)
		}
		if cycle < 2000 {
			for range r.IntN(100) {
				push(cycle + 1 + int64(r.IntN(200))) // reach is 127: some go to the heap
			}
		}
		simtest.FatalIf(t, !slices.Equal(got, want[cycle]), "cycle %d: got %v, want %v", cycle, got, want[cycle])
		delete(want, cycle)
		pending, next := 0, int64(-1)
		for c, items := range want {
			pending += len(items)
			if next < 0 || c < next {
				next = c
			}
		}
		if cycle%10 == 0 {
			listed := map[int64][]int{}
			w.Items(func(c int64, id *int) { listed[c] = append(listed[c], *id) })
			simtest.FatalIf(t, !maps.EqualFunc(listed, want, slices.Equal), "cycle %d: Items lists %v, want %v", cycle, listed, want)
		}
		simtest.FatalIf(t, w.Len() != pending, "cycle %d: Len = %d, want %d", cycle, w.Len(), pending)
		c, ok := w.NextCycle()
		simtest.FatalIf(t, ok != (pending > 0) || ok && c != next, "cycle %d: NextCycle = %d, %v, want %d", cycle, c, ok, next)
	}
}

func TestWheelAllocatesNothingInSteadyState(t *testing.T) {
	r, w := sim.NewStream(1, "wheel", 0), New[[2]int64](64)
	cycle := int64(0)
	run := func() {
		for range 1000 {
			for batch := w.Next(cycle); batch != nil; batch = w.Next(cycle) {
				for _, item := range batch {
					*w.Place(cycle + 1 + int64(r.IntN(60))) = item
				}
			}
			cycle++
		}
	}
	for i := range 5000 {
		*w.Place(int64(i % 60)) = [2]int64{}
	}
	run()
	run()
	n := testing.AllocsPerRun(5, run)
	simtest.ErrorIf(t, n > 0, "%v allocations in 1000 cycles, want 0", n)
}

// TestWheelRemove takes every third item away, near and far ones, from wheels of all fillings of a chunk, and finds the
// others where they were filed, in order; there is room for new ones afterwards.
func TestWheelRemove(t *testing.T) {
	for items := range 3 * chunkItems {
		w, want := New[int](10), map[int64][]int{}
		file := func(cycle int64, item int) {
			*w.Place(cycle) = item
			want[cycle] = append(want[cycle], item)
		}
		for i := range items {
			file(int64(i%2)*90+3, i)
		}
		w.Remove(func(i *int) bool { return *i%3 == 0 })
		for c := range want {
			want[c] = slices.DeleteFunc(want[c], func(i int) bool { return i%3 == 0 })
		}
		for i := range 5 {
			file(3, -i)
		}
		for cycle := range int64(100) {
			var got []int
			for batch := w.Next(cycle); batch != nil; batch = w.Next(cycle) {
				got = append(got, batch...)
			}
			simtest.FatalIf(t, !slices.Equal(got, want[cycle]), "%d items, cycle %d: got %v, want %v", items, cycle, got, want[cycle])
		}
		simtest.FatalIf(t, w.Len() != 0, "%d items: %d left", items, w.Len())
	}
}

// TestWheelFar files items up to 2^40 cycles ahead, goes from one cycle that has some
// to the next or step by step, by Skip where it can, takes a few away now and then, and compares
// with a sorted list: the items of a cycle come in the order in which they were filed.
func TestWheelFar(t *testing.T) {
	type filed struct {
		cycle int64
		id    int
	}
	for seed := range uint64(10) {
		r := sim.NewStream(seed, "far", 0)
		w := New[int](int64(1 + r.IntN(200)))
		var want []filed
		now, id := int64(-1), 0
		file := func(cycle int64) {
			id++
			*w.Place(cycle) = id
			want = append(want, filed{cycle, id})
		}
		for step := 0; step < 500 || len(want) > 0; step++ {
			if step < 500 {
				for range r.IntN(4) {
					file(now + 1 + int64(r.Uint64()>>(24+r.IntN(40)))) // distances of all orders
				}
				if r.IntN(8) == 0 && len(want) > 0 { // and the same cycle as another one
					file(want[r.IntN(len(want))].cycle)
				}
			}
			slices.SortStableFunc(want, func(a, b filed) int { return cmp.Compare(a.cycle, b.cycle) })
			next, ok := w.NextCycle()
			simtest.FatalIf(t, ok != (len(want) > 0) || ok && next != want[0].cycle, "seed %d, step %d: NextCycle = %d, %v of %v", seed, step, next, ok, want)
			if !ok {
				next = now + 1
			}
			if r.IntN(2) == 0 && next > now+1 {
				next = now + 1 + int64(r.Uint64()%uint64(min(next-now-1, 1000))) // an empty cycle on the way
			}
			now = next
			var got, expected []int
			if !w.Skip(now) {
				for batch := w.Next(now); batch != nil; batch = w.Next(now) {
					got = append(got, batch...)
				}
			}
			for len(want) > 0 && want[0].cycle == now {
				expected = append(expected, want[0].id)
				want = want[1:]
			}
			simtest.FatalIf(t, !slices.Equal(got, expected), "seed %d, step %d, cycle %d: %v, want %v", seed, step, now, got, expected)
			if r.IntN(50) == 0 {
				w.Remove(func(i *int) bool { return *i%5 == 0 })
				want = slices.DeleteFunc(want, func(f filed) bool { return f.id%5 == 0 })
			}
			seen := 0
			w.Each(func(int) { seen++ })
			simtest.FatalIf(t, w.Len() != len(want) || seen != len(want),
				"seed %d, step %d: Len = %d, Each visits %d, want %d", seed, step, w.Len(), seen, len(want))
		}
		simtest.ErrorIf(t, now < 1<<30, "seed %d: ended at cycle %d: distances were small", seed, now)
	}
}
