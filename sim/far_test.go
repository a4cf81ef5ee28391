package sim

import (
	"cmp"
	"slices"
	"testing"
)

// TestWheelFar files items up to 2^40 cycles ahead, goes from one cycle that has some
// to the next or step by step, takes a few away now and then, and compares with a sorted
// list: the items of a cycle come in the order in which they were filed.
func TestWheelFar(t *testing.T) {
	type filed struct {
		cycle int64
		id    int
	}
	for seed := range uint64(10) {
		r := NewStream(seed, "far", 0)
		w := NewWheel[int](int64(1 + r.IntN(200)))
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
			if ok != (len(want) > 0) || ok && next != want[0].cycle {
				t.Fatalf("seed %d, step %d: NextCycle = %d, %v of %v", seed, step, next, ok, want)
			}
			if !ok {
				next = now + 1
			}
			if r.IntN(2) == 0 && next > now+1 {
				next = now + 1 + int64(r.Uint64()%uint64(min(next-now-1, 1000))) // an empty cycle on the way
			}
			now = next
			var got, expected []int
			for batch := w.Next(now); batch != nil; batch = w.Next(now) {
				got = append(got, batch...)
			}
			for len(want) > 0 && want[0].cycle == now {
				expected = append(expected, want[0].id)
				want = want[1:]
			}
			if !slices.Equal(got, expected) {
				t.Fatalf("seed %d, step %d, cycle %d: %v, want %v", seed, step, now, got, expected)
			}
			if r.IntN(50) == 0 {
				w.Remove(func(i *int) bool { return *i%5 == 0 })
				want = slices.DeleteFunc(want, func(f filed) bool { return f.id%5 == 0 })
			}
			seen := 0
			w.Each(func(int) { seen++ })
			if w.Len() != len(want) || seen != len(want) {
				t.Fatalf("seed %d, step %d: Len = %d, Each visits %d, want %d", seed, step, w.Len(), seen, len(want))
			}
		}
		if now < 1<<30 {
			t.Errorf("seed %d: ended at cycle %d: distances were small", seed, now)
		}
	}
}
