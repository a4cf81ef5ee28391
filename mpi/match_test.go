package mpi

import (
	"slices"
	"testing"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// FuzzMatcher holds the indexed lists against a plain slice: each byte of the input is an operation
// on a source and a tag drawn from a few values, Any among them.
func FuzzMatcher(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 250, 251, 252})
	long := make([]byte, 200)
	for i := range long {
		long[i] = byte(i * 37)
	}
	f.Add(long)
	f.Fuzz(func(t *testing.T, script []byte) {
		type item struct{ source, tag, item int32 }
		var m matcher
		var lists [2]matchList
		var plain [2][]item
		for i, b := range script {
			which := int(b & 1)
			source, tag := int32(b>>1&7)-1, int32(b>>4&3)-1
			// The list is filled for a while, so that indexes are built, and
			// drained by the second half of the script.
			if fill := b>>6 != 0; fill == (i < len(script)/2) {
				m.add(&lists[which], source, tag, int32(i))
				plain[which] = append(plain[which], item{source, tag, int32(i)})
				continue
			}
			want, found := int32(0), false
			for j, p := range plain[which] {
				if fits(p.source, source) && fits(p.tag, tag) {
					want, found = p.item, true
					plain[which] = append(plain[which][:j:j], plain[which][j+1:]...)
					break
				}
			}
			got, ok := m.take(&lists[which], source, tag)
			simtest.FatalIf(t, ok != found || got != want,
				"step %d: take(%d, %d) = %d, %v; plain list has %d, %v", i, source, tag, got, ok, want, found)
		}
		for which := range lists {
			var left []int32
			m.items(&lists[which], func(node int32) { left = append(left, m.nodes[node].item) })
			simtest.FatalIf(t, len(left) != len(plain[which]),
				"list %d holds %d items, want %d", which, len(left), len(plain[which]))
			for i, p := range plain[which] {
				simtest.FatalIf(t, left[i] != p.item, "list %d item %d = %d, want %d", which, i, left[i], p.item)
			}
		}
	})
}

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
		simtest.FatalIf(t, e != plain[0], "pop = %v, want %v", e, plain[0])
		plain = plain[1:]
		now = e.time
		if s.IntN(3) == 0 {
			e.time += 1 + int64(s.IntN(50))
			push(e)
		}
	}
	simtest.ErrorIf(t, q.size != len(plain), "size = %d, want %d", q.size, len(plain))
}
