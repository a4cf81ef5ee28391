package mpi

import (
	"slices"
	"testing"

	"github.com/weft-sim/weft/sim"
)

// Against a plain sorted slice: times never before the last pop, most numbers
// rising, and old events put back with their old numbers.
func TestRadixQueueAgainstSortedSlice(t *testing.T) {
	s := sim.NewStream(1, "radix", 0)
	var q radixQueue
	var plain []timedEvent
	order := func(a, b timedEvent) int {
		if a.time != b.time {
			return int(a.time - b.time)
		}
		return int(a.number - b.number)
	}
	now, number := int64(0), int64(0)
	push := func(e timedEvent) {
		q.push(e)
		i, _ := slices.BinarySearchFunc(plain, e, order)
		plain = slices.Insert(plain, i, e)
	}
	for range 20000 {
		if q.size == 0 || s.IntN(2) == 0 {
			e := timedEvent{time: now + int64(s.IntN(1<<s.IntN(12))), number: 3 * number}
			if number++; s.IntN(10) == 0 && e.number > 3000 {
				e.number -= 1 + 3*int64(s.IntN(1000)) // an old number, at the present time too
			}
			push(e)
			continue
		}
		e := q.pop()
		if e != plain[0] {
			t.Fatalf("pop = %v, want %v", e, plain[0])
		}
		plain = plain[1:]
		now = e.time
		if s.IntN(3) == 0 {
			e.time += 1 + int64(s.IntN(50))
			push(e)
		}
	}
	if q.size != len(plain) {
		t.Errorf("size = %d, want %d", q.size, len(plain))
	}
}
